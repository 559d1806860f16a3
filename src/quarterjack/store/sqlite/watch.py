"""Watch: did another process write to the database? A hint, so that nobody has to ask it.

On Linux the kernel tells (inotify on the folder); elsewhere, and where it does not, the size and
date of the log file are looked at once a second. Neither costs a statement while nobody writes.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

POLL_SECONDS = 1.0
_MODIFIED, _CREATED, _MOVED_TO = 0x2, 0x100, 0x80


async def writes(log: Path) -> AsyncIterator[None]:
    """Once when it is being watched, and whenever this file was written, by whomever."""
    descriptor = _watched(log.absolute().parent)
    yield
    async for _ in _polled(log) if descriptor is None else _told(descriptor, log):
        yield


async def _told(descriptor: int, log: Path) -> AsyncIterator[None]:
    loop, name, woken = asyncio.get_running_loop(), os.fsencode(log.name), asyncio.Event()

    def read() -> None:
        if name in os.read(descriptor, 65536):
            # Whoever writes most is this program itself: until somebody listens again, it is not
            # woken each time.
            loop.remove_reader(descriptor)
            woken.set()

    try:
        while True:
            woken.clear()
            loop.add_reader(descriptor, read)
            await woken.wait()
            yield
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _watched(folder: Path) -> int | None:
    """A descriptor of the kernel's that becomes readable when a file of the folder is written."""
    if sys.platform != "linux":
        return None
    kernel = ctypes.CDLL(None, use_errno=True)
    descriptor = int(kernel.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
    if descriptor < 0:  # too many are in use
        return None
    wanted = _MODIFIED | _CREATED | _MOVED_TO
    if kernel.inotify_add_watch(descriptor, os.fsencode(folder), wanted) < 0:
        os.close(descriptor)
        return None
    return descriptor


async def _polled(log: Path) -> AsyncIterator[None]:
    before = _seen(log)
    while True:
        await asyncio.sleep(POLL_SECONDS)
        after = _seen(log)
        if after != before:
            before = after
            yield


def _seen(log: Path) -> tuple[int, int] | None:
    try:
        status = log.stat()
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns
