"""Generated recurrences around changes of offset, each compared with the walk over real minutes.

`make oracle` visits every change from 2020 to 2037; the suite visits a seeded sample of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from datetime import time as Time
from random import Random

from harness.times import walk
from quarterjack import Cron, Daily, Every, Hourly, Monthly, Recurrence, Weekday, Weekly
from quarterjack.times.instants import from_datetime

FIRST_YEAR, LAST_YEAR = 2020, 2037
AROUND = timedelta(days=1, hours=12)
EDGES = (-121, -120, -61, -60, -31, -30, -1, 0, 1, 29, 30, 59, 60, 61, 119, 120)
"""Minutes from a change at which its gap or fold begins and ends, and their neighbours."""
GAPS = ("after", "skip")
FOLDS = ("once", "twice")


@dataclass(frozen=True)
class Case:
    """A recurrence, and how the walk is to understand it."""

    recurrence: Recurrence
    matches: walk.Matches
    real_time: bool
    dst_gap: str
    dst_fold: str


@dataclass
class Tally:
    """What was compared."""

    changes: int = 0
    recurrences: int = 0
    slots: int = 0
    questions: int = 0

    def add(self, other: Tally) -> None:
        self.changes += other.changes
        self.recurrences += other.recurrences
        self.slots += other.slots
        self.questions += other.questions


def check_change(zone: str, change: datetime, random: Random, cases: int) -> Tally:
    """Compare so many generated recurrences with the walk around one change of offset."""
    start, end = change - AROUND, change + AROUND
    start = start.replace(second=0)
    steps = walk.steps(zone, start, end)
    tally = Tally(changes=1)
    for _ in range(cases):
        case = draw(random, zone, change)
        expected = walk.slots(
            steps,
            case.matches,
            real_time=case.real_time,
            dst_gap=case.dst_gap,
            dst_fold=case.dst_fold,
        )
        compare(case.recurrence, expected, start, end, random, tally)
    return tally


def compare(
    recurrence: Recurrence,
    expected: list[datetime],
    start: datetime,
    end: datetime,
    random: Random,
    tally: Tally,
) -> None:
    """All five questions, at random instants and beside each slot."""
    tally.recurrences += 1
    tally.slots += len(expected)
    said = recurrence.between(start - timedelta(microseconds=1), end)
    assert said == expected, f"{recurrence!r} between {start} and {end}: {said} != {expected}"
    span = (end - start) // timedelta(seconds=1)
    caller = [start + timedelta(seconds=random.randrange(span)) for _ in range(4)]
    for slot in random.sample(expected, min(3, len(expected))):
        caller += [slot, slot - timedelta(microseconds=1), slot + timedelta(microseconds=1)]
    low, high = sorted(random.sample(caller, 2))
    counted = recurrence.slots.count(from_datetime(low), from_datetime(high))
    inside = sum(low < slot <= high for slot in expected)
    assert counted == inside, f"{recurrence!r} in ({low}, {high}]: {counted}, not {inside}"
    for instant in caller:
        tally.questions += 3
        where = f"{recurrence!r} at {instant}"
        later = [slot for slot in expected if slot > instant]
        earlier = [slot for slot in expected if slot <= instant]
        said_next, said_prev = recurrence.next(instant), recurrence.prev(instant)
        if later:
            assert said_next == later[0], f"{where}: next {said_next}, not {later[0]}"
        else:
            assert said_next is None or said_next > end, f"{where}: next {said_next}, too early"
        if earlier:
            assert said_prev == earlier[-1], f"{where}: prev {said_prev}, not {earlier[-1]}"
        else:
            assert said_prev is None or said_prev < start, f"{where}: prev {said_prev}, too late"
        assert recurrence.matches(instant) == (instant in expected), f"{where}: matches"


def draw(random: Random, zone: str, change: datetime) -> Case:
    """Mostly cron; the walls named are mostly those that the change skips or repeats."""
    beside = random.choice([random.randrange(-90, 90), random.choice(EDGES)])
    wall = random.choice([change, change - timedelta(seconds=1)]).astimezone(walk.zone(zone))
    wall = wall.replace(tzinfo=None, fold=0, second=0) + timedelta(minutes=beside)
    words = {"dst_gap": random.choice(GAPS), "dst_fold": random.choice(FOLDS)}
    kind = random.choices(["cron", "pattern", "every"], [6, 2, 2])[0]
    if kind == "cron":
        return draw_cron(random, zone, wall, words)
    if kind == "pattern":
        return draw_pattern(random, zone, wall, words)
    return draw_every(random, zone, wall, change, words)


def draw_cron(random: Random, zone: str, wall: datetime, words: dict[str, str]) -> Case:
    while True:
        text = " ".join(
            [
                draw_field(random, 0, 59, wall.minute),
                draw_field(random, 0, 23, wall.hour),
                draw_day(random, wall),
                draw_field(random, 1, 12, wall.month, stars=4),
                draw_weekday(random, wall),
            ]
        )
        try:
            recurrence = Cron(text, timezone=zone, **words)
        except ValueError as error:
            assert " never " in str(error), error
            continue
        matches = walk.CronWords(text)
        return Case(recurrence, matches, matches.real_time, **words)


def draw_field(random: Random, low: int, high: int, near: int, stars: int = 1) -> str:
    step = random.choice([2, 3, 5, 7, 10, 15, 20, 30])
    other = random.choice([number for number in range(low, high + 1) if number != near])
    first, last = sorted([near, other])
    forms = [
        *["*"] * stars,
        f"*/{step}",
        str(near),
        str(near),
        f"{first}-{last}",
        f"{first}-{last}/{step}",
        f"{near}/{step}",
        f"{near},{other}",
    ]
    return random.choice(forms)


def draw_day(random: Random, wall: datetime) -> str:
    special = random.choice(["L", "LW", "L-1", "15W", f"{wall.day}W", "?", "1,L", f"{wall.day},LW"])
    return random.choice([draw_field(random, 1, 31, wall.day, stars=4), special, "*", "*"])


def draw_weekday(random: Random, wall: datetime) -> str:
    weekday = (wall.weekday() + 1) % 7
    nth = (wall.day - 1) // 7 + 1
    name = walk.WEEKDAYS[weekday]
    special = random.choice([f"{weekday}#{nth}", f"{weekday}L", name, f"{name}#{nth}", "0,7", "?"])
    return random.choice([draw_field(random, 0, 7, weekday, stars=4), special, "*", "*"])


def draw_pattern(random: Random, zone: str, wall: datetime, words: dict[str, str]) -> Case:
    clock = Time(wall.hour, wall.minute)
    recurrence: Recurrence
    matches: walk.Matches
    match random.choice(["hourly", "daily", "weekly", "monthly"]):
        case "hourly":
            recurrence = Hourly(wall.minute, timezone=zone, **words)
            return Case(recurrence, lambda at: at.minute == wall.minute, real_time=True, **words)
        case "daily":
            recurrence = Daily(clock, timezone=zone, **words)
            matches = lambda at: at.time() == clock  # noqa: E731
        case "weekly":
            days = random.sample(list(Weekday), random.randint(1, 6))
            recurrence = Weekly(days, clock, timezone=zone, **words)
            numbers = {list(Weekday).index(day) for day in days}
            matches = lambda at: at.time() == clock and at.weekday() in numbers  # noqa: E731
        case _:
            recurrence = Monthly(wall.day, clock, timezone=zone, **words)
            matches = lambda at: at.time() == clock and at.day == wall.day  # noqa: E731
    return Case(recurrence, matches, real_time=False, **words)


def draw_every(
    random: Random, zone: str, wall: datetime, change: datetime, words: dict[str, str]
) -> Case:
    """Calendar time, from an anchor some time before; elapsed time needs no walk."""
    days = random.choice([1, 2, 3, 7, 14])
    anchor_wall = wall - timedelta(days=days * random.randint(10, 20))
    anchor = anchor_wall.replace(tzinfo=walk.zone(zone)).astimezone(UTC)
    anchor_wall = anchor.astimezone(walk.zone(zone)).replace(tzinfo=None, fold=0)
    name = random.choice(["start_at", "created_at"])
    recurrence = Every(f"{days}d", timezone=zone, **{name: anchor}, **words)
    return Case(
        recurrence,
        lambda at: (
            at.time() == anchor_wall.time() and (at.date() - anchor_wall.date()).days % days == 0
        ),
        real_time=False,
        **words,
    )


def all_changes() -> Iterator[tuple[str, datetime]]:
    for zone, instants in walk.zones_by_history(FIRST_YEAR, LAST_YEAR).items():
        for change in instants:
            yield zone, change


def _check_zone(zone: str, instants: list[datetime], seed: int, cases: int) -> Tally:
    tally = Tally()
    for change in instants:
        tally.add(check_change(zone, change, Random(f"{seed}/{zone}/{change}"), cases))
    return tally


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--cases", type=int, default=100, help="recurrences for each change")
    options = arguments.parse_args()
    began = time.perf_counter()
    zones = walk.zones_by_history(FIRST_YEAR, LAST_YEAR)
    tally = Tally()
    with ProcessPoolExecutor() as pool:
        checks = [
            pool.submit(_check_zone, zone, instants, options.seed, options.cases)
            for zone, instants in zones.items()
        ]
        for check in checks:
            tally.add(check.result())
    seconds = time.perf_counter() - began
    print(f"zones with a history of their own  {len(zones):>12,}")
    print(f"changes of offset {FIRST_YEAR}-{LAST_YEAR}        {tally.changes:>12,}")
    print(f"recurrences compared               {tally.recurrences:>12,}")
    print(f"slots compared                     {tally.slots:>12,}")
    print(f"next, prev, matches asked          {tally.questions:>12,}")
    print(f"differences                        {0:>12,}   ({seconds:.0f} s, seed {options.seed})")


if __name__ == "__main__":
    main()
