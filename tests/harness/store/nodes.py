"""Several nodes on one PostgreSQL database, and shortcuts for what tests do with them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from harness.store.stores import new
from quarterjack import rules
from quarterjack.clock import SystemClock
from quarterjack.rules import Limits, Outcome, Run
from quarterjack.store.address import address_of
from quarterjack.store.postgres.group_commit import settings
from quarterjack.store.postgres.store import PostgresStore
from quarterjack.store.types import NewSchedule
from quarterjack.targets.kinds import KINDS
from quarterjack.times.instants import HOUR, SECOND


@asynccontextmanager
async def open_stores(url: str, count: int = 2) -> AsyncIterator[list[PostgresStore]]:
    """One store for each node."""
    nodes = [
        PostgresStore(address_of(url), SystemClock(), f"node {n}", KINDS) for n in range(count)
    ]
    await asyncio.gather(*(node.open(create=True) for node in nodes))
    try:
        yield nodes
    finally:
        await asyncio.gather(*(node.close() for node in nodes))


async def other_connection(url: str) -> asyncpg.Connection:
    """A connection beside those of the nodes, with the same settings but no idle timeout."""
    address = address_of(url)
    connection = await asyncpg.connect(address.url)
    commands = "; ".join(f"set {name} = {value}" for name, value in settings(address).items())
    await connection.execute(f"{commands}; set idle_in_transaction_session_timeout = 0")
    return connection


async def add(store: PostgresStore, count: int = 1, key_prefix: str = "k", **fields: Any) -> None:
    """Add schedules that are due."""
    then = store.now() - 2 * HOUR
    fields = {"every": "1h", **fields}
    wanted = [new(f"{key_prefix}{number}", then, **fields) for number in range(count)]

    def decide(identity: int, each: NewSchedule, active: int) -> Any:
        return rules.create(
            identity, each.key, each.specification, then, active=active, limits=Limits()
        )

    await store.add_schedules(lambda _: (wanted, decide), then)


def pause(facts: Any, now: int) -> Any:
    return rules.pause(facts, now, by="ada")


async def claim(store: PostgresStore, worker: str, limit: int = 1000) -> list[Run]:
    now = store.now()
    found = await store.claim_runs(worker, ["default"], limit, now + 10 * SECOND, now)
    return [each.run for each in found.claims]


async def settle(store: PostgresStore, ended: list[tuple[Run, Outcome]]) -> Any:
    return await store.settle_runs("w1", ended, rules.settle, store.now())


async def wait_for_lock(url: str) -> None:
    """Until a transaction waits for a lock."""
    connection = await other_connection(url)
    query = "select count(*) from pg_locks where not granted"
    for _ in range(500):
        if await connection.fetchval(query):
            break
        await asyncio.sleep(0.01)
    else:
        raise AssertionError("no transaction waits for a lock")
    await connection.close()
