"""The store on PostgreSQL: any number of nodes on one database. A node has two connections: one for
transactions, and one for leases, the clock and notifications, so that no long batch delays a
renewal."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any, ParamSpec, TypeVar

import asyncpg

from quarterjack.clock import SystemClock
from quarterjack.rules.definition.target import TargetKinds
from quarterjack.store.address import Address
from quarterjack.store.postgres.connection import ManagedConnection, connected
from quarterjack.store.postgres.errors import as_store_error
from quarterjack.store.postgres.group_commit import (
    SINGLE_STATEMENT,
    STATEMENT_SECONDS,
    Executor,
    GroupCommit,
    settings,
)
from quarterjack.store.postgres.schema import UPGRADE_SECONDS, upgrade_if_old
from quarterjack.store.specifications import Specifications
from quarterjack.store.statements import Operation, Statements, sql
from quarterjack.store.store import Store
from quarterjack.store.transactions.nodes import has_recent_heartbeat, runs_on_this_host
from quarterjack.store.types import HeartbeatResult, NodeInfo, Planned, Rescued, Settled
from quarterjack.times.instants import MILLISECOND, SECOND

P = ParamSpec("P")
T = TypeVar("T")

LEASE_STATEMENT_SECONDS = 3
"""For renewals of leases and readings of the clock, which must not wait."""
SLOW_ROUND_TRIP = 100 * MILLISECOND
"""A slower reading of the clock is used only if there is no better one."""
NOTIFY_INTERVAL_SECONDS = 0.05
_HEARTBEAT_FIELDS = [field for field in NodeInfo._fields if field != "seen_at"]
"""`seen_at` is the time of the database."""

_NO_NOTIFY = frozenset(
    {
        "claim_runs", "renew_leases", "read_leases", "unsent_notifications", "mark_sent",
        "add_output", "prune", "register", "unregister", "read_metadata", "read_run", "due_ids",
        "count_owned", "read_done_slots",
    }
)  # fmt: skip
"""They make no work for other nodes."""


class PostgresStore(Store):
    heartbeat_interval = 5 * SECOND

    def __init__(
        self,
        address: Address,
        clock: SystemClock,
        name: str,
        kinds: TargetKinds,
        durability: str = "full",
    ) -> None:
        super().__init__(kinds)
        self._address = address
        self._clock = clock
        self._name = name
        self._channel = f"quarterjack_{address.schema}"
        options = settings(address, durability)
        main = ManagedConnection(address, name, STATEMENT_SECONDS + 5, clock.chance, options)
        leases = ManagedConnection(address, name, LEASE_STATEMENT_SECONDS, clock.chance, options)
        leases.on_connect.append(self._prepare)
        self._lease_connection = leases
        self._executor = Executor(main, address, self._specifications)
        self._operations = GroupCommit(self._executor)
        self._lease_operations = GroupCommit(Executor(leases, address, Specifications(kinds)))
        self._hint: Callable[[], None] = lambda: None
        self._offset: int | None = None
        """Of the database's clock from this host's time since boot."""
        self._round_trip = 0
        self._clock_read_at = 0
        self._notifying: asyncio.Task[None] | None = None
        self._node: NodeInfo | None = None
        """Sends heartbeats once it is registered."""

    async def open(self, *, create: bool) -> PostgresStore:
        """Connect, at the current schema. `create` allows to create or upgrade it."""
        try:
            # Without the settings for transactions: a migration may take long, and may scan tables.
            async with connected(self._address, self._name, UPGRADE_SECONDS) as connection:
                await upgrade_if_old(connection, self._address, allowed=create)
                await self.read_clock()
        except BaseException:
            await self.close()
            raise
        return self

    @property
    def statements(self) -> int:
        """How many were executed so far; a batch counts as one."""
        return self._executor.statements

    def now(self) -> int:
        assert self._offset is not None, "a store is opened before it is used"
        return self._clock.since_boot() + self._offset

    async def read_clock(self) -> int:
        await self._fetch_with_clock("read_clock")
        return self.now()

    async def heartbeat(self) -> HeartbeatResult:
        ahead = self._clock.now() - self.now()
        fields = [None] * len(_HEARTBEAT_FIELDS)
        if self._node is not None:
            node = self._node._replace(ahead=ahead)
            fields = [getattr(node, field) for field in _HEARTBEAT_FIELDS]
        row = await self._fetch_with_clock("heartbeat", *fields)
        return HeartbeatResult._make((*row[1:], ahead))

    async def register(self, node: NodeInfo) -> None:
        await super().register(node)
        self._node = node

    def is_alive(self, node: NodeInfo) -> bool:
        runs = runs_on_this_host(node)
        return has_recent_heartbeat(node, self.now()) if runs is None else runs

    async def _fetch_with_clock(self, statement: str, *values: Any) -> Sequence[Any]:
        """A row whose first column is the time of the database."""
        try:
            async with self._lease_connection.lock:
                connection = await self._lease_connection.get()
                async with self._search_path(connection):
                    sent_at = self._clock.since_boot()
                    row = await connection.fetchrow(sql(statement, "postgres"), *values)
                    assert row is not None
                    self._set_clock(row[0], sent_at)
        except Exception as error:
            self._lease_connection.drop()
            raise as_store_error(error, self._address) from error
        return tuple(row)

    @contextlib.asynccontextmanager
    async def _search_path(self, connection: asyncpg.Connection) -> AsyncIterator[None]:
        """Set for one transaction behind a pooler; a direct connection has it already."""
        if self._lease_connection.is_pooled:
            await connection.execute(f"begin; set local search_path = {self._address.schema}")
        yield
        if self._lease_connection.is_pooled:
            await connection.execute("commit")

    def _set_clock(self, instant: int, sent_at: int) -> None:
        """The clock was read in the middle of the round trip. A slow round trip is less accurate,
        so it is used only if the last good one is a minute old."""
        round_trip = self._clock.since_boot() - sent_at
        is_better = round_trip <= max(self._round_trip, SLOW_ROUND_TRIP)
        if self._offset is None or is_better or sent_at > self._clock_read_at + 60 * SECOND:
            self._offset = instant - sent_at - round_trip // 2
            self._round_trip, self._clock_read_at = round_trip, sent_at

    async def watch(self, hint: Callable[[], None]) -> None:
        """Notifications may get lost, for instance behind a pooler; polling covers that."""
        self._hint = hint
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._hint = lambda: None

    async def _prepare(self, connection: asyncpg.Connection) -> None:
        """Listens to notifications, and prepares the renewal of leases, so that the first one takes
        no longer than the others."""
        if not self._lease_connection.is_pooled:
            await connection.add_listener(self._channel, self._on_notification)
            # Optional, so it gives up soon if the table is locked.
            with contextlib.suppress(asyncpg.PostgresError):
                async with connection.transaction():
                    await connection.execute("set local lock_timeout = '100ms'")
                    await connection.fetch(sql("renew_leases", "postgres"), 0, "", [], [], [])

    def _on_notification(self, connection: Any, pid: int, *_: object) -> None:
        if pid != connection.get_server_pid():
            self._hint()

    def _notify_soon(self) -> None:
        """Once for many commits, and outside of transactions: NOTIFY takes a lock at commit, for
        which concurrent transactions would queue up."""
        if self._notifying is None or self._notifying.done():
            self._notifying = asyncio.create_task(self._notify())

    async def _notify(self) -> None:
        await asyncio.sleep(NOTIFY_INTERVAL_SECONDS)
        with contextlib.suppress(Exception):  # polling covers lost notifications
            async with self._lease_connection.lock:
                connection = await self._lease_connection.get()
                await connection.execute(f"notify {self._channel}")

    async def close(self) -> None:
        if self._notifying is not None:
            self._notifying.cancel()
        await self._operations.close()
        await self._lease_operations.close()

    async def _transact(
        self, transaction: Callable[P, Statements[T]], *values: P.args, **named: P.kwargs
    ) -> T:
        name = transaction.__name__
        operation = Operation(name, partial(transaction, *values, **named))
        queue = self._lease_operations if name in SINGLE_STATEMENT else self._operations
        result: T = await queue.run(operation)
        if _makes_work(name, result):
            self._notify_soon()
        return result


def _makes_work(operation: str, result: Any) -> bool:
    """Whether other nodes should be notified."""
    if isinstance(result, Planned):
        return result.added > 0 or result.has_cancelled
    if isinstance(result, Settled):
        is_retried = any(run.finished_at is None for run in result.settled)
        return result.next_wake is not None or is_retried
    if isinstance(result, Rescued):
        return bool(result.lost)
    return operation not in _NO_NOTIFY
