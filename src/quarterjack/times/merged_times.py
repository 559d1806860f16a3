"""The wall times of several crons as one: each day may have other times of day."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import MAXYEAR
from functools import lru_cache
from itertools import accumulate

from quarterjack.times.days import (
    RANK_ORIGIN,
    MatchingDays,
    date_of,
    first_day_of,
    length_of_year,
    matching_days,
    shape_of,
)
from quarterjack.times.fields import Fields
from quarterjack.times.instants import DAY
from quarterjack.times.wall_times import product


@dataclass(frozen=True)
class _Year:
    """Of the days that have times, counted from 0 on 1 January: their times, and how many times lie
    before each; the last of `before` counts all."""

    days: list[int]
    times: list[Sequence[int]]
    before: list[int]


class MergedTimes:
    """The wall times that occur in every group, where a group has those of all of its crons: one
    group is a union, several are what they have in common. Computed a year at a time, as
    `MatchingDays` does it."""

    def __init__(self, groups: Sequence[Sequence[Fields]]) -> None:
        self._groups = [[(_days(each), _times_of_day(each)) for each in group] for group in groups]
        self._by_shape: dict[int, _Year] = {}

    def after(self, wall_time: int, count: int = 1) -> Sequence[int]:
        """The first wall times strictly after this one, without omission: at most `count`; empty
        only if none is left."""
        day, time = divmod(wall_time, DAY)
        number = date_of(day).year
        first, year = first_day_of(number), self._year(number)
        index = bisect_left(year.days, day - first)
        found: list[int] = []
        if index < len(year.days) and year.days[index] == day - first:
            times = year.times[index]
            start = bisect_right(times, time)
            found = [wall_time - time + each for each in times[start : start + count]]
            index += 1
        while len(found) < count:
            if index < len(year.days):
                midnight = (first + year.days[index]) * DAY
                found += [midnight + each for each in year.times[index][: count - len(found)]]
                index += 1
            elif number < MAXYEAR:
                number += 1
                first, year, index = first_day_of(number), self._year(number), 0
            else:
                break
        return found

    def first_after(self, wall_time: int) -> int | None:
        """The first wall time strictly after this one."""
        found = self.after(wall_time)
        return found[0] if found else None

    def at_or_before(self, wall_time: int) -> int | None:
        """The last wall time up to and including this one."""
        day, time = divmod(wall_time, DAY)
        number = date_of(day).year
        first, year = first_day_of(number), self._year(number)
        index = bisect_left(year.days, day - first)
        if index < len(year.days) and year.days[index] == day - first:
            times = year.times[index]
            if position := bisect_right(times, time):
                return wall_time - time + times[position - 1]
        while index == 0 and number > 1:
            number -= 1
            first, year = first_day_of(number), self._year(number)
            index = len(year.days)
        if not index:
            return None
        return (first + year.days[index - 1]) * DAY + year.times[index - 1][-1]

    def count(self, first: int, last: int) -> int:
        """The number of wall times in [first, last]."""
        return max(self._count_until(last) - self._count_until(first - 1), 0)

    def _count_until(self, wall_time: int) -> int:
        """The number from an arbitrary fixed day up to and including this wall time."""
        day, time = divmod(wall_time, DAY)
        number = date_of(day).year
        total = sum(self._year(each).before[-1] for each in range(RANK_ORIGIN, number))
        total -= sum(self._year(each).before[-1] for each in range(number, RANK_ORIGIN))
        year = self._year(number)
        index = bisect_left(year.days, day - first_day_of(number))
        total += year.before[index]
        if index < len(year.days) and year.days[index] == day - first_day_of(number):
            total += bisect_right(year.times[index], time)
        return total

    def _year(self, number: int) -> _Year:
        shape = shape_of(number)
        year = self._by_shape.get(shape)
        if year is None:
            year = self._by_shape[shape] = self._compute(number)
        return year

    def _compute(self, number: int) -> _Year:
        groups = [
            [(frozenset(days.in_year(number)), times) for days, times in group]
            for group in self._groups
        ]
        days, all_times = [], []
        for day in range(length_of_year(number)):
            chosen = [
                frozenset(times for found, times in group if day in found) for group in groups
            ]
            if all(chosen) and (times := _combined(tuple(chosen))):
                days.append(day)
                all_times.append(times)
        return _Year(days, all_times, list(accumulate(map(len, all_times), initial=0)))


def _days(fields: Fields) -> MatchingDays:
    return matching_days(fields.day_rule())


_Times = tuple[tuple[int, ...], tuple[int, ...]]
"""The minutes of a day, and the seconds within each."""


def _times_of_day(fields: Fields) -> _Times:
    return fields.minutes_of_day(), fields.seconds_of_minute()


@lru_cache(maxsize=128)
def _combined(groups: tuple[frozenset[_Times], ...]) -> Sequence[int]:
    """The times of day that occur in every group."""
    common = set.intersection(*({t for each in group for t in product(*each)} for group in groups))
    return tuple(sorted(common))
