"""Notices that a process has written to the database, without a query.

On Linux with inotify on its folder; elsewhere, and where inotify is not available, by checking the
size and date of the WAL once a second. Neither costs a statement while nothing is written.
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


async def writes(wal: Path) -> AsyncIterator[None]:
    """Yields once as soon as the file is watched, and then whenever any process writes it."""
    inotify = _inotify(wal.absolute().parent)
    yield
    async for _ in _poll(wal) if inotify is None else _wait(inotify, wal):
        yield


async def _wait(inotify: int, wal: Path) -> AsyncIterator[None]:
    loop, name, woken = asyncio.get_running_loop(), os.fsencode(wal.name), asyncio.Event()

    def read() -> None:
        if name in os.read(inotify, 65536):
            # Most writes are this program's own: do not wake up for each of them until the
            # consumer asks for the next one.
            loop.remove_reader(inotify)
            woken.set()

    try:
        while True:
            woken.clear()
            loop.add_reader(inotify, read)
            await woken.wait()
            yield
    finally:
        loop.remove_reader(inotify)
        os.close(inotify)


def _inotify(folder: Path) -> int | None:
    """A descriptor that becomes readable when a file in the folder is written."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = int(libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
    if descriptor < 0:  # the limit of instances is reached
        return None
    mask = _MODIFIED | _CREATED | _MOVED_TO
    if libc.inotify_add_watch(descriptor, os.fsencode(folder), mask) < 0:
        os.close(descriptor)
        return None
    return descriptor


async def _poll(wal: Path) -> AsyncIterator[None]:
    before = _size_and_date(wal)
    while True:
        await asyncio.sleep(POLL_SECONDS)
        after = _size_and_date(wal)
        if after != before:
            before = after
            yield


def _size_and_date(wal: Path) -> tuple[int, int] | None:
    try:
        status = wal.stat()
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns
