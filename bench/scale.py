"""What a million costs: schedules that rest, and old runs that are forgotten.

Prints a table in Markdown: what it takes to add the schedules, to keep them and to start with them,
and what one step of the planner costs when a thousand of them are due, beside the same among ten
thousand. Then a million runs that finished long ago are forgotten while others fire once a second:
how late do those start meanwhile?
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import apsw

from bench import ours
from bench.measuring import Delays, apart, fresh_folder, print_table, sync_ms
from quarterjack.engine.planner import Planner
from quarterjack.engine.timekeeper import Trust
from quarterjack.rules import Kind, Limits, Retention, Run, State
from quarterjack.store.steps import sql
from quarterjack.times.instants import DAY, HOUR, SECOND

MANY, FEW, DUE = 1_000_000, 10_000, 1000
BATCH = 10_000
STEPS = 7
A_SECOND, SECONDS = 100, 20
OLD = 100 * DAY
OLD_OF_ONE = 1000
"""Fewer than a schedule keeps by number, so that only their age counts."""

RESTING = {"every": "365d"}
COMING_DUE = {"every": "1h", "if_running": "allow"}
"""Allowed, for nobody runs what was planned the hour before."""

Rows = Iterator[tuple[str, str, str]]


class Step(NamedTuple):
    """What one step of the planner took."""

    cpu_seconds: float
    statements: int


async def fill(folder: Path, count: int) -> float:
    """Seconds for schedules that rest, in batches; some of them, evenly among the others, come
    due each hour. What it takes to read and judge them is left out."""
    now, every = ours.CLOCK.now(), count // DUE
    seconds = 0.0
    async with ours.opened(folder) as store:
        for first in range(0, count, BATCH):
            numbers = range(first, min(first + BATCH, count))
            fields = [RESTING if number % every else COMING_DUE for number in numbers]
            new = ours.new_schedules(fields, now, first)
            begun = time.perf_counter()
            await ours.add(store, new, now)
            seconds += time.perf_counter() - begun
    return seconds


async def steps(folder: Path) -> list[Step]:
    """Of the planner, hour by hour. The first one finds nothing in memory."""
    taken = []
    async with ours.opened(folder) as store:
        planner = Planner(
            store, Limits(), lambda *_: None, lambda: None, "2026a", Trust(ours.CLOCK)
        )
        now = ours.CLOCK.now()
        for _ in range(STEPS):
            now += HOUR
            before, begun = store.statements, time.process_time()
            await planner.step(now)
            await planner.step(now)  # a full batch may have left some
            taken.append(Step(time.process_time() - begun, store.statements - before))
    return taken


def storing(folder: Path, many: int) -> Rows:
    seconds = apart(fill, folder, many)
    yield f"{many:,} schedules added in batches of {BATCH:,}, s", f"{seconds:.1f}", ""
    size = ours.path_in(folder).stat().st_size / 2**20
    yield "size of the file, MB", f"{size:,.0f}", ""


def planning(folder: Path) -> Rows:
    """The first step is told apart: it reads what later ones have in memory."""
    with fresh_folder() as other:
        apart(fill, other, FEW)
        few, many = apart(steps, other), apart(steps, folder)
    for what, part in (("first step", slice(1)), ("a later one", slice(1, None))):
        small, large = (
            statistics.median(step.cpu_seconds for step in taken[part]) for taken in (few, many)
        )
        text = f"{DUE:,} due, {what}: CPU ms among {FEW:,}, among all"
        yield text, f"{small * 1000:.0f}, {large * 1000:.0f} ({large / small:.2f} x)", "1 x"
    statements = f"{few[-1].statements}, {many[-1].statements}"
    yield "the same: statements among a few, among all", statements, "the same"


def resting(folder: Path) -> Rows:
    (ready,) = apart(ours.cold_start, folder)
    yield "`quarterjack up`: from exec to ready, s", f"{ready:.2f}", ""
    idle = apart(ours.idle, folder, SECONDS)
    yield f"idle for {SECONDS} s: the engine, CPU s", f"{idle.cpu_seconds:.3f}", "0.01"
    yield "the same: statements", f"{idle.statements}", "0"
    yield "the same: resident memory, MB", f"{idle.resident_mb:.0f}", ""


class Pruned(NamedTuple):
    seconds: float
    meanwhile: Delays
    afterwards: Delays


async def age(folder: Path, count: int) -> None:
    """So many runs that finished long ago, of schedules that rest."""
    schedules, at = count // OLD_OF_ONE, ours.CLOCK.now() - OLD
    await ours.store_resting(folder, schedules)
    run = Run(
        1, 0, Kind.SLOT, at, at, at, "1", None, 1, 0, State.SUCCEEDED, None, 0, "default",
        caught_up=False, attempt=1, worker="worker", started_at=at, lease_until=at, finished_at=at,
    )  # fmt: skip
    runs = (
        run._replace(schedule_id=schedule, number=number, slot=at + number, scope=str(schedule))
        for number in range(OLD_OF_ONE)
        for schedule in range(1, schedules + 1)
    )
    database = apsw.Connection(str(ours.path_in(folder)))
    with database:
        database.executemany(sql("add_runs", "sqlite"), runs)
        database.execute("update schedules set planned_count = ?", (OLD_OF_ONE,))
    database.close()


async def pruned(folder: Path, count: int) -> Pruned:
    """How long it takes until nothing old is left, and how late work starts meanwhile."""
    await age(folder, count)
    begin, lateness = ours.CLOCK.now() + 2 * SECOND, ours.Lateness()
    async with ours.opened(folder) as store:
        await ours.add(store, ours.each_second(A_SECOND, begin, spread=True), begin - SECOND)
        async with ours.running(store, lateness, Retention()):
            await _nothing_old_is_left(folder)
            end = ours.CLOCK.now()
            await asyncio.sleep(SECONDS)
    meanwhile, afterwards = lateness.within(begin, end), lateness.within(end, 2 * end)
    return Pruned((end - begin) / SECOND, meanwhile, afterwards)


async def _nothing_old_is_left(folder: Path) -> None:
    looking = apsw.Connection(str(ours.path_in(folder)), flags=apsw.SQLITE_OPEN_READONLY)
    horizon = ours.CLOCK.now() - OLD + DAY
    old = "select 1 from runs where finished_at < ? limit 1"
    while looking.execute(old, (horizon,)).fetchall():
        await asyncio.sleep(0.5)
    looking.close()


def pruning(folder: Path, count: int) -> Rows:
    seconds, *firing = apart(pruned, folder, count)
    yield f"{count:,} old runs forgotten, s", f"{seconds:.0f}", ""
    for when, late in zip(("meanwhile", "afterwards"), firing, strict=True):
        text = f"start delay of {A_SECOND} schedules each second {when}: p50, p99, ms"
        yield text, f"{late.p50_ms:.1f}, {late.p99_ms:.1f}", "4, 10 + 2 fdatasync"


def rows(parts: Collection[str], schedules: int, runs: int) -> Rows:
    if {"store", "plan", "rest"} & set(parts):
        with fresh_folder() as folder:
            yield from storing(folder, schedules)
            yield from resting(folder) if "rest" in parts else ()
            yield from planning(folder) if "plan" in parts else ()
    if "prune" in parts:
        with fresh_folder() as folder:
            yield from pruning(folder, runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ("store", "rest", "plan", "prune")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--schedules", type=int, default=MANY)
    parser.add_argument("--runs", type=int, default=MANY, help="that are forgotten")
    options = parser.parse_args()
    print_table(["", "", "wanted"], rows(options.only, options.schedules, options.runs))
    with fresh_folder() as folder:
        print(f"\nfdatasync of 4 KiB, median, at the end: {sync_ms(folder):.2f} ms")


if __name__ == "__main__":
    main()
