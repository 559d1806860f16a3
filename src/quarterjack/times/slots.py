"""From walls to slots: the one home of the daylight saving rules, and the integer core.

A zone's offset changes now and then. Forward, some walls never come: a gap. Backward, some come
twice: a fold. The slots of fixed walls in a zone are

- each wall's instant, where it has exactly one;
- for a wall in a gap, the first instant after the gap (`gap_after`), or nothing;
- for a wall in a fold, the first of its instants, or both (`fold_twice`).

Walls that follow real time (`*/15 * * * *`) are those with `gap_after` off and `fold_twice` on:
then a slot is simply an instant whose wall matches.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from quarterjack.times.instants import DAY, LATEST
from quarterjack.times.walls import DayTimes
from quarterjack.times.zones import Zone

_AHEAD_MAX = 128


class Slots(Protocol):
    """The slots of a recurrence, as integers. None: there is no such slot in the years 1-9999."""

    def after(self, instant: int) -> int | None:
        """The first slot strictly after this instant."""

    def at_or_before(self, instant: int) -> int | None:
        """The last slot that is not after this instant."""

    def count(self, after: int, until: int) -> int:
        """How many slots lie in (after, until], without a look at each."""


def slots_between(slots: Slots, after: int, until: int) -> Iterator[int]:
    """Every slot in (after, until], one at a time, so that the caller may stop."""
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
    """Slots one interval of elapsed time apart, from the first one on."""

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
    """Those of other slots that lie in [first, last]."""

    def __init__(self, slots: Slots, first: int, last: int) -> None:
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


class StartedSlots:
    """Other slots from an instant on, which is itself the first, whatever the others say of it."""

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


class OddChange(NamedTuple):
    """A change of offset at an instant, which makes this wall come never, or twice."""

    instant: int
    wall: int
    is_gap: bool


class WallSlots:
    """The slots of walls in a zone.

    Nearly always both the instant and the slot sought lie where walls are clear (no gap or fold
    near), and one addition does; else each span between two changes of offset is looked through.
    Whoever reads slots in order finds more and more of them worked out ahead.
    """

    def __init__(self, walls: DayTimes, zone: Zone, *, gap_after: bool, fold_twice: bool) -> None:
        self._walls = walls
        self._zone = zone
        self._gap_after = gap_after
        self._fold_twice = fold_twice
        # An instant and the slots that follow it, with none left out. It is replaced and never
        # changed, so that threads may share it.
        self._ahead = [LATEST]

    def after(self, instant: int) -> int | None:
        ahead = self._ahead
        index = bisect_right(ahead, instant)
        if 0 < index < len(ahead):
            return ahead[index]
        if instant == ahead[-1]:
            return self._look_ahead(instant, 2 * len(ahead), ahead[-_AHEAD_MAX:-1])
        return self._look_ahead(instant, 1, [])

    def _look_ahead(self, instant: int, count: int, before: list[int]) -> int | None:
        span = self._zone.clear_span(instant)
        if span is None:
            return self._after_in_spans(instant)
        # From a clear instant on every wall is later than the one now, so that the next wall
        # that matches, if it is clear as well, is the next slot.
        _, high, offset = span
        walls = self._walls.after(instant + offset, min(count, _AHEAD_MAX))
        if not walls:
            return None
        ahead = [*before, instant]
        known = len(ahead)
        if walls[-1] - offset < high:
            ahead += [wall - offset for wall in walls]
        else:
            table = self._zone.table(walls[-1] + DAY)
            clear, clear_walls = table.clear, table.clear_walls
            for wall in walls:
                if wall - offset >= high:
                    low, high, offset = clear[bisect_right(clear_walls, wall) - 1]
                    if not low <= wall - offset < high:
                        break
                ahead.append(wall - offset)
            if len(ahead) == known:
                return self._after_in_spans(instant)
        self._ahead = ahead
        return ahead[known]

    def at_or_before(self, instant: int) -> int | None:
        span = self._zone.clear_span(instant)
        if span is None:
            return self._before_in_spans(instant)
        low, _, offset = span
        wall = self._walls.at_or_before(instant + offset)
        if wall is None:
            return None
        if wall - offset < low:
            span = self._zone.clear_span_of_wall(wall)
            if span is None:
                return self._before_in_spans(instant)
            _, _, offset = span
        return wall - offset

    def _after_in_spans(self, instant: int) -> int | None:
        table = self._zone.table(instant)
        index = max(bisect_right(table.starts, instant) - 1, 0)
        while index < len(table.starts):
            table = self._zone.table(table.starts[index])
            start, offset = table.starts[index], table.offsets[index]
            before = table.offsets[index - 1] if index else offset
            if start > instant and self._gap_after:
                walls = self._walls.after(start + before - 1)
                if walls and walls[0] < start + offset:
                    return start
            floor = max(start, instant + 1) + offset
            walls = self._walls.after(self._not_repeated(floor, start + before) - 1)
            if walls and walls[0] - offset < table.ends[index]:
                return walls[0] - offset
            index += 1
        return None

    def _before_in_spans(self, instant: int) -> int | None:
        table = self._zone.table(instant)
        index = bisect_right(table.starts, instant) - 1
        while index >= 0:
            start, offset = table.starts[index], table.offsets[index]
            before = table.offsets[index - 1] if index else offset
            wall = self._walls.at_or_before(min(instant, table.ends[index] - 1) + offset)
            if wall is not None and wall >= self._not_repeated(start + offset, start + before):
                return wall - offset
            if self._gap_after:
                wall = self._walls.at_or_before(start + offset - 1)
                if wall is not None and wall >= start + before:
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
            total += self._walls.count(first, min(until, table.ends[index] - 1) + offset)
            if self._gap_after and after < start and start + before < start + offset:
                # All walls of the gap are one slot, which is also that of the wall at its end.
                in_gap = self._walls.count(start + before, start + offset - 1)
                at_end = self._walls.count(start + offset, start + offset)
                total += in_gap > 0 and not at_end
            index += 1
        return total

    def odd_changes(self, after: int, until: int) -> Iterator[OddChange]:
        """The changes of offset in (after, until] whose gap or fold holds one of the walls."""
        table = self._zone.table(until)
        for index in range(bisect_right(table.starts, after), bisect_right(table.starts, until)):
            start = table.starts[index]
            old, new = start + table.offsets[index - 1], start + table.offsets[index]
            walls = self._walls.after(min(old, new) - 1)
            if walls and walls[0] < max(old, new):
                yield OddChange(start, walls[0], is_gap=old < new)

    def _not_repeated(self, wall: int, walls_until: int) -> int:
        """The first wall from this one on that is not in its span for the second time."""
        return wall if self._fold_twice else max(wall, walls_until)
