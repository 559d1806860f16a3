"""What the store and the engine cost on this disk, interleaved with the bare floor of SQLite.

Each round: 10,000 schedules are added by the store's verb, their specifications read before; then
all of them are due at once, and a node plans them, executes an asynchronous no-op for each and
settles it. The floor writes rows of about the same size with bare statements, in the same batches.
Every commit is durable; the median of an fdatasync stands below, for the disk decides what that
costs. Figures are medians over the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import apsw

from quarterjack.clock import SystemClock
from quarterjack.engine.node import Manner, Node
from quarterjack.engine.worker import Seats
from quarterjack.rules import Limits, Schedule, create, read_specification
from quarterjack.store.sqlite import SqliteStore
from quarterjack.store.sqlite_file import open_database
from quarterjack.store.values import NewSchedule
from quarterjack.targets.task import TaskTarget
from quarterjack.times.instants import HOUR, MINUTE

BATCH = 1000
ADD_WANTED, DUE_WANTED, DUE_STRETCH = 0.2, 0.8, 0.5


class Round(NamedTuple):
    """Seconds, and how many statements a node asked for."""

    added: float
    due: float
    statements: int
    floor_added: float
    floor_due: float
    sync: float


class Work:
    """The no-op; it knows when it was done often enough."""

    def __init__(self, count: int) -> None:
        self._left = count
        self.done = asyncio.Event()

    async def __call__(self) -> None:
        self._left -= 1
        if not self._left:
            self.done.set()


def sync_seconds(folder: Path) -> float:
    descriptor = os.open(folder / "sync", os.O_CREAT | os.O_RDWR)
    costs = []
    for _ in range(50):
        os.write(descriptor, b"x" * 4096)
        begun = time.perf_counter()
        os.fdatasync(descriptor)
        costs.append(time.perf_counter() - begun)
    os.close(descriptor)
    return statistics.median(costs)


def floor(folder: Path, count: int) -> tuple[float, float]:
    """As many bare inserts; then, in batches, the insert of a run, the update of its schedule, and
    two updates of the run."""
    database = apsw.Connection(str(folder / "floor.db"))
    database.pragma("journal_mode", "wal")
    database.pragma("synchronous", "full")
    database.execute("create table schedules (id integer primary key, body text, wake_at integer)")
    database.execute("create table runs (id integer primary key, state integer, body text)")
    begun = time.perf_counter()
    with database:
        rows = ((number, "x" * 900, 0) for number in range(count))
        database.executemany("insert into schedules values (?, ?, ?)", rows)
    added = time.perf_counter() - begun
    begun = time.perf_counter()
    for start in range(0, count, BATCH):
        numbers = range(start, min(start + BATCH, count))
        with database:
            runs = ((number, 0, "x" * 150) for number in numbers)
            database.executemany("insert into runs values (?, ?, ?)", runs)
            wakes = ((1, number) for number in numbers)
            database.executemany("update schedules set wake_at = ? where id = ?", wakes)
        for state in (1, 2):
            with database:
                states = ((state, number) for number in numbers)
                database.executemany("update runs set state = ? where id = ?", states)
    return added, time.perf_counter() - begun


async def measured(folder: Path, count: int, seats: int) -> tuple[float, float, int]:
    clock = SystemClock()
    path = folder / "quarterjack.db"
    store = SqliteStore(open_database(path, now=clock.now(), create=True), path, clock)
    created = clock.now() - HOUR - MINUTE

    def decide(identity: int, new: NewSchedule, active: int) -> Schedule:
        key, specification = new.key, new.specification
        return create(identity, key, specification, created, active=active, limits=Limits())

    wanted = [_new(f"schedule-{number}", created) for number in range(count)]
    gc.collect()
    gc.freeze()
    begun = time.perf_counter()
    await store.add_schedules(wanted, decide, clock.now())
    added = time.perf_counter() - begun
    gc.collect()
    gc.freeze()
    work = Work(count)
    manner = Manner(Seats("worker", count=seats))
    node = Node(store, {"task": TaskTarget({"work": work})}, clock, manner)
    before = store.statements
    begun = time.perf_counter()
    running = asyncio.create_task(node.run())
    await work.done.wait()
    node.stop()
    await running  # nothing is left to be settled
    due = time.perf_counter() - begun
    statements = store.statements - before
    await store.close()
    settled = "select count(*) from runs where state = 'succeeded'"
    ((succeeded,),) = apsw.Connection(str(path)).execute(settled)
    assert succeeded == count, f"{succeeded} of {count} are settled"
    gc.unfreeze()
    return added, due, statements


def _new(key: str, now: int) -> NewSchedule:
    specification = read_specification({"task": "work", "every": "1h"}, key=key, now=now)
    assert specification.text  # written once, when it was validated
    return NewSchedule(key, specification, None, "bench")


def report(what: str, seconds: list[float], floors: list[float], wanted: str) -> None:
    median, least = statistics.median(seconds), min(seconds)
    bare = statistics.median(floors)
    print(f"{what:<46}{median:>8.3f}{least:>8.3f}{bare:>8.3f}{median / bare:>7.1f} x{wanted:>16}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seats", type=int, default=1000)
    options = parser.parse_args()
    logging.disable()
    rounds: list[Round] = []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory(dir=".") as name:
            folder = Path(name)
            bare = floor(folder, options.count)
            ours = asyncio.run(measured(folder, options.count, options.seats))
            rounds.append(Round(*ours, *bare, sync_seconds(folder)))

    count = f"{options.count:,}"
    print(f"{'seconds':<46}{'median':>8}{'least':>8}{'floor':>8}{'':>9}{'wanted':>16}")
    added, floors = [each.added for each in rounds], [each.floor_added for each in rounds]
    report(f"{count} schedules added by the store's verb", added, floors, f"{ADD_WANTED}")
    due, floors = [each.due for each in rounds], [each.floor_due for each in rounds]
    wanted = f"{DUE_WANTED} ({DUE_STRETCH})"
    report(f"{count} due at once: planned, run, settled", due, floors, wanted)
    statements = statistics.median(each.statements for each in rounds)
    sync = statistics.median(each.sync for each in rounds)
    print(f"statements of the node, a batch counting as one: {statements:.0f}")
    print(f"fdatasync of 4 KiB, median: {sync * 1000:.2f} ms")


if __name__ == "__main__":
    main()
