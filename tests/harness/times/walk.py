"""The reference implementation of recurrences: a walk over real minutes, from the documentation
alone. Nothing of `quarterjack` is imported, and zones come from `zoneinfo`."""

from __future__ import annotations

import calendar
import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import tzdata

Matches = Callable[[datetime], bool]
"""Whether a recurrence contains this wall time."""

MINUTE = timedelta(minutes=1)
MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
FULL_MONTHS = calendar.month_name[1:]
WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]

DATA = Path(tzdata.__path__[0])


@functools.cache
def zone(name: str) -> ZoneInfo:
    with (DATA / "zoneinfo" / name).open("rb") as file:
        return ZoneInfo.from_file(file, name)


@dataclass(frozen=True)
class Step:
    """One real minute: its wall time, those skipped just before, and whether it is a repetition."""

    instant: datetime
    wall: datetime
    skipped: tuple[datetime, ...]
    is_repeated: bool


def steps(zone_name: str, start: datetime, end: datetime) -> list[Step]:
    """Every real minute in [start, end]. The walk begins two days earlier, to know repetitions."""
    own_zone = zone(zone_name)
    seen: set[datetime] = set()
    found = []
    instant = start - timedelta(days=2)
    before = None
    while instant <= end:
        wall = instant.astimezone(own_zone).replace(tzinfo=None, fold=0)
        skipped: tuple[datetime, ...] = ()
        if before is not None and wall - before > MINUTE:
            count = (wall - before) // MINUTE
            skipped = tuple(before + n * MINUTE for n in range(1, count))
        if instant >= start:
            found.append(Step(instant, wall, skipped, wall in seen))
        seen.add(wall)
        before = wall
        instant += MINUTE
    return found


def slots(
    walk: list[Step],
    matches: Matches,
    *,
    real_time: bool,
    dst_gap: str = "after",
    dst_fold: str = "once",
) -> list[datetime]:
    """The rules of the section on daylight saving in docs/recurrences.md."""
    found = []
    for step in walk:
        on_time = matches(step.wall)
        moved = dst_gap == "after" and any(matches(wall) for wall in step.skipped)
        repeated = step.is_repeated and dst_fold == "once"
        if on_time if real_time else (moved or (on_time and not repeated)):
            found.append(step.instant)
    return found


class CronText:
    """A naive cron matcher for wall times."""

    def __init__(self, text: str, day_rule: str = "or") -> None:
        minute, hour, day, month, weekday = text.upper().split()
        self.minutes = numbers(minute, 0, 59)
        self.hours = numbers(hour, 0, 23)
        self.months = numbers(month, 1, 12, MONTHS)
        self.day = day
        self.weekday = weekday
        self.real_time = minute.startswith("*") or hour.startswith("*")
        self.either = day_rule == "or" and not (day[0] in "*?" or weekday[0] in "*?")
        self.known_days: dict[date, bool] = {}

    def __call__(self, wall: datetime) -> bool:
        if wall.minute not in self.minutes or wall.hour not in self.hours:
            return False
        day = wall.date()
        if day not in self.known_days:
            self.known_days[day] = self.matches_day(day)
        return self.known_days[day]

    def matches_day(self, day: date) -> bool:
        numbered = any(day_item(item, day) for item in self.day.split(","))
        named = any(weekday_item(item, day) for item in self.weekday.split(","))
        matches = (numbered or named) if self.either else (numbered and named)
        return day.month in self.months and matches


def numbers(text: str, low: int, high: int, names: list[str] | None = None) -> set[int]:
    found: set[int] = set()
    for item in text.split(","):
        span, _, step = item.partition("/")
        if span in "*?":
            first, last = low, high
        elif "-" in span:
            first, last = (number(part, low, names) for part in span.split("-"))
            if names is WEEKDAYS and span.endswith(("-SUN", "-SUNDAY")) and first > 0:
                last = 7  # the end of the week
        else:
            first = number(span, low, names)
            last = high if step else first
        found.update(range(first, last + 1, int(step or 1)))
    return found


def number(text: str, low: int, names: list[str] | None) -> int:
    if not names or text.isdecimal():
        return int(text)
    full = [name.upper() for name in (calendar.day_name if names is WEEKDAYS else FULL_MONTHS)]
    assert text in names or text in full, text
    return names.index(text[:3]) + low


def day_item(item: str, day: date) -> bool:
    last = calendar.monthrange(day.year, day.month)[1]
    if item == "L":
        return day.day == last
    if item == "LW":
        return day == nearest_working_day(day, last)
    if item.startswith("L-"):
        return day.day == last - int(item[2:])
    if item.endswith("W"):
        wanted = int(item[:-1])
        return wanted <= last and day == nearest_working_day(day, wanted)
    return day.day in numbers(item, 1, 31)


def nearest_working_day(day: date, number: int) -> date:
    """The day itself, else the nearest one, at most two days off and never in another month."""
    for distance in (0, -1, 1, -2, 2):
        near = day.replace(day=number) + timedelta(days=distance)
        if near.month == day.month and near.weekday() < 5:
            return near
    raise AssertionError("there is always a working day within two days")


def weekday_item(item: str, day: date) -> bool:
    if special := re.fullmatch(r"(\w+?)(L|#\d)", item):
        if not weekday_item(special[1], day):
            return False
        if special[2] == "L":
            return (day + timedelta(days=7)).month != day.month
        return (day.day - 1) // 7 + 1 == int(special[2][1])
    sunday_first = (day.weekday() + 1) % 7
    return sunday_first in {number % 7 for number in numbers(item, 0, 7, WEEKDAYS)}


def changes(zone_name: str, first_year: int, last_year: int) -> Iterator[datetime]:
    """The instants at which the offset changes."""
    own_zone = zone(zone_name)
    day = datetime(first_year, 1, 1, tzinfo=UTC)
    while day.year <= last_year:
        following = day + timedelta(days=1)
        if offset(day, own_zone) != offset(following, own_zone):
            yield change_between(day, following, own_zone)
        day = following


def change_between(low: datetime, high: datetime, own_zone: ZoneInfo) -> datetime:
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) // 2
        middle = middle.replace(microsecond=0)
        if offset(middle, own_zone) == offset(low, own_zone):
            low = middle
        else:
            high = middle
    return high


def offset(instant: datetime, own_zone: ZoneInfo) -> timedelta:
    found = instant.astimezone(own_zone).utcoffset()
    assert found is not None
    return found


@functools.cache
def zones_by_history(first_year: int, last_year: int) -> dict[str, list[datetime]]:
    """One zone for each different history of offsets in these years, with its changes."""
    days = [
        datetime(first_year, 1, 1, tzinfo=UTC) + timedelta(days=n)
        for n in range((last_year - first_year + 1) * 366)
    ]
    histories: dict[tuple[timedelta, ...], str] = {}
    for name in sorted((DATA / "zones").read_text().split()):
        own_zone = zone(name)
        base = offset(days[0], own_zone)
        shape = tuple(offset(day, own_zone) - base for day in days[::3])
        if any(shape):
            histories.setdefault((base, *shape), name)
    found = {name: list(changes(name, first_year, last_year)) for name in histories.values()}
    return {name: instants for name, instants in found.items() if instants}
