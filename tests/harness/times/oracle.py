"""Random recurrences around changes of offset, each compared with the walk over real minutes.

`make oracle` tests every change from 2020 to 2037, the suite a seeded sample of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
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
"""Minutes from a change at which gaps and folds begin and end, and their neighbours."""
GAPS = ("after", "skip")
FOLDS = ("once", "twice")
DAY_RULES = ("or", "or", "and")


@dataclass(frozen=True)
class Case:
    """A recurrence, and its meaning for the walk: that of each part of a union."""

    recurrence: Recurrence
    parts: Sequence[tuple[walk.Matches, bool]]
    """What matches, and whether it follows real time."""
    dst_gap: str
    dst_fold: str

    def expected(self, steps: list[walk.Step]) -> list[datetime]:
        rules = {"dst_gap": self.dst_gap, "dst_fold": self.dst_fold}
        found = (
            walk.slots(steps, matches, real_time=real_time, **rules)
            for matches, real_time in self.parts
        )
        return sorted({slot for slots in found for slot in slots})


@dataclass
class Tally:
    changes: int = 0
    recurrences: int = 0
    slots: int = 0
    queries: int = 0

    def add(self, other: Tally) -> None:
        self.changes += other.changes
        self.recurrences += other.recurrences
        self.slots += other.slots
        self.queries += other.queries


def check_change(zone: str, change: datetime, random: Random, cases: int) -> Tally:
    """Compares random recurrences with the walk around one change of offset."""
    start, end = change - AROUND, change + AROUND
    start = start.replace(second=0)
    steps = walk.steps(zone, start, end)
    tally = Tally(changes=1)
    for _ in range(cases):
        case = draw(random, zone, change)
        compare(case.recurrence, case.expected(steps), start, end, random, tally)
    return tally


def compare(
    recurrence: Recurrence,
    expected: list[datetime],
    start: datetime,
    end: datetime,
    random: Random,
    tally: Tally,
) -> None:
    """Compares all methods, at random instants and around some slots."""
    tally.recurrences += 1
    tally.slots += len(expected)
    found = recurrence.between(start - timedelta(microseconds=1), end)
    assert found == expected, f"{recurrence!r} between {start} and {end}: {found} != {expected}"
    span = (end - start) // timedelta(seconds=1)
    instants = [start + timedelta(seconds=random.randrange(span)) for _ in range(4)]
    for slot in random.sample(expected, min(3, len(expected))):
        instants += [slot, slot - timedelta(microseconds=1), slot + timedelta(microseconds=1)]
    low, high = sorted(random.sample(instants, 2))
    counted = recurrence.slots.count(from_datetime(low), from_datetime(high))
    inside = sum(low < slot <= high for slot in expected)
    assert counted == inside, f"{recurrence!r} in ({low}, {high}]: {counted}, not {inside}"
    for instant in instants:
        tally.queries += 3
        where = f"{recurrence!r} at {instant}"
        later = [slot for slot in expected if slot > instant]
        earlier = [slot for slot in expected if slot <= instant]
        following, previous = recurrence.next(instant), recurrence.prev(instant)
        if later:
            assert following == later[0], f"{where}: next {following}, not {later[0]}"
        else:
            assert following is None or following > end, f"{where}: next {following}, too early"
        if earlier:
            assert previous == earlier[-1], f"{where}: prev {previous}, not {earlier[-1]}"
        else:
            assert previous is None or previous < start, f"{where}: prev {previous}, too late"
        assert recurrence.matches(instant) == (instant in expected), f"{where}: matches"


def draw(random: Random, zone: str, change: datetime) -> Case:
    """Mostly cron, and mostly wall_time times that the change skips or repeats."""
    offset = random.choice([random.randrange(-90, 90), random.choice(EDGES)])
    wall_time = random.choice([change, change - timedelta(seconds=1)]).astimezone(walk.zone(zone))
    wall_time = wall_time.replace(tzinfo=None, fold=0, second=0) + timedelta(minutes=offset)
    options = {"dst_gap": random.choice(GAPS), "dst_fold": random.choice(FOLDS)}
    kind = random.choices(["cron", "union", "pattern", "every"], [6, 3, 2, 2])[0]
    if kind == "union":
        return draw_union(random, zone, wall_time, options)
    if kind == "cron":
        return draw_cron(random, zone, wall_time, options)
    if kind == "pattern":
        return draw_pattern(random, zone, wall_time, options)
    return draw_every(random, zone, wall_time, change, options)


def draw_cron(random: Random, zone: str, wall_time: datetime, options: dict[str, str]) -> Case:
    return _of_crons(random, zone, wall_time, options, 1)


def draw_union(random: Random, zone: str, wall_time: datetime, options: dict[str, str]) -> Case:
    return _of_crons(random, zone, wall_time, options, random.choice([2, 2, 3, 5]))


def _of_crons(
    random: Random, zone: str, wall_time: datetime, options: dict[str, str], count: int
) -> Case:
    day_rule = random.choice(DAY_RULES)
    while True:
        texts = [draw_text(random, wall_time) for _ in range(count)]
        try:
            recurrence = Cron(texts, timezone=zone, day_rule=day_rule, **options)
        except ValueError as error:
            assert " never " in str(error), error
            continue
        crons = [walk.CronText(text, day_rule) for text in texts]
        return Case(recurrence, [(cron, cron.real_time) for cron in crons], **options)


def draw_text(random: Random, wall_time: datetime) -> str:
    return " ".join(
        [
            draw_field(random, 0, 59, wall_time.minute),
            draw_field(random, 0, 23, wall_time.hour),
            draw_day(random, wall_time),
            draw_field(random, 1, 12, wall_time.month, stars=4),
            draw_weekday(random, wall_time),
        ]
    )


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


def draw_day(random: Random, wall_time: datetime) -> str:
    special = random.choice(
        ["L", "LW", "L-1", "15W", f"{wall_time.day}W", "?", "1,L", f"{wall_time.day},LW"]
    )
    return random.choice([draw_field(random, 1, 31, wall_time.day, stars=4), special, "*", "*"])


def draw_weekday(random: Random, wall_time: datetime) -> str:
    weekday = (wall_time.weekday() + 1) % 7
    nth = (wall_time.day - 1) // 7 + 1
    name = walk.WEEKDAYS[weekday]
    special = random.choice(
        [
            f"{weekday}#{nth}",
            f"{weekday}L",
            name,
            f"{name}#{nth}",
            "0,7",
            "?",
            f"{wall_time:%A}",
            f"{wall_time:%A}L",
            f"{name}-SUN",
        ]
    )
    return random.choice([draw_field(random, 0, 7, weekday, stars=4), special, "*", "*"])


def draw_pattern(random: Random, zone: str, wall_time: datetime, options: dict[str, str]) -> Case:
    clock = Time(wall_time.hour, wall_time.minute)
    recurrence: Recurrence
    matches: walk.Matches
    match random.choice(["hourly", "daily", "weekly", "monthly"]):
        case "hourly":
            recurrence = Hourly(wall_time.minute, timezone=zone, **options)
            matches = lambda at: at.minute == wall_time.minute  # noqa: E731
            return Case(recurrence, [(matches, True)], **options)
        case "daily":
            recurrence = Daily(clock, timezone=zone, **options)
            matches = lambda at: at.time() == clock  # noqa: E731
        case "weekly":
            days = random.sample(list(Weekday), random.randint(1, 6))
            recurrence = Weekly(days, clock, timezone=zone, **options)
            numbers = {list(Weekday).index(day) for day in days}
            matches = lambda at: at.time() == clock and at.weekday() in numbers  # noqa: E731
        case _:
            recurrence = Monthly(wall_time.day, clock, timezone=zone, **options)
            matches = lambda at: at.time() == clock and at.day == wall_time.day  # noqa: E731
    return Case(recurrence, [(matches, False)], **options)


def draw_every(
    random: Random, zone: str, wall_time: datetime, change: datetime, options: dict[str, str]
) -> Case:
    """In calendar time from an earlier anchor; elapsed time needs no walk."""
    days = random.choice([1, 2, 3, 7, 14])
    anchor_wall_time = wall_time - timedelta(days=days * random.randint(10, 20))
    anchor = anchor_wall_time.replace(tzinfo=walk.zone(zone)).astimezone(UTC)
    anchor_wall_time = anchor.astimezone(walk.zone(zone)).replace(tzinfo=None, fold=0)
    name = random.choice(["start_at", "created_at"])
    recurrence = Every(f"{days}d", timezone=zone, **{name: anchor}, **options)

    def matches(at: datetime) -> bool:
        if at.time() != anchor_wall_time.time():
            return False
        return (at.date() - anchor_wall_time.date()).days % days == 0

    return Case(recurrence, [(matches, False)], **options)


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
    arguments.add_argument("--cases", type=int, default=100, help="recurrences per change")
    options = arguments.parse_args()
    started_at = time.perf_counter()
    zones = walk.zones_by_history(FIRST_YEAR, LAST_YEAR)
    tally = Tally()
    with ProcessPoolExecutor() as pool:
        checks = [
            pool.submit(_check_zone, zone, instants, options.seed, options.cases)
            for zone, instants in zones.items()
        ]
        for check in checks:
            tally.add(check.result())
    seconds = time.perf_counter() - started_at
    print(f"zones with a history of their own  {len(zones):>12,}")
    print(f"changes of offset {FIRST_YEAR}-{LAST_YEAR}        {tally.changes:>12,}")
    print(f"recurrences compared               {tally.recurrences:>12,}")
    print(f"slots compared                     {tally.slots:>12,}")
    print(f"calls of next, prev, matches       {tally.queries:>12,}")
    print(f"differences                        {0:>12,}   ({seconds:.0f} s, seed {options.seed})")


if __name__ == "__main__":
    main()
