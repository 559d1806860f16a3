"""Wall times: what a clock on the wall shows, as microseconds since 1970 in no zone at all.

`DayTimes` says which walls a recurrence names; what a zone makes of them is said in `slots`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from quarterjack.times.days import Days
from quarterjack.times.instants import DAY


class DayTimes:
    """The same times on each of some days: whole minutes, and within each the same seconds.

    Minutes are microseconds from midnight, seconds microseconds within the minute. They are kept
    apart because their product has 86,400 entries for a cron that fires each second.
    """

    def __init__(self, days: Days, minutes: Sequence[int], seconds: Sequence[int]) -> None:
        self._days = days
        self._minutes = minutes
        self._seconds = seconds
        # The first second of each minute: mostly the minutes themselves, which are shared.
        self._times = [minute + seconds[0] for minute in minutes] if seconds[0] else minutes

    def after(self, wall: int, count: int = 1) -> Sequence[int]:
        """The first walls strictly after this one, in order and with none left out: perhaps not as
        many as the count, but none only if there are none left."""
        day, time = divmod(wall, DAY)
        minutes, seconds = self._minutes, self._seconds
        if len(seconds) > 1:
            count = 1  # the next wall may lie in the same minute, so only one is certain
        today = self._days.on_or_after(day, 1)
        if today and today[0] == day:
            index = bisect_right(minutes, time)
            if index:
                rest = time - minutes[index - 1]
                if rest < seconds[-1]:
                    return [wall - rest + seconds[bisect_right(seconds, rest)]]
            if left := self._times[index : index + count]:
                midnight = wall - time
                return [midnight + time for time in left]
        days = self._days.on_or_after(day + 1, (count - 1) // len(minutes) + 1)
        times = self._times[:count]
        return [day * DAY + time for day in days for time in times]

    def at_or_before(self, wall: int) -> int | None:
        """The last wall that is not after this one."""
        day, time = divmod(wall, DAY)
        minutes, seconds = self._minutes, self._seconds
        if self._days.on_or_before(day) == day:
            index = bisect_right(minutes, time)
            if index:
                rest = time - minutes[index - 1]
                if rest >= seconds[0]:
                    return wall - rest + seconds[bisect_right(seconds, rest) - 1]
                if index > 1:
                    return wall - time + minutes[index - 2] + seconds[-1]
        last = self._days.on_or_before(day - 1)
        return None if last is None else last * DAY + minutes[-1] + seconds[-1]

    def count(self, first: int, last: int) -> int:
        """How many walls lie in [first, last]."""
        return max(self._count_until(last) - self._count_until(first - 1), 0)

    def _count_until(self, wall: int) -> int:
        """How many there are from some fixed day on, up to and including this wall."""
        day, time = divmod(wall, DAY)
        minutes, seconds = self._minutes, self._seconds
        total = self._days.rank(day) * len(minutes) * len(seconds)
        if self._days.on_or_before(day) == day and (index := bisect_right(minutes, time)):
            total += (index - 1) * len(seconds)
            total += bisect_right(seconds, time - minutes[index - 1])
        return total
