"""Pause and resume, by a person or by itself.

A schedule pauses itself after `max_consecutive_errors` failed attempts in a row (0 is never). A
success or a resume resets that count; failures of manual runs do not count. A paused schedule
names no slots, so a resume replays nothing: `every` counts anew from it, unless it has a
`start_at`; all others keep their slots. A one-shot whose instant has passed fires at once.
"""

from __future__ import annotations

from quarterjack.rules.model import Schedule
from quarterjack.rules.policies.anchors import counts_anew_on_resume, slots_of
from quarterjack.rules.reasons import Reason
from quarterjack.rules.states import ScheduleEvent, Status, moved_schedule

BY_ITSELF = "quarterjack"


def has_too_many_errors(schedule: Schedule) -> bool:
    most = schedule.specification.max_consecutive_errors
    return 0 < most <= schedule.consecutive_errors


def paused(schedule: Schedule, reason: str | None, *, by: str, until: int | None) -> Schedule:
    """Resting, with all its counters; woken only when the pause ends by itself."""
    return schedule._replace(
        status=moved_schedule(schedule, ScheduleEvent.PAUSE),
        status_reason=reason,
        paused_by=by,
        paused_until=until,
        next_slot=None,
        wake_at=until,
        not_run=None,
    )


def pauses_itself(schedule: Schedule, reason: Reason) -> Schedule:
    """Until a person resumes it."""
    return paused(schedule, reason, by=BY_ITSELF, until=None)


def over(schedule: Schedule, event: ScheduleEvent, reason: Reason) -> Schedule:
    """Ended for good: it names no slots any more, and no range is left to fill."""
    return schedule._replace(
        status=moved_schedule(schedule, event),
        status_reason=reason,
        next_slot=None,
        wake_at=None,
        not_run=None,
        backfill=None,
    )


def woken(schedule: Schedule, at: int) -> Schedule:
    """Looked at by then at the latest, if it is active."""
    wake = schedule.wake_at
    if schedule.status is not Status.ACTIVE or (wake is not None and wake <= at):
        return schedule
    return schedule._replace(wake_at=at)


def resumed(schedule: Schedule, now: int) -> Schedule:
    """Active again: nothing before now is due any more, but for a one-shot that never fired."""
    specification = schedule.specification
    anew = counts_anew_on_resume(specification.recurrence)
    schedule = schedule._replace(
        status=moved_schedule(schedule, ScheduleEvent.RESUME),
        status_reason=None,
        paused_by=None,
        paused_until=None,
        consecutive_errors=0,
        anchor_at=now if anew else schedule.anchor_at,
        cursor=schedule.cursor if specification.once else max(schedule.cursor, now),
    )
    # The planner looks at it now: perhaps it is done, or has a backfill to go on with.
    return schedule._replace(next_slot=slots_of(schedule).after(schedule.cursor), wake_at=now)


def as_of(schedule: Schedule, now: int) -> Schedule:
    """As it is now: a pause that is over has ended when it said."""
    until = schedule.paused_until
    if schedule.status is Status.PAUSED and until is not None and until <= now:
        return resumed(schedule, until)
    return schedule
