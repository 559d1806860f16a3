"""What the engine is compared with: bare SQLite, which is the floor, and APScheduler 3.

Both are as durable as we are: every commit waits for the disk (WAL, `synchronous=full`). With the
rollback journal, which is SQLite's own default, APScheduler took twice as long; with threads
instead of its asynchronous scheduler it was a little slower.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
from apscheduler.events import EVENT_JOB_SUBMITTED
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from sqlalchemy import create_engine, event

from bench.measuring import Delays, delays

BATCH = 1000
LEAVE_NOTHING_OUT = {"misfire_grace_time": None, "coalesce": True}


# The floor: rows of about the same size, in the same batches, without any meaning.


def floor_opened(folder: Path) -> apsw.Connection:
    database = apsw.Connection(str(folder / "floor.db"))
    database.pragma("journal_mode", "wal")
    database.pragma("synchronous", "full")
    database.execute("create table schedules (id integer primary key, body text, wake_at integer)")
    database.execute("create table runs (id integer primary key, state integer, body text)")
    return database


def floor_schedules(database: apsw.Connection, count: int) -> None:
    with database:
        rows = ((number, "x" * 900, 0) for number in range(count))
        database.executemany("insert into schedules values (?, ?, ?)", rows)


def floor_runs(database: apsw.Connection, numbers: Iterable[int]) -> None:
    runs = ((number, 0, "x" * 150) for number in numbers)
    database.executemany("insert into runs values (?, ?, ?)", runs)


def floor_states(database: apsw.Connection, numbers: Iterable[int]) -> None:
    """Claimed, and done; each in a transaction of its own."""
    for state in (1, 2):
        with database:
            states = ((state, number) for number in numbers)
            database.executemany("update runs set state = ? where id = ?", states)


def floor_added(folder: Path, count: int) -> tuple[float]:
    database = floor_opened(folder)
    begun = time.perf_counter()
    floor_schedules(database, count)
    return (time.perf_counter() - begun,)


def floor_due(folder: Path, count: int) -> tuple[float]:
    database = floor_opened(folder)
    floor_schedules(database, count)
    begun = time.perf_counter()
    for numbers in batches(count):
        with database:
            floor_runs(database, numbers)
            wakes = ((1, number) for number in numbers)
            database.executemany("update schedules set wake_at = ? where id = ?", wakes)
        floor_states(database, numbers)
    return (time.perf_counter() - begun,)


def floor_queue(folder: Path, count: int) -> tuple[float]:
    """Runs per second."""
    database = floor_opened(folder)
    begun = time.perf_counter()
    for numbers in batches(count):
        with database:
            floor_runs(database, numbers)
        floor_states(database, numbers)
    return (count / (time.perf_counter() - begun),)


def batches(count: int) -> list[range]:
    return [range(start, min(start + BATCH, count)) for start in range(0, count, BATCH)]


# APScheduler finds its work by the name of a module's function, so what it notes is the module's.

STARTED: list[tuple[str, float]] = []
"""The key of a schedule, and when its work began."""


async def work(key: str) -> None:
    STARTED.append((key, time.time()))


def store_in(folder: Path, *, durable: bool) -> Any:
    engine = create_engine(f"sqlite:///{folder / 'apscheduler.db'}")

    def settle_durability(connection: Any, _: Any) -> None:
        connection.execute("pragma journal_mode = wal")
        connection.execute(f"pragma synchronous = {'full' if durable else 'off'}")

    event.listen(engine, "connect", settle_durability)
    return SQLAlchemyJobStore(engine=engine)


@asynccontextmanager
async def resting(folder: Path, *, durable: bool = True) -> AsyncIterator[Any]:
    """A scheduler that is told of schedules, and does nothing until it is resumed."""
    scheduler = AsyncIOScheduler(jobstores={"default": store_in(folder, durable=durable)})
    scheduler.start(paused=True)
    yield scheduler
    scheduler.shutdown()


def add_hourly(scheduler: Any, count: int, first_at: datetime) -> None:
    for number in range(count):
        key = f"schedule-{number}"
        when = {"hours": 1, "next_run_time": first_at, **LEAVE_NOTHING_OUT}
        scheduler.add_job(work, "interval", id=key, args=[key], **when)


async def apscheduler_added(folder: Path, count: int) -> tuple[float]:
    async with resting(folder) as scheduler:
        begun = time.perf_counter()
        add_hourly(scheduler, count, datetime.now(UTC) + timedelta(hours=1))
        return (time.perf_counter() - begun,)


async def apscheduler_due(folder: Path, count: int) -> tuple[float]:
    async with resting(folder) as scheduler:
        add_hourly(scheduler, count, datetime.now(UTC) - timedelta(seconds=1))
        begun = time.perf_counter()
        scheduler.resume()
        while len(STARTED) < count:
            await asyncio.sleep(0.001)
        return (time.perf_counter() - begun,)


async def apscheduler_delays(folder: Path, count: int, seconds: int, *, spread: bool) -> Delays:
    slots: list[tuple[str, float]] = []

    def note(submitted: Any) -> None:
        slots.extend((submitted.job_id, slot.timestamp()) for slot in submitted.scheduled_run_times)

    begin = datetime.now(UTC) + timedelta(seconds=2)
    end = begin + timedelta(seconds=seconds)
    async with resting(folder) as scheduler:
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


def apscheduler_cold_start(folder: Path, count: int) -> tuple[float]:
    """Seconds from the start of a program until its scheduler has started."""
    asyncio.run(_apscheduler_stored(folder, count))
    url = f"sqlite:///{folder / 'apscheduler.db'}"
    begun = time.perf_counter()
    command = [sys.executable, "-c", STARTING, url]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return (time.perf_counter() - begun,)


async def _apscheduler_stored(folder: Path, count: int) -> None:
    """How long this takes is not asked, so it need not wait for the disk."""
    async with resting(folder, durable=False) as scheduler:
        add_hourly(scheduler, count, datetime.now(UTC) + timedelta(days=1))
