"""Reads for the API, the command line and the dashboard: on a connection of their own, in read-only
transactions, from synchronous functions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from quarterjack.clock import SystemClock
from quarterjack.store.address import Address
from quarterjack.store.postgres.connection import ManagedConnection
from quarterjack.store.postgres.errors import DRIVER_ERRORS, as_startup_error, as_store_error
from quarterjack.store.postgres.group_commit import Executor
from quarterjack.store.postgres.schema import upgrade_if_old
from quarterjack.store.specifications import Specifications
from quarterjack.store.statements import Operation, Query, Row, Statements, sql
from quarterjack.store.transactions.nodes import has_recent_heartbeat
from quarterjack.store.types import NodeInfo

READ_SECONDS = 10


class PostgresReader:
    def __init__(
        self, address: Address, specifications: Specifications, seconds: float = READ_SECONDS
    ) -> None:
        self._address = address
        chance = SystemClock().chance
        self._connection = ManagedConnection(address, "quarterjack reads", seconds, chance)
        self._executor = Executor(self._connection, address, specifications)
        self._loop = asyncio.new_event_loop()
        try:
            self._loop.run_until_complete(self._open())
        except BaseException as error:
            self.close()
            if isinstance(error, DRIVER_ERRORS):
                raise as_startup_error(error, address) from error
            raise

    async def _open(self) -> None:
        await upgrade_if_old(await self._connection.get(), self._address, allowed=False)

    @property
    def is_pooled(self) -> bool:
        return self._connection.is_pooled

    def read(self, operation: Operation) -> None:
        self._loop.run_until_complete(self._executor.read(operation))

    def alive(self, nodes: Sequence[NodeInfo]) -> list[NodeInfo]:
        now = self._loop.run_until_complete(self._now())
        return [node for node in nodes if has_recent_heartbeat(node, now)]

    async def _now(self) -> int:
        try:
            connection = await self._connection.get()
            return int(await connection.fetchval(sql("read_clock", "postgres")))
        except Exception as error:
            raise as_store_error(error, self._address) from error

    def query(self, statement: str, *values: Any) -> Sequence[Row]:
        operation = Operation("query", lambda: _query(statement, values))
        self.read(operation)
        found: Sequence[Row] = operation.answer()
        return found

    def close(self) -> None:
        self._loop.run_until_complete(self._connection.close())
        self._loop.close()


def _query(statement: str, values: Sequence[Any]) -> Statements[list[Row]]:
    return (yield Query(statement, values))
