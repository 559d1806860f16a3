"""Sets of days that can be searched in both directions.

Days are counted from 1970-01-01, weekdays from Sunday (0) as in cron.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from calendar import isleap
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, date
from functools import lru_cache
from itertools import accumulate
from typing import Protocol

from quarterjack.times.instants import EPOCH_ORDINAL
from quarterjack.times.months import ALL_MONTHS, Month, SpecialDay

_FIRST_DAY = date.min.toordinal() - EPOCH_ORDINAL
_LAST_DAY = date.max.toordinal() - EPOCH_ORDINAL
_EPOCH_WEEKDAY = 4
_CYCLE = 146_097
"""Days in 400 years: after these the calendar repeats, weekdays included."""
_SPAN_BITS = 8
_SPANS_MAX = 32
"""Of each rule; some 20 years."""
RANK_ORIGIN = 2020
"""The year from which `rank` counts: near to usual dates, so that few years are added up."""


class Days(Protocol):
    """A set of days that can be searched both ways."""

    def on_or_after(self, day: int, count: int) -> Sequence[int]:
        """The first days from this one on, at most `count`; empty only if no day is left."""

    def first_from(self, day: int) -> int | None:
        """The first day from this one on, None if no day is left."""

    def on_or_before(self, day: int) -> int | None:
        """The last day up to this one."""

    def rank(self, day: int) -> int:
        """The number of days before this one, counted from an arbitrary but fixed origin."""


@dataclass(frozen=True)
class DayRule:
    """Cron's three day fields. `either`: a match of day of month or day of week is enough."""

    months: tuple[int, ...] = ALL_MONTHS
    numbers: frozenset[int] = frozenset(range(1, 32))
    weekdays: frozenset[int] = frozenset(range(7))
    special_numbers: tuple[SpecialDay, ...] = ()
    special_weekdays: tuple[SpecialDay, ...] = ()
    either: bool = False

    @property
    def matches_every_day(self) -> bool:
        return len(self.months) == 12 and len(self.numbers) == 31 and len(self.weekdays) == 7

    def numbers_in(self, month: Month) -> list[int]:
        """The numbers of the matching days, in order."""
        every = range(1, month.length + 1)
        numbered = self.numbers.union(day.number_in(month) for day in self.special_numbers)
        named = {number for number in every if month.weekday(number) in self.weekdays}
        named.update(day.number_in(month) for day in self.special_weekdays)
        matching = numbered | named if self.either else numbered & named
        return sorted(matching.intersection(every))


