"""Anchors: the instant from which the slots of a schedule are counted.

`every` counts from the creation of the schedule or its last resume. With `anchor: completion` it
counts from the end of the last run or skip, and there is no next slot while a run is open. `after`
counts from the creation. No other recurrence depends on an anchor.
"""

from __future__ import annotations

from quarterjack.rules.model import Schedule
from quarterjack.rules.policies.first_run import FirstRun
from quarterjack.times import Every, Recurrence, Slots, Union
from quarterjack.times.instants import from_datetime
from quarterjack.times.recurrence import Repeating
from quarterjack.times.slots import StartedSlots


def slots_of(schedule: Schedule) -> Slots:
    """The slots of a schedule, counted from its current anchor."""
    return _slots_from(schedule, schedule.anchor_at)


def _slots_from(schedule: Schedule, anchor_at: int) -> Slots:
    specification = schedule.specification
    slots = specification.recurrence.slots_from(anchor_at)
    if specification.first_run is FirstRun.NOW and not _ended_before_creation(schedule):
        return StartedSlots(slots, schedule.created_at)
    return slots


def _ended_before_creation(schedule: Schedule) -> bool:
    recurrence = schedule.specification.recurrence
    end_at = recurrence.end_at if isinstance(recurrence, Repeating | Union) else None
    return end_at is not None and from_datetime(end_at) < schedule.created_at


def counts_from_completion(recurrence: Recurrence) -> bool:
    return isinstance(recurrence, Every) and recurrence.anchor == "completion"


def restarts_on_resume(recurrence: Recurrence) -> bool:
    """Whether a resume moves the anchor: for an `every` without `start_at`."""
    if not isinstance(recurrence, Every):
        return False
    return recurrence.anchor == "completion" or recurrence.start_at is None


def following_completion(schedule: Schedule, ended_at: int) -> int | None:
    """The slot that follows if the open run ends at this instant."""
    return _slots_from(schedule, ended_at).after(max(schedule.cursor, ended_at))


def with_anchor(schedule: Schedule, instant: int) -> Schedule:
    """The schedule with its slots counted from this instant, and the next slot that follows."""
    following = following_completion(schedule, instant)
    return schedule._replace(anchor_at=instant, next_slot=following, wake_at=following)
