"""Queues on PostgreSQL that the engine is compared with: pgqueuer and procrastinate.

Neither keeps schedules that a program adds while it runs, so they are compared where work is
queued, claimed, done and marked as done: no-ops in one process, as durable as we are. pgqueuer
takes a thousand at a time, as we do, and procrastinate works on a hundred at once.
"""

from __future__ import annotations

import asyncio
import time

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode
from procrastinate import App, PsycopgConnector

from bench.databases import RunCursor

BATCH = 1000
AT_ONCE = 100


async def pgqueuer(place: RunCursor, count: int) -> tuple[float]:
    """Runs per second, from the request for so many until all are done."""
    connection = await asyncpg.connect(place.url)
    queue, queries = PgQueuer(AsyncpgDriver(connection)), Queries(AsyncpgDriver(connection))
    await queries.install()
    done = 0

    async def work(_: object) -> None:
        nonlocal done
        done += 1

    queue.entrypoint("work")(work)
    begun = time.perf_counter()
    for first in range(0, count, BATCH):
        size = min(BATCH, count - first)
        await queries.enqueue(["work"] * size, [None] * size, [0] * size)
    await queue.run(batch_size=BATCH, mode=QueueExecutionMode.drain)
    seconds = time.perf_counter() - begun
    await connection.close()
    assert done == count, f"{done} of {count} are done"
    return (count / seconds,)


async def procrastinate(place: RunCursor, count: int) -> tuple[float]:
    """The same."""
    app, done = App(connector=PsycopgConnector(conninfo=place.url)), 0

    async def noop() -> None:
        nonlocal done
        done += 1

    work = app.task(name="work")(noop)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        begun = time.perf_counter()
        await work.batch_defer_async(*({} for _ in range(count)))
        await asyncio.wait_for(app.run_worker_async(concurrency=AT_ONCE, wait=False), 600)
        seconds = time.perf_counter() - begun
    assert done == count, f"{done} of {count} are done"
    return (count / seconds,)
