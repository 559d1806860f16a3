"""A herd: many schedules that are due in the same second, and an urgent one half a second later.
`make herd` runs a hundred thousand of them through a node, and measures its memory."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import apsw

from harness.engine.service import WORKER
from harness.store.stores import new
from harness.targets.calls import current_call
from quarterjack.clock import SystemClock
from quarterjack.engine import planner
from quarterjack.engine.node import Node, NodeConfig
from quarterjack.rules import Limits, Schedule, create
from quarterjack.store.sqlite.file import open_database
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.store.types import NewSchedule
from quarterjack.targets.functions import Functions
from quarterjack.targets.kinds import KINDS
from quarterjack.targets.task import TaskTarget
from quarterjack.times.instants import HOUR, SECOND

URGENT_DELAY = SECOND // 2
FIRST_OF_HERD = 1_000
SAMPLE_SECONDS = 0.02


class Measured(NamedTuple):
    seconds: float
    urgent_seconds: float
    """From its slot until its task started."""
    grown_mib: float
    statements: int
    batches: int


class Task:
    """Does nothing. Notes when it was called `count` times, and how late the urgent call was."""

    def __init__(self, clock: SystemClock, count: int) -> None:
        self._clock = clock
        self._left = count
        self.urgent_seconds = -1.0
        self.done = asyncio.Event()

    async def work(self) -> None:
        call = current_call()
        if call.key == "urgent":
            self.urgent_seconds = (self._clock.now() - call.slot) / SECOND
        self._left -= 1
        if not self._left:
            self.done.set()


async def add(path: Path, clock: SystemClock, count: int) -> None:
    """One schedule through the store, and copies of it in SQL, because adding so many is slow."""
    store = SqliteStore(open_database(path, now=clock.now(), create=True), path, clock, KINDS)

    def decide(identity: int, each: NewSchedule, active: int) -> Schedule:
        key, specification = each.key, each.specification
        return create(identity, key, specification, clock.now(), active=active, limits=Limits())

    urgent = new("urgent", clock.now(), every="1h", priority=1)
    wanted = [new("herd", clock.now(), every="1h"), urgent]
    await store.add_schedules(lambda _: (wanted, decide), clock.now())
    await store.close()
    database = apsw.Connection(str(path))
    columns = [row[1] for row in database.execute("pragma table_info(schedules)").fetchall()]
    with database:
        database.execute(
            "with recursive many(n) as (select 2 union all select n + 1 from many where n < ?)"
            f" insert into schedules select n + {FIRST_OF_HERD}, 'herd' || n,"
            f" {', '.join(columns[2:])} from many, (select * from schedules where id = 1)",
            (count,),
        )
        database.execute(
            "insert into specifications select id, 1, hash, body, one.created_at,"
            " service_preset from schedules"
            f" join specifications as one on schedule_id = 1 where id > {FIRST_OF_HERD}"
        )
    database.close()


def make_due(path: Path, now: int) -> None:
    slot = f"{now} + (priority > 0) * {URGENT_DELAY}"
    database = apsw.Connection(str(path))
    database.execute(
        f"update schedules set next_slot = {slot}, wake_at = {slot}, cursor = {slot} - 1,"
        f" anchor_at = {slot} - {HOUR}"
    )
    database.close()


def resident_mib() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


async def measure(path: Path, count: int, concurrency: int) -> Measured:
    clock = SystemClock()
    await add(path, clock, count)
    store = SqliteStore(open_database(path, now=clock.now()), path, clock, KINDS)
    make_due(path, clock.now())
    task = Task(clock, count + 1)
    config = NodeConfig(WORKER._replace(concurrency=concurrency), grace_seconds=10)
    node = Node(
        store,
        {"task": TaskTarget({"work": task.work}, Functions(None, None))},
        clock,
        config,
    )
    started_at, before, most = time.perf_counter(), resident_mib(), 0.0
    running = asyncio.create_task(node.run())
    while not task.done.is_set():
        await asyncio.sleep(SAMPLE_SECONDS)
        most = max(most, resident_mib())
    node.stop()
    await running
    seconds, batches = time.perf_counter() - started_at, count / planner.BATCH
    await store.close()
    return Measured(seconds, task.urgent_seconds, most - before, store.statements, int(batches))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--concurrency", type=int, default=1000)
    options = parser.parse_args()
    logging.disable()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "quarterjack.db"
        measured = asyncio.run(measure(path, options.count, options.concurrency))
    print(json.dumps(measured._asdict()))


if __name__ == "__main__":
    main()
