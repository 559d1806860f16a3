"""Every: slots at a fixed interval, in elapsed or in calendar time."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from quarterjack.errors import Problems, quote
from quarterjack.times.cached_property import cached_property
from quarterjack.times.checks import check_choice, check_integer, invalid
from quarterjack.times.days import DayRule, Days, DaysFrom, EveryNthDay, date_of, matching_days
from quarterjack.times.describe import interval_phrase
from quarterjack.times.durations import Interval, read_interval
from quarterjack.times.instants import DAY, EARLIEST, MINUTE, from_datetime, read_datetime, to_text
from quarterjack.times.months import ClampedDay
from quarterjack.times.recurrence import Repeating, anchored
from quarterjack.times.slots import NO_SLOT, EvenSlots, OneSlot, Slots, StartedSlots, WallTimeSlots
from quarterjack.times.wall_times import WallTimes
from quarterjack.times.zones import zone

ANCHORS = ("slot", "completion")
_DAYS_OF_ALL_MONTHS = 28
_PARTS = {"seconds": (86400, "s"), "minutes": (1440, "m"), "hours": (168, "h"), "days": (365, "d")}


@dataclass(frozen=True, eq=False, repr=False)
class Every(Repeating):
    """`Every("90s")`, `Every("1d")`, `Every("monthly")`, `Every(hours=1, minutes=30)`; also a
    `timedelta`, which is elapsed time.

    Slots are counted from `start_at`, which is the first slot, else from `created_at`, which is not
    a slot. Without either, `next` and `between` count from the instant that they are given. With
    `anchor="completion"` the next slot depends on the end of the last run, so slots are a forecast.
    """

    every: str | timedelta | None = None
    seconds: InitVar[int | None] = field(default=None, kw_only=True)
    minutes: InitVar[int | None] = field(default=None, kw_only=True)
    hours: InitVar[int | None] = field(default=None, kw_only=True)
    days: InitVar[int | None] = field(default=None, kw_only=True)
    anchor: str = field(default="slot", kw_only=True)
    created_at: datetime | None = field(default=None, kw_only=True)

    def __post_init__(
        self, seconds: int | None, minutes: int | None, hours: int | None, days: int | None
    ) -> None:
        given = zip(_PARTS, (seconds, minutes, hours, days), strict=True)
        parts: dict[str, object] = {name: amount for name, amount in given if amount is not None}
        if parts and self.every is None:
            self._set(every=_sum_of(parts))
        elif parts:
            reason = f"cannot be combined with {' and '.join(parts)}"
            raise invalid("every", self.every, reason, "use one or the other")
        super().__post_init__()

    @cached_property
    def interval(self) -> Interval:
        return read_interval(self.every)

    @cached_property
    def slots(self) -> Slots:
        if self._is_open:
            raise invalid("every", self.every, "has no anchor", "set start_at or created_at")
        return self.within_bounds(self._grid(*self._anchor()))

    def slots_from(self, anchor: int) -> Slots:
        """Counted from creation or the last resume; with `anchor="completion"`, the one slot after
        the end of a run. A `start_at` outranks the anchor."""
        if self.anchor == "slot":
            fixed = self.start_at is not None
            return self.slots if fixed else self.within_bounds(self._grid(anchor, 1))
        if self.start_at is not None and anchor < from_datetime(self.start_at):
            following: int | None = from_datetime(self.start_at)
        else:
            following = self._grid(anchor, 1).after(anchor)
        return self.within_bounds(NO_SLOT if following is None else OneSlot(following))

    def slots_through(self, anchor: int) -> Slots:
        """The slots through this instant, extended into the past without end."""
        if self.start_at is not None:
            return self.slots
        if elapsed := self.interval.elapsed:
            first = EARLIEST + (anchor - EARLIEST) % elapsed
            return self.within_bounds(EvenSlots(first, elapsed))
        return self.within_bounds(self._by_calendar(anchor, None))

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
            first = "from its start, then " if self.start_at is None else ""
            phrase += f", counted {first}from the end of each run"
        sentence = self.completed(phrase, zone_matters=not self.interval.elapsed)
        return sentence + (", in shorter months on their last day" if self._is_clamped else "")

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"every": self.every, "anchor": self.anchor}
        if self.created_at is not None:
            data["created_at"] = to_text(from_datetime(self.created_at))
        return data | self._common_json()

    @property
    def wall_time_slots(self) -> WallTimeSlots | None:
        if self.interval.elapsed or self._is_open:
            return None
        return self._by_calendar(*self._anchor())

    @property
    def _is_clamped(self) -> bool:
        """Whether it starts on a day that not every month has."""
        if not self.interval.months or self.start_at is None:
            return False
        start = from_datetime(self.start_at)
        offset = zone(self.timezone or "UTC").offset(start)
        return date_of((start + offset) // DAY).day > _DAYS_OF_ALL_MONTHS

    @property
    def _is_open(self) -> bool:
        return self.start_at is None and self.created_at is None

    def _grid(self, anchor: int, steps: int) -> Slots:
        """The slots from an anchor on; the first one is `steps` (0 or 1) intervals after it."""
        if elapsed := self.interval.elapsed:
            return EvenSlots(anchor + steps * elapsed, elapsed)
        slots = self._by_calendar(anchor, steps)
        return slots if steps else StartedSlots(slots, anchor)

    def _anchor(self) -> tuple[int, int]:
        """Where slots are counted from, and how many intervals later the first one is."""
        if self.start_at is not None:
            return from_datetime(self.start_at), 0
        assert self.created_at is not None
        return from_datetime(self.created_at), 1

    def _by_calendar(self, anchor: int, steps: int | None) -> WallTimeSlots:
        own_zone = zone(self.timezone or "UTC")
        day, time = divmod(anchor + own_zone.offset(anchor), DAY)
        minute = time - time % MINUTE
        times = WallTimes(self._days(day, steps), (minute,), (time - minute,))
        gap_after, fold_twice = self._gap_after, self._fold_twice
        return WallTimeSlots(times, own_zone, gap_after=gap_after, fold_twice=fold_twice)

    def _days(self, anchor: int, steps: int | None) -> Days:
        """From `steps` days after the anchor on; None: without a beginning."""
        days: Days
        if self.interval.months:
            same_day = (ClampedDay(date_of(anchor).day),)
            days = matching_days(DayRule(numbers=frozenset(), special_numbers=same_day))
        else:
            days = EveryNthDay(anchor, self.interval.days)
        return days if steps is None else DaysFrom(anchor + steps, days)

    def _check(self) -> None:
        problems = Problems()
        with problems:
            check_choice(self.anchor, ANCHORS, "anchor")
        with problems:
            if self.every is None:
                remedy = "give an interval, as in Every(minutes=5)"
                raise invalid("every", None, "is missing", remedy)
            self._set(every=str(read_interval(self.every)))
        if self.created_at is not None:
            with problems:
                self._set(created_at=read_datetime(self.created_at, "created_at"))
        problems.raise_if_any()

    def _subject(self) -> str:
        return f"every {quote(self.every)}"


def _sum_of(parts: dict[str, object]) -> str:
    """The parts as the text of an interval; each has its own bounds."""
    problems = Problems()
    for name, amount in parts.items():
        with problems:
            check_integer(amount, 1, _PARTS[name][0], name)
    problems.raise_if_any("every")
    return "".join(f"{parts[name]}{_PARTS[name][1]}" for name in reversed(_PARTS) if name in parts)
