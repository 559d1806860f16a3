"""A PostgreSQL database with three nodes, for pairs of transactions that run at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import asyncpg

from harness.rules.values import at
from harness.store.stores import new, put_limits
from quarterjack import rules
from quarterjack.clock import SystemClock
from quarterjack.rules import Ending, Limits, Outcome, Run
from quarterjack.store.address import address_of
from quarterjack.store.postgres.errors import is_retryable
from quarterjack.store.postgres.store import PostgresStore
from quarterjack.store.types import Caller, NewSchedule
from quarterjack.targets.kinds import KINDS
from quarterjack.times.instants import HOUR, SECOND

NOW, BEFORE = at("10:00"), at("09:00")
LIMITS = Limits(max_scheduled_jobs=5)
CALLER = Caller("ada", "test", "test")

IF_RUNNING = ("allow", "skip", "queue", "cancel")
"""The policies that a database is made for."""
TABLES: dict[str, list[str]] = {
    "counters": [],
    "metadata": [],
    "schedules": [],
    "specifications": [],
    "runs": ["request"],
    "attempts": [],
    "slots_not_run": [],
    "gates": [],
    "gate_changes": ["id"],
    "planner_state": [],
    "events": ["id", "about", "detail"],
    "outbox": ["id"],
    "audit": ["id"],
    "nodes": [],
    "daily_stats": [],
}
"""Each with the columns that depend only on which transaction came first."""


class PairDatabase:
    """Five schedules at 10:00, of which three are due, two of these of one plugin; and three nodes.

    One run of the plugin is running, and the lease of its worker w1 has expired. A run of the third
    schedule has failed, and waits for its retry. The fourth schedule is not due; its run has failed
    and is closed. The fifth is paused; if it is resumed, the limit of active ones is reached."""

    running: Run
    waiting: Run
    closed: Run
    connection: asyncpg.Connection

    def __init__(self, url: str, if_running: str) -> None:
        self.if_running = if_running
        self.serial_states: dict[tuple[Any, ...], tuple[str, ...]] = {}
        """The rows after transactions that ran one after the other."""
        self._address = address_of(url)
        self._nodes = [PostgresStore(self._address, SystemClock(), name, KINDS) for name in "abc"]
        self.paused, self.other, self.fresh = self._nodes

    async def open(self) -> PairDatabase:
        for node in self._nodes:
            await node.open(create=True)
        self.connection = await asyncpg.connect(self._address.url)
        await self.connection.execute(f"set search_path = {self._address.schema}")
        await self._fill()
        for table in TABLES:
            await self.connection.execute(f"create table saved_{table} as table {table}")
        return self

    async def _fill(self) -> None:
        store, then = self.paused, BEFORE - HOUR
        await put_limits(store, LIMITS)
        shared = {"plugin": "p", "circuit_breaker": {"threshold": 1, "reset_after": "10m"}}
        common = {
            "every": "1h",
            "if_running": self.if_running,
            "max_outstanding_polls": 0,
            "max_retries": 3,
            "retry_delay": "1s",
        }
        schedules = [
            new("alpha", then, **shared, **common),
            new("gamma", then, **common),
            new("beta", then, **shared, **common),
            new("delta", then, every="3h", first_run="now"),
            new("epsilon", then, every="3h"),
        ]
        owned = [each._replace(owner="file") for each in schedules]
        await store.add_schedules(lambda _: (owned, partial(create, then)), then)
        self.closed = await self._failed(then)
        await store.change_schedule("epsilon", partial(rules.pause, by="ada"), then)
        await store.plan_due(BEFORE, 10, rules.plan)
        found = await store.claim_runs("w1", ["default"], 2, NOW - SECOND, BEFORE)
        runs = {claim.key == "gamma": claim.run for claim in found.claims}
        self.running, self.waiting = runs[False], runs[True]
        await self._fail(self.waiting, BEFORE)

    async def _failed(self, now: int) -> Run:
        """A closed run that has failed."""
        await self.paused.plan_due(now, 10, rules.plan)
        found = await self.paused.claim_runs("w1", ["default"], 1, now + SECOND, now)
        await self._fail(found.claims[0].run, now)
        return found.claims[0].run

    async def _fail(self, run: Run, now: int) -> None:
        failed = Outcome(Ending.FAILED, now, "exit code 1")
        await self.paused.settle_runs("w1", [(run, failed)], rules.settle, now)

    async def close(self) -> None:
        await self.connection.close()
        for node in self._nodes:
            await node.close()

    async def restore(self) -> None:
        """The initial rows, with empty caches on all nodes."""
        for node in self._nodes:
            node._specifications._cached.clear()
            for link in (node._executor.connection, node.for_leases().connection):
                async with link.lock:
                    if isinstance(link._connection, PausingConnection):
                        link._connection = link._connection._connection
        await self.lose_transactions()

    async def lose_transactions(self) -> None:
        parts = [f"delete from {table}" for table in TABLES]
        parts += [
            f"insert into {table} overriding system value table saved_{table}" for table in TABLES
        ]
        await self.connection.execute("; ".join(parts))

    async def state(self) -> tuple[str, ...]:
        parts = [
            f"select '{table} ' || (to_jsonb(t) - array{hidden}::text[])::text from {table} t"
            for table, hidden in TABLES.items()
        ]
        # One event may be about the runs of one transaction, or of two.
        parts.append(
            "select concat_ws(' ', 'event', kind, at, each, detail)"
            " from events, jsonb_array_elements_text(about::jsonb) each"
        )
        rows = await self.connection.fetch(" union all ".join(parts))
        return tuple(sorted(row[0] for row in rows))

    async def is_blocked(self, store: PostgresStore) -> bool:
        """Does a connection of this node wait for a lock?"""
        links = (store._executor.connection, store.for_leases().connection)
        pids = [link._connection.get_server_pid() for link in links if link._connection is not None]
        query = "select bool_or(cardinality(pg_blocking_pids(pid)) > 0) from unnest($1::int[]) pid"
        return bool(await self.connection.fetchval(query, pids))


class PausingConnection:
    """A connection that pauses before one of its statements until it is resumed."""

    def __init__(self, connection: Any, before: int | None) -> None:
        self._connection = connection
        self._before = before
        self.executed = 0
        self.paused, self.resumed = asyncio.Event(), asyncio.Event()
        self.conflicts: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def fetch(self, *arguments: Any) -> Any:
        return await self._pause_and(self._connection.fetch, arguments)

    async def execute(self, *arguments: Any) -> Any:
        if arguments[0].startswith("notify "):  # sent some time after the transaction, by itself
            return await self._connection.execute(*arguments)
        return await self._pause_and(self._connection.execute, arguments)

    async def _pause_and(
        self, execute: Callable[..., Awaitable[Any]], arguments: Sequence[Any]
    ) -> Any:
        if self.executed == self._before:
            self.paused.set()
            await self.resumed.wait()
        self.executed += 1
        try:
            return await execute(*arguments)
        except asyncpg.PostgresError as error:
            if is_retryable(error):
                self.conflicts.append(f"{error}: {arguments[0]}")
            raise


async def pause_before(store: PostgresStore, before: int | None) -> list[PausingConnection]:
    """The connections of a node. Both pause there; the second one is that for leases."""
    connections = []
    for link in (store._executor.connection, store.for_leases().connection):
        async with link.lock:
            connections.append(PausingConnection(await link.get(), before))
            link._connection = connections[-1]  # type: ignore[assignment]
    return connections


def create(now: int, identity: int, each: NewSchedule, active: int) -> Any:
    return rules.create(identity, each.key, each.specification, now, active=active, limits=LIMITS)
