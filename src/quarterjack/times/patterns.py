"""Hourly, Daily, Weekly, Monthly: typed recurrences, each with an equivalent cron expression."""

from __future__ import annotations

import datetime
from abc import ABC
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar

from quarterjack.errors import Problems
from quarterjack.times.cached_property import cached_property
from quarterjack.times.checks import check_integer, invalid
from quarterjack.times.fields import ANY_HOUR, Fields, only
from quarterjack.times.recurrence import WallTimeRecurrence


class Weekday(StrEnum):
    """The days of the week, Monday first."""

    MONDAY = "monday"
    TUESDAY = "tuesday"
    WEDNESDAY = "wednesday"
    THURSDAY = "thursday"
    FRIDAY = "friday"
    SATURDAY = "saturday"
    SUNDAY = "sunday"

    @classmethod
    def of(cls, day: datetime.date) -> Weekday:
        return list(cls)[day.weekday()]

    @classmethod
    def named(cls, name: object) -> Weekday | None:
        """By its name or the first three letters of it, in any case."""
        wanted = name.lower() if isinstance(name, str) else ""
        return next((day for day in cls if wanted in (day.value, day.value[:3])), None)

    @property
    def cron_number(self) -> int:
        """0 is Sunday."""
        return (list(Weekday).index(self) + 1) % 7


class Pattern(WallTimeRecurrence, ABC):
    """A recurrence given by typed fields; `name` is its key in JSON."""

    name: ClassVar[str]

    @property
    def cron_text(self) -> str:
        """The equivalent cron expression, with a field for seconds only if they are not 0."""
        second, *five = self.fields.texts
        return " ".join(five if second == "0" else [second, *five])

    def to_json(self) -> dict[str, Any]:
        own = {name: _plain(getattr(self, name)) for name in self.own_fields()}
        return {self.name: own} | self._common_json()

    @classmethod
    def own_fields(cls) -> dict[str, bool]:
        """The fields of this pattern alone, and whether each is required."""
        return {each.name: each.default is MISSING for each in fields(cls) if not each.kw_only}

    def _check(self) -> None:
        problems = Problems()
        for name in self.own_fields():
            with problems:
                self._set(**{name: _CHECKS[name](getattr(self, name))})
        problems.raise_if_any()

    def _subject(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False, repr=False)
class Hourly(Pattern):
    """In real time: each instant whose local clock shows this minute and second."""

    name: ClassVar[str] = "hourly"
    minute: int
    second: int = 0

    @cached_property
    def fields(self) -> Fields:
        return Fields(only(self.second), only(self.minute), ANY_HOUR)


@dataclass(frozen=True, eq=False, repr=False)
class Daily(Pattern):
    """At this time of every day."""

    name: ClassVar[str] = "daily"
    time: datetime.time

    @cached_property
    def fields(self) -> Fields:
        return Fields(*_clock(self.time))


@dataclass(frozen=True, eq=False, repr=False)
class Weekly(Pattern):
    """On these weekdays at this time."""

    name: ClassVar[str] = "weekly"
    days: Sequence[Weekday]
    time: datetime.time

    @cached_property
    def fields(self) -> Fields:
        return Fields(*_clock(self.time), weekday=only(*(day.cron_number for day in self.days)))


@dataclass(frozen=True, eq=False, repr=False)
class Monthly(Pattern):
    """On this day of the month at this time; a month without that day is skipped."""

    name: ClassVar[str] = "monthly"
    day: int
    time: datetime.time

    @cached_property
    def fields(self) -> Fields:
        return Fields(*_clock(self.time), day=only(self.day))


def _clock(time: datetime.time) -> tuple[Any, Any, Any]:
    return only(time.second), only(time.minute), only(time.hour)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.time):
        return value.isoformat()
    return [day.value for day in value] if isinstance(value, tuple) else value


def _check_time(value: object) -> datetime.time:
    """A naive time of whole seconds, or its text as in JSON."""
    if isinstance(value, str):
        try:
            value = datetime.time.fromisoformat(value)
        except ValueError:
            remedy = 'write it as "09:30" or "09:30:00"'
            raise invalid("time", value, "is not a time of day", remedy) from None
    if not isinstance(value, datetime.time):
        remedy = "use a datetime.time, as in time(9, 30)"
        raise invalid("time", value, "is not a time of day", remedy)
    if value.microsecond or value.tzinfo:
        reason = "has fractions of a second or a time zone"
        raise invalid("time", str(value), reason, "use whole seconds, and set timezone instead")
    return value


def _check_days(value: object) -> tuple[Weekday, ...]:
    """Each day once, in the order of the week."""
    names = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    problems = Problems()
    days = []
    for name in names:
        with problems:
            if (day := Weekday.named(name)) is None:
                raise invalid("days", name, "is not a weekday", f"use {', '.join(Weekday)}")
            days.append(day)
    problems.raise_if_any()
    if not days or len(set(days)) != len(days):
        reason = "lists a day twice" if days else "is empty"
        raise invalid("days", names, reason, "list each weekday once")
    return tuple(sorted(days, key=list(Weekday).index))


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "minute": lambda value: check_integer(value, 0, 59, "minute"),
    "second": lambda value: check_integer(value, 0, 59, "second"),
    "day": lambda value: check_integer(value, 1, 31, "day"),
    "time": _check_time,
    "days": _check_days,
}
