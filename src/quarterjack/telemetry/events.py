"""Events: the one list of what can happen, and how they follow from what was decided.

One event tells of everything of its kind in one decision: 1,000 runs that are planned together are
one row. What a person should hear of has an event of its own, and goes to the outbox as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from quarterjack.rules import (
    GateChange,
    Plan,
    Plans,
    Run,
    Schedule,
    Settlements,
    SlotsNotRun,
    State,
    Status,
)
from quarterjack.rules.text_enum import TextEnum


class EventKind(TextEnum):
    RUN_PLANNED = "run.planned"
    RUN_RELEASED = "run.released"
    RUN_STARTED = "run.started"
    RUN_STOPPING = "run.stopping"
    RUN_RETRYING = "run.retrying"
    RUN_SUCCEEDED = "run.succeeded"
    RUN_FAILED = "run.failed"
    RUN_TIMED_OUT = "run.timed_out"
    RUN_CANCELLED = "run.cancelled"
    RUN_LOST = "run.lost"
    RUN_SKIPPED = "run.skipped"
    SLOT_SKIPPED = "slot.skipped"
    SLOT_MISSED = "slot.missed"
    SCHEDULE_CREATED = "schedule.created"
    SCHEDULE_EDITED = "schedule.edited"
    SCHEDULE_ACTIVE = "schedule.active"
    SCHEDULE_PAUSED = "schedule.paused"
    SCHEDULE_INVALID = "schedule.invalid"
    SCHEDULE_DONE = "schedule.done"
    SCHEDULE_DEAD = "schedule.dead"
    SCHEDULE_DELETED = "schedule.deleted"
    GATE_CLOSED = "gate.closed"
    GATE_OPEN = "gate.open"
    GATE_HALF_OPEN = "gate.half_open"


NOTABLE = frozenset(
    {
        EventKind.RUN_FAILED,
        EventKind.RUN_TIMED_OUT,
        EventKind.RUN_LOST,
        EventKind.SLOT_MISSED,
        EventKind.SCHEDULE_PAUSED,
        EventKind.SCHEDULE_INVALID,
        EventKind.SCHEDULE_DEAD,
        EventKind.GATE_OPEN,
        EventKind.GATE_CLOSED,
    }
)
"""What a person should hear of."""


class Event(NamedTuple):
    """What happened, to which runs, schedules or gates."""

    kind: EventKind
    at: int
    about: Sequence[str]
    """Ids of runs, or keys of schedules and gates."""
    detail: str | None = None


def of_plans(plans: Plans, before: Mapping[int, Schedule], now: int) -> list[Event]:
    """What a batch of plans made happen. `before` are the schedules as they were."""
    planned, released, stopping = [], [], []
    single: list[Event] = []
    for plan in plans.plans:
        if plan.added:
            planned += [run.id for run in plan.added]
        if plan.released:
            released += [run.id for run in plan.released]
        if plan.cancelled:
            stopping += [run.id for run in plan.cancelled]
        if plan.closed:
            single += [_ended(run, now) for run in plan.closed]
        if plan.not_run:
            single += [_passed(plan.schedule, row, now) for row in plan.not_run]
        single += _changes(plan, before.get(plan.schedule.id), now)
    together = [
        (EventKind.RUN_PLANNED, planned),
        (EventKind.RUN_RELEASED, released),
        (EventKind.RUN_STOPPING, stopping),
    ]
    return _groups(together, now) + single + of_gates(plans.gate_changes)


def of_settlements(decided: Settlements, before: Mapping[int, Schedule], now: int) -> list[Event]:
    """What a batch of settlements made happen."""
    succeeded, retrying = [], []
    single: list[Event] = []
    for settled in decided.settlements:
        run = settled.run
        if run.state is State.SUCCEEDED:
            succeeded.append(run.id)
        elif settled.attempt is not None:
            retrying.append(run.id)
        else:
            single.append(_ended(run, now))
        if settled.not_run:
            single += [_passed(settled.schedule, row, now) for row in settled.not_run]
        known = before.get(run.schedule_id)
        if known is not None and settled.schedule.status is not known.status:
            single.append(_status(settled.schedule, now))
    single += [_ended(run, now) for run in decided.abandoned]
    together = [(EventKind.RUN_SUCCEEDED, succeeded), (EventKind.RUN_RETRYING, retrying)]
    return _groups(together, now) + single + of_gates(decided.gate_changes)


def of_claims(runs: Iterable[Run], now: int) -> list[Event]:
    return _groups([(EventKind.RUN_STARTED, [run.id for run in runs])], now)


def of_new_schedules(keys: Sequence[str], now: int) -> list[Event]:
    return _groups([(EventKind.SCHEDULE_CREATED, keys)], now)


def of_gates(changes: Iterable[GateChange]) -> list[Event]:
    return [
        Event(EventKind(f"gate.{each.after}"), each.at, [each.key], f"was {each.before}")
        for each in changes
    ]


def _groups(groups: Iterable[tuple[EventKind, Sequence[str]]], now: int) -> list[Event]:
    return [Event(kind, now, about) for kind, about in groups if about]


def _ended(run: Run, now: int) -> Event:
    told = [text for text in (run.reason and run.reason.meaning, run.error) if text]
    return Event(EventKind(f"run.{run.state}"), now, [run.id], ": ".join(told) or None)


def _passed(schedule: Schedule, row: SlotsNotRun, now: int) -> Event:
    kind = EventKind.SLOT_MISSED if row.state is State.MISSED else EventKind.SLOT_SKIPPED
    slots = "1 slot" if row.count == 1 else f"{row.count} slots"
    return Event(kind, now, [schedule.key], f"{slots}: {row.reason.meaning}")


def _changes(plan: Plan, before: Schedule | None, now: int) -> list[Event]:
    """What became of the schedule itself."""
    after = plan.schedule
    if before is None:
        return []
    changes = []
    if after.version != before.version:
        changes.append(Event(EventKind.SCHEDULE_EDITED, now, [after.key]))
    if after.status is not before.status:
        changes.append(_status(after, now))
    if plan.deleted:
        changes.append(Event(EventKind.SCHEDULE_DELETED, now, [after.key]))
    return changes


_STATUS = {status: EventKind(f"schedule.{status}") for status in Status}


def _status(schedule: Schedule, now: int) -> Event:
    return Event(_STATUS[schedule.status], now, [schedule.key], schedule.status_reason)
