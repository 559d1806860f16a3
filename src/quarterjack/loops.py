"""Awaits a coroutine on another event loop: async tasks can belong to the loop of the program that
Quarterjack lives in."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar, cast

T = TypeVar("T")


async def run_on(loop: asyncio.AbstractEventLoop | None, work: Coroutine[Any, Any, T]) -> T:
    """Await this on `loop`; None is the running one. A cancellation is passed on, and this returns
    only when the coroutine has ended."""
    here = asyncio.get_running_loop()
    if loop is None or loop is here:
        return await work
    ended: asyncio.Future[None] = here.create_future()
    started: list[asyncio.Task[T | None]] = []
    exits: list[BaseException] = []

    def start() -> None:
        started.append(loop.create_task(_without_exit(work, exits)))
        started[0].add_done_callback(report_end)

    def report_end(_task: object) -> None:
        with suppress(RuntimeError):  # nobody waits any more: the loop is closed
            here.call_soon_threadsafe(ended.set_result, None)

    def cancel() -> None:
        started[0].cancel()

    try:
        loop.call_soon_threadsafe(start)
    except RuntimeError:  # the loop is closed
        work.close()
        raise
    while not ended.done():
        try:
            await asyncio.wait([ended])
        except asyncio.CancelledError:
            loop.call_soon_threadsafe(cancel)
    result = started[0].result()
    if exits:
        raise exits[0]
    return cast("T", result)


async def _without_exit(work: Coroutine[Any, Any, T], exits: list[BaseException]) -> T | None:
    """These would end the other loop, and the program with it."""
    try:
        return await work
    except (SystemExit, KeyboardInterrupt) as error:
        exits.append(error)
        return None
