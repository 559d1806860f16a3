"""Wall times: local dates and times without a zone, as microseconds since 1970.

`WallTimes` holds those of a recurrence; `slots` converts them to instants.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Protocol

from quarterjack.times.days import Days
from quarterjack.times.instants import DAY


class Times(Protocol):
    """Wall times that can be searched both ways and counted; `WallTimes` says what each does."""

    def after(self, wall_time: int, count: int = 1) -> Sequence[int]: ...

    def first_after(self, wall_time: int) -> int | None: ...

    def at_or_before(self, wall_time: int) -> int | None: ...

    def count(self, first: int, last: int) -> int: ...


class WallTimes:
    """The same times of day on each of a set of days: minutes, and the same seconds in each.

    Minutes are microseconds from midnight, seconds microseconds within the minute. They are
    separate because their product has 86,400 entries for a cron that fires every second.
    """

    def __init__(self, days: Days, minutes: Sequence[int], seconds: Sequence[int]) -> None:
        self._days = days
        self._minutes = minutes
        self._seconds = seconds
        # With the first second of each minute; mostly the minutes themselves, which are shared.
        self._times = [minute + seconds[0] for minute in minutes] if seconds[0] else minutes

    def after(self, wall_time: int, count: int = 1) -> Sequence[int]:
        """The first wall times strictly after this one, without omission: at most `count`; empty
        only if none is left."""
        day, time = divmod(wall_time, DAY)
        minutes, seconds = self._minutes, self._seconds
        if len(seconds) > 1:
            count = 1  # the one after next may be in the same minute
        today = self._days.on_or_after(day, 1)
        if today and today[0] == day:
            index = bisect_right(minutes, time)
            if index:
                rest = time - minutes[index - 1]
                if rest < seconds[-1]:
                    return [wall_time - rest + seconds[bisect_right(seconds, rest)]]
            if left := self._times[index : index + count]:
                midnight = wall_time - time
                return [midnight + time for time in left]
        days = self._days.on_or_after(day + 1, (count - 1) // len(minutes) + 1)
        times = self._times[:count]
        return [day * DAY + time for day in days for time in times]

    def first_after(self, wall_time: int) -> int | None:
        """The first wall time strictly after this one."""
        day, time = divmod(wall_time, DAY)
        first = self._days.first_from(day)
        if first == day:
            minutes = self._minutes
            index = bisect_right(minutes, time)
            if index and len(seconds := self._seconds) > 1:
                rest = time - minutes[index - 1]
                if rest < seconds[-1]:
                    return wall_time - rest + seconds[bisect_right(seconds, rest)]
            elif index and time < self._times[index - 1]:
                return wall_time - time + self._times[index - 1]
            if index < len(minutes):
                return wall_time - time + self._times[index]
            first = self._days.first_from(day + 1)
        return None if first is None else first * DAY + self._times[0]

    def at_or_before(self, wall_time: int) -> int | None:
        """The last wall time up to and including this one."""
        day, time = divmod(wall_time, DAY)
        minutes, seconds = self._minutes, self._seconds
        if self._days.on_or_before(day) == day:
            index = bisect_right(minutes, time)
            if index:
                rest = time - minutes[index - 1]
                if rest >= seconds[0]:
                    return wall_time - rest + seconds[bisect_right(seconds, rest) - 1]
                if index > 1:
                    return wall_time - time + minutes[index - 2] + seconds[-1]
        last = self._days.on_or_before(day - 1)
        return None if last is None else last * DAY + minutes[-1] + seconds[-1]

    def count(self, first: int, last: int) -> int:
        """The number of wall times in [first, last]."""
        return max(self._count_until(last) - self._count_until(first - 1), 0)

    def _count_until(self, wall_time: int) -> int:
        """The number from an arbitrary fixed day up to and including this wall time."""
        day, time = divmod(wall_time, DAY)
        minutes, seconds = self._minutes, self._seconds
        total = self._days.rank(day) * len(minutes) * len(seconds)
        if self._days.on_or_before(day) == day and (index := bisect_right(minutes, time)):
            total += (index - 1) * len(seconds)
            total += bisect_right(seconds, time - minutes[index - 1])
        return total


def product(minutes: Sequence[int], seconds: Sequence[int]) -> list[int]:
    """Every time of day of these minutes and seconds."""
    return [minute + second for minute in minutes for second in seconds]
