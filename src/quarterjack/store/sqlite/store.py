"""The store on SQLite: one file, and one connection that writes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

import apsw

from quarterjack.clock import Clock
from quarterjack.rules.definition.target import TargetKinds
from quarterjack.store.sqlite.executor import Executor, GroupCommitThread, InlineExecutor
from quarterjack.store.sqlite.wal import WAL_BYTES_MAX, checkpoint, wal_bytes
from quarterjack.store.sqlite.watch import writes
from quarterjack.store.statements import Operation, Query, Statements
from quarterjack.store.store import Store

P = ParamSpec("P")
T = TypeVar("T")

_COALESCE_SECONDS = 0.02
"""Writes of other processes that follow each other this closely cause one hint."""
_FREE_PAGES_SHARE = 10
"""A tenth of the pages may be free: the next rows take them."""


class SqliteStore(Store):
    def __init__(
        self,
        connection: apsw.Connection,
        path: Path,
        clock: Clock,
        kinds: TargetKinds,
        *,
        inline: bool = False,
    ) -> None:
        super().__init__(kinds)
        self._path = path
        self._wal = Path(connection.filename_wal)
        self._clock = clock
        self._executor = Executor(connection, path, self._specifications, clock)
        self._operations = (InlineExecutor if inline else GroupCommitThread)(self._executor)

    @property
    def statements(self) -> int:
        """How many were executed so far; a batch counts as one."""
        return self._executor.statements

    def now(self) -> int:
        return self._clock.now()

    async def read_clock(self) -> int:
        return self._clock.now()

    async def watch(self, hint: Callable[[], None]) -> None:
        before = await self._transact(_data_version)
        async for _ in writes(self._wal):
            await asyncio.sleep(_COALESCE_SECONDS)
            after = await self._transact(_data_version)
            if after != before:
                before = after
                hint()

    async def checkpoint(self) -> int:
        if wal_bytes(self._wal) > WAL_BYTES_MAX:
            await asyncio.to_thread(checkpoint, self._path)
        return wal_bytes(self._wal)

    async def vacuum(self) -> bool:
        return await self._transact(_vacuum)

    async def close(self) -> None:
        await self._operations.close()

    async def _transact(
        self, transaction: Callable[P, Statements[T]], *values: P.args, **named: P.kwargs
    ) -> T:
        operation = Operation(transaction.__name__, partial(transaction, *values, **named))
        return await self._operations.run(operation)  # type: ignore[no-any-return]


def _vacuum() -> Statements[bool]:
    ((free, pages),) = yield Query("free_pages")
    if free * _FREE_PAGES_SHARE <= pages:
        return False
    yield Query("incremental_vacuum")
    ((left, _),) = yield Query("free_pages")
    return bool(left < free)


def _data_version() -> Statements[int]:
    ((version,),) = yield Query("data_version")
    return int(version)
