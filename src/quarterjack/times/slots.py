"""Slots as integers, and the daylight saving rules that turn wall times into slots.

When a zone's offset increases, some wall times do not exist: a gap. When it decreases, some occur
twice: a fold. The slots of fixed wall times in a zone are

- the instant of each wall time that has exactly one;
- for a wall time in a gap, the first instant after the gap (`gap_after`), or nothing;
- for a wall time in a fold, the first of its instants, or both (`fold_twice`).

Wall times that follow real time (`*/15 * * * *`) have `gap_after` off and `fold_twice` on: then a
slot is simply an instant whose wall time matches.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from quarterjack.times.instants import DAY, EARLIEST, LATEST
from quarterjack.times.wall_times import Times
from quarterjack.times.zones import Span, Zone

_AHEAD_MAX = 128


class Slots(Protocol):
    """The slots of a recurrence. None: there is no such slot in the years 1 to 9999."""

    def after(self, instant: int) -> int | None:
        """The first slot strictly after this instant."""

    def at_or_before(self, instant: int) -> int | None:
        """The last slot up to and including this instant."""

    def count(self, after: int, until: int) -> int:
        """The number of slots in (after, until], computed without enumerating them."""


def slots_between(slots: Slots, after: int, until: int) -> Iterator[int]:
    """Every slot in (after, until], one at a time."""
    slot = slots.after(after)
    while slot is not None and slot <= until:
        yield slot
        slot = slots.after(slot)


class OneSlot:
    """A single instant."""

    def __init__(self, slot: int) -> None:
        self._slot = slot

    def after(self, instant: int) -> int | None:
        return self._slot if instant < self._slot else None

    def at_or_before(self, instant: int) -> int | None:
        return self._slot if instant >= self._slot else None

    def count(self, after: int, until: int) -> int:
        return int(after < self._slot <= until)


class EvenSlots:
    """Slots at a fixed interval of elapsed time, from the first one on."""

    def __init__(self, first: int, interval: int) -> None:
        self._first = first
        self._interval = interval

    def after(self, instant: int) -> int | None:
        steps = max((instant - self._first) // self._interval + 1, 0)
        slot = self._first + steps * self._interval
        return slot if slot <= LATEST else None

    def at_or_before(self, instant: int) -> int | None:
        steps = (min(instant, LATEST) - self._first) // self._interval
        return self._first + steps * self._interval if steps >= 0 else None

    def count(self, after: int, until: int) -> int:
        before, upto = (max((min(instant, LATEST) - self._first) // self._interval + 1, 0)
                        for instant in (after, until))  # fmt: skip
        return max(upto - before, 0)


class BoundedSlots:
    """Other slots, restricted to [first, last]."""

    def __init__(self, slots: Slots, first: int = EARLIEST, last: int = LATEST) -> None:
        self._slots = slots
        self._first = first
        self._last = last

    def after(self, instant: int) -> int | None:
        slot = self._slots.after(max(instant, self._first - 1))
        return slot if slot is not None and slot <= self._last else None

    def at_or_before(self, instant: int) -> int | None:
        slot = self._slots.at_or_before(min(instant, self._last))
        return slot if slot is not None and slot >= self._first else None

    def count(self, after: int, until: int) -> int:
        return self._slots.count(max(after, self._first - 1), min(until, self._last))


NO_SLOT = OneSlot(LATEST + 1)
"""Later than every instant."""


class StartedSlots:
    """Other slots after an instant, which is itself the first slot even if the others lack it."""

    def __init__(self, slots: Slots, first: int) -> None:
        self._slots = slots
        self._first = first

    def after(self, instant: int) -> int | None:
        return self._first if instant < self._first else self._slots.after(instant)

    def at_or_before(self, instant: int) -> int | None:
        if instant < self._first:
            return None
        slot = self._slots.at_or_before(instant)
        return self._first if slot is None else max(slot, self._first)

    def count(self, after: int, until: int) -> int:
        later = self._slots.count(max(after, self._first), until)
        return later + (after < self._first <= until)


class ClockChange(NamedTuple):
    """A change of offset that makes a wall time not exist (a gap) or occur twice."""

    instant: int
    wall_time: int
    is_gap: bool


class WallTimeSlots:
    """The slots of wall times in a zone.

    Nearly always both the given instant and the slot found are unambiguous (in no fold, beside no
    gap), and adding the offset is enough; else the spans between changes of offset are searched.
    Reading slots in order doubles the number computed ahead each time.
    """

    def __init__(self, times: Times, zone: Zone, *, gap_after: bool, fold_twice: bool) -> None:
        self._times = times
        self._zone = zone
        self._gap_after = gap_after
        self._fold_twice = fold_twice
        # An instant and the slots that follow it without omission. Replaced as a whole, never
        # modified, so that threads may share it.
        self._ahead = [LATEST]
        self._last = LATEST
        """From here on there is no slot, as far as is known."""
        self._span: Span = (0, 0, 0)
        """Of the last instant that was searched from."""

    def after(self, instant: int) -> int | None:
        ahead = self._ahead
        index = bisect_right(ahead, instant)
        if 0 < index < len(ahead):
            return ahead[index]
        if instant == ahead[-1]:
            return self._compute_ahead(instant, 2 * len(ahead), ahead[-_AHEAD_MAX:-1])
        # A fresh start, after an instant that is not the last slot computed.
        low, high, offset = self._span
        if not low <= instant < high:
            if (span := self._zone.unambiguous_span(instant)) is None:
                return self._found_in_spans(instant)
            self._span = low, high, offset = span
        wall_time = self._times.first_after(instant + offset)
        if wall_time is None:
            return None
        if wall_time - offset >= high:
            if (span := self._zone.unambiguous_span_of_wall_time(wall_time)) is None:
                return self._found_in_spans(instant)
            offset = span[2]
        self._ahead = [instant, wall_time - offset]
        return wall_time - offset

    def _compute_ahead(self, instant: int, count: int, before: list[int]) -> int | None:
        span = self._zone.unambiguous_span(instant)
        if span is None:
            return self._found_in_spans(instant)
        # After an unambiguous instant every wall time is later than the current one, so the next
        # matching wall time, if it is unambiguous too, is the next slot.
        _, high, offset = span
        found = self._times.after(instant + offset, min(count, _AHEAD_MAX))
        if not found:
            return None
        ahead = [*before, instant]
        known = len(ahead)
        if found[-1] - offset < high:
            ahead += [wall_time - offset for wall_time in found]
        else:
            table = self._zone.table(found[-1] + DAY)
            for wall_time in found:
                if wall_time - offset >= high:
                    index = bisect_right(table.unambiguous_starts, wall_time) - 1
                    low, high, offset = table.unambiguous[index]
                    if not low <= wall_time - offset < high:
                        break
                ahead.append(wall_time - offset)
            if len(ahead) == known:
                return self._found_in_spans(instant)
        self._ahead = ahead
        return ahead[known]

    def at_or_before(self, instant: int) -> int | None:
        span = self._zone.unambiguous_span(instant)
        if span is None:
            return self._before_in_spans(instant)
        low, _, offset = span
        wall_time = self._times.at_or_before(instant + offset)
        if wall_time is None:
            return None
        if wall_time - offset < low:
            span = self._zone.unambiguous_span_of_wall_time(wall_time)
            if span is None:
                return self._before_in_spans(instant)
            _, _, offset = span
        return wall_time - offset

    def _found_in_spans(self, instant: int) -> int | None:
        """Remembered: it may be centuries away or not exist, and a union asks for it at each of its
        slots."""
        if instant >= self._last:
            return None
        found = self._after_in_spans(instant)
        if found is None:
            self._last = instant
        else:
            self._ahead = [instant, found]
        return found

    def _after_in_spans(self, instant: int) -> int | None:
        table = self._zone.table(instant)
        index = max(bisect_right(table.starts, instant) - 1, 0)
        while index < len(table.starts):
            table = self._zone.table(table.starts[index])
            start, offset = table.starts[index], table.offsets[index]
            before = table.offsets[index - 1] if index else offset
            if start > instant and self._gap_after:
                found = self._times.after(start + before - 1)
                if found and found[0] < start + offset:
                    return start
            floor = max(start, instant + 1) + offset
            found = self._times.after(self._not_repeated(floor, start + before) - 1)
            if found and found[0] - offset < table.ends[index]:
                return found[0] - offset
            index += 1
        return None

    def _before_in_spans(self, instant: int) -> int | None:
        table = self._zone.table(instant)
        index = bisect_right(table.starts, instant) - 1
        while index >= 0:
            start, offset = table.starts[index], table.offsets[index]
            before = table.offsets[index - 1] if index else offset
            wall_time = self._times.at_or_before(min(instant, table.ends[index] - 1) + offset)
            first = self._not_repeated(start + offset, start + before)
            if wall_time is not None and wall_time >= first:
                return wall_time - offset
            if self._gap_after:
                wall_time = self._times.at_or_before(start + offset - 1)
                if wall_time is not None and wall_time >= start + before:
                    return start
            index -= 1
        return None

    def count(self, after: int, until: int) -> int:
        table = self._zone.table(until)
        index = max(bisect_right(table.starts, after) - 1, 0)
        total = 0
        while index < len(table.starts) and table.starts[index] <= until:
            start, offset = table.starts[index], table.offsets[index]
            before = table.offsets[index - 1] if index else offset
            first = self._not_repeated(max(start, after + 1) + offset, start + before)
            total += self._times.count(first, min(until, table.ends[index] - 1) + offset)
            if self._gap_after and after < start and start + before < start + offset:
                # All wall times of the gap share one slot, which is also that of the gap's end.
                in_gap = self._times.count(start + before, start + offset - 1)
                at_end = self._times.count(start + offset, start + offset)
                total += in_gap > 0 and not at_end
            index += 1
        return total

    def clock_changes(self, after: int, until: int) -> Iterator[ClockChange]:
        """The changes of offset in (after, until] whose gap or fold contains a wall time."""
        table = self._zone.table(until)
        for index in range(bisect_right(table.starts, after), bisect_right(table.starts, until)):
            start = table.starts[index]
            old, new = start + table.offsets[index - 1], start + table.offsets[index]
            found = self._times.after(min(old, new) - 1)
            if found and found[0] < max(old, new):
                yield ClockChange(start, found[0], is_gap=old < new)

    def _not_repeated(self, wall_time: int, until: int) -> int:
        """The first wall time from this one on that is not a repetition to be left out."""
        return wall_time if self._fold_twice else max(wall_time, until)
