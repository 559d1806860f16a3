"""The store on PostgreSQL: any number of nodes on one database. A node has two connections: one for
transactions and for notifying others, and one for leases, heartbeats and the notifications of
others (`leases.py`)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar

from quarterjack.clock import SystemClock
from quarterjack.rules.definition.target import TargetKinds
from quarterjack.store.address import Address
from quarterjack.store.postgres.clock import DatabaseClock
from quarterjack.store.postgres.connection import ManagedConnection, connected
from quarterjack.store.postgres.group_commit import (
    STATEMENT_SECONDS,
    Executor,
    GroupCommit,
    settings,
)
from quarterjack.store.postgres.leases import STATEMENT_SECONDS as LEASE_SECONDS
from quarterjack.store.postgres.leases import PostgresLeases, channel_of
from quarterjack.store.postgres.schema import UPGRADE_SECONDS, upgrade_if_old
from quarterjack.store.statements import Operation, Statements
from quarterjack.store.store import Store
from quarterjack.store.transactions.nodes import has_recent_heartbeat, runs_on_this_host
from quarterjack.store.types import HeartbeatResult, NodeInfo, Planned, Rescued, Settled
from quarterjack.times.instants import SECOND

P = ParamSpec("P")
T = TypeVar("T")

NOTIFY_INTERVAL_SECONDS = 0.05
_NO_NOTIFY = frozenset(
    {
        "claim_runs", "renew_leases", "renew_claims", "read_leases", "unsent_notifications",
        "mark_sent", "add_output", "prune", "register", "unregister", "read_metadata", "read_run",
        "due_ids", "count_owned", "read_done_slots",
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
        self._name = name
        options = settings(address, durability)
        main = ManagedConnection(address, name, STATEMENT_SECONDS + 5, clock.chance, options)
        own = ManagedConnection(address, name, LEASE_SECONDS, clock.chance, options)
        self._executor = Executor(main, address, self._specifications)
        self._operations = GroupCommit(self._executor)
        self._database_clock = DatabaseClock(address, clock)
        self._leases = PostgresLeases(address, self._database_clock, own, main, kinds)
        self._notifying: asyncio.Task[None] | None = None

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
        return self._database_clock.now()

    async def read_clock(self) -> int:
        await self._database_clock.fetch(self._executor.connection, "read_clock")
        return self.now()

    def for_leases(self) -> PostgresLeases:
        return self._leases

    async def heartbeat(self) -> HeartbeatResult:
        return await self._leases.heartbeat()

    async def watch(self, hint: Callable[[], None]) -> None:
        await self._leases.watch(hint)

    async def register(self, node: NodeInfo) -> None:
        await super().register(node)
        self._leases.node = node

    def is_alive(self, node: NodeInfo) -> bool:
        runs = runs_on_this_host(node)
        return has_recent_heartbeat(node, self.now()) if runs is None else runs

    def _notify_soon(self) -> None:
        """Once for many commits, and outside of transactions: NOTIFY takes a lock at commit, for
        which concurrent transactions would queue up."""
        if self._notifying is None or self._notifying.done():
            self._notifying = asyncio.create_task(self._notify())

    async def _notify(self) -> None:
        await asyncio.sleep(NOTIFY_INTERVAL_SECONDS)
        with contextlib.suppress(Exception):  # polling covers lost notifications
            link = self._executor.connection
            async with link.lock:
                await (await link.get()).execute(f"notify {channel_of(self._address)}")

    async def close(self) -> None:
        if self._notifying is not None:
            self._notifying.cancel()
        await self._operations.close()
        await self._leases.close()

    async def _transact(
        self, transaction: Callable[P, Statements[T]], *values: P.args, **named: P.kwargs
    ) -> T:
        name = transaction.__name__
        operation = Operation(name, partial(transaction, *values, **named))
        result: T = await self._operations.run(operation)
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
