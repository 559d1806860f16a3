"""Several worker processes on one database: do they stand in each other's way?

What is planned waits in the queue before any of them begins; each is a node that works and does not
plan, in a process of its own, as `quarterjack worker` is, with a no-op as its task.
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
from bench.databases import RunCursor, caller
from bench.measuring import apart
from quarterjack.control import Control
from quarterjack.times.instants import MINUTE, SECOND

LOOKS_EVERY_SECONDS = 0.02
LONGEST_SECONDS = 300.0


class Worked(NamedTuple):
    per_second: float
    waiting: float
    """How many of the processes waited for a lock of another, on average."""
    collisions: int
    """How many were ended by the database because they stood in each other's way."""


async def fill(place: RunCursor, count: int, schedules: int) -> None:
    """So many runs that wait, of so many schedules."""
    now, each = ours.CLOCK.now(), count // schedules
    fields = [{"every": "1m", "if_running": "allow"}] * schedules
    async with ours.opened(place) as store:
        made = await ours.add(store, ours.new_schedules(fields, now), now)
        control = Control(store, by="bench", origin="bench")
        for schedule in made:
            until = schedule.anchor_at
            await control.backfill(schedule.id, until - (each - 1) * MINUTE, until)
        planner = ours.planner(store)
        while await _waiting(place) < count:
            await planner.step(ours.CLOCK.now() + SECOND)


async def _waiting(place: RunCursor) -> int:
    text = "select count(*) from runs where state = 'queued'"
    return int(await asyncio.to_thread(caller, place.url, text))


def work(place: RunCursor, ready: Barrier, over: Event) -> None:
    """One worker, from when all are ready until all is over."""
    asyncio.run(_work(place, ready, over))


async def _work(place: RunCursor, ready: Barrier, over: Event) -> None:
    async def nothing() -> None: ...

    async with ours.opened(place) as store:
        await asyncio.to_thread(ready.wait, LONGEST_SECONDS)
        async with ours.running(store, nothing, plans=False):
            await asyncio.to_thread(over.wait, LONGEST_SECONDS)


async def watched(place: RunCursor, count: int, ready: Barrier, over: Event) -> Worked:
    """Until all is settled, seen by a connection that looks again and again."""
    connection = await asyncpg.connect(place.url, server_settings={"search_path": "quarterjack"})
    looks, waits = 0, 0
    await asyncio.to_thread(ready.wait, LONGEST_SECONDS)
    begun = time.perf_counter()
    while await connection.fetchval("select exists (select from runs where finished_at is null)"):
        waits += await connection.fetchval(
            "select count(*) from pg_stat_activity"
            " where datname = current_database() and wait_event_type = 'Lock'"
        )
        looks += 1
        await asyncio.sleep(LOOKS_EVERY_SECONDS)
    seconds = time.perf_counter() - begun
    over.set()
    text = "select count(*) from runs where state = 'succeeded'"
    assert await connection.fetchval(text) == count
    collisions = await connection.fetchval(
        "select deadlocks from pg_stat_database where datname = current_database()"
    )
    await connection.close()
    return Worked(count / seconds, waits / max(looks, 1), collisions)


def worked(place: RunCursor, count: int, schedules: int, workers: int) -> Worked:
    """By so many processes."""
    apart(fill, place, count, schedules)
    caller(place.url, "vacuum analyze")
    caller(place.url, "checkpoint")
    fresh = multiprocessing.get_context("spawn")
    ready, over = fresh.Barrier(workers + 1), fresh.Event()
    processes = [fresh.Process(target=work, args=(place, ready, over)) for _ in range(workers)]
    for process in processes:
        process.start()
    try:
        with ThreadPoolExecutor(1) as pool:
            watching = pool.submit(asyncio.run, watched(place, count, ready, over))
            return watching.result()
    finally:
        over.set()
        for process in processes:
            process.join(LONGEST_SECONDS)
