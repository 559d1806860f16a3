"""The cost of a million idle schedules, and of pruning a million old runs.

Prints a table in Markdown: the cost of adding and storing the schedules and of a start with them,
and of one planner step when a thousand of them are due, compared with the same among ten thousand.
Then, on SQLite, a million old runs are pruned while other schedules fire every second: by how much
do those start later?
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
from bench.databases import Database, Fresh, fetch_value
from bench.measuring import Delays, apart, print_table, sync_ms
from quarterjack.rules import Kind, Retention, Run, State
from quarterjack.store.statements import sql
from quarterjack.times.instants import DAY, HOUR, SECOND

MANY, FEW, DUE = 1_000_000, 10_000, 1000
BATCH = 10_000
STEPS = 7
PER_SECOND, SECONDS = 100, 20
OLD = 100 * DAY
OLD_OF_ONE = 1000
"""Fewer than a schedule keeps by number, so that only their age counts."""

IDLE = {"every": "365d"}
DUE_HOURLY = {"every": "1h", "if_running": "allow"}
"""`allow`, because nothing executes the runs of the hour before."""

Rows = Iterator[tuple[str, str, str]]


class Step(NamedTuple):
    """The cost of one planner step."""

    seconds: float
    cpu_seconds: float
    """Of this process and the server."""
    statements: int


async def fill(place: Database, count: int) -> float:
    """Seconds to add idle schedules, in batches; some, spread evenly among the others, are due each
    hour. The time to parse and validate them is left out."""
    now, every = ours.CLOCK.now(), count // DUE
    seconds = 0.0
    async with ours.opened(place) as store:
        for first in range(0, count, BATCH):
            numbers = range(first, min(first + BATCH, count))
            fields = [IDLE if number % every else DUE_HOURLY for number in numbers]
            new = ours.new_schedules(fields, now, first)
            begun = time.perf_counter()
            await ours.add(store, new, now)
            seconds += time.perf_counter() - begun
    return seconds


async def steps(place: Database) -> list[Step]:
    """Planner steps, one per hour. The first one starts with an empty cache."""
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


def storing(place: Database, many: int) -> Rows:
    seconds = apart(fill, place, many)
    yield f"{many:,} schedules added in batches of {BATCH:,}, s", f"{seconds:.1f}", ""
    if place.is_postgres:
        fetch_value(place.url, "vacuum analyze")  # as autovacuum would do soon
        size = fetch_value(place.url, "select pg_database_size(current_database())") / 2**20
    else:
        size = place.path.stat().st_size / 2**20
    yield "size of the database, MB", f"{size:,.0f}", ""


def planning(place: Database, fresh: Fresh) -> Rows:
    """The first step is listed apart: it reads what later ones have cached."""
    with fresh() as other:
        apart(fill, other, FEW)
        if other.is_postgres:
            fetch_value(other.url, "vacuum analyze")
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


def resting(place: Database) -> Rows:
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


async def age(place: Database, count: int) -> None:
    """Add so many runs that finished long ago, of idle schedules."""
    schedules, at = count // OLD_OF_ONE, ours.CLOCK.now() - OLD
    await ours.store_idle(place, schedules)
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


async def pruned(place: Database, count: int) -> Pruned:
    """How long it takes until no old run is left, and how late runs start meanwhile."""
    await age(place, count)
    begin, lateness = ours.CLOCK.now() + 2 * SECOND, ours.Lateness()
    async with ours.opened(place) as store:
        await ours.add(store, ours.each_second(PER_SECOND, begin, spread=True), begin - SECOND)
        async with ours.running(store, lateness.run, Retention()):
            await _old_runs_are_pruned(place)
            end = ours.CLOCK.now()
            await asyncio.sleep(SECONDS)
    meanwhile, afterwards = lateness.within(begin, end), lateness.within(end, 2 * end)
    return Pruned((end - begin) / SECOND, meanwhile, afterwards)


async def _old_runs_are_pruned(place: Database) -> None:
    connection = apsw.Connection(str(place.path), flags=apsw.SQLITE_OPEN_READONLY)
    horizon = ours.CLOCK.now() - OLD + DAY
    old = "select 1 from runs where finished_at < ? limit 1"
    while connection.execute(old, (horizon,)).fetchall():
        await asyncio.sleep(0.5)
    connection.close()


def pruning(place: Database, count: int) -> Rows:
    seconds, *firing = apart(pruned, place, count)
    yield f"{count:,} old runs pruned, s", f"{seconds:.0f}", ""
    for when, late in zip(("meanwhile", "afterwards"), firing, strict=True):
        text = f"start delay of {PER_SECOND} schedules each second {when}: p50, p99, ms"
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
    parser.add_argument("--runs", type=int, default=MANY, help="old runs to prune")
    options = parser.parse_args()
    for kind in options.on:
        with getattr(databases, kind)() as fresh:
            found = rows(fresh, options.only, options.schedules, options.runs)
            print_table([kind, "", "target"], found)
        print()


if __name__ == "__main__":
    main()
