"""Which days? Each kind finds the first one on or after a day and the last one on or before it.

Days are counted from 1970-01-01, weekdays from Sunday as cron does.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from calendar import isleap
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, date
from functools import lru_cache
from typing import Protocol

from quarterjack.times.instants import EPOCH_ORDINAL
from quarterjack.times.months import ALL_MONTHS, Month, SpecialDay

_FIRST_DAY = date.min.toordinal() - EPOCH_ORDINAL
_LAST_DAY = date.max.toordinal() - EPOCH_ORDINAL
_EPOCH_WEEKDAY = 4
_CYCLE = 146_097
"""Days in 400 years, which are whole weeks."""
_RANKED_FROM = 2020
"""From where days are counted: near to what is asked for, so that few years are added up."""


class Days(Protocol):
    """A set of days that can be searched both ways."""

    def on_or_after(self, day: int, count: int) -> Sequence[int]:
        """The first ones, in order: at most so many, and none only if there are none left."""

    def on_or_before(self, day: int) -> int | None:
        """The last one, if there is one."""

    def rank(self, day: int) -> int:
        """How many there are before this day, counted from a fixed day of their own."""


@dataclass(frozen=True)
class DayRule:
    """Cron's three day fields. `either`: a day of month or a day of week suffices."""

    months: tuple[int, ...] = ALL_MONTHS
    numbers: frozenset[int] = frozenset(range(1, 32))
    weekdays: frozenset[int] = frozenset(range(7))
    special_numbers: tuple[SpecialDay, ...] = ()
    special_weekdays: tuple[SpecialDay, ...] = ()
    either: bool = False

    @property
    def admits_every_day(self) -> bool:
        return len(self.months) == 12 and len(self.numbers) == 31 and len(self.weekdays) == 7

    def numbers_in(self, month: Month) -> list[int]:
        """The matching days of such a month, in order."""
        every = range(1, month.length + 1)
        numbered = self.numbers.union(day.number_in(month) for day in self.special_numbers)
        named = {number for number in every if month.weekday(number) in self.weekdays}
        named.update(day.number_in(month) for day in self.special_weekdays)
        matching = numbered | named if self.either else numbered & named
        return sorted(matching.intersection(every))


class EveryNthDay:
    """Every n-th day, of which one is known; without beginning or end."""

    def __init__(self, known: int, step: int) -> None:
        self._known = known
        self._step = step

    def on_or_after(self, day: int, count: int) -> Sequence[int]:
        first = day + (self._known - day) % self._step
        return range(first, first + count * self._step, self._step)

    def on_or_before(self, day: int) -> int:
        return day - (day - self._known) % self._step

    def rank(self, day: int) -> int:
        return -((self._known - day) // self._step)


class DaysFrom:
    """Those of other days that are not before the first."""

    def __init__(self, first: int, days: Days) -> None:
        self._first = first
        self._days = days

    def on_or_after(self, day: int, count: int) -> Sequence[int]:
        return self._days.on_or_after(max(day, self._first), count)

    def on_or_before(self, day: int) -> int | None:
        found = self._days.on_or_before(day)
        return found if found is not None and found >= self._first else None

    def rank(self, day: int) -> int:
        return self._days.rank(max(day, self._first))


class RuledDays:
    """The days of a rule, worked out a year at a time.

    A year has one of 14 shapes (its first weekday, leap or not), and only these are remembered.
    """

    def __init__(self, rule: DayRule) -> None:
        self._rule = rule
        self._by_shape: dict[int, list[int]] = {}

    def on_or_after(self, day: int, count: int) -> Sequence[int]:
        if day > _LAST_DAY:
            return ()
        year = date_of(day).year
        first, in_year = _first_day(year), self._in_year(year)
        index = bisect_left(in_year, day - first)
        found = [first + number for number in in_year[index : index + count]]
        while len(found) < count and year < MAXYEAR:
            year += 1
            if in_year := self._in_year(year):
                first = _first_day(year)
                found += [first + number for number in in_year[: count - len(found)]]
        return found

    def on_or_before(self, day: int) -> int | None:
        if day < _FIRST_DAY:
            return None
        year = date_of(day).year
        in_year = self._in_year(year)
        index = bisect_right(in_year, day - _first_day(year))
        while index == 0 and year > MINYEAR:
            year -= 1
            in_year = self._in_year(year)
            index = len(in_year)
        return _first_day(year) + in_year[index - 1] if index else None

    def rank(self, day: int) -> int:
        year = date_of(day).year
        earlier = sum(len(self._in_year(each)) for each in range(_RANKED_FROM, year))
        earlier -= sum(len(self._in_year(each)) for each in range(year, _RANKED_FROM))
        return earlier + bisect_left(self._in_year(year), day - _first_day(year))

    def _in_year(self, year: int) -> list[int]:
        """The year's matching days, counted from 0 on 1 January."""
        shape = _SHAPES[year % 400]
        in_year = self._by_shape.get(shape)
        if in_year is None:
            in_year = self._by_shape[shape] = self._work_out(*divmod(shape, 7))
        return in_year

    def _work_out(self, leap: int, first_weekday: int) -> list[int]:
        starts = _MONTH_STARTS[leap]
        days: list[int] = []
        for month in self._rule.months:
            start, end = starts[month - 1 : month + 1]
            shape = Month((first_weekday + start) % 7, end - start)
            days += [start + number - 1 for number in self._rule.numbers_in(shape)]
        return days


@lru_cache(maxsize=1024)
def ruled_days(rule: DayRule) -> RuledDays:
    """Shared by all that have the same rule."""
    return RuledDays(rule)


def date_of(day: int) -> date:
    """The date of a day; in the years 0 and 10000, which some zones reach, the nearest there is."""
    return date.fromordinal(min(max(day, _FIRST_DAY), _LAST_DAY) + EPOCH_ORDINAL)


def _first_day(year: int) -> int:
    return year // 400 * _CYCLE + _FIRST_DAYS[year % 400]


def _first_days() -> list[int]:
    """The first day of the years 0 to 399: after these the calendar repeats."""
    days = [date(2000, 1, 1).toordinal() - EPOCH_ORDINAL - 5 * _CYCLE]
    for year in range(399):
        days.append(days[-1] + 365 + isleap(year))
    return days


def _month_starts(*lengths: int) -> tuple[int, ...]:
    return tuple(sum(lengths[:month]) for month in range(13))


_MONTH_STARTS = (
    _month_starts(31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31),
    _month_starts(31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31),
)
_FIRST_DAYS = _first_days()
_SHAPES = [
    (first + _EPOCH_WEEKDAY) % 7 + 7 * isleap(year) for year, first in enumerate(_FIRST_DAYS)
]
