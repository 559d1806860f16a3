"""What a million costs: schedules that rest, and old runs that are forgotten.

Prints a table in Markdown: what it takes to add the schedules, to keep them and to start with them,
and what one step of the planner costs when a thousand of them are due, beside the same among ten
thousand. Then, on SQLite, a million runs that finished long ago are forgotten while others fire
once a second: how late do those start meanwhile?
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Collection, Iterator
from typing import NamedTuple

import apsw

from bench import databases, ours
from bench.databases import Fresh, RunCursor, caller
from bench.measuring import Delays, apart, print_table, sync_ms
from quarterjack.rules import Kind, Retention, Run, State
from quarterjack.store.statements import sql
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

    seconds: float
    cpu_seconds: float
    """Of this process and of the server."""
    statements: int


async def fill(place: RunCursor, count: int) -> float:
    """Seconds for schedules that rest, in batches; some of them, evenly among the others, come
    due each hour. What it takes to read and judge them is left out."""
    now, every = ours.CLOCK.now(), count // DUE
    seconds = 0.0
    async with ours.opened(place) as store:
        for first in range(0, count, BATCH):
            numbers = range(first, min(first + BATCH, count))
            fields = [RESTING if number % every else COMING_DUE for number in numbers]
            new = ours.new_schedules(fields, now, first)
            begun = time.perf_counter()
            await ours.add(store, new, now)
            seconds += time.perf_counter() - begun
    return seconds


async def steps(place: RunCursor) -> list[Step]:
    """Of the planner, hour by hour. The first one finds nothing in memory."""
    taken = []
    async with ours.opened(place) as store:
        planner, now = ours.planner(store), ours.CLOCK.now()
        for _ in range(STEPS):
            now += HOUR
            before, watch = store.statements, ours.Stopwatch(place)
            await planner.step(now)
            await planner.step(now)  # a full batch may have left some
            seconds, cpu, server = watch.read()
            taken.append(Step(seconds, cpu + server, store.statements - before))
    return taken


def storing(place: RunCursor, many: int) -> Rows:
    seconds = apart(fill, place, many)
    yield f"{many:,} schedules added in batches of {BATCH:,}, s", f"{seconds:.1f}", ""
    if place.is_postgres:
        caller(place.url, "vacuum analyze")  # as it will have been done soon after, by itself
        size = caller(place.url, "select pg_database_size(current_database())") / 2**20
    else:
        size = place.path.stat().st_size / 2**20
    yield "size of the database, MB", f"{size:,.0f}", ""


def planning(place: RunCursor, fresh: Fresh) -> Rows:
    """The first step is told apart: it reads what later ones have in memory."""
    with fresh() as other:
        apart(fill, other, FEW)
        if other.is_postgres:
            caller(other.url, "vacuum analyze")
        few, many = apart(steps, other), apart(steps, place)
    for what, part in (("first step", slice(1)), ("a later one", slice(1, None))):
        for text, of in (("CPU ms", 1), ("ms", 0)):
            small, large = (
                statistics.median(step[of] for step in each[part]) for each in (few, many)
            )
            yield (
                f"{DUE:,} due, {what}: {text} among {FEW:,}, among all",
                f"{small * 1000:.0f}, {large * 1000:.0f} ({large / small:.2f} x)",
                "1 x",
            )
    statements = f"{few[-1].statements}, {many[-1].statements}"
    yield "the same: statements among a few, among all", statements, "the same"


def resting(place: RunCursor) -> Rows:
    command = "scheduler" if place.is_postgres else "up"
    (ready,) = apart(ours.cold_start, place, command)
    yield f"`quarterjack {command}`: from exec to ready, s", f"{ready:.2f}", ""
    idle = apart(ours.idle, place, SECONDS)
    yield f"idle for {SECONDS} s: the engine, CPU s", f"{idle.cpu_seconds:.3f}", "0.01"
    most = SECONDS // 5 if place.is_postgres else 0
    yield "the same: statements", f"{idle.statements}", f"{most}"
    yield "the same: resident memory, MB", f"{idle.resident_mb:.0f}", ""


class Pruned(NamedTuple):
    seconds: float
    meanwhile: Delays
    afterwards: Delays


async def age(place: RunCursor, count: int) -> None:
    """So many runs that finished long ago, of schedules that rest."""
    schedules, at = count // OLD_OF_ONE, ours.CLOCK.now() - OLD
    await ours.store_resting(place, schedules)
    run = Run(
        1, 0, Kind.SLOT, at, at, at, "1", None, 1, 0, State.SUCCEEDED, None, 0, "default",
        caught_up=False, attempt=1, worker="worker", started_at=at, lease_until=at, finished_at=at,
    )  # fmt: skip
    runs = (
        run._replace(schedule_id=schedule, number=number, slot=at + number, scope=str(schedule))
        for number in range(OLD_OF_ONE)
        for schedule in range(1, schedules + 1)
    )
    database = apsw.Connection(str(place.path))
    with database:
        database.executemany(sql("add_runs", "sqlite"), runs)
        database.execute("update schedules set planned_count = ?", (OLD_OF_ONE,))
    database.close()


async def pruned(place: RunCursor, count: int) -> Pruned:
    """How long it takes until nothing old is left, and how late work starts meanwhile."""
    await age(place, count)
    begin, lateness = ours.CLOCK.now() + 2 * SECOND, ours.Lateness()
    async with ours.opened(place) as store:
        await ours.add(store, ours.each_second(A_SECOND, begin, spread=True), begin - SECOND)
        async with ours.running(store, lateness, Retention()):
            await _nothing_old_is_left(place)
            end = ours.CLOCK.now()
            await asyncio.sleep(SECONDS)
    meanwhile, afterwards = lateness.within(begin, end), lateness.within(end, 2 * end)
    return Pruned((end - begin) / SECOND, meanwhile, afterwards)


async def _nothing_old_is_left(place: RunCursor) -> None:
    open_maintenance_reader = apsw.Connection(str(place.path), flags=apsw.SQLITE_OPEN_READONLY)
    horizon = ours.CLOCK.now() - OLD + DAY
    old = "select 1 from runs where finished_at < ? limit 1"
    while open_maintenance_reader.execute(old, (horizon,)).fetchall():
        await asyncio.sleep(0.5)
    open_maintenance_reader.close()


def pruning(place: RunCursor, count: int) -> Rows:
    seconds, *firing = apart(pruned, place, count)
    yield f"{count:,} old runs forgotten, s", f"{seconds:.0f}", ""
    for when, late in zip(("meanwhile", "afterwards"), firing, strict=True):
        text = f"start delay of {A_SECOND} schedules each second {when}: p50, p99, ms"
        yield text, f"{late.p50_ms:.1f}, {late.p99_ms:.1f}", "4, 10 + 2 fdatasync"


def rows(fresh: Fresh, parts: Collection[str], schedules: int, runs: int) -> Rows:
    if {"store", "plan", "rest"} & set(parts):
        with fresh() as place:
            yield from storing(place, schedules)
            yield from resting(place) if "rest" in parts else ()
            yield from planning(place, fresh) if "plan" in parts else ()
    with fresh() as place:
        if "prune" in parts and not place.is_postgres:
            yield from pruning(place, runs)
        yield "fdatasync of 4 KiB, median, at the end, ms", f"{sync_ms(place.folder):.2f}", ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts, kinds = ("store", "rest", "plan", "prune"), ("sqlite", "postgres")
    parser.add_argument("--on", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--schedules", type=int, default=MANY)
    parser.add_argument("--runs", type=int, default=MANY, help="that are forgotten")
    options = parser.parse_args()
    for kind in options.on:
        with getattr(databases, kind)() as fresh:
            found = rows(fresh, options.only, options.schedules, options.runs)
            print_table([kind, "", "wanted"], found)
        print()


if __name__ == "__main__":
    main()
