"""At and After: recurrences with a single slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from quarterjack.times.cached_property import cached_property
from quarterjack.times.checks import invalid
from quarterjack.times.durations import duration_text, read_duration
from quarterjack.times.instants import (
    from_datetime,
    read_datetime,
    read_instant,
    to_datetime,
    to_text,
)
from quarterjack.times.recurrence import Recurrence, anchored
from quarterjack.times.slots import BoundedSlots, OneSlot, Slots


@dataclass(frozen=True, eq=False, repr=False)
class At(Recurrence):
    """Once, at an instant: an aware datetime, RFC 3339 text, or integer Unix milliseconds; of a
    list, once at each."""

    at: datetime | str | int | Sequence[datetime | str | int]

    def __new__(cls, at: Any = "") -> Any:
        if isinstance(at, list | tuple):
            from quarterjack.times.union import read_list

            return read_list("at", at, cls)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        if isinstance(self.at, list | tuple):  # of equal ones, else `__new__` made a union
            self._set(at=self.at[0])
        self._set(at=to_datetime(self._instant))

    @cached_property
    def _instant(self) -> int:
        return read_instant(self.at, "at")

    @cached_property
    def slots(self) -> Slots:
        return OneSlot(self._instant)

    def describe(self) -> str:
        return f"once at {to_text(self._instant)}"

    def to_json(self) -> dict[str, Any]:
        return {"at": to_text(self._instant)}


@dataclass(frozen=True, eq=False, repr=False)
class After(Recurrence):
    """Once, a duration after `created_at`; without it, after the instant given to `next`."""

    after: str | timedelta
    created_at: datetime | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self._set(after=duration_text(read_duration(self.after, "after")))
        if self.created_at is not None:
            self._set(created_at=read_datetime(self.created_at, "created_at"))

    @cached_property
    def slots(self) -> Slots:
        if self.created_at is None:
            raise invalid("after", self.after, "has no anchor", "set created_at")
        return self.slots_from(from_datetime(self.created_at))

    def slots_from(self, anchor: int) -> Slots:
        return BoundedSlots(OneSlot(anchor + self._delay))

    @cached_property
    def _delay(self) -> int:
        return read_duration(self.after, "after")

    def next(self, after: datetime) -> datetime | None:
        if self.created_at is None:
            return anchored(self, after).next(after)
        return super().next(after)

    def between(self, start: datetime, end: datetime) -> list[datetime]:
        if self.created_at is None:
            return anchored(self, start).between(start, end)
        return super().between(start, end)

    def describe(self) -> str:
        if self.created_at is None:
            return f"once, {self.after} from its start"
        return f"once, {self.after} after {to_text(from_datetime(self.created_at))}"

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"after": self.after}
        if self.created_at is not None:
            data["created_at"] = to_text(from_datetime(self.created_at))
        return data
