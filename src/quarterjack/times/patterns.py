"""Hourly, Daily, Weekly, Monthly: typed, for those who would rather not write cron."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from quarterjack.errors import InvalidRecurrence, Problems
from quarterjack.times.fields import ANY_HOUR, Fields, only
from quarterjack.times.lazily import lazily
from quarterjack.times.reading import read_whole_number
from quarterjack.times.recurrence import WallRecurrence


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
        """By its name or the first three letters of that, large or small."""
        wanted = name.lower() if isinstance(name, str) else ""
        return next((day for day in cls if wanted in (day.value, day.value[:3])), None)

    @property
    def cron_number(self) -> int:
        """From Sunday, which is 0."""
        return (list(Weekday).index(self) + 1) % 7


@dataclass(frozen=True, eq=False, repr=False)
class Hourly(WallRecurrence):
    """In real time: each instant whose clock shows this minute and second."""

    minute: int
    second: int = 0

    @lazily
    def fields(self) -> Fields:
        return Fields(only(self.second), only(self.minute), ANY_HOUR)

    @property
    def cron_text(self) -> str:
        """The cron expression that names the same slots."""
        return _with_second(self.second, f"{self.minute} * * * *")

    def to_json(self) -> dict[str, Any]:
        hourly = {"minute": self.minute, "second": self.second}
        return {"hourly": hourly} | self._common_json()

    def _check(self) -> None:
        problems = Problems()
        with problems:
            read_whole_number(self.minute, 0, 59, "minute")
        with problems:
            read_whole_number(self.second, 0, 59, "second")
        problems.refuse_if_any()

    def _subject(self) -> str:
        return "hourly"


@dataclass(frozen=True, eq=False, repr=False)
class Daily(WallRecurrence):
    """At this time of every day."""

    time: datetime.time

    @lazily
    def fields(self) -> Fields:
        return Fields(*_clock(self.time))

    @property
    def cron_text(self) -> str:
        """The cron expression that names the same slots."""
        return _cron_text(self.time)

    def to_json(self) -> dict[str, Any]:
        return {"daily": {"time": self.time.isoformat()}} | self._common_json()

    def _check(self) -> None:
        self._set(time=_read_time(self.time))

    def _subject(self) -> str:
        return "daily"


@dataclass(frozen=True, eq=False, repr=False)
class Weekly(WallRecurrence):
    """On these weekdays at this time."""

    days: Sequence[Weekday]
    time: datetime.time

    @lazily
    def fields(self) -> Fields:
        return Fields(*_clock(self.time), weekday=only(*(day.cron_number for day in self.days)))

    @property
    def cron_text(self) -> str:
        """The cron expression that names the same slots."""
        numbers = sorted(day.cron_number for day in self.days)
        return _cron_text(self.time, weekdays=",".join(map(str, numbers)))

    def to_json(self) -> dict[str, Any]:
        weekly = {"days": [day.value for day in self.days], "time": self.time.isoformat()}
        return {"weekly": weekly} | self._common_json()

    def _check(self) -> None:
        problems = Problems()
        with problems:
            self._set(days=_read_days(self.days))
        with problems:
            self._set(time=_read_time(self.time))
        problems.refuse_if_any()

    def _subject(self) -> str:
        return "weekly"


@dataclass(frozen=True, eq=False, repr=False)
class Monthly(WallRecurrence):
    """On this day of the month at this time; a month without that day is skipped."""

    day: int
    time: datetime.time

    @lazily
    def fields(self) -> Fields:
        return Fields(*_clock(self.time), day=only(self.day))

    @property
    def cron_text(self) -> str:
        """The cron expression that names the same slots."""
        return _cron_text(self.time, day=str(self.day))

    def to_json(self) -> dict[str, Any]:
        monthly = {"day": self.day, "time": self.time.isoformat()}
        return {"monthly": monthly} | self._common_json()

    def _check(self) -> None:
        problems = Problems()
        with problems:
            read_whole_number(self.day, 1, 31, "day")
        with problems:
            self._set(time=_read_time(self.time))
        problems.refuse_if_any()

    def _subject(self) -> str:
        return "monthly"


def _clock(time: datetime.time) -> tuple[Any, Any, Any]:
    return only(time.second), only(time.minute), only(time.hour)


def _cron_text(time: datetime.time, day: str = "*", weekdays: str = "*") -> str:
    return _with_second(time.second, f"{time.minute} {time.hour} {day} * {weekdays}")


def _with_second(second: int, text: str) -> str:
    """Six fields only where five do not say it."""
    return f"{second} {text}" if second else text


def _read_time(value: object) -> datetime.time:
    """A naive time of whole seconds; text as the JSON form has it."""
    if isinstance(value, str):
        try:
            value = datetime.time.fromisoformat(value)
        except ValueError:
            remedy = 'write it as "09:30" or "09:30:00"'
            raise InvalidRecurrence.because("time", value, "is no time of day", remedy) from None
    if not isinstance(value, datetime.time):
        remedy = "give a datetime.time, as in time(9, 30)"
        raise InvalidRecurrence.because("time", value, "is no time of day", remedy)
    if value.microsecond or value.tzinfo:
        remedy = "give whole seconds, and the zone as timezone"
        raise InvalidRecurrence.because("time", str(value), "is not a plain time", remedy)
    return value


def _read_days(value: object) -> tuple[Weekday, ...]:
    """Each once, in the order of the week."""
    names = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    problems = Problems()
    days = []
    for name in names:
        with problems:
            if (day := Weekday.named(name)) is None:
                remedy = f"use {', '.join(Weekday)}"
                raise InvalidRecurrence.because("days", name, "is no weekday", remedy)
            days.append(day)
    problems.refuse_if_any()
    if not days or len(set(days)) != len(days):
        reason = "names a day twice" if days else "is empty"
        raise InvalidRecurrence.because("days", names, reason, "name each wanted day once")
    return tuple(sorted(days, key=list(Weekday).index))
