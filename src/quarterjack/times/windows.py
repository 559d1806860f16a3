"""Windows: which slots may run, judged on their local date and time. They stand beside a
recurrence and never change what it names."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Any

from quarterjack.errors import InvalidRecurrence, Problems
from quarterjack.times.days import EveryNthDay, date_of
from quarterjack.times.instants import DAY, HOUR, MINUTE
from quarterjack.times.lazily import lazily
from quarterjack.times.patterns import Weekday
from quarterjack.times.slots import WallSlots
from quarterjack.times.walls import DayTimes
from quarterjack.times.zones import zone, zone_name

_HOURS = re.compile(r"(\d{1,2}):(\d\d)-(\d{1,2}):(\d\d)", re.ASCII)
_HOLIDAYS = re.compile(r"holidays:([A-Z]{2})(?:-([A-Z0-9]{1,3}))?", re.ASCII)
_BY_NUMBER = {str(day.cron_number): day for day in Weekday} | {"7": Weekday.SUNDAY}
_STEPS_MAX = 10_000


@dataclass(frozen=True)
class Window:
    """`Window(only_between="22:00-06:00", not_on=["sunday", "2026-12-24", "holidays:DE-BY"])`.

    The start belongs to it, the end does not. Weekdays are names or 0-7; 0 and 7 are Sunday.
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
        problems.refuse_if_any("window")

    def admits(self, slot: int) -> bool:
        """May this slot run?"""
        return self.refusal(slot) is None

    def refusal(self, slot: int) -> str | None:
        """Which of the two constraints keeps this slot from running, if one does."""
        day, time = divmod(slot + zone(self.timezone).offset(slot), DAY)
        low, high = self._hours
        if not (low <= time < high if low < high else time >= low or time < high):
            return "only_between"
        if not self._closed:
            return None
        local = date_of(day)
        closed = not self._closed.isdisjoint((Weekday.of(local), local.isoformat()))
        return "not_on" if closed or self._is_holiday(local) else None

    def opens(self, at: int) -> int | None:
        """The first instant from this one on that it admits; None if it seems never to open."""
        instant: int | None = at
        for _ in range(_STEPS_MAX):
            if instant is None or self.admits(instant):
                return instant
            instant = self._next_turn(instant)
        return None

    def since(self, instant: int) -> int:
        """From when on, up to this instant, its answer has been the same."""
        starts = zone(self.timezone).table(instant).starts
        change = starts[max(bisect_right(starts, instant) - 1, 0)]
        turn = self._walls.at_or_before(instant)
        return change if turn is None else max(change, turn)

    def to_json(self) -> dict[str, Any]:
        return {
            "only_between": self.only_between,
            "not_on": list(self.not_on),
            "timezone": self.timezone,
        }

    def _is_holiday(self, day: date) -> bool:
        return any(day in _holidays(name, day.year) for name in self._calendars)

    @lazily
    def _hours(self) -> tuple[int, int]:
        return _hours(self.only_between)

    @lazily
    def _calendars(self) -> list[str]:
        return [name for name in self._closed if _HOLIDAYS.fullmatch(name)]

    @lazily
    def _closed(self) -> frozenset[str]:
        return frozenset(str(name) for name in self.not_on)

    def _next_turn(self, instant: int) -> int | None:
        """When its answer may change: at midnight, where its hours begin or end, or where the
        offset changes."""
        starts = zone(self.timezone).table(instant).starts
        index = bisect_right(starts, instant)
        turns = [self._walls.after(instant), *starts[index : index + 1]]
        return min((turn for turn in turns if turn is not None), default=None)

    @lazily
    def _walls(self) -> WallSlots:
        low, high = self._hours
        times = DayTimes(EveryNthDay(0, 1), sorted({0, low, high % DAY}), (0,))
        return WallSlots(times, zone(self.timezone), gap_after=True, fold_twice=True)


def _hours(text: object) -> tuple[int, int]:
    """From and until when, in microseconds from midnight; the whole day if there is no text."""
    if text is None:
        return 0, DAY
    found = _HOURS.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        remedy = 'write it as "08:00-18:00"'
        raise InvalidRecurrence.because("only_between", text, "is no pair of times", remedy)
    hours = [int(part) for part in found.groups()]
    low, high = (hours[i] * HOUR + hours[i + 1] * MINUTE for i in (0, 2))
    if low >= DAY or high > DAY or hours[1] > 59 or hours[3] > 59:
        remedy = "use 00:00 to 23:59, and 24:00 only as the end"
        raise InvalidRecurrence.because("only_between", text, "holds no time of day", remedy)
    if low == high:
        reason, remedy = "is empty: it starts where it ends", "give two different times"
        raise InvalidRecurrence.because("only_between", text, reason, remedy)
    return low, high


def _canonical(text: object) -> str | None:
    """`08:00-18:00`, with two digits each."""
    if text is None:
        return None
    low, high = (f"{time // HOUR:02}:{time % HOUR // MINUTE:02}" for time in _hours(text))
    return f"{low}-{high}"


def _read_not_on(value: object) -> tuple[str, ...]:
    """Canonical names, each once: weekdays, then the others."""
    one = isinstance(value, str | bytes) or not isinstance(value, Iterable)
    problems = Problems()
    names: set[str] = set()
    for item in [value] if one else list(value):  # type: ignore[call-overload]
        with problems:
            names.add(_not_on_name(item))
    if set(Weekday) <= names:
        with problems:
            reason, remedy = "names all seven weekdays", "leave one, or pause the schedule"
            raise InvalidRecurrence.because("not_on", value, reason, remedy)
    problems.refuse_if_any()
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
        raise InvalidRecurrence.because("not_on", item, "is no day", remedy) from None


@lru_cache(maxsize=1024)
def _holidays(name: str, year: int) -> frozenset[date]:
    """Of one year, and never changed: the library's own objects are not safe between threads."""
    country, _, subdivision = name.removeprefix("holidays:").partition("-")
    try:
        from holidays import country_holidays
    except ImportError:
        remedy = "pip install 'quarterjack[calendars]'"
        raise InvalidRecurrence.because("not_on", name, "needs an extra", remedy) from None
    try:
        known = country_holidays(country, subdiv=subdivision or None, years=year, expand=False)
    except NotImplementedError as error:
        remedy = 'use an ISO country or region, such as "holidays:DE-BY"'
        raise InvalidRecurrence.because("not_on", name, f"is unknown ({error})", remedy) from None
    return frozenset(known)
