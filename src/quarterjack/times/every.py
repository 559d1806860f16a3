"""Every: slots one interval apart, in elapsed time or by the calendar."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from datetime import datetime
from typing import Any

from quarterjack.errors import InvalidRecurrence, Problems, shown
from quarterjack.times.days import DayRule, Days, DaysFrom, EveryNthDay, date_of, ruled_days
from quarterjack.times.describe import interval_phrase
from quarterjack.times.durations import Interval, read_interval
from quarterjack.times.instants import (
    DAY,
    EARLIEST,
    LATEST,
    MINUTE,
    from_datetime,
    read_instant,
    to_datetime,
    to_text,
)
from quarterjack.times.lazily import lazily
from quarterjack.times.months import ClampedDay
from quarterjack.times.reading import read_whole_number, read_word
from quarterjack.times.recurrence import Repeating, anchored
from quarterjack.times.slots import EvenSlots, OneSlot, Slots, StartedSlots, WallSlots
from quarterjack.times.walls import DayTimes
from quarterjack.times.zones import zone

ANCHORS = ("slot", "completion")
_PARTS = {
    "seconds": (86_400, "s"),
    "minutes": (1_440, "m"),
    "hours": (168, "h"),
    "days": (365, "d"),
}


@dataclass(frozen=True, eq=False, repr=False)
class Every(Repeating):
    """`Every("90s")`, `Every("1d")`, `Every("monthly")`, `Every(hours=1, minutes=30)`; an integer
    is milliseconds.

    Slots are counted from `start_at`, itself the first, else from `created_at`, which is none.
    Without either it is anchored at the instant from which one asks. With `anchor="completion"`
    the next slot follows the end of a run, and what is told here is a forecast.
    """

    every: str | int | None = None
    seconds: InitVar[int | None] = field(default=None, kw_only=True)
    minutes: InitVar[int | None] = field(default=None, kw_only=True)
    hours: InitVar[int | None] = field(default=None, kw_only=True)
    days: InitVar[int | None] = field(default=None, kw_only=True)
    anchor: str = field(default="slot", kw_only=True)
    created_at: datetime | None = field(default=None, kw_only=True)

    def __post_init__(
        self,
        seconds: int | None,
        minutes: int | None,
        hours: int | None,
        days: int | None,
    ) -> None:
        given: dict[str, object] = {
            "seconds": seconds,
            "minutes": minutes,
            "hours": hours,
            "days": days,
        }
        parts = {name: amount for name, amount in given.items() if amount is not None}
        if parts and self.every is None:
            self._set(every=_sum_of(parts))
        elif parts:
            remedy = "give either one"
            raise InvalidRecurrence.because("every", self.every, "and parts are both given", remedy)
        super().__post_init__()

    @lazily
    def interval(self) -> Interval:
        return read_interval(self.every)

    @lazily
    def slots(self) -> Slots:
        if self._is_open:
            reason, remedy = "has no anchor yet", "give it start_at or created_at"
            raise InvalidRecurrence.because("every", self.every, reason, remedy)
        return self._within_bounds(self._grid(*self._anchor()))

    def slots_from(self, anchor: int) -> Slots:
        """Counted from creation or the last resume; or, with `anchor="completion"`, the one slot
        that follows the end of a run. What has a `start_at` keeps to its own grid."""
        if self.anchor == "slot":
            own = self.start_at is not None
            return self.slots if own else self._within_bounds(self._grid(anchor, 1))
        if self.start_at is not None and anchor < from_datetime(self.start_at):
            following: int | None = from_datetime(self.start_at)
        else:
            following = self._grid(anchor, 1).after(anchor)
        return self._within_bounds(OneSlot(LATEST + 1 if following is None else following))

    def slots_through(self, anchor: int) -> Slots:
        """The grid through this instant, as if it had always been there."""
        if self.start_at is not None:
            return self.slots
        elapsed = self.interval.elapsed
        grid: Slots
        if elapsed:
            grid = EvenSlots(EARLIEST + (anchor - EARLIEST) % elapsed, elapsed)
        else:
            grid = self._by_calendar(anchor, None)
        return self._within_bounds(grid)

    def next(self, after: datetime) -> datetime | None:
        if self._is_open:
            return anchored(self, after).next(after)
        return super().next(after)

    def between(self, start: datetime, end: datetime) -> list[datetime]:
        if self._is_open:
            return anchored(self, start).between(start, end)
        return super().between(start, end)

    def describe(self) -> str:
        phrase = interval_phrase(self.interval)
        if self.anchor == "completion":
            phrase += ", counted from the end of each run"
        return self._completed(phrase, zone_matters=not self.interval.elapsed)

    def to_json(self) -> dict[str, Any]:
        said: dict[str, Any] = {"every": self.every, "anchor": self.anchor}
        if self.created_at is not None:
            said["created_at"] = to_text(from_datetime(self.created_at))
        return said | self._common_json()

    @property
    def wall_slots(self) -> WallSlots | None:
        if self.interval.elapsed or self._is_open:
            return None
        return self._by_calendar(*self._anchor())

    @property
    def _is_open(self) -> bool:
        return self.start_at is None and self.created_at is None

    def _grid(self, anchor: int, steps: int) -> Slots:
        """From an instant on, with the first slot so many steps away from it."""
        elapsed = self.interval.elapsed
        if elapsed:
            return EvenSlots(anchor + steps * elapsed, elapsed)
        slots = self._by_calendar(anchor, steps)
        return slots if steps else StartedSlots(slots, anchor)

    def _anchor(self) -> tuple[int, int]:
        """Where slots are counted from, and how many steps away the first one is."""
        if self.start_at is not None:
            return from_datetime(self.start_at), 0
        assert self.created_at is not None
        return from_datetime(self.created_at), 1

    def _by_calendar(self, anchor: int, steps: int | None) -> WallSlots:
        place = zone(self.timezone or "UTC")
        day, time = divmod(anchor + place.offset(anchor), DAY)
        minute = time - time % MINUTE
        return WallSlots(
            DayTimes(self._days(day, steps), (minute,), (time - minute,)),
            place,
            gap_after=self._gap_after,
            fold_twice=self._fold_twice,
        )

    def _days(self, anchor: int, steps: int | None) -> Days:
        """From so many steps after the anchor on, or without a beginning."""
        days: Days
        if self.interval.months:
            same_day = (ClampedDay(date_of(anchor).day),)
            days = ruled_days(DayRule(numbers=frozenset(), special_numbers=same_day))
        else:
            days = EveryNthDay(anchor, self.interval.days)
        return days if steps is None else DaysFrom(anchor + steps, days)

    def _check(self) -> None:
        problems = Problems()
        with problems:
            read_word(self.anchor, ANCHORS, "anchor")
        with problems:
            if self.every is None:
                remedy = "say how often, as in Every(minutes=5)"
                raise InvalidRecurrence.because("every", None, "is missing", remedy)
            self._set(every=str(read_interval(self.every)))
        if self.created_at is not None:
            with problems:
                created_at = read_instant(self.created_at, "created_at")
                self._set(created_at=to_datetime(created_at))
        problems.refuse_if_any()

    def _subject(self) -> str:
        return f"every {shown(self.every)}"


def _sum_of(parts: dict[str, object]) -> str:
    """The interval text of the parts, each within its own bounds."""
    problems = Problems()
    for name, amount in parts.items():
        with problems:
            read_whole_number(amount, 1, _PARTS[name][0], name)
    problems.refuse_if_any("every")
    return "".join(
        f"{parts[name]}{unit}" for name, (_, unit) in reversed(_PARTS.items()) if name in parts
    )
