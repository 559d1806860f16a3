"""The same simulation on SQLite in memory and on PostgreSQL: both are checked, and their logs,
every change of every row and all rows at the end must be equal."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import zip_longest
from typing import Any, NamedTuple

from harness.sim.campaign import WEEK, CheckedSimulation, simulate
from harness.sim.journal import RowChanges
from harness.sim.postgres import PostgresDatabase
from harness.store.server import Server
from quarterjack.sim.profile import draw_profile
from quarterjack.sim.record import Record
from quarterjack.sim.simulation import Simulation
from quarterjack.store.statements import Row

FAST = {"fsync": "off", "full_page_writes": "off", "max_wal_size": "2GB"}
"""The server is thrown away afterwards."""
ROW_CHARACTERS_MAX = 500


class Comparison(NamedTuple):
    seed: int
    hashes: tuple[str, str]
    calls: int
    runs: int
    rows: int
    differences: list[str]
    """The first of each kind."""
    seconds: float


def compare(seed: int, url: str, days: float = WEEK) -> Comparison:
    """Without full disks: PostgreSQL's cannot be filled so that the same transactions fail."""
    started_at = time.perf_counter()
    profile = draw_profile(seed, days=days)._replace(disk_can_fill=False)
    database = PostgresDatabase(url)
    with simulate(profile) as sqlite, simulate(profile, database) as postgres:
        simulations = sqlite.checker.simulation, postgres.checker.simulation
        records = simulations[0].record, simulations[1].record
        tables = tables_of(simulations[0])
        rows = [rows_of(simulation, tables) for simulation in simulations]
        return Comparison(
            seed,
            (records[0].hash, records[1].hash),
            len(records[0].calls),
            len(sqlite.checker.rows.runs),
            sum(map(len, rows[0].values())),
            [
                *differences_of_records(*records),
                *differences_of_changes(sqlite.checker.rows, postgres.checker.rows),
                *differences_of_rows(*rows),
                *(f"PostgreSQL: {error}" for error in database.errors),
                *violations("SQLite", sqlite),
                *violations("PostgreSQL", postgres),
            ],
            time.perf_counter() - started_at,
        )


def violations(store: str, checked: CheckedSimulation) -> Iterator[str]:
    for each in checked.violations:
        yield f"{store}: {each.rule}: {each.what} (schedule {each.schedule_id}, run {each.run_id})"


def differences_of_records(sqlite: Record, postgres: Record) -> Iterator[str]:
    for name in ("calls", "work", "requests", "disturbances"):
        yield from first_difference(name, getattr(sqlite, name), getattr(postgres, name))


def differences_of_changes(sqlite: RowChanges, postgres: RowChanges) -> Iterator[str]:
    """The earliest of each table; the order of the rows that one call writes does not matter."""
    for name in ("runs", "schedules", "slots_not_run", "gates"):
        ours, theirs = getattr(sqlite, name), getattr(postgres, name)
        pairs = [
            pair
            for key in ours | theirs
            for pair in zip_longest(ours.get(key, []), theirs.get(key, []))
        ]
        differing = [pair for pair in pairs if pair[0] != pair[1]]
        if differing:
            first = min(differing, key=lambda pair: min(each.call_index for each in pair if each))
            yield difference(f"changes of {name}", *first)


def differences_of_rows(
    sqlite: dict[str, list[Row]], postgres: dict[str, list[Row]]
) -> Iterator[str]:
    for table, rows in sqlite.items():
        yield from first_difference(f"table {table}", rows, postgres[table])


def first_difference(what: str, sqlite: Sequence[Any], postgres: Sequence[Any]) -> Iterator[str]:
    for number, (ours, theirs) in enumerate(zip_longest(sqlite, postgres)):
        if ours != theirs:
            yield difference(f"{what}, {number}", ours, theirs)
            return


def difference(what: str, sqlite: Any, postgres: Any) -> str:
    ours, theirs = str(sqlite)[:ROW_CHARACTERS_MAX], str(postgres)[:ROW_CHARACTERS_MAX]
    return f"{what}:\n    SQLite      {ours}\n    PostgreSQL  {theirs}"


def tables_of(simulation: Simulation) -> dict[str, bool]:
    """All tables but the migrations, and whether a table numbers its rows by a sequence. These
    numbers differ: PostgreSQL does not reuse those of failed transactions."""
    created = simulation.database.query(
        "select name, sql from sqlite_master where type = 'table'"
        " and name not like 'sqlite_%' and name <> 'migrations' order by name"
    )
    return {name: "autoincrement" in text for name, text in created}


def rows_of(simulation: Simulation, tables: dict[str, bool]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for table, is_numbered in tables.items():
        stored = simulation.database.query(_all_rows_of(table))
        rows = [tuple(map(_comparable, row)) for row in stored]
        found[table] = [row[1:] for row in rows] if is_numbered else sorted(rows, key=repr)
    return found


def _all_rows_of(table: str) -> str:
    return f"select * from {table} order by 1"


def _comparable(value: Any) -> Any:
    """SQLite stores booleans as integers."""
    return int(value) if isinstance(value, bool) else value


def summary(comparison: Comparison) -> str:
    _, hashes, calls, runs, rows, differences, seconds = comparison
    sizes = f"{calls:>7,} store calls {runs:>6,} runs {rows:>7,} rows"
    line = f"seed {comparison.seed:>3} {sizes}   {hashes[0]}   {seconds:4.1f} s"
    return "\n  ".join([line, *differences])


def run_many(seeds: Sequence[int], days: float, processes: int) -> bool:
    """Prints the comparisons; were all equal?"""
    server, started_at = Server(**FAST), time.perf_counter()
    try:
        with ProcessPoolExecutor(processes) as pool:
            comparisons = []
            for comparison in pool.map(partial(compare, url=server.url, days=days), seeds):
                print(summary(comparison), flush=True)
                comparisons.append(comparison)
    finally:
        server.close()
    equal = sum(not each.differences for each in comparisons)
    calls, seconds = sum(each.calls for each in comparisons), time.perf_counter() - started_at
    print(f"{equal} of {len(comparisons)} simulations are equal on both stores")
    print(f"{calls:,} store calls on each, {seconds:.0f} s")
    return equal == len(comparisons)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seeds", type=int, default=20, help="the number of simulations")
    arguments.add_argument("--first", type=int, default=1, help="the first seed")
    arguments.add_argument("--days", type=float, default=WEEK, help="the length of each")
    arguments.add_argument("--processes", type=int, default=2)
    options = arguments.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    sys.exit(not run_many(seeds, options.days, options.processes))


if __name__ == "__main__":
    main()
