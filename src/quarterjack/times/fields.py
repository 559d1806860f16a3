"""Cron's fields as values: which seconds, minutes, hours and days. Written by `cron` from text and
by `patterns` from numbers, read by `describe` and turned into walls here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from quarterjack.times.days import DayRule, EveryNthDay, ruled_days
from quarterjack.times.instants import HOUR, MINUTE, SECOND
from quarterjack.times.months import ALL_MONTHS, SpecialDay
from quarterjack.times.walls import DayTimes


@dataclass(frozen=True)
class FieldValues:
    """What one field names. `open`: it begins with `*`, or is `?`."""

    text: str
    values: tuple[int, ...]
    open: bool = False
    special: tuple[SpecialDay, ...] = ()


ANY_DAY = FieldValues("*", tuple(range(1, 32)), open=True)
ANY_MONTH = FieldValues("*", ALL_MONTHS, open=True)
ANY_WEEKDAY = FieldValues("*", tuple(range(7)), open=True)
ANY_HOUR = FieldValues("*", tuple(range(24)), open=True)
ZERO = FieldValues("0", (0,))


def only(*values: int) -> FieldValues:
    """Just these."""
    return FieldValues(",".join(str(value) for value in values), tuple(sorted(values)))


@dataclass(frozen=True)
class Fields:
    """The six of them; the days of week are 0-6 from Sunday."""

    second: FieldValues
    minute: FieldValues
    hour: FieldValues
    day: FieldValues = ANY_DAY
    month: FieldValues = ANY_MONTH
    weekday: FieldValues = ANY_WEEKDAY

    @property
    def follow_real_time(self) -> bool:
        """Such walls repeat within hours, so none is moved or left out: Debian's rule."""
        return self.minute.open or self.hour.open

    @property
    def either_day(self) -> bool:
        """Day of month and day of week are both restricted: one of them suffices."""
        return not (self.day.open or self.weekday.open)

    def day_rule(self) -> DayRule:
        return DayRule(
            months=self.month.values,
            numbers=frozenset(self.day.values),
            weekdays=frozenset(self.weekday.values),
            special_numbers=self.day.special,
            special_weekdays=self.weekday.special,
            either=self.either_day,
        )

    def walls(self) -> DayTimes:
        rule = self.day_rule()
        return DayTimes(
            EveryNthDay(0, 1) if rule.admits_every_day else ruled_days(rule),
            _minutes(self.hour.values, self.minute.values),
            tuple(second * SECOND for second in self.second.values),
        )


@lru_cache(maxsize=512)
def _minutes(hours: tuple[int, ...], minutes: tuple[int, ...]) -> tuple[int, ...]:
    """Shared: a table of each minute of the day is 1,440 long."""
    return tuple(hour * HOUR + minute * MINUTE for hour in hours for minute in minutes)
