"""What every recurrence can do, and what those that go on share.

Inside is `slots`, integers; the methods here are its face in datetimes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Self, TypeVar, cast

from quarterjack.errors import InvalidRecurrence, Problems
from quarterjack.times.fields import Fields
from quarterjack.times.instants import (
    EARLIEST,
    EPOCH,
    LATEST,
    MICROSECOND,
    from_datetime,
    not_an_instant,
    read_instant,
    to_datetime,
    to_text,
)
from quarterjack.times.lazily import lazily
from quarterjack.times.reading import read_word
from quarterjack.times.slots import BoundedSlots, Slots, WallSlots, slots_between
from quarterjack.times.zones import zone, zone_name

R = TypeVar("R", bound="Recurrence")

GAPS = ("after", "skip")
FOLDS = ("once", "twice")


@dataclass(frozen=True, eq=False, repr=False)
class Recurrence(ABC):
    """A pure description of instants. A value: equal to another that says the same.

    What it leaves open counts as its default until `with_defaults` fills it in.
    """

    @lazily
    @abstractmethod
    def slots(self) -> Slots:
        """The integer core: microseconds in, microseconds out."""

    def slots_from(self, _anchor: int) -> Slots:
        """Its slots, if it counts them from this instant; most have no need to."""
        return self.slots

    def slots_through(self, anchor: int) -> Slots:
        """The same, and those that it would have named before."""
        return self.slots_from(anchor)

    @abstractmethod
    def describe(self) -> str:
        """What it means, as an English phrase."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """A mapping of plain JSON that stays the same; `parse` reads it back."""

    def next(self, after: datetime) -> datetime | None:
        """The first slot strictly after this, in UTC."""
        # Written out, for it is called most: each call of a function costs as much as the search.
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
        """Is this very instant a slot?"""
        instant = from_datetime(at)
        return self.slots.at_or_before(instant) == instant

    def between(self, start: datetime, end: datetime) -> list[datetime]:
        """Every slot after the start, up to and including the end: ranges that adjoin neither
        lose a slot nor double it."""
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
    ) -> Self:
        """The same, with what it left open filled in, as far as that concerns it; what it says
        itself stays."""
        defaults = {
            "timezone": timezone,
            "dst_gap": dst_gap,
            "dst_fold": dst_fold,
            "key": key,
            "created_at": created_at,
        }
        left_open = {
            name: value
            for name, value in defaults.items()
            if value is not None and getattr(self, name, "") is None
        }
        return replace(self, **left_open) if left_open else self

    def _set(self, **values: Any) -> None:
        """While it is being made, and never later."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and cast(Self, other).to_json() == self.to_json()

    def __hash__(self) -> int:
        return hash(repr(self.to_json()))

    def __getstate__(self) -> dict[str, Any]:
        """Only what was said travels to another process; what was worked out does not."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __repr__(self) -> str:
        """As a person would write it: only what differs from the default."""
        said = [
            (f"{each.name}=" if each.kw_only else "") + repr(getattr(self, each.name))
            for each in sorted(fields(self), key=lambda each: each.kw_only is True)
            if getattr(self, each.name) != each.default
        ]
        return f"{type(self).__name__}({', '.join(said)})"


@dataclass(frozen=True, eq=False, repr=False)
class Repeating(Recurrence, ABC):
    """One that goes on, in a zone, within bounds that still belong to it."""

    timezone: str | None = field(default=None, kw_only=True)
    dst_gap: str | None = field(default=None, kw_only=True)
    dst_fold: str | None = field(default=None, kw_only=True)
    start_at: datetime | None = field(default=None, kw_only=True)
    end_at: datetime | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        problems = Problems()
        with problems:
            self._check()
        for name in _SHAPES:
            if (value := getattr(self, name)) is not None:
                with problems:
                    self._set(**{name: read_common(name, value)})
        if not problems.found and self.start_at and self.end_at and self.start_at > self.end_at:
            with problems:
                reason, remedy = "is after end_at", "swap the two"
                raise InvalidRecurrence.because("start_at", str(self.start_at), reason, remedy)
        problems.refuse_if_any(self._subject())

    @property
    @abstractmethod
    def wall_slots(self) -> WallSlots | None:
        """Its slots without bounds, if they are walls, which daylight saving may meet."""

    @abstractmethod
    def _check(self) -> None:
        """Refuse, or bring into shape, what this kind of recurrence adds."""

    @abstractmethod
    def _subject(self) -> str:
        """How an error names it."""

    @property
    def _gap_after(self) -> bool:
        return self.dst_gap != "skip"

    @property
    def _fold_twice(self) -> bool:
        return self.dst_fold == "twice"

    def _within_bounds(self, slots: Slots) -> Slots:
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

    def _completed(self, phrase: str, *, zone_matters: bool = True) -> str:
        """The phrase, with the zone if it is not plain UTC, and with the bounds."""
        if zone_matters and self.timezone not in (None, "UTC"):
            phrase += f" ({self.timezone})"
        for word, bound in (("from", self.start_at), ("until", self.end_at)):
            if bound is not None:
                phrase += f" {word} {to_text(from_datetime(bound))}"
        return phrase


class WallRecurrence(Repeating, ABC):
    """One whose slots are the walls of cron's fields."""

    @property
    @abstractmethod
    def fields(self) -> Fields:
        """The seconds, minutes, hours and days that it names."""

    @lazily
    def slots(self) -> Slots:
        return self._within_bounds(self.wall_slots)

    @property
    def wall_slots(self) -> WallSlots:
        fields = self.fields
        real = fields.follow_real_time
        return _shared_slots(
            fields,
            self.timezone or "UTC",
            gap_after=self._gap_after and not real,
            fold_twice=self._fold_twice or real,
        )

    def describe(self) -> str:
        from quarterjack.times.describe import phrase

        return self._completed(phrase(self.fields))


@lru_cache(maxsize=4096)
def _shared_slots(fields: Fields, timezone: str, *, gap_after: bool, fold_twice: bool) -> WallSlots:
    """Shared by all equal recurrences, and so is what it remembers of days and offsets."""
    return WallSlots(fields.walls(), zone(timezone), gap_after=gap_after, fold_twice=fold_twice)


def anchored(recurrence: R, at: datetime) -> R:
    """An open recurrence counts from where one asks."""
    return recurrence.with_defaults(created_at=to_datetime(read_instant(at, "datetime")))


def read_common(name: str, value: object) -> object:
    """The value of a field that all repeating recurrences share."""
    return _SHAPES[name](value)


_SHAPES: dict[str, Callable[[object], object]] = {
    "timezone": zone_name,
    "dst_gap": lambda value: read_word(value, GAPS, "dst_gap"),
    "dst_fold": lambda value: read_word(value, FOLDS, "dst_fold"),
    "start_at": lambda value: to_datetime(read_instant(value, "start_at")),
    "end_at": lambda value: to_datetime(read_instant(value, "end_at")),
}
"""How each common field is read, if it is given."""
