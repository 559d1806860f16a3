"""Calls as a worker makes them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from harness.rules.values import at
from quarterjack.targets.call import Answer, Call
from quarterjack.targets.context import Context, current_context
from quarterjack.targets.functions import Functions, call_sync
from quarterjack.targets.processes.pool import ProcessPool
from quarterjack.targets.results import answer_of
from quarterjack.targets.task import TaskTarget

Function = Callable[..., Any]


class NoControl:
    """Of an attempt without a timeout, which nobody cancels."""

    def deadline(self) -> int | None:
        return None

    def is_cancelled(self) -> bool:
        return False

    def extend(self, timeout: int) -> None:
        """There is no timeout."""

    def report(self, fraction: float, text: str) -> None:
        """Nobody reads it."""


def current_call() -> Call:
    """The call of the running task."""
    return Context.current()._call


def new_call(out: list[bytes] | None = None, payload: Any = None, **fields: Any) -> Call:
    chunks = [] if out is None else out
    return Call(
        "7-3",
        7,
        "nightly",
        None,
        at("09:00"),
        2,
        3,
        payload or {},
        None,
        "ada",
        fields,
        lambda data, level=0: chunks.append(data),
        NoControl(),
    )


class _SameProcess:
    """Where a worker has a pool of processes: calls sync functions as a task process does, but in
    a thread of this one, so that tests of arguments and dependencies can use local functions."""

    def __init__(self, functions: Mapping[tuple[str, str], Function]) -> None:
        self._functions = functions

    async def call(
        self,
        name: tuple[str, str],
        call: Call,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] = {},
    ) -> Answer:
        function = self._functions[name]
        args, kwargs, payload = json.loads(json.dumps([args, kwargs, call.payload]))
        context = Context(call._replace(payload=payload))
        token = current_context.set(context)
        try:
            result = await asyncio.to_thread(call_sync, function, context, args, kwargs)
        finally:
            current_context.reset(token)
        return answer_of(result, function)

    async def close(self) -> None:
        """Nothing is held."""


def functions_here(
    named: Mapping[tuple[str, str], Function] = {}, loop: asyncio.AbstractEventLoop | None = None
) -> Functions:
    """Calls all functions in this process: by kind and name, if they are sync."""
    return Functions(loop, cast("ProcessPool", _SameProcess(named)))


def tasks_here(
    tasks: Mapping[str, Function], loop: asyncio.AbstractEventLoop | None = None
) -> TaskTarget:
    """The target `task`, with functions that are called in this process."""
    return TaskTarget(tasks, functions_here({("task", each): tasks[each] for each in tasks}, loop))
