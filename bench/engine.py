"""The cost of the store and the engine on this disk, compared with a floor and with other projects.

All take turns in each round, each measurement in a process and with a database of its own. A figure
is the median of the rounds, with the minimum and the maximum. Every commit is durable, and each
row shows the median of an fdatasync of 4 KiB, taken right before each measurement. Long ones run in
the first rounds only. Prints a table in Markdown for each kind of database, and the progress to
standard error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from bench import databases, floors, ours, peers, queues, workers
from bench.databases import Database, Fresh
from bench.measuring import apart, print_table, shown, sync_ms

OURS, PEER = "Quarterjack", "APScheduler 3"
FLOORS = {"sqlite": "bare SQLite", "postgres": "bare asyncpg"}
QUEUES = ("pgqueuer", "procrastinate")
COUNT, SLOTS, FEWER_SLOTS = 10_000, 100_000, 2000
"""The smaller number is for those that would take minutes."""
A_SECOND, SECONDS = 100, 20
DEAD = 100_000
QUEUED, WORKER_COUNTS, WORKER_SCHEDULES = 40_000, (1, 2, 4), (1, 100)
WORKER_LINES = [
    "runs/s",
    "times one, in the same round (target 0.95)",
    "processes waiting for a lock, on average",
    "deadlocks",
]

Measure = Callable[[Database], Sequence[float]]


class Line(NamedTuple):
    """One figure of a row, its goal, and its decimals."""

    text: str
    wanted: str = ""
    digits: int = 2


class Row(NamedTuple):
    """Figures that are measured together."""

    name: str
    lines: Sequence[Line]
    measures: Mapping[str, Measure]
    takes_long: bool = False

    def only(self, contestants: Sequence[str]) -> Row:
        left = {who: how for who, how in self.measures.items() if who in contestants}
        return self._replace(measures=left)


class Result(NamedTuple):
    """The figures of one contestant in one round."""

    contestant: str
    figures: Sequence[float]
    sync_ms: float


def measure(function: Callable[..., Any], *values: Any, **named: Any) -> Measure:
    """In a process of its own, on a database that is passed later."""
    return lambda database: apart(function, database, *values, **named)


def with_stored(function: Callable[..., Any], *values: Any) -> Measure:
    """The same, on a database with idle schedules."""

    def measured(database: Database) -> Any:
        apart(ours.store_idle, database, COUNT)
        return apart(function, database, *values)

    return measured


def idle(database: Database) -> Sequence[float]:
    """The engine alone, and then the whole program."""
    apart(ours.store_idle, database, COUNT)
    spent, statements, _ = apart(ours.idle, database, SECONDS)
    return spent, statements, ours.idle_up(database, SECONDS)


def delay(name: str, how: str, p50: int, p99: int, *, spread: bool) -> Row:
    of = f"start delay, {A_SECOND} schedules each second, {how}:"
    delays = partial(measure, count=A_SECOND, seconds=SECONDS, spread=spread)
    total = A_SECOND * SECONDS
    return Row(
        name,
        [
            Line(f"{of} p50, ms", f"{p50} + 2 fdatasync", 1),
            Line(f"{of} p99, ms", f"{p99} + 2 fdatasync", 1),
            Line(f"{of} ran of {total:,}", f"{total:,}", 0),
        ],
        {OURS: delays(ours.start_delays), PEER: delays(peers.apscheduler_delays)},
        takes_long=True,
    )


def rows(kind: str) -> list[Row]:
    """What is measured on this kind of database, and the goals there."""
    on_server = kind == "postgres"
    floor, command = FLOORS[kind], "scheduler" if on_server else "up"
    return [
        Row(
            "add",
            [
                Line(
                    f"{COUNT:,} schedules added through the store, s",
                    "0.3" if on_server else "0.2",
                )
            ],
            {
                OURS: measure(ours.added_to_store, COUNT),
                floor: measure(floors.added, COUNT),
                PEER: measure(peers.apscheduler_added, COUNT),
            },
        ),
        Row(
            "control",
            [Line(f"{COUNT:,} schedules added through control, with audit, s", "0.8")],
            {OURS: measure(ours.added_through_control, COUNT)},
        ),
        Row(
            "due",
            [
                Line(
                    f"{COUNT:,} due at once: planned, executed, settled, s",
                    "1.2, stretch 0.8" if on_server else "0.8, stretch 0.5",
                ),
                Line("the same: CPU s"),
                Line("the same: statements, a batch counting as one", digits=0),
                *([Line("the same: CPU s of the server")] if on_server else []),
            ],
            {
                OURS: measure(ours.due_at_once, COUNT),
                floor: measure(floors.due, COUNT),
                PEER: measure(peers.apscheduler_due, COUNT),
            },
        ),
        Row(
            "queue",
            [
                Line(
                    f"backfill of {SLOTS:,} slots, from the request until settled, runs/s",
                    "10,000" if on_server else "15,000",
                    0,
                ),
                Line("the same: CPU s"),
                *([Line("the same: CPU s of the server")] if on_server else []),
            ],
            {OURS: measure(ours.backfilled, SLOTS), floor: measure(floors.queue, SLOTS)}
            | (the_queues() if on_server else {}),
            takes_long=True,
        ),
        delay("delay-spread", "spread over it", 4, 10, spread=True),
        delay("delay-instant", "all at one instant", 10, 20, spread=False),
        Row(
            "idle",
            [
                Line(f"idle with {COUNT:,} stored, {SECONDS} s: the engine, CPU s", "0.01", 3),
                Line("the same: statements", f"{SECONDS // 5}" if on_server else "0", 0),
                Line("the same: all of `quarterjack up`, CPU s", "0.08", 3),
            ],
            {OURS: idle},
            takes_long=True,
        ),
        *([dead_rows()] if on_server else []),
        Row(
            "start",
            [Line(f"`quarterjack {command}` with {COUNT:,} stored: from exec to ready, s", "0.4")],
            {
                OURS: with_stored(ours.cold_start, command),
                PEER: measure(peers.apscheduler_cold_start, COUNT),
            },
        ),
    ]


def dead_rows() -> Row:
    of = f"a claim beside {DEAD:,} dead rows that another transaction keeps:"
    lines = [Line(f"{of} p50, ms", digits=1), Line(f"{of} p99, ms", digits=1)]
    return Row("dead", lines, {OURS: measure(ours.claims_beside_dead_rows, DEAD)})


def the_queues() -> dict[str, Measure]:
    return {
        "pgqueuer": measure(queues.pgqueuer, COUNT),
        "procrastinate": measure(queues.procrastinate, FEWER_SLOTS),
    }


def take_turns(
    rows: Sequence[Row], fresh: Fresh, rounds: int, long_rounds: int
) -> Mapping[str, list[Result]]:
    taken: dict[str, list[Result]] = {row.name: [] for row in rows}
    for number in range(max(rounds, long_rounds)):
        for row in rows:
            for contestant, measured in row.measures.items():
                takes_long = row.takes_long or contestant == PEER
                if number < (long_rounds if takes_long else rounds):
                    taken[row.name].append(take(contestant, measured, fresh))
                    figures = ", ".join(f"{each:.4g}" for each in taken[row.name][-1].figures)
                    print(f"{number + 1} {row.name} {contestant}: {figures}", file=sys.stderr)
    return taken


def take(contestant: str, measured: Measure, fresh: Fresh) -> Result:
    with fresh() as database:
        sync = sync_ms(database.folder)
        return Result(contestant, measured(database), sync)


def table_rows(row: Row, taken: Sequence[Result], contestants: Sequence[str]) -> list[list[str]]:
    """One for each line of the row."""
    sync = shown([each.sync_ms for each in taken], 2)
    rows = []
    for index, line in enumerate(row.lines):
        cells = [shown(figures_of(who, index, taken), line.digits) for who in contestants]
        rows.append([line.text, *cells, line.wanted, sync])
    return rows


def figures_of(contestant: str, index: int, taken: Sequence[Result]) -> list[float]:
    own = [each.figures for each in taken if each.contestant == contestant]
    return [figures[index] for figures in own if index < len(figures)]


def print_rows(kind: str, options: argparse.Namespace) -> None:
    contestants = [OURS, FLOORS[kind]]
    if not options.without_peers:
        contestants += [PEER, *(QUEUES if kind == "postgres" else ())]
    chosen = [
        row.only(contestants) for row in rows(kind) if row.name.startswith(tuple(options.only))
    ]
    if not chosen:
        return
    with getattr(databases, kind)() as fresh:
        taken = take_turns(chosen, fresh, options.rounds, options.long_rounds)
    head = [kind, *contestants, "target", "fdatasync, ms"]
    cells = [each for row in chosen for each in table_rows(row, taken[row.name], contestants)]
    print_table(head, cells)
    print()


def print_workers(rounds: int) -> None:
    """Several workers, compared with one, on runs of one schedule and of many."""
    with databases.postgres() as fresh:
        for schedules in WORKER_SCHEDULES:
            found = measure_workers(fresh, schedules, rounds)
            head = [f"{QUEUED:,} queued runs, of {schedules} schedules"]
            print_table(
                [*head, *(f"{count} workers" for count in WORKER_COUNTS)],
                zip(
                    *([WORKER_LINES] + [worker_cells(found, count) for count in WORKER_COUNTS]),
                    strict=True,
                ),
            )
            print()


def worker_cells(found: Mapping[int, list[workers.Worked]], count: int) -> list[str]:
    pairs = zip(found[count], found[1], strict=True)
    return [
        shown([each.per_second for each in found[count]], 0),
        shown([each.per_second / one.per_second for each, one in pairs], 2),
        shown([each.waiting for each in found[count]], 2),
        shown([each.deadlocks for each in found[count]], 0),
    ]


def measure_workers(
    fresh: Fresh, schedules: int, rounds: int
) -> Mapping[int, list[workers.Worked]]:
    found: dict[int, list[workers.Worked]] = {count: [] for count in WORKER_COUNTS}
    for number in range(rounds):
        for count in WORKER_COUNTS:
            with fresh() as database:
                found[count].append(workers.worked(database, QUEUED, schedules, count))
            figures = ", ".join(f"{each:.4g}" for each in found[count][-1])
            print(
                f"{number + 1} workers {count} of {schedules}: {figures}",
                file=sys.stderr,
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    names = [*(row.name for row in rows("postgres")), "workers"]
    parser.add_argument("--on", nargs="+", choices=list(FLOORS), default=list(FLOORS))
    parser.add_argument(
        "--only", nargs="+", metavar="ROW", default=names, help=f"{', '.join(names)}, or a prefix"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--long-rounds", type=int, default=3, help="also of APScheduler")
    parser.add_argument("--worker-rounds", type=int, default=5, help="of several workers")
    parser.add_argument(
        "--without-peers", action="store_true", help="measure Quarterjack and the floor only"
    )
    options = parser.parse_args()
    for kind in options.on:
        print_rows(kind, options)
    if "postgres" in options.on and "workers".startswith(tuple(options.only)):
        print_workers(options.worker_rounds)


if __name__ == "__main__":
    main()
