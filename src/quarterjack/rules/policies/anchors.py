"""Anchors: from where a schedule counts its slots.

`every` counts from its creation or its last resume, or, with `anchor: completion`, from the end of
its last run or skip; then it has no next slot while a run is open. `after` counts from its
creation. Everything else names its slots by itself.
"""

from __future__ import annotations

from quarterjack.rules.model import Schedule
from quarterjack.rules.policies.first_run import FirstRun
from quarterjack.times import Every, Recurrence, Slots
from quarterjack.times.instants import from_datetime
from quarterjack.times.recurrence import Repeating
from quarterjack.times.slots import StartedSlots


def slots_of(schedule: Schedule) -> Slots:
    """The slots of a schedule, from where it counts now."""
    return _slots_from(schedule, schedule.anchor_at)


def _slots_from(schedule: Schedule, anchor_at: int) -> Slots:
    specification = schedule.specification
    slots = specification.recurrence.slots_from(anchor_at)
    if specification.first_run is FirstRun.NOW and not _is_over(schedule):
        return StartedSlots(slots, schedule.created_at)
    return slots


def _is_over(schedule: Schedule) -> bool:
    """Did it end before it was created?"""
    recurrence = schedule.specification.recurrence
    end_at = recurrence.end_at if isinstance(recurrence, Repeating) else None
    return end_at is not None and from_datetime(end_at) < schedule.created_at


def counts_from_completion(recurrence: Recurrence) -> bool:
    return isinstance(recurrence, Every) and recurrence.anchor == "completion"


def counts_anew_on_resume(recurrence: Recurrence) -> bool:
    """`every` starts anew when it is resumed, unless a person said where it starts."""
    if not isinstance(recurrence, Every):
        return False
    return recurrence.anchor == "completion" or recurrence.start_at is None


def following_completion(schedule: Schedule, ended_at: int) -> int | None:
    """The slot that follows, if the open run ends then."""
    return _slots_from(schedule, ended_at).after(max(schedule.cursor, ended_at))


def anchored_at(schedule: Schedule, instant: int) -> Schedule:
    """Counting from this instant; what comes next follows from it."""
    following = _slots_from(schedule, instant).after(max(schedule.cursor, instant))
    return schedule._replace(anchor_at=instant, next_slot=following, wake_at=following)
