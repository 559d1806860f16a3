"""Several worker processes on one database: how much do they slow each other down?

All runs are queued before the workers start. Each worker is a node in a process of its own that
does not plan, as `quarterjack worker` is, and its task does nothing.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.synchronize import Barrier, Event
from typing import NamedTuple

import asyncpg

from bench import ours
from bench.databases import Database, fetch_value
from bench.measuring import apart
from quarterjack.control import Control
from quarterjack.times.instants import MINUTE, SECOND

POLL_SECONDS = 0.02
TIMEOUT_SECONDS = 300.0


class Worked(NamedTuple):
    per_second: float
    waiting: float
    """Processes that waited for a lock, on average."""
    deadlocks: int


async def fill(database: Database, count: int, schedules: int) -> None:
    """Adds queued runs, of so many schedules."""
    now, each = ours.CLOCK.now(), count // schedules
    fields = [{"every": "1m", "if_running": "allow"}] * schedules
    async with ours.opened(database) as store:
        made = await ours.add(store, ours.new_schedules(fields, now), now)
        control = Control(store, by="bench", origin="bench")
        for schedule in made:
            until = schedule.anchor_at
            await control.backfill(schedule.id, until - (each - 1) * MINUTE, until)
        planner = ours.planner(store)
        while await _queued(database) < count:
            await planner.step(ours.CLOCK.now() + SECOND)


async def _queued(database: Database) -> int:
    text = "select count(*) from runs where state = 'queued'"
    return int(await asyncio.to_thread(fetch_value, database.url, text))


def work(database: Database, ready: Barrier, over: Event) -> None:
    """One worker. It starts when all are ready."""
    asyncio.run(_work(database, ready, over))


async def _work(database: Database, ready: Barrier, over: Event) -> None:
    async def nothing() -> None: ...

    async with ours.opened(database) as store:
        await asyncio.to_thread(ready.wait, TIMEOUT_SECONDS)
        async with ours.running(store, nothing, plans=False):
            await asyncio.to_thread(over.wait, TIMEOUT_SECONDS)


async def watched(database: Database, count: int, ready: Barrier, over: Event) -> Worked:
    """Polls the database until all runs are settled."""
    connection = await asyncpg.connect(database.url, server_settings={"search_path": "quarterjack"})
    polls, waits = 0, 0
    await asyncio.to_thread(ready.wait, TIMEOUT_SECONDS)
    started = time.perf_counter()
    while await connection.fetchval("select exists (select from runs where finished_at is null)"):
        waits += await connection.fetchval(
            "select count(*) from pg_stat_activity"
            " where datname = current_database() and wait_event_type = 'Lock'"
        )
        polls += 1
        await asyncio.sleep(POLL_SECONDS)
    seconds = time.perf_counter() - started
    over.set()
    text = "select count(*) from runs where state = 'succeeded'"
    assert await connection.fetchval(text) == count
    deadlocks = await connection.fetchval(
        "select deadlocks from pg_stat_database where datname = current_database()"
    )
    await connection.close()
    return Worked(count / seconds, waits / max(polls, 1), deadlocks)


def worked(database: Database, count: int, schedules: int, workers: int) -> Worked:
    apart(fill, database, count, schedules)
    fetch_value(database.url, "vacuum analyze")
    fetch_value(database.url, "checkpoint")
    fresh = multiprocessing.get_context("spawn")
    ready, over = fresh.Barrier(workers + 1), fresh.Event()
    processes = [fresh.Process(target=work, args=(database, ready, over)) for _ in range(workers)]
    for process in processes:
        process.start()
    try:
        with ThreadPoolExecutor(1) as pool:
            watching = pool.submit(asyncio.run, watched(database, count, ready, over))
            return watching.result()
    finally:
        over.set()
        for process in processes:
            process.join(TIMEOUT_SECONDS)
