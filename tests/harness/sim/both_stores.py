"""The same world on both stores: SQLite in memory, and PostgreSQL. Both are judged; and what
happened in it, every change of every row, and all rows in the end are the same."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import zip_longest
from typing import Any, NamedTuple

from harness.sim.campaign import WEEK, Lived, lived
from harness.sim.journal import Lives
from harness.sim.postgres import PostgresDatabase
from harness.store.server import Server
from quarterjack.sim.profile import draw_profile
from quarterjack.sim.record import Record
from quarterjack.sim.world import World
from quarterjack.store.statements import Row

FAST = {"fsync": "off", "full_page_writes": "off", "max_wal_size": "2GB"}
"""Nothing of these worlds has to outlive its server."""
SHOWN = 500
"""Characters of a row: output may be long."""


class Twins(NamedTuple):
    """What one seed came to on both."""

    seed: int
    hashes: tuple[str, str]
    verbs: int
    firings: int
    rows: int
    differences: list[str]
    """The first of each kind."""
    seconds: float


def compared(seed: int, url: str, days: float = WEEK) -> Twins:
    """Live one world twice. A disk that is full is left out: PostgreSQL's cannot be filled so that
    the same verbs fail."""
    began = time.perf_counter()
    profile = draw_profile(seed, days=days)._replace(disk_fills=False)
    database = PostgresDatabase(url)
    with lived(profile) as ours, lived(profile, database) as theirs:
        worlds = ours.judge.world, theirs.judge.world
        rows = [rows_of(world, tables_of(worlds[0])) for world in worlds]
        return Twins(
            seed,
            (worlds[0].record.hash, worlds[1].record.hash),
            len(worlds[0].record.moments),
            len(ours.judge.lives.runs),
            sum(map(len, rows[0].values())),
            [
                *differences_of_records(worlds[0].record, worlds[1].record),
                *differences_of_lives(ours.judge.lives, theirs.judge.lives),
                *differences_of_rows(*rows),
                *(f"PostgreSQL: {trouble}" for trouble in database.troubles),
                *violations("SQLite", ours),
                *violations("PostgreSQL", theirs),
            ],
            time.perf_counter() - began,
        )


def violations(store: str, world: Lived) -> Iterator[str]:
    for each in world.violations:
        yield f"{store}: {each.rule}: {each.what} (schedule {each.schedule_id}, run {each.run_id})"


def differences_of_records(ours: Record, theirs: Record) -> Iterator[str]:
    for name in ("moments", "ledger", "deeds", "disturbances"):
        yield from first_difference(name, getattr(ours, name), getattr(theirs, name))


def differences_of_lives(ours: Lives, theirs: Lives) -> Iterator[str]:
    """The earliest change of each kind; in which order one verb writes its rows is no matter."""
    for name in ("runs", "schedules", "slots_not_run", "gates"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        changes = [list(zip_longest(mine.get(key, []), other.get(key, []))) for key in mine | other]
        differing = [(a, b) for life in changes for a, b in life if a != b]
        if differing:
            a, b = min(differing, key=lambda pair: min(each.moment for each in pair if each))
            yield apart(f"changes of {name}", a, b)


def differences_of_rows(ours: dict[str, list[Row]], theirs: dict[str, list[Row]]) -> Iterator[str]:
    for table, rows in ours.items():
        yield from first_difference(f"table {table}", rows, theirs[table])


def first_difference(what: str, ours: Sequence[Any], theirs: Sequence[Any]) -> Iterator[str]:
    for number, (mine, other) in enumerate(zip_longest(ours, theirs)):
        if mine != other:
            yield apart(f"{what}, {number}", mine, other)
            return


def apart(what: str, ours: Any, theirs: Any) -> str:
    mine, other = str(ours)[:SHOWN], str(theirs)[:SHOWN]
    return f"{what}:\n    SQLite      {mine}\n    PostgreSQL  {other}"


def tables_of(world: World) -> dict[str, bool]:
    """All that hold what was decided, and whether a table numbers its rows by itself: then the
    numbers differ, for PostgreSQL gives none again that was taken by a verb that failed."""
    made = world.database.ask(
        "select name, sql from sqlite_master where type = 'table'"
        " and name not like 'sqlite_%' and name <> 'migrations' order by name"
    )
    return {name: "autoincrement" in text for name, text in made}


def rows_of(world: World, tables: dict[str, bool]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for table, is_numbered in tables.items():
        rows = [tuple(map(_plain, row)) for row in world.database.ask(_all_rows_of(table))]
        found[table] = [row[1:] for row in rows] if is_numbered else sorted(rows, key=repr)
    return found


def _all_rows_of(table: str) -> str:
    return f"select * from {table} order by 1"


def _plain(value: Any) -> Any:
    """SQLite says yes by a number."""
    return int(value) if isinstance(value, bool) else value


def log_fields(twins: Twins) -> str:
    sizes = f"{twins.verbs:>7,} verbs {twins.firings:>6,} firings {twins.rows:>7,} rows"
    line = f"seed {twins.seed:>3} {sizes}   {twins.hashes[0]}   {twins.seconds:4.1f} s"
    return "\n  ".join([line, *twins.differences])


def run_many(seeds: Sequence[int], days: float, processes: int) -> bool:
    """Print what came of each; was nothing different?"""
    server, began = Server(**FAST), time.perf_counter()
    try:
        with ProcessPoolExecutor(processes) as pool:
            found = []
            for twins in pool.map(partial(compared, url=server.url, days=days), seeds):
                print(log_fields(twins), flush=True)
                found.append(twins)
    finally:
        server.close()
    same = sum(not each.differences for each in found)
    verbs, seconds = sum(each.verbs for each in found), time.perf_counter() - began
    print(f"{same} of {len(found)} worlds are the same on both stores")
    print(f"{verbs:,} verbs on each, {seconds:.0f} s")
    return same == len(found)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seeds", type=int, default=20, help="how many worlds")
    arguments.add_argument("--first", type=int, default=1, help="the first seed")
    arguments.add_argument("--days", type=float, default=WEEK, help="how long each world lasts")
    arguments.add_argument("--processes", type=int, default=2)
    options = arguments.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    sys.exit(not run_many(seeds, options.days, options.processes))


if __name__ == "__main__":
    main()