class EveryNthDay:
    """Every n-th day from an anchor, in both directions without end."""

    def __init__(self, anchor: int, step: int) -> None:
        self._anchor = anchor
        self._step = step

    def on_or_after(self, day: int, count: int) -> Sequence[int]:
        first = day + (self._anchor - day) % self._step
        return range(first, first + count * self._step, self._step)

    def first_from(self, day: int) -> int:
        return day + (self._anchor - day) % self._step

    def on_or_before(self, day: int) -> int:
        return day - (day - self._anchor) % self._step

    def rank(self, day: int) -> int:
        return -((self._anchor - day) // self._step)


class DaysFrom:
    """Other days, without those before the first."""

    def __init__(self, first: int, days: Days) -> None:
        self._first = first
        self._days = days

    def on_or_after(self, day: int, count: int) -> Sequence[int]:
        return self._days.on_or_after(max(day, self._first), count)

    def first_from(self, day: int) -> int | None:
        return self._days.first_from(max(day, self._first))

    def on_or_before(self, day: int) -> int | None:
        found = self._days.on_or_before(day)
        return found if found is not None and found >= self._first else None

    def rank(self, day: int) -> int:
        return self._days.rank(max(day, self._first))


class MatchingDays:
    """The days of a rule, computed a year at a time.

    A year has one of 14 shapes (its first weekday, leap or not); the cache is by shape.
    """

    def __init__(self, rule: DayRule) -> None:
        self._rule = rule
        self._by_shape: dict[int, list[int]] = {}
        self._spans: dict[int, Sequence[int]] = {}

    def first_from(self, day: int) -> int | None:
        days = self._spans.get(day >> _SPAN_BITS) or self._span(day >> _SPAN_BITS)
        return days[bisect_left(days, day)] if days[-1] >= day else None

    def _span(self, number: int) -> Sequence[int]:
        """The matching days of a span of 256 days, and the first one after it."""
        start = number << _SPAN_BITS
        days = list(self.on_or_after(start, 1 << _SPAN_BITS))
        following = days[: bisect_left(days, start + (1 << _SPAN_BITS)) + 1] or [_FIRST_DAY - 1]
        if len(self._spans) >= _SPANS_MAX:
            self._spans = {}
        self._spans[number] = following
        return following

    def on_or_after(self, day: int, count: int) -> Sequence[int]:
        if day > _LAST_DAY:
            return ()
        year = date_of(day).year
        first, in_year = first_day_of(year), self.in_year(year)
        index = bisect_left(in_year, day - first)
        found = [first + number for number in in_year[index : index + count]]
        while len(found) < count and year < MAXYEAR:
            year += 1
            if in_year := self.in_year(year):
                first = first_day_of(year)
                found += [first + number for number in in_year[: count - len(found)]]
        return found

    def on_or_before(self, day: int) -> int | None:
        if day < _FIRST_DAY:
            return None
        year = date_of(day).year
        in_year = self.in_year(year)
        index = bisect_right(in_year, day - first_day_of(year))
        while index == 0 and year > MINYEAR:
            year -= 1
            in_year = self.in_year(year)
            index = len(in_year)
        return first_day_of(year) + in_year[index - 1] if index else None

    def rank(self, day: int) -> int:
        year = date_of(day).year
        earlier = sum(len(self.in_year(each)) for each in range(RANK_ORIGIN, year))
        earlier -= sum(len(self.in_year(each)) for each in range(year, RANK_ORIGIN))
        return earlier + bisect_left(self.in_year(year), day - first_day_of(year))

    def in_year(self, year: int) -> list[int]:
        """The matching days of a year, counted from 0 on 1 January."""
        shape = shape_of(year)
        in_year = self._by_shape.get(shape)
        if in_year is None:
            in_year = self._by_shape[shape] = self._compute(*divmod(shape, 7))
        return in_year

    def _compute(self, leap: int, first_weekday: int) -> list[int]:
        starts = _MONTH_STARTS[leap]
        days: list[int] = []
        for month in self._rule.months:
            start, end = starts[month - 1 : month + 1]
            shape = Month((first_weekday + start) % 7, end - start)
            days += [start + number - 1 for number in self._rule.numbers_in(shape)]
        return days


@lru_cache(maxsize=1024)
def matching_days(rule: DayRule) -> MatchingDays:
    """Shared by all recurrences with the same rule."""
    return MatchingDays(rule)


def date_of(day: int) -> date:
    """The date of a day. Days of the years 0 and 10000, which some zones reach, are clamped."""
    return date.fromordinal(min(max(day, _FIRST_DAY), _LAST_DAY) + EPOCH_ORDINAL)


def shape_of(year: int) -> int:
    """Years of the same shape have the same days on the same weekdays."""
    return _SHAPES[year % 400]


def length_of_year(year: int) -> int:
    return 365 + isleap(year)


def first_day_of(year: int) -> int:
    return year // 400 * _CYCLE + _FIRST_DAYS[year % 400]


def _first_days() -> list[int]:
    """The first day of each of the years 0 to 399."""
    days = [date(2000, 1, 1).toordinal() - EPOCH_ORDINAL - 5 * _CYCLE]
    for year in range(399):
        days.append(days[-1] + 365 + isleap(year))
    return days


def _month_starts(february: int) -> tuple[int, ...]:
    lengths = (31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return tuple(accumulate(lengths, initial=0))


_MONTH_STARTS = (_month_starts(28), _month_starts(29))
_FIRST_DAYS = _first_days()
_SHAPES = [(day + _EPOCH_WEEKDAY) % 7 + 7 * isleap(year) for year, day in enumerate(_FIRST_DAYS)]
