"""The base classes of recurrences. `slots` is the integer API that the engine uses; the methods
here are the same with datetimes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Self, TypeVar, cast

from quarterjack.errors import Problems
from quarterjack.times.cached_property import cached_property
from quarterjack.times.checks import check_choice, invalid
from quarterjack.times.fields import Fields
from quarterjack.times.instants import (
    EARLIEST,
    EPOCH,
    LATEST,
    MICROSECOND,
    from_datetime,
    not_an_instant,
    read_datetime,
    to_datetime,
    to_text,
)
from quarterjack.times.slots import BoundedSlots, Slots, WallTimeSlots, slots_between
from quarterjack.times.zones import zone, zone_name

R = TypeVar("R", bound="Recurrence")

GAPS = ("after", "skip")
FOLDS = ("once", "twice")


@dataclass(frozen=True, eq=False, repr=False)
class Recurrence(ABC):
    """An immutable value that names instants, equal to another with the same JSON.

    A field that is None has its default until `with_defaults` fills it in.
    """

    @cached_property
    @abstractmethod
    def slots(self) -> Slots:
        """The slots as integers, in microseconds since 1970."""

    def slots_from(self, _anchor: int) -> Slots:
        """The slots counted from this instant, for recurrences that depend on an anchor."""
        return self.slots

    def slots_through(self, anchor: int) -> Slots:
        """As `slots_from`, with the slots before the anchor."""
        return self.slots_from(anchor)

    @abstractmethod
    def describe(self) -> str:
        """An English phrase."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """A mapping of plain JSON, stable between versions; `parse` reads it back."""

    def next(self, after: datetime) -> datetime | None:
        """The first slot strictly after this, in UTC."""
        # Inlined conversions: the hottest function here, and a call costs as much as the search.
        try:
            instant = (after - EPOCH) // MICROSECOND
        except TypeError:
            raise not_an_instant(after) from None
        slot = self.slots.after(instant)
        return None if slot is None else EPOCH + slot * MICROSECOND

    def prev(self, at: datetime) -> datetime | None:
        """The last slot at or before this, in UTC."""
        slot = self.slots.at_or_before(from_datetime(at))
        return None if slot is None else to_datetime(slot)

    def matches(self, at: datetime) -> bool:
        """Whether this instant is a slot, to the microsecond."""
        instant = from_datetime(at)
        return self.slots.at_or_before(instant) == instant

    def between(self, start: datetime, end: datetime) -> list[datetime]:
        """Every slot after the start, up to and including the end, so that adjacent ranges neither
        lose nor repeat one."""
        found = slots_between(self.slots, from_datetime(start), from_datetime(end))
        return [to_datetime(slot) for slot in found]

    def with_defaults(
        self,
        *,
        timezone: str | None = None,
        dst_gap: str | None = None,
        dst_fold: str | None = None,
        key: str | None = None,
        created_at: datetime | None = None,
        start_at: datetime | None = None,
        end_at: datetime | None = None,
    ) -> Self:
        """A copy with these values for the fields that it has and that are None."""
        defaults = {
            "timezone": timezone, "dst_gap": dst_gap, "dst_fold": dst_fold, "key": key,
            "created_at": created_at, "start_at": start_at, "end_at": end_at,
        }  # fmt: skip
        given = {name: value for name, value in defaults.items() if value is not None}
        filled = {name: given[name] for name in given if getattr(self, name, "") is None}
        return replace(self, **filled) if filled else self

    def _set(self, **values: Any) -> None:
        """Only for use in `__post_init__`."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __or__(self, other: Recurrence) -> Recurrence:
        """The slots of both, each instant once; both are `Cron`, or both are `At`."""
        from quarterjack.times.union import union_of

        parts = [getattr(each, "parts", (each,)) for each in (self, other)]
        return union_of([part for found in parts for part in found])

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and cast(Self, other).to_json() == self.to_json()

    def __hash__(self) -> int:
        return hash(repr(self.to_json()))

    def __getstate__(self) -> dict[str, Any]:
        """Pickles the fields, without cached values."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __repr__(self) -> str:
        """As written in code: only what differs from the default."""
        arguments = [
            (f"{each.name}=" if each.kw_only else "") + repr(getattr(self, each.name))
            for each in sorted(fields(self), key=lambda each: each.kw_only is True)
            if getattr(self, each.name) != each.default
        ]
        return f"{type(self).__name__}({', '.join(arguments)})"


@dataclass(frozen=True, eq=False, repr=False)
class Repeating(Recurrence, ABC):
    """A recurrence with more than one slot, in a zone, within inclusive bounds."""

    timezone: str | None = field(default=None, kw_only=True)
    dst_gap: str | None = field(default=None, kw_only=True)
    dst_fold: str | None = field(default=None, kw_only=True)
    start_at: datetime | None = field(default=None, kw_only=True)
    end_at: datetime | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        problems = Problems()
        with problems:
            self._check()
        for name in _COMMON_FIELDS:
            if (value := getattr(self, name)) is not None:
                with problems:
                    self._set(**{name: read_common(name, value)})
        if not problems.found and self.start_at and self.end_at and self.start_at > self.end_at:
            start_at = str(self.start_at)
            problems.note(invalid("start_at", start_at, "is after end_at", "swap the two"))
        problems.raise_if_any(self._subject())

    @property
    @abstractmethod
    def wall_time_slots(self) -> WallTimeSlots | None:
        """The slots without bounds, if they are wall times, which daylight saving affects."""

    @abstractmethod
    def _check(self) -> None:
        """Validate and normalise the fields that a subclass adds."""

    @abstractmethod
    def _subject(self) -> str:
        """How errors refer to it."""

    @property
    def _gap_after(self) -> bool:
        return self.dst_gap != "skip"

    @property
    def _fold_twice(self) -> bool:
        return self.dst_fold == "twice"

    def within_bounds(self, slots: Slots) -> Slots:
        """These slots, restricted to its bounds."""
        if self.start_at is None and self.end_at is None:
            return slots
        first = from_datetime(self.start_at) if self.start_at else EARLIEST
        last = from_datetime(self.end_at) if self.end_at else LATEST
        return BoundedSlots(slots, first, last)

    def _common_json(self) -> dict[str, Any]:
        common = {
            "timezone": self.timezone or "UTC",
            "dst_gap": self.dst_gap or "after",
            "dst_fold": self.dst_fold or "once",
        }
        for name in ("start_at", "end_at"):
            if value := getattr(self, name):
                common[name] = to_text(from_datetime(value))
        return common

    def completed(self, phrase: str, *, zone_matters: bool = True) -> str:
        """The phrase with the zone, if it is not UTC, and the bounds."""
        if zone_matters and self.timezone not in (None, "UTC"):
            phrase += f" ({self.timezone})"
        for word, bound in (("from", self.start_at), ("until", self.end_at)):
            if bound is not None:
                phrase += f" {word} {to_text(from_datetime(bound))}"
        return phrase


class WallTimeRecurrence(Repeating, ABC):
    """A recurrence whose slots are the wall times of cron's fields."""

    @property
    @abstractmethod
    def fields(self) -> Fields:
        """The seconds, minutes, hours and days of its slots."""

    @cached_property
    def slots(self) -> Slots:
        return self.within_bounds(self.wall_time_slots)

    @property
    def wall_time_slots(self) -> WallTimeSlots:
        real_time = self.fields.follow_real_time
        return _shared_slots(
            self.fields,
            self.timezone or "UTC",
            gap_after=self._gap_after and not real_time,
            fold_twice=self._fold_twice or real_time,
        )

    def describe(self) -> str:
        from quarterjack.times.describe import phrase

        return self.completed(phrase(self.fields))


@lru_cache(maxsize=4096)
def _shared_slots(
    fields: Fields, timezone: str, *, gap_after: bool, fold_twice: bool
) -> WallTimeSlots:
    """Shared by all equal recurrences, with its cache of slots."""
    times = fields.wall_times()
    return WallTimeSlots(times, zone(timezone), gap_after=gap_after, fold_twice=fold_twice)


def anchored(recurrence: R, at: datetime) -> R:
    """A recurrence without an anchor, counted from this instant."""
    return recurrence.with_defaults(created_at=read_datetime(at, "datetime"))


def read_common(name: str, value: object) -> object:
    """Parse the value of a field that all repeating recurrences share."""
    return _COMMON_FIELDS[name](value)


_COMMON_FIELDS: dict[str, Callable[[object], object]] = {
    "timezone": zone_name,
    "dst_gap": lambda value: check_choice(value, GAPS, "dst_gap"),
    "dst_fold": lambda value: check_choice(value, FOLDS, "dst_fold"),
    "start_at": lambda value: read_datetime(value, "start_at"),
    "end_at": lambda value: read_datetime(value, "end_at"),
}
