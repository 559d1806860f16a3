"""Pause and resume, on request or automatically.

A schedule is paused automatically after `max_consecutive_errors` failed attempts in a row (0 is
never). A success or a resume resets that count; failures of manual runs do not count. A paused
schedule has no slots, so a resume replays nothing: `every` is counted from the resume, unless it
has a `start_at`; all other recurrences keep their slots. A one-shot whose instant has passed fires
at once.
"""

from __future__ import annotations

from quarterjack.rules.model import Schedule
from quarterjack.rules.policies.anchors import restarts_on_resume, slots_of
from quarterjack.rules.reasons import Reason
from quarterjack.rules.states import ScheduleEvent, Status, moved_schedule

BY_ITSELF = "quarterjack"


def has_too_many_errors(schedule: Schedule) -> bool:
    most = schedule.specification.max_consecutive_errors
    return 0 < most <= schedule.consecutive_errors


def paused(schedule: Schedule, reason: str | None, *, by: str, until: int | None) -> Schedule:
    """The schedule paused, with its counters kept. It wakes only at `until`, if that is given."""
    return schedule._replace(
        status=moved_schedule(schedule, ScheduleEvent.PAUSE),
        status_reason=reason,
        paused_by=by,
        paused_until=until,
        next_slot=None,
        wake_at=until,
        not_run=None,
    )


def auto_paused(schedule: Schedule, reason: Reason) -> Schedule:
    """Paused automatically, until a person resumes it."""
    return paused(schedule, reason, by=BY_ITSELF, until=None)


def end_schedule(schedule: Schedule, event: ScheduleEvent, reason: Reason) -> Schedule:
    """Moves the schedule to `done` or `dead`: it has no slots any more, and no backfill."""
    return schedule._replace(
        status=moved_schedule(schedule, event),
        status_reason=reason,
        next_slot=None,
        wake_at=None,
        not_run=None,
        backfill=None,
    )


def wake_by(schedule: Schedule, at: int) -> Schedule:
    """An active schedule is planned at this instant or before."""
    wake = schedule.wake_at
    if schedule.status is not Status.ACTIVE or (wake is not None and wake <= at):
        return schedule
    return schedule._replace(wake_at=at)


def resumed(schedule: Schedule, now: int) -> Schedule:
    """Active again. No slot before `now` is due any more, except of a one-shot that never fired."""
    specification = schedule.specification
    moves_anchor = restarts_on_resume(specification.recurrence)
    schedule = schedule._replace(
        status=moved_schedule(schedule, ScheduleEvent.RESUME),
        status_reason=None,
        paused_by=None,
        paused_until=None,
        consecutive_errors=0,
        anchor_at=now if moves_anchor else schedule.anchor_at,
        cursor=schedule.cursor if specification.once else max(schedule.cursor, now),
    )
    # Planned now, because it may be done, or have a backfill to continue.
    return schedule._replace(next_slot=slots_of(schedule).after(schedule.cursor), wake_at=now)


def resumed_if_due(schedule: Schedule, now: int) -> Schedule:
    """Resumed as of `paused_until`, if that has passed."""
    until = schedule.paused_until
    if schedule.status is Status.PAUSED and until is not None and until <= now:
        return resumed(schedule, until)
    return schedule
