"""Events: the one list of what can happen, and how events are derived from decisions.

One event covers everything of its kind in one decision: 1,000 runs planned together are one row. A
notable one stands alone, and goes to the outbox as well.
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
"""Kinds that people are notified of."""


class Event(NamedTuple):
    kind: EventKind
    at: int
    about: Sequence[str]
    """Ids of runs, or keys of schedules and gates."""
    detail: str | None = None


def of_plans(plans: Plans, before: Mapping[int, Schedule], now: int) -> list[Event]:
    """`before` are the schedules as they were."""
    single: list[Event] = []
    for plan in plans.plans:
        if plan.closed:
            single += [_ended(run, now) for run in plan.closed]
        if plan.not_run:
            single += [_not_run(plan.schedule, row, now) for row in plan.not_run]
        single += _schedule_changes(plan, before.get(plan.schedule.id), now)
    together = [
        (EventKind.RUN_PLANNED, [run.id for plan in plans.plans for run in plan.added]),
        (EventKind.RUN_RELEASED, [run.id for plan in plans.plans for run in plan.released]),
        (EventKind.RUN_STOPPING, [run.id for plan in plans.plans for run in plan.cancelled]),
    ]
    return _groups(together, now) + single + of_gates(plans.gate_changes)


def of_settlements(decided: Settlements, before: Mapping[int, Schedule], now: int) -> list[Event]:
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
            single += [_not_run(settled.schedule, row, now) for row in settled.not_run]
        known = before.get(run.schedule_id)
        if known is not None and settled.schedule.status is not known.status:
            single.append(_status_change(settled.schedule, now))
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
    detail = [text for text in (run.reason and run.reason.meaning, run.error) if text]
    return Event(EventKind(f"run.{run.state}"), now, [run.id], ": ".join(detail) or None)


def _not_run(schedule: Schedule, row: SlotsNotRun, now: int) -> Event:
    kind = EventKind.SLOT_MISSED if row.state is State.MISSED else EventKind.SLOT_SKIPPED
    slots = "1 slot" if row.count == 1 else f"{row.count} slots"
    return Event(kind, now, [schedule.key], f"{slots}: {row.reason.meaning}")


def _schedule_changes(plan: Plan, before: Schedule | None, now: int) -> list[Event]:
    after = plan.schedule
    if before is None:
        return []
    changes = []
    if after.version != before.version:
        changes.append(Event(EventKind.SCHEDULE_EDITED, now, [after.key]))
    if after.status is not before.status:
        changes.append(_status_change(after, now))
    if plan.deleted:
        changes.append(Event(EventKind.SCHEDULE_DELETED, now, [after.key]))
    return changes


def _status_change(schedule: Schedule, now: int) -> Event:
    kind = EventKind(f"schedule.{schedule.status}")
    return Event(kind, now, [schedule.key], schedule.status_reason)
