"""The fields of a cron expression as values: which seconds, minutes, hours and days. Made by
`cron_text` from text and by `patterns` from numbers; read by `describe`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from quarterjack.times.days import DayRule, EveryNthDay, matching_days
from quarterjack.times.instants import HOUR, MINUTE, SECOND
from quarterjack.times.months import ALL_MONTHS, SpecialDay
from quarterjack.times.wall_times import WallTimes


@dataclass(frozen=True)
class FieldValues:
    """The values of one field. `open`: its text begins with `*`, or is `?`."""

    text: str
    values: tuple[int, ...]
    open: bool = False
    special: tuple[SpecialDay, ...] = ()


ANY_DAY = FieldValues("*", tuple(range(1, 32)), open=True)
ANY_MONTH = FieldValues("*", ALL_MONTHS, open=True)
ANY_WEEKDAY = FieldValues("*", tuple(range(7)), open=True)
ANY_HOUR = FieldValues("*", tuple(range(24)), open=True)
ZERO = FieldValues("0", (0,))


def only(*numbers: int) -> FieldValues:
    values = tuple(sorted(numbers))
    return FieldValues(",".join(map(str, values)), values)


@dataclass(frozen=True)
class Fields:
    """All six fields, in the order of the text; days of week are 0-6 from Sunday.

    `both_days`: day of month and day of week must both match (`day_rule: and`).
    """

    second: FieldValues
    minute: FieldValues
    hour: FieldValues
    day: FieldValues = ANY_DAY
    month: FieldValues = ANY_MONTH
    weekday: FieldValues = ANY_WEEKDAY
    both_days: bool = False

    @property
    def texts(self) -> list[str]:
        """The text of each field, seconds first."""
        values = (self.second, self.minute, self.hour, self.day, self.month, self.weekday)
        return [each.text for each in values]

    @property
    def follow_real_time(self) -> bool:
        """These times repeat within hours, so daylight saving moves and skips none of them, as in
        Debian's cron."""
        return self.minute.open or self.hour.open

    @property
    def either_day(self) -> bool:
        """Day of month and day of week are both restricted: a match of one of them is enough."""
        return not (self.both_days or self.day.open or self.weekday.open)

    def day_rule(self) -> DayRule:
        return DayRule(
            months=self.month.values,
            numbers=frozenset(self.day.values),
            weekdays=frozenset(self.weekday.values),
            special_numbers=self.day.special,
            special_weekdays=self.weekday.special,
            either=self.either_day,
        )

    def wall_times(self) -> WallTimes:
        rule = self.day_rule()
        return WallTimes(
            EveryNthDay(0, 1) if rule.matches_every_day else matching_days(rule),
            self.minutes_of_day(),
            self.seconds_of_minute(),
        )

    def minutes_of_day(self) -> tuple[int, ...]:
        """In microseconds from midnight."""
        return _minutes(self.hour.values, self.minute.values)

    def seconds_of_minute(self) -> tuple[int, ...]:
        return tuple(second * SECOND for second in self.second.values)


@lru_cache(maxsize=512)
def _minutes(hours: tuple[int, ...], minutes: tuple[int, ...]) -> tuple[int, ...]:
    """Shared, because the table of every minute of a day has 1,440 entries."""
    return tuple(hour * HOUR + minute * MINUTE for hour in hours for minute in minutes)
