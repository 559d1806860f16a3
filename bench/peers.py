"""APScheduler 3 on SQLite or PostgreSQL, for comparison with the engine.

It is as durable as Quarterjack: every commit waits for the disk (on SQLite: WAL,
`synchronous=full`). With the rollback journal, SQLite's default, it took twice as long; with
threads instead of its asynchronous scheduler it was a little slower.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from apscheduler.events import EVENT_JOB_SUBMITTED
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from sqlalchemy import create_engine, event

from bench.databases import Database
from bench.measuring import Delays, delays
from bench.ours import Stopwatch

NO_MISFIRES = {"misfire_grace_time": None, "coalesce": True}


# APScheduler finds a job by the module and name of its function, so its results are global, too.

STARTED: list[tuple[str, float]] = []
"""The key of a schedule, and when its job started."""


async def work(key: str) -> None:
    STARTED.append((key, time.time()))


def url_of(database: Database) -> str:
    """For SQLAlchemy, with the name of the driver."""
    return database.url.replace("postgresql:", "postgresql+psycopg:")


def store_in(database: Database, *, durable: bool) -> Any:
    engine = create_engine(url_of(database))

    def set_durability(connection: Any, _: Any) -> None:
        if database.is_postgres:
            connection.execute(f"set synchronous_commit = {'on' if durable else 'off'}")
            connection.commit()
        else:
            connection.execute("pragma journal_mode = wal")
            connection.execute(f"pragma synchronous = {'full' if durable else 'off'}")

    event.listen(engine, "connect", set_durability)
    return SQLAlchemyJobStore(engine=engine)


@asynccontextmanager
async def paused_scheduler(database: Database, *, durable: bool = True) -> AsyncIterator[Any]:
    scheduler = AsyncIOScheduler(jobstores={"default": store_in(database, durable=durable)})
    scheduler.start(paused=True)
    yield scheduler
    scheduler.shutdown()


def add_hourly(scheduler: Any, count: int, first_at: datetime) -> None:
    for number in range(count):
        key = f"schedule-{number}"
        when = {"hours": 1, "next_run_time": first_at, **NO_MISFIRES}
        scheduler.add_job(work, "interval", id=key, args=[key], **when)


async def apscheduler_added(database: Database, count: int) -> tuple[float]:
    async with paused_scheduler(database) as scheduler:
        started = time.perf_counter()
        add_hourly(scheduler, count, datetime.now(UTC) + timedelta(hours=1))
        return (time.perf_counter() - started,)


async def apscheduler_due(database: Database, count: int) -> tuple[float]:
    return (await apscheduler_spent(database, count))[:1]


async def apscheduler_spent(database: Database, count: int) -> tuple[float, float, float]:
    """Seconds until all that are due at once have run; CPU seconds of this process and of the
    server."""
    async with paused_scheduler(database) as scheduler:
        add_hourly(scheduler, count, datetime.now(UTC) - timedelta(seconds=1))
        watch = Stopwatch(database)
        scheduler.resume()
        while len(STARTED) < count:
            await asyncio.sleep(0.001)
        return watch.read()


async def apscheduler_delays(
    database: Database, count: int, seconds: int, *, spread: bool
) -> Delays:
    slots: list[tuple[str, float]] = []

    def note(submitted: Any) -> None:
        slots.extend((submitted.job_id, slot.timestamp()) for slot in submitted.scheduled_run_times)

    begin = datetime.now(UTC) + timedelta(seconds=2)
    end = begin + timedelta(seconds=seconds)
    async with paused_scheduler(database) as scheduler:
        scheduler.add_listener(note, EVENT_JOB_SUBMITTED)
        for number in range(count):
            start = begin + timedelta(seconds=number / count if spread else 0)
            key = f"schedule-{number}"
            when = {"seconds": 1, "start_date": start, **NO_MISFIRES}
            scheduler.add_job(work, "interval", id=key, args=[key], **when)
        scheduler.resume()
        await asyncio.sleep((end - datetime.now(UTC)).total_seconds() + 1)
    return delays(late for slot, late in lateness(slots, STARTED) if slot < end.timestamp())


def lateness(
    slots: Sequence[tuple[str, float]], started: Sequence[tuple[str, float]]
) -> list[tuple[float, float]]:
    """Slots, and how late each was. Those of one schedule start in their order."""
    began: dict[str, Iterator[float]] = {
        key: iter(sorted(at for each, at in started if each == key)) for key, _ in slots
    }
    pairs = [(slot, next(began[key], None)) for key, slot in sorted(slots)]
    return [(slot, at - slot) for slot, at in pairs if at is not None]


STARTING = """
import sys
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler

BackgroundScheduler(jobstores={"default": SQLAlchemyJobStore(sys.argv[1])}).start()
print("ready", flush=True)
"""


def apscheduler_cold_start(database: Database, count: int) -> tuple[float]:
    """Seconds from the start of a program until its scheduler has started."""
    asyncio.run(_apscheduler_stored(database, count))
    started = time.perf_counter()
    command = [sys.executable, "-c", STARTING, url_of(database)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return (time.perf_counter() - started,)


async def _apscheduler_stored(database: Database, count: int) -> None:
    """Not durable, because this part is not measured."""
    async with paused_scheduler(database, durable=False) as scheduler:
        add_hourly(scheduler, count, datetime.now(UTC) + timedelta(days=1))
