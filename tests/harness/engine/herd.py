"""A herd: so many schedules come due in the same second, and an urgent one a moment later. `make
herd` drives a hundred thousand of them through a node, in a process whose memory is watched."""

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

from harness.store.stores import new
from quarterjack.clock import SystemClock
from quarterjack.engine import planner
from quarterjack.engine.node import Node, NodeConfig
from quarterjack.engine.worker import WorkerConfig
from quarterjack.rules import Limits, Schedule, create
from quarterjack.store.sqlite.file import open_database
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.store.types import NewSchedule
from quarterjack.targets.task import TaskTarget, current_call
from quarterjack.times.instants import HOUR, SECOND

MOMENT = SECOND // 2
FIRST_OF_HERD = 1_000
LOOK_SECONDS = 0.02


class Driven(NamedTuple):
    seconds: float
    urgent_seconds: float
    """From its slot until its work began."""
    grown_mib: float
    statements: int
    batches: int


class Work:
    """A no-op, which knows when it was done often enough, and how late the urgent one began."""

    def __init__(self, clock: SystemClock, count: int) -> None:
        self._clock = clock
        self._left = count
        self.urgent_seconds = -1.0
        self.done = asyncio.Event()

    async def __call__(self) -> None:
        call = current_call.get()
        if call.key == "urgent":
            self.urgent_seconds = (self._clock.now() - call.slot) / SECOND
        self._left -= 1
        if not self._left:
            self.done.set()


async def add(path: Path, clock: SystemClock, count: int) -> None:
    """One of the herd by the store's verb, and copies of it, for so many take a while to add."""
    store = SqliteStore(open_database(path, now=clock.now(), create=True), path, clock)

    def decide(identity: int, each: NewSchedule, active: int) -> Schedule:
        key, specification = each.key, each.specification
        return create(identity, key, specification, clock.now(), active=active, limits=Limits())

    urgent = new("urgent", clock.now(), every="1h", priority=1)
    await store.add_schedules([new("herd", clock.now(), every="1h"), urgent], decide, clock.now())
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
            "insert into specifications select id, 1, hash, body, said.created_at,"
            " service_preset from schedules"
            f" join specifications as said on schedule_id = 1 where id > {FIRST_OF_HERD}"
        )
    database.close()


def make_due(path: Path, now: int) -> None:
    """The herd now, the urgent one a moment later."""
    slot = f"{now} + (priority > 0) * {MOMENT}"
    database = apsw.Connection(str(path))
    database.execute(
        f"update schedules set next_slot = {slot}, wake_at = {slot}, cursor = {slot} - 1,"
        f" anchor_at = {slot} - {HOUR}"
    )
    database.close()


def resident_mib() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


async def drive(path: Path, count: int, seats: int) -> Driven:
    clock = SystemClock()
    await add(path, clock, count)
    store = SqliteStore(open_database(path, now=clock.now()), path, clock)
    make_due(path, clock.now())
    work = Work(clock, count + 1)
    node = Node(
        store,
        {"task": TaskTarget({"work": work})},
        clock,
        NodeConfig(WorkerConfig("w", count=seats)),
    )
    begun, before, most = time.perf_counter(), resident_mib(), 0.0
    running = asyncio.create_task(node.run())
    while not work.done.is_set():
        await asyncio.sleep(LOOK_SECONDS)
        most = max(most, resident_mib())
    node.stop()
    await running
    seconds, batches = time.perf_counter() - begun, count / planner.BATCH
    await store.close()
    return Driven(seconds, work.urgent_seconds, most - before, store.statements, int(batches))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seats", type=int, default=1000)
    options = parser.parse_args()
    logging.disable()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "quarterjack.db"
        driven = asyncio.run(drive(path, options.count, options.seats))
    print(json.dumps(driven._asdict()))


if __name__ == "__main__":
    main()
