"""What a node needs of the database while a task blocks its event loop: leases, heartbeats, the
clock, and notifications of other nodes. It has a connection of its own, so that no long batch
delays a renewal, and belongs to the event loop that uses it first."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar

import asyncpg

from quarterjack.rules.definition.target import TargetKinds
from quarterjack.store.address import Address
from quarterjack.store.postgres.clock import DatabaseClock
from quarterjack.store.postgres.connection import ManagedConnection
from quarterjack.store.postgres.errors import as_store_error
from quarterjack.store.postgres.group_commit import Executor, GroupCommit
from quarterjack.store.specifications import Specifications
from quarterjack.store.statements import Operation, Statements, sql
from quarterjack.store.store import Store
from quarterjack.store.types import HeartbeatResult, NodeInfo

P = ParamSpec("P")
T = TypeVar("T")

STATEMENT_SECONDS = 3
"""For renewals of leases and readings of the clock, which must not wait."""
_HEARTBEAT_FIELDS = [field for field in NodeInfo._fields if field != "seen_at"]
"""`seen_at` is the time of the database."""


class PostgresLeases(Store):
    def __init__(
        self,
        address: Address,
        clock: DatabaseClock,
        connection: ManagedConnection,
        own: ManagedConnection,
        kinds: TargetKinds,
    ) -> None:
        """`own`: the connection of the same node that sends notifications."""
        super().__init__(kinds)
        self._address = address
        self._clock = clock
        self._own = own
        self._channel = channel_of(address)
        self.connection = connection
        connection.on_connect.append(self._prepare)
        self._operations = GroupCommit(Executor(connection, address, Specifications(kinds)))
        self._hint: Callable[[], None] = lambda: None
        self.node: NodeInfo | None = None
        """Sends heartbeats once it is registered."""

    def now(self) -> int:
        return self._clock.now()

    async def read_clock(self) -> int:
        await self._clock.fetch(self.connection, "read_clock")
        return self.now()

    async def heartbeat(self) -> HeartbeatResult:
        ahead = self._clock.host_is_ahead
        fields = [None] * len(_HEARTBEAT_FIELDS)
        if self.node is not None:
            node = self.node._replace(ahead=ahead)
            fields = [getattr(node, field) for field in _HEARTBEAT_FIELDS]
        row = await self._clock.fetch(self.connection, "heartbeat", *fields)
        return HeartbeatResult._make((*row[1:], ahead))

    async def watch(self, hint: Callable[[], None]) -> None:
        """Notifications may get lost, for instance behind a pooler; polling covers that."""
        self._hint = hint
        try:
            async with self.connection.lock:
                await self.connection.get()  # it listens from now on
            await asyncio.get_running_loop().create_future()
        except Exception as error:
            self.connection.drop()
            raise as_store_error(error, self._address) from error
        finally:
            self._hint = lambda: None

    async def _prepare(self, connection: asyncpg.Connection) -> None:
        """Listens to notifications, and prepares the renewal of leases, so that the first one takes
        no longer than the others."""
        if not self.connection.is_pooled:
            await connection.add_listener(self._channel, self._on_notification)
            # Optional, so it gives up soon if the table is locked.
            with contextlib.suppress(asyncpg.PostgresError):
                async with connection.transaction():
                    await connection.execute("set local lock_timeout = '100ms'")
                    await connection.fetch(sql("renew_leases", "postgres"), 0, "", [], [], [])

    def _on_notification(self, _connection: Any, pid: int, *_: object) -> None:
        if pid != self._own.server_pid:
            self._hint()

    async def close(self) -> None:
        await self._operations.close()

    async def _transact(
        self, transaction: Callable[P, Statements[T]], *values: P.args, **named: P.kwargs
    ) -> T:
        operation = Operation(transaction.__name__, partial(transaction, *values, **named))
        result: T = await self._operations.run(operation)
        return result


def channel_of(address: Address) -> str:
    """The channel on which the nodes of a database notify each other."""
    return f"quarterjack_{address.schema}"
