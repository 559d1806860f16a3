"""The store on SQLite: steps are walked in a thread of their own, or inline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

import apsw

from quarterjack.store.sqlite.executor import Executor, GroupCommitThread, Inline
from quarterjack.store.sqlite.wal import LOG_BYTES_MAX, log_bytes, shorten_log
from quarterjack.store.sqlite.watch import writes
from quarterjack.store.statements import Operation, Query, Statements
from quarterjack.store.store import Store

P = ParamSpec("P")
T = TypeVar("T")

_TOGETHER_SECONDS = 0.02
"""Writes of others that follow each other this closely are one hint."""

_FREE_SHARE = 10
"""One page in so many may hold nothing: what comes next takes it."""


class Clock(Protocol):
    def now(self) -> int: ...
    def monotonic(self) -> int: ...


class SqliteStore(Store):
    """One file, and one connection that writes it."""

    def __init__(
        self, connection: apsw.Connection, path: Path, clock: Clock, *, inline: bool = False
    ) -> None:
        super().__init__()
        self._path = path
        self._log = Path(connection.filename_wal)
        self._clock = clock
        self._walker = Executor(connection, path, self._known, clock)
        self._doing = Inline(self._walker) if inline else GroupCommitThread(self._walker)

    @property
    def statements(self) -> int:
        """How many were asked for so far; a batch counts as one."""
        return self._walker.statements

    def now(self) -> int:
        return self._clock.now()

    async def read_clock(self) -> int:
        return self._clock.now()

    async def watch(self, hint: Callable[[], None]) -> None:
        before = await self._do(_data_version)
        async for _ in writes(self._log):
            await asyncio.sleep(_TOGETHER_SECONDS)
            after = await self._do(_data_version)
            if after != before:
                before = after
                hint()

    async def shorten_log(self) -> int:
        if log_bytes(self._log) > LOG_BYTES_MAX:
            await asyncio.to_thread(shorten_log, self._path)
        return log_bytes(self._log)

    async def give_back_space(self) -> bool:
        return await self._do(_give_back_space)

    async def close(self) -> None:
        await self._doing.close()

    async def _do(self, verb: Callable[P, Statements[T]], *values: P.args, **named: P.kwargs) -> T:
        operation = Operation(verb.__name__, partial(verb, *values, **named))
        return await self._doing.run(operation)  # type: ignore[no-any-return]


def _give_back_space() -> Statements[bool]:
    ((free, pages),) = yield Query("free_pages")
    if free * _FREE_SHARE <= pages:
        return False
    yield Query("give_back_pages")
    ((left, _),) = yield Query("free_pages")
    return bool(left < free)


def _data_version() -> Statements[int]:
    ((version,),) = yield Query("data_version")
    return int(version)
