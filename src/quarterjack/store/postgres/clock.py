"""The clock of the database, which decides for all nodes: its last reading, plus the time that has
passed on this host since then."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

import asyncpg

from quarterjack.clock import SystemClock
from quarterjack.store.address import Address
from quarterjack.store.postgres.connection import ManagedConnection
from quarterjack.store.postgres.errors import as_store_error
from quarterjack.store.statements import sql
from quarterjack.times.instants import MILLISECOND, SECOND

SLOW_ROUND_TRIP = 100 * MILLISECOND
"""A slower reading of the clock is used only if there is no better one."""


class DatabaseClock:
    """Any thread may ask it for the time; one at a time may read it from the database."""

    def __init__(self, address: Address, host: SystemClock) -> None:
        self._address = address
        self._host_clock = host
        self._offset: int | None = None
        """Of the database's clock from this host's time since boot."""
        self._round_trip = 0
        self._read_at = 0

    def now(self) -> int:
        assert self._offset is not None, "a store is opened before it is used"
        return self._host_clock.since_boot() + self._offset

    @property
    def host_is_ahead(self) -> int:
        """How far the clock of this host is ahead of the database's."""
        return self._host_clock.now() - self.now()

    async def fetch(self, link: ManagedConnection, statement: str, *values: Any) -> Sequence[Any]:
        """A row whose first column is the time of the database."""
        try:
            async with link.lock:
                connection = await link.get()
                async with self._search_path(link, connection):
                    sent_at = self._host_clock.since_boot()
                    row = await connection.fetchrow(sql(statement, "postgres"), *values)
                    assert row is not None
                    self._set(row[0], sent_at)
        except Exception as error:
            link.drop()
            raise as_store_error(error, self._address) from error
        return tuple(row)

    @contextlib.asynccontextmanager
    async def _search_path(
        self, link: ManagedConnection, connection: asyncpg.Connection
    ) -> AsyncIterator[None]:
        """Set for one transaction behind a pooler; a direct connection has it already."""
        if link.is_pooled:
            await connection.execute(f"begin; set local search_path = {self._address.schema}")
        yield
        if link.is_pooled:
            await connection.execute("commit")

    def _set(self, instant: int, sent_at: int) -> None:
        """The clock was read in the middle of the round trip. A slow round trip is less accurate,
        so it is used only if the last good one is a minute old."""
        round_trip = self._host_clock.since_boot() - sent_at
        is_better = round_trip <= max(self._round_trip, SLOW_ROUND_TRIP)
        if self._offset is None or is_better or sent_at > self._read_at + 60 * SECOND:
            self._offset = instant - sent_at - round_trip // 2
            self._round_trip, self._read_at = round_trip, sent_at
