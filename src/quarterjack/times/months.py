"""Months, and days that depend on the month, such as its last Friday. Sunday is weekday 0, as in
cron."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

ALL_MONTHS = tuple(range(1, 13))
LENGTHS = {month: (30 + (month in (1, 3, 5, 7, 8, 10, 12)),) for month in ALL_MONTHS} | {
    2: (28, 29)
}
"""The possible lengths of each month."""


class Month(NamedTuple):
    """What decides which days of a month match; there are only 28 different ones."""

    first_weekday: int
    length: int

    def weekday(self, number: int) -> int:
        return (self.first_weekday + number - 1) % 7

    def nth_weekday(self, weekday: int, nth: int) -> int:
        """May lie beyond the end of the month."""
        return 1 + (weekday - self.first_weekday) % 7 + 7 * (nth - 1)

    def nearest_working_day(self, number: int) -> int:
        """Monday to Friday, never in another month."""
        weekday = self.weekday(number)
        if weekday == 6:
            return number - 1 if number > 1 else number + 2
        if weekday == 0:
            return number + 1 if number < self.length else number - 2
        return number


class SpecialDay(Protocol):
    """A day that depends on the month."""

    def number_in(self, month: Month) -> int:
        """The day's number; outside the month if the month has no such day."""


@dataclass(frozen=True)
class LastDay:
    """The last day of the month, or `back` days before it."""

    back: int = 0

    def number_in(self, month: Month) -> int:
        return month.length - self.back


@dataclass(frozen=True)
class LastWorkingDay:
    """The last Monday to Friday of the month."""

    def number_in(self, month: Month) -> int:
        return month.nearest_working_day(month.length)


@dataclass(frozen=True)
class NearestWorkingDay:
    """The Monday to Friday nearest to a day; a month without that day has none."""

    number: int

    def number_in(self, month: Month) -> int:
        return month.nearest_working_day(self.number) if self.number <= month.length else 0


@dataclass(frozen=True)
class ClampedDay:
    """This day, or the last day of a shorter month."""

    number: int

    def number_in(self, month: Month) -> int:
        return min(self.number, month.length)


@dataclass(frozen=True)
class NthWeekday:
    """The first to fifth of this weekday."""

    weekday: int
    nth: int

    def number_in(self, month: Month) -> int:
        return month.nth_weekday(self.weekday, self.nth)


@dataclass(frozen=True)
class LastWeekday:
    """The last of this weekday."""

    weekday: int

    def number_in(self, month: Month) -> int:
        fifth = month.nth_weekday(self.weekday, 5)
        return fifth if fifth <= month.length else fifth - 7
