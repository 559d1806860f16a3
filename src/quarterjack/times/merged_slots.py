"""The slots of several crons in one zone as one, and those of a list of instants.

Fixed wall times and those that follow real time obey different daylight saving rules, so they are
merged apart, each as one `WallTimeSlots`. What both have in common is known too, so that counting
never enumerates.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

from quarterjack.times.fields import Fields
from quarterjack.times.merged_times import MergedTimes
from quarterjack.times.slots import Slots, WallTimeSlots
from quarterjack.times.zones import zone


class InstantSlots:
    """A list of instants."""

    def __init__(self, instants: Sequence[int]) -> None:
        self._instants = sorted(set(instants))

    def after(self, instant: int) -> int | None:
        index = bisect_right(self._instants, instant)
        return self._instants[index] if index < len(self._instants) else None

    def at_or_before(self, instant: int) -> int | None:
        index = bisect_right(self._instants, instant)
        return self._instants[index - 1] if index else None

    def count(self, after: int, until: int) -> int:
        return max(bisect_right(self._instants, until) - bisect_right(self._instants, after), 0)


class EitherSlots:
    """The slots of fixed wall times and of wall times that follow real time, each once."""

    def __init__(self, fixed: WallTimeSlots, real: WallTimeSlots, both: WallTimeSlots) -> None:
        self._fixed = fixed
        self._real = real
        self._both = both

    def after(self, instant: int) -> int | None:
        one, other = self._fixed.after(instant), self._real.after(instant)
        return other if one is None else one if other is None else min(one, other)

    def at_or_before(self, instant: int) -> int | None:
        one, other = self._fixed.at_or_before(instant), self._real.at_or_before(instant)
        return other if one is None else one if other is None else max(one, other)

    def count(self, after: int, until: int) -> int:
        if until <= after:
            return 0
        counted_twice = self._both.count(after, until)
        for change in self._fixed.clock_changes(after, until):
            at = change.instant
            if change.is_gap and not self._both.count(at - 1, at):
                # The end of the gap may be a slot of both, though they share no wall time.
                counted_twice += self._fixed.count(at - 1, at) * self._real.count(at - 1, at)
        return self._fixed.count(after, until) + self._real.count(after, until) - counted_twice


@lru_cache(maxsize=1024)
def merged_slots(
    crons: tuple[Fields, ...], timezone: str, *, gap_after: bool, fold_twice: bool
) -> Slots:
    """Shared by all equal unions, with its cache of slots."""
    fixed = [fields for fields in crons if not fields.follow_real_time]
    real = [fields for fields in crons if fields.follow_real_time]
    real_slots = WallTimeSlots(
        MergedTimes([real]), zone(timezone), gap_after=False, fold_twice=True
    )
    fixed_slots = fixed_wall_times(fixed, timezone, gap_after=gap_after, fold_twice=fold_twice)
    if not (fixed and real):
        return fixed_slots if fixed else real_slots
    common = MergedTimes([fixed, real])
    both = WallTimeSlots(common, zone(timezone), gap_after=False, fold_twice=fold_twice)
    return EitherSlots(fixed_slots, real_slots, both)


def fixed_wall_times(
    crons: Sequence[Fields], timezone: str, *, gap_after: bool, fold_twice: bool
) -> WallTimeSlots:
    times = MergedTimes([crons])
    return WallTimeSlots(times, zone(timezone), gap_after=gap_after, fold_twice=fold_twice)
