"""Carrying out: decisions become rows, in the order of their fields, and events beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from quarterjack.errors import Collision
from quarterjack.failpoint import failpoint
from quarterjack.rules import (
    Gate,
    GateChange,
    Plan,
    Plans,
    Reason,
    Run,
    Schedule,
    Settlements,
    State,
)
from quarterjack.store.rows import (
    attempt_row,
    closed_run_row,
    event_row,
    gate_change_row,
    gate_row,
    run_row,
    schedule_row,
    slots_not_run_row,
)
from quarterjack.store.specifications import Specifications
from quarterjack.store.statements import Query, QueryMany, Row, Statements
from quarterjack.telemetry.events import NOTABLE, Event, of_plans, of_settlements


def apply_plans(
    plans: Plans, before: Mapping[int, Schedule], specifications: Specifications, now: int
) -> Statements[bool]:
    """All that a batch of plans decided, but for budgets; whether people should hear of it."""
    decided = plans.plans
    yield from _many("add_runs", [run for plan in decided for run in plan.added])
    failpoint("plan.inserted")
    not_run = [slots_not_run_row(plan.schedule.id, row) for plan in decided for row in plan.not_run]
    yield from _many("put_slots_not_run", not_run)
    yield from _put_runs(run for plan in decided for run in plan.released)
    yield from _put_runs(run for plan in decided for run in plan.closed)
    yield from _put_runs(run for plan in decided for run in plan.cancelled)
    yield from _close_waiting(((plan.schedule.id, plan.closes) for plan in decided), now)
    rescoped = [(plan.rescoped, plan.schedule.id) for plan in decided if plan.rescoped is not None]
    yield from _many("rescope_runs", rescoped)
    yield from _add_versions(decided, before, specifications, now)
    yield from _many("put_schedules", [schedule_row(plan.schedule) for plan in decided])
    failpoint("plan.advanced")
    yield from _wake((other for plan in decided for other in plan.wakes), now)
    yield from _many(
        "delete_schedules", [(now, plan.schedule.id) for plan in decided if plan.deleted]
    )
    yield from _put_gates(plans.gates, plans.gate_changes)
    return (yield from add_events(of_plans(plans, before, now)))


def apply_settlements(
    decided: Settlements, before: Mapping[int, Schedule], now: int
) -> Statements[bool]:
    """All that a batch of settlements decided. A schedule is written once, as it is at the end.
    Whether people should hear of it."""
    settlements = decided.settlements
    closed = [each.run for each in settlements if each.attempt is None]
    rows = [closed_run_row(run) for run in (*closed, *decided.abandoned)]
    yield from _many("close_runs", rows)
    yield from _put_runs(each.run for each in settlements if each.attempt is not None)
    attempts = [attempt_row(each.attempt) for each in settlements if each.attempt is not None]
    yield from _many("add_attempts", attempts)
    not_run = [(each.schedule.id, row) for each in settlements for row in each.not_run]
    last_said = {(owner, row.first): slots_not_run_row(owner, row) for owner, row in not_run}
    yield from _many("put_slots_not_run", list(last_said.values()))
    yield from _close_waiting(((each.schedule.id, each.closes) for each in settlements), now)
    last = {each.schedule.id: each.schedule for each in settlements}
    yield from _many("put_schedules", [schedule_row(each) for each in last.values()])
    woken = [each.wakes for each in settlements if each.wakes is not None]
    yield from _wake([*woken, *(run.schedule_id for run in decided.abandoned)], now)
    yield from _put_gates(decided.gates, decided.gate_changes)
    is_notable = yield from add_events(of_settlements(decided, before, now))
    failpoint("settle.written")
    return is_notable


def add_events(events: Sequence[Event]) -> Statements[bool]:
    """Events, and in the outbox those that people should hear of; whether there are such."""
    yield from _many("add_events", [event_row(event) for event in events])
    notable = [event_row(event) for event in events if event.kind in NOTABLE]
    yield from _many("add_notifications", notable)
    return bool(notable)


def _many(statement: str, rows: Sequence[Row]) -> Statements[None]:
    if rows:
        yield QueryMany(statement, rows)


def _put_runs(runs: Iterable[Run]) -> Statements[None]:
    yield from _many("put_runs", [run_row(run) for run in runs])


def skip_orphans(runs: Sequence[Run], now: int) -> Statements[None]:
    """Runs that were claimed, and whose schedule somebody removed from outside, never start. When
    an earlier attempt of theirs did, is forgotten."""
    yield from _put_runs(
        run._replace(
            state=State.SKIPPED,
            reason=Reason.DELETED,
            attempt=run.attempt - 1,
            worker=None,
            started_at=None,
            lease_until=None,
            finished_at=now,
        )
        for run in runs
    )


def _close_waiting(closes: Iterable[tuple[int, Reason | None]], now: int) -> Statements[None]:
    rows = [(reason, now, schedule_id) for schedule_id, reason in closes if reason is not None]
    yield from _many("close_waiting_runs", rows)


def _add_versions(
    plans: Sequence[Plan],
    before: Mapping[int, Schedule],
    specifications: Specifications,
    now: int,
) -> Statements[None]:
    edited = [
        plan.schedule for plan in plans if plan.schedule.version != before[plan.schedule.id].version
    ]
    yield from add_specifications(edited, specifications, now)
    rows = []
    for each in edited:
        said = each.specification
        rows.append((said.name, said.priority, said.preset, now, each.id))
    yield from _many("note_edits", rows)


def add_specifications(
    schedules: Sequence[Schedule], specifications: Specifications, now: int
) -> Statements[None]:
    rows = []
    for schedule in schedules:
        specification, version = schedule.specification, (schedule.id, schedule.version)
        specifications.add(version, specification)
        said = specification.configuration_hash, specification.text, now
        rows.append((*version, *said, specification.service_preset))
    yield from _many("add_specifications", rows)


def _wake(schedule_ids: Iterable[int], now: int) -> Statements[None]:
    wanted = sorted(set(schedule_ids))
    if wanted and (busy := (yield Query("wake_schedules", (now, wanted)))):
        ids = ", ".join(str(schedule_id) for (schedule_id,) in busy)
        raise Collision(f"schedules {ids} are locked by another transaction; it is tried again")


def _put_gates(gates: Mapping[str, Gate], changes: Sequence[GateChange]) -> Statements[None]:
    yield from _many("put_gates", [gate_row(gates[key]) for key in sorted(gates)])
    yield from _many("add_gate_changes", [gate_change_row(change) for change in changes])
