"""Looking at a database on PostgreSQL: on a connection of its own, in transactions that cannot
write, from plain functions."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

import asyncpg

from quarterjack.clock import SystemClock
from quarterjack.store.postgres.connection import Address, ManagedConnection, advised, refusal
from quarterjack.store.postgres.executor import walk
from quarterjack.store.postgres.schema import bring_up_to_date
from quarterjack.store.specifications import Specifications
from quarterjack.store.statements import Operation, Query, Row, Statements, sql
from quarterjack.store.transactions.nodes import is_seen
from quarterjack.store.types import NodeInfo

READ_SECONDS = 10


class ReaderBackend:
    def __init__(
        self, address: Address, known: Specifications, seconds: float = READ_SECONDS
    ) -> None:
        self._address = address
        self._known = known
        self._link = ManagedConnection(
            address, "quarterjack reads", seconds, SystemClock().chance, on_made=[self._forget]
        )
        self._loop = asyncio.new_event_loop()
        try:
            self._loop.run_until_complete(self._open())
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
            self.close()
            raise refusal(error, address) from error
        except BaseException:
            self.close()
            raise

    @property
    def is_pooled(self) -> bool:
        return self._link.is_pooled

    def read(self, operation: Operation) -> None:
        """At one moment of the database."""
        self._loop.run_until_complete(self._read(operation))

    def alive(self, nodes: Sequence[NodeInfo]) -> list[NodeInfo]:
        now = self._loop.run_until_complete(self._now())
        return [node for node in nodes if is_seen(node, now)]

    def ask(self, statement: str, *values: Any) -> Sequence[Row]:
        """The rows of one statement."""
        operation = Operation("look", lambda: _asked(statement, values))
        self.read(operation)
        found: Sequence[Row] = operation.answer()
        return found

    def close(self) -> None:
        self._loop.run_until_complete(self._link.close())
        self._loop.close()

    async def _open(self) -> None:
        await bring_up_to_date(await self._link.connection(), self._address, allowed=False)

    async def _forget(self, _: asyncpg.Connection) -> None:
        self._known.prune(is_pooled=self._link.is_pooled)

    async def _now(self) -> int:
        try:
            connection = await self._link.connection()
            return int(await connection.fetchval(sql("read_clock", "postgres")))
        except Exception as error:
            raise advised(error, self._address) from error

    async def _read(self, operation: Operation) -> None:
        try:
            connection = await self._link.connection()
            await connection.execute(
                "begin isolation level repeatable read, read only;"
                f" set local search_path = {self._address.schema}"
            )
            operation.result = (await walk(connection, operation.begin())).value
            self._known.keep([self._known.taken()])
        except Exception as error:
            operation.error = advised(error, self._address)
        with contextlib.suppress(Exception):  # the next one makes another connection
            await (await self._link.connection()).execute("rollback")


def _asked(statement: str, values: Sequence[Any]) -> Statements[list[Row]]:
    return (yield Query(statement, values))
