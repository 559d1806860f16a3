"""Generic plans are discarded regularly."""

from __future__ import annotations

from typing import Any

import asyncpg

from harness.store.nodes import (
    add,
    claim,
    open_stores,
    other_connection,
)
from quarterjack import rules
from quarterjack.rules import Ending, Outcome
from quarterjack.store.address import address_of
from quarterjack.store.postgres.group_commit import TRANSACTIONS_PER_PLAN
from quarterjack.store.postgres.store import PostgresStore


def test_a_generic_plan_made_for_an_empty_table_is_discarded(url: str, run: Any):
    """Such a plan may read all runs of a schedule for each of its runs."""

    async def rows_read(connection: asyncpg.Connection) -> int:
        await connection.execute("select pg_stat_force_next_flush()")
        await connection.execute("select pg_stat_clear_snapshot()")
        query = "select sum(idx_tup_read)::int from pg_stat_user_indexes where schemaname = $1"
        return int(await connection.fetchval(query, address_of(url).schema))

    async def fire(store: PostgresStore) -> None:
        await store.change_schedule(1, rules.run_now, store.now())
        (run,) = await claim(store, "w")
        ended = Outcome(Ending.SUCCEEDED, store.now())
        await store.settle_runs("w", [(run, ended)], rules.settle, ended.at)

    async def read() -> int:
        async with open_stores(url, 1) as (store,):
            await add(store, if_running="allow")
            await store.plan_due(store.now(), 10, rules.plan)
            await claim(store, "w")
            await fire(store)
            other = await other_connection(url)
            await other.execute(ADD_HISTORY)
            for _ in range(TRANSACTIONS_PER_PLAN):
                await claim(store, "w")
            connection = await store._executor.connection.get()
            before = await rows_read(connection)
            await fire(store)
            after = await rows_read(connection)
            await other.close()
            return after - before

    assert run(read()) < 1000


ADD_HISTORY = """
    insert into runs
    select
        schedule_id, number + each + 10, kind, slot - each, ready_at, planned_at, scope, gate,
        version, request, 'succeeded', reason, priority, queue, caught_up, attempt, failures,
        losses, worker, started_at, lease_until, 5, cancel, error, result
    from runs, generate_series(1, 20000) as each
    where number = 0
"""
