"""What the engine is compared with: APScheduler 3, on SQLite or on PostgreSQL.

It is as durable as we are: every commit waits for the disk (on SQLite: WAL, `synchronous=full`).
With the rollback journal, which is SQLite's own default, it took twice as long; with threads
instead of its asynchronous scheduler it was a little slower.
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

from bench.databases import RunCursor
from bench.measuring import Delays, delays

LEAVE_NOTHING_OUT = {"misfire_grace_time": None, "coalesce": True}


# APScheduler finds its work by the name of a module's function, so what it notes is the module's.

STARTED: list[tuple[str, float]] = []
"""The key of a schedule, and when its work began."""


async def work(key: str) -> None:
    STARTED.append((key, time.time()))


def url_of(place: RunCursor) -> str:
    """As SQLAlchemy wants it, with the driver that it is told of."""
    return place.url.replace("postgresql:", "postgresql+psycopg:")


def store_in(place: RunCursor, *, durable: bool) -> Any:
    engine = create_engine(url_of(place))

    def settle_durability(connection: Any, _: Any) -> None:
        if place.is_postgres:
            connection.execute(f"set synchronous_commit = {'on' if durable else 'off'}")
            connection.commit()
        else:
            connection.execute("pragma journal_mode = wal")
            connection.execute(f"pragma synchronous = {'full' if durable else 'off'}")

    event.listen(engine, "connect", settle_durability)
    return SQLAlchemyJobStore(engine=engine)


@asynccontextmanager
async def resting(place: RunCursor, *, durable: bool = True) -> AsyncIterator[Any]:
    """A scheduler that is told of schedules, and does nothing until it is resumed."""
    scheduler = AsyncIOScheduler(jobstores={"default": store_in(place, durable=durable)})
    scheduler.start(paused=True)
    yield scheduler
    scheduler.shutdown()


def add_hourly(scheduler: Any, count: int, first_at: datetime) -> None:
    for number in range(count):
        key = f"schedule-{number}"
        when = {"hours": 1, "next_run_time": first_at, **LEAVE_NOTHING_OUT}
        scheduler.add_job(work, "interval", id=key, args=[key], **when)


async def apscheduler_added(place: RunCursor, count: int) -> tuple[float]:
    async with resting(place) as scheduler:
        begun = time.perf_counter()
        add_hourly(scheduler, count, datetime.now(UTC) + timedelta(hours=1))
        return (time.perf_counter() - begun,)


async def apscheduler_due(place: RunCursor, count: int) -> tuple[float]:
    async with resting(place) as scheduler:
        add_hourly(scheduler, count, datetime.now(UTC) - timedelta(seconds=1))
        begun = time.perf_counter()
        scheduler.resume()
        while len(STARTED) < count:
            await asyncio.sleep(0.001)
        return (time.perf_counter() - begun,)


async def apscheduler_delays(place: RunCursor, count: int, seconds: int, *, spread: bool) -> Delays:
    slots: list[tuple[str, float]] = []

    def note(submitted: Any) -> None:
        slots.extend((submitted.job_id, slot.timestamp()) for slot in submitted.scheduled_run_times)

    begin = datetime.now(UTC) + timedelta(seconds=2)
    end = begin + timedelta(seconds=seconds)
    async with resting(place) as scheduler:
        scheduler.add_listener(note, EVENT_JOB_SUBMITTED)
        for number in range(count):
            start = begin + timedelta(seconds=number / count if spread else 0)
            key = f"schedule-{number}"
            when = {"seconds": 1, "start_date": start, **LEAVE_NOTHING_OUT}
            scheduler.add_job(work, "interval", id=key, args=[key], **when)
        scheduler.resume()
        await asyncio.sleep((end - datetime.now(UTC)).total_seconds() + 1)
    return delays(late for slot, late in lateness(slots, STARTED) if slot < end.timestamp())


def lateness(
    slots: Sequence[tuple[str, float]], started: Sequence[tuple[str, float]]
) -> list[tuple[float, float]]:
    """Slots, and how late each was. Those of one schedule begin in their order."""
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


def apscheduler_cold_start(place: RunCursor, count: int) -> tuple[float]:
    """Seconds from the start of a program until its scheduler has started."""
    asyncio.run(_apscheduler_stored(place, count))
    begun = time.perf_counter()
    command = [sys.executable, "-c", STARTING, url_of(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return (time.perf_counter() - begun,)


async def _apscheduler_stored(place: RunCursor, count: int) -> None:
    """How long this takes is not asked, so it need not wait for the disk."""
    async with resting(place, durable=False) as scheduler:
        add_hourly(scheduler, count, datetime.now(UTC) + timedelta(days=1))
