"""What the store and the engine cost on this disk, beside bare SQLite and APScheduler 3.

All take turns in each round, each measure in a process and with a database of its own; a figure is
the median of the rounds, with the least and the most. Every commit is durable, and the median of an
fdatasync of 4 KiB, taken right before each measure, stands beside. What takes long is done in the
first rounds only. Prints a table in Markdown; what goes on is told on the way.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bench import ours, peers
from bench.measuring import apart, fresh_folder, print_table, shown, sync_ms

OURS, FLOOR, PEER = "Quarterjack", "bare SQLite", "APScheduler 3"
COUNT, SLOTS = 10_000, 100_000
A_SECOND, SECONDS = 100, 20

Measure = Callable[[Path], Sequence[float]]


class Line(NamedTuple):
    """One figure of a row: what it is, what is wanted, and how exactly it is shown."""

    text: str
    wanted: str = ""
    digits: int = 2


class Row(NamedTuple):
    """What is measured together."""

    name: str
    lines: Sequence[Line]
    measures: Mapping[str, Measure]
    takes_long: bool = False

    def without(self, contestant: str) -> Row:
        left = {who: how for who, how in self.measures.items() if who != contestant}
        return self._replace(measures=left)


class Taken(NamedTuple):
    """The figures of one contestant in one round."""

    contestant: str
    figures: Sequence[float]
    sync_ms: float


def measure(function: Callable[..., Any], *values: Any, **named: Any) -> Measure:
    """In a process of its own, in the folder that it will be given."""
    return lambda folder: apart(function, folder, *values, **named)


def with_stored(function: Callable[..., Any], *values: Any) -> Measure:
    """The same on a database with schedules that rest."""

    def measured(folder: Path) -> Any:
        apart(ours.store_resting, folder, COUNT)
        return apart(function, folder, *values)

    return measured


def idle(folder: Path) -> Sequence[float]:
    """The engine alone, and beside it the whole program: neither does anything."""
    places = folder / "alone", folder / "up"
    for place in places:
        place.mkdir()
        apart(ours.store_resting, place, COUNT)
    with ThreadPoolExecutor() as pool:
        alone = pool.submit(apart, ours.idle, places[0], SECONDS)
        whole = pool.submit(ours.idle_up, places[1], SECONDS)
        spent, statements, _ = alone.result()
        return spent, statements, whole.result()


def delay(name: str, how: str, p50: int, p99: int, *, spread: bool) -> Row:
    of = f"start delay, {A_SECOND} schedules each second, {how}:"
    asked = partial(measure, count=A_SECOND, seconds=SECONDS, spread=spread)
    total = A_SECOND * SECONDS
    return Row(
        name,
        [
            Line(f"{of} p50, ms", f"{p50} + 2 fdatasync", 1),
            Line(f"{of} p99, ms", f"{p99} + 2 fdatasync", 1),
            Line(f"{of} ran of {total:,}", f"{total:,}", 0),
        ],
        {OURS: asked(ours.start_delays), PEER: asked(peers.apscheduler_delays)},
        takes_long=True,
    )


ROWS = [
    Row(
        "add",
        [Line(f"{COUNT:,} schedules added by the store's verb, s", "0.2")],
        {
            OURS: measure(ours.added_by_verb, COUNT),
            FLOOR: measure(peers.floor_added, COUNT),
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
            Line(f"{COUNT:,} due at once: planned, executed, settled, s", "0.8, stretch 0.5"),
            Line("the same: CPU s"),
            Line("the same: statements, a batch counting as one", digits=0),
        ],
        {
            OURS: measure(ours.due_at_once, COUNT),
            FLOOR: measure(peers.floor_due, COUNT),
            PEER: measure(peers.apscheduler_due, COUNT),
        },
    ),
    Row(
        "queue",
        [
            Line(f"backfill of {SLOTS:,} slots, asked for until settled, runs/s", "15,000", 0),
            Line("the same: CPU s"),
        ],
        {OURS: measure(ours.backfilled, SLOTS), FLOOR: measure(peers.floor_queue, SLOTS)},
        takes_long=True,
    ),
    delay("delay-spread", "spread over it", 4, 10, spread=True),
    delay("delay-instant", "all at one instant", 10, 20, spread=False),
    Row(
        "idle",
        [
            Line(f"idle with {COUNT:,} stored, {SECONDS} s: the engine, CPU s", "0.01", 3),
            Line("the same: statements", "0", 0),
            Line("the same: all of `quarterjack up`, CPU s", "0.08", 3),
        ],
        {OURS: idle},
        takes_long=True,
    ),
    Row(
        "start",
        [Line(f"`quarterjack up` with {COUNT:,} stored: from exec to ready, s", "0.4")],
        {
            OURS: with_stored(ours.cold_start),
            PEER: measure(peers.apscheduler_cold_start, COUNT),
        },
    ),
]


def take_turns(rows: Sequence[Row], rounds: int, long_rounds: int) -> Mapping[str, list[Taken]]:
    taken: dict[str, list[Taken]] = {row.name: [] for row in rows}
    for number in range(max(rounds, long_rounds)):
        for row in rows:
            for contestant, measured in row.measures.items():
                takes_long = row.takes_long or contestant == PEER
                if number < (long_rounds if takes_long else rounds):
                    taken[row.name].append(take(contestant, measured))
                    figures = ", ".join(f"{each:.4g}" for each in taken[row.name][-1].figures)
                    print(f"{number + 1} {row.name} {contestant}: {figures}", file=sys.stderr)
    return taken


def take(contestant: str, measured: Measure) -> Taken:
    with fresh_folder() as folder:
        sync = sync_ms(folder)
        return Taken(contestant, measured(folder), sync)


def table_rows(row: Row, taken: Sequence[Taken]) -> list[list[str]]:
    """One for each line of the row."""
    sync = shown([each.sync_ms for each in taken], 2)
    rows = []
    for place, line in enumerate(row.lines):
        cells = [
            shown(figures_of(contestant, place, taken), line.digits)
            for contestant in (OURS, FLOOR, PEER)
        ]
        rows.append([line.text, *cells, line.wanted, sync])
    return rows


def figures_of(contestant: str, place: int, taken: Sequence[Taken]) -> list[float]:
    mine = [each.figures for each in taken if each.contestant == contestant]
    return [figures[place] for figures in mine if place < len(figures)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    names = [row.name for row in ROWS]
    parser.add_argument(
        "--only", nargs="+", metavar="ROW", default=names, help=f"{', '.join(names)}, or a prefix"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--long-rounds", type=int, default=3, help="of APScheduler, too")
    parser.add_argument("--without-peer", action="store_true", help="leave APScheduler out")
    options = parser.parse_args()
    rows = [row for row in ROWS if row.name.startswith(tuple(options.only))]
    if options.without_peer:
        rows = [row.without(PEER) for row in rows]
    taken = take_turns(rows, options.rounds, options.long_rounds)
    head = ["", OURS, FLOOR, PEER, "wanted", "fdatasync, ms"]
    print_table(head, [cells for row in rows for cells in table_rows(row, taken[row.name])])


if __name__ == "__main__":
    main()
