"""Job queues, for comparison with the engine: pgqueuer and procrastinate on PostgreSQL, and Docket.

None stores schedules that a program adds while it runs, so only the queue is compared: no-op jobs
are added, claimed, executed and marked as done in one process. The first two are as durable as
Quarterjack; Docket keeps everything in memory, in its own replacement for a Redis server. pgqueuer
takes a thousand at a time, as Quarterjack does; procrastinate runs a hundred at once, Docket a
thousand: with fewer it mostly waits for its next look at the queue.
"""

from __future__ import annotations

import asyncio
import time

import asyncpg
from docket import Docket, Worker
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode
from procrastinate import App, PsycopgConnector

from bench.databases import Database
from bench.ours import Stopwatch

BATCH = 1000
CONCURRENCY = 100


async def pgqueuer(database: Database, count: int) -> tuple[float]:
    """Runs per second, from the request for so many until all are done."""
    connection = await asyncpg.connect(database.url)
    queue, queries = PgQueuer(AsyncpgDriver(connection)), Queries(AsyncpgDriver(connection))
    await queries.install()
    done = 0

    async def work(_: object) -> None:
        nonlocal done
        done += 1

    queue.entrypoint("work")(work)
    started = time.perf_counter()
    for first in range(0, count, BATCH):
        size = min(BATCH, count - first)
        await queries.enqueue(["work"] * size, [None] * size, [0] * size)
    await queue.run(batch_size=BATCH, mode=QueueExecutionMode.drain)
    seconds = time.perf_counter() - started
    await connection.close()
    assert done == count, f"{done} of {count} are done"
    return (count / seconds,)


async def procrastinate(database: Database, count: int) -> tuple[float, float, float]:
    """The same, and CPU seconds of this process and of the server."""
    app, done = App(connector=PsycopgConnector(conninfo=database.url)), 0

    async def noop() -> None:
        nonlocal done
        done += 1

    work = app.task(name="work")(noop)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        watch = Stopwatch(database)
        await work.batch_defer_async(*({} for _ in range(count)))
        await asyncio.wait_for(app.run_worker_async(concurrency=CONCURRENCY, wait=False), 600)
        seconds, cpu, server = watch.read()
    assert done == count, f"{done} of {count} are done"
    return count / seconds, cpu, server


async def docket(database: Database, count: int) -> tuple[float, float, float]:
    """The same, in memory."""
    done = 0

    async def work() -> None:
        nonlocal done
        done += 1

    async with Docket(name="bench", url="memory://bench") as queue:
        watch = Stopwatch(database)
        await queue.add_many(queue.call(work)() for _ in range(count))
        async with Worker(queue, concurrency=BATCH) as worker:
            await worker.run_until_finished()
        seconds, cpu, server = watch.read()
    assert done == count, f"{done} of {count} are done"
    return count / seconds, cpu, server
