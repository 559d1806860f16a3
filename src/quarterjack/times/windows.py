"""Windows: which slots may run, by their local date and time. A window does not change the slots of
a recurrence."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Any

from quarterjack.errors import Problems
from quarterjack.times.cached_property import cached_property
from quarterjack.times.checks import invalid
from quarterjack.times.days import EveryNthDay, date_of
from quarterjack.times.instants import DAY, HOUR, MINUTE
from quarterjack.times.patterns import Weekday
from quarterjack.times.slots import WallTimeSlots
from quarterjack.times.wall_times import WallTimes
from quarterjack.times.zones import zone, zone_name

_HOURS = re.compile(r"(\d{1,2}):(\d\d)-(\d{1,2}):(\d\d)", re.ASCII)
_HOLIDAYS = re.compile(r"holidays:([A-Z]{2})(?:-([A-Z0-9]{1,3}))?", re.ASCII)
_BY_NUMBER = {str(day.cron_number): day for day in Weekday} | {"7": Weekday.SUNDAY}
_STEPS_MAX = 10_000


@dataclass(frozen=True)
class Window:
    """`Window(only_between="22:00-06:00", not_on=["sunday", "2026-12-24", "holidays:DE-BY"])`.

    The start is included, the end is not. Weekdays are names or 0-7; 0 and 7 are Sunday.
    """

    only_between: str | None = None
    not_on: Sequence[str | int | date] = ()
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        problems = Problems()
        with problems:
            object.__setattr__(self, "only_between", _canonical(self.only_between))
        with problems:
            object.__setattr__(self, "not_on", _read_not_on(self.not_on))
        with problems:
            object.__setattr__(self, "timezone", zone_name(self.timezone))
        problems.raise_if_any("window")

    def admits(self, slot: int) -> bool:
        return self.refusal(slot) is None

    def refusal(self, slot: int) -> str | None:
        """The constraint that rejects this slot: `only_between`, `not_on`, or None."""
        day, time = divmod(slot + zone(self.timezone).offset(slot), DAY)
        low, high = self._hours
        if not (low <= time < high if low < high else time >= low or time < high):
            return "only_between"
        if not self._closed:
            return None
        local = date_of(day)
        closed = not self._closed.isdisjoint((Weekday.of(local), local.isoformat()))
        closed = closed or any(local in _holidays(name, local.year) for name in self._calendars)
        return "not_on" if closed else None

    def opens(self, at: int) -> int | None:
        """The first admitted instant from this one on; None if there is none for decades."""
        instant: int | None = at
        for _ in range(_STEPS_MAX):
            if instant is None or self.admits(instant):
                return instant
            instant = self._next_boundary(instant)
        return None

    def by_day(self, at: int) -> int | None:
        """The first admitted instant at the same wall time, on this day or a later one: after a gap
        where that wall time does not exist, and the first one where it occurs twice."""
        if self.admits(at):
            return at
        time = (at + zone(self.timezone).offset(at)) % DAY
        minute = time - time % MINUTE
        times = WallTimes(EveryNthDay(0, 1), (minute,), (time - minute,))
        slots = WallTimeSlots(times, zone(self.timezone), gap_after=True, fold_twice=False)
        instant = slots.after(at)
        for _ in range(_STEPS_MAX):
            if instant is None or self.admits(instant):
                return instant
            instant = slots.after(instant)
        return None

    def since(self, instant: int) -> int:
        """Since when `refusal` has returned the same for every instant up to this one."""
        starts = zone(self.timezone).table(instant).starts
        change = starts[max(bisect_right(starts, instant) - 1, 0)]
        boundary = self._boundaries.at_or_before(instant)
        return change if boundary is None else max(change, boundary)

    def to_json(self) -> dict[str, Any]:
        not_on = list(self.not_on)
        return {"only_between": self.only_between, "not_on": not_on, "timezone": self.timezone}

    @cached_property
    def _hours(self) -> tuple[int, int]:
        return _hours(self.only_between)

    @cached_property
    def _calendars(self) -> list[str]:
        return [name for name in self._closed if _HOLIDAYS.fullmatch(name)]

    @cached_property
    def _closed(self) -> frozenset[str]:
        return frozenset(str(name) for name in self.not_on)

    def _next_boundary(self, instant: int) -> int | None:
        """When `refusal` may change next: at midnight, at a start or end of its hours, or at a
        change of offset."""
        starts = zone(self.timezone).table(instant).starts
        index = bisect_right(starts, instant)
        boundaries = [self._boundaries.after(instant), *starts[index : index + 1]]
        return min((each for each in boundaries if each is not None), default=None)

    @cached_property
    def _boundaries(self) -> WallTimeSlots:
        low, high = self._hours
        times = WallTimes(EveryNthDay(0, 1), sorted({0, low, high % DAY}), (0,))
        return WallTimeSlots(times, zone(self.timezone), gap_after=True, fold_twice=True)


def _hours(text: object) -> tuple[int, int]:
    """Start and end in microseconds from midnight; the whole day for None."""
    if text is None:
        return 0, DAY
    found = _HOURS.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise invalid("only_between", text, "is not a time range", 'write it as "08:00-18:00"')
    hours = [int(part) for part in found.groups()]
    low, high = (hours[i] * HOUR + hours[i + 1] * MINUTE for i in (0, 2))
    if low >= DAY or high > DAY or hours[1] > 59 or hours[3] > 59:
        remedy = "use 00:00 to 23:59, and 24:00 only as the end"
        raise invalid("only_between", text, "has an invalid time", remedy)
    if low == high:
        reason, remedy = "starts and ends at the same time", "use two different times"
        raise invalid("only_between", text, reason, remedy)
    return low, high


def _canonical(text: object) -> str | None:
    """With two digits each: `08:00-18:00`."""
    if text is None:
        return None
    low, high = (f"{time // HOUR:02}:{time % HOUR // MINUTE:02}" for time in _hours(text))
    return f"{low}-{high}"


def _read_not_on(value: object) -> tuple[str, ...]:
    """Canonical names without duplicates: weekdays, then the others."""
    one = isinstance(value, str | bytes) or not isinstance(value, Iterable)
    problems = Problems()
    names: set[str] = set()
    for item in [value] if one else list(value):  # type: ignore[call-overload]
        with problems:
            names.add(_not_on_name(item))
    if set(Weekday) <= names:
        remedy = "allow at least one, or pause the schedule"
        problems.note(invalid("not_on", value, "excludes every weekday", remedy))
    problems.raise_if_any()
    weekdays = [day.value for day in Weekday if day in names]
    return (*weekdays, *sorted(names - set(weekdays)))


def _not_on_name(item: object) -> str:
    if isinstance(item, date) and not isinstance(item, datetime):
        return item.isoformat()
    text = str(item) if isinstance(item, str) or (type(item) is int and 0 <= item <= 7) else ""
    if (day := Weekday.named(text) or _BY_NUMBER.get(text)) is not None:
        return day.value
    if _HOLIDAYS.fullmatch(text):
        _holidays(text, 2026)
        return text
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        remedy = 'use a weekday, 0-7, a date such as "2026-12-24", or "holidays:DE-BY"'
        raise invalid("not_on", item, "is not a day", remedy) from None


@lru_cache(maxsize=1024)
def _holidays(name: str, year: int) -> frozenset[date]:
    """An immutable copy of one year: the library's own objects are not thread-safe."""
    country, _, subdivision = name.removeprefix("holidays:").partition("-")
    try:
        from holidays import country_holidays
    except ImportError:
        reason, remedy = "needs an optional package", "pip install 'quarterjack[calendars]'"
        raise invalid("not_on", name, reason, remedy) from None
    try:
        dates = country_holidays(country, subdiv=subdivision or None, years=year, expand=False)
    except NotImplementedError as error:
        remedy = 'use an ISO country or region, such as "holidays:DE-BY"'
        raise invalid("not_on", name, f"is unknown ({error})", remedy) from None
    return frozenset(dates)
