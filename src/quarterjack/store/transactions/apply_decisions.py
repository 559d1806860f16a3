"""Writing decisions: plans and settlements become rows, and events in the same transaction.

The statements follow the fields of a plan. The rows that they change were locked when the facts
were read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from quarterjack.errors import TransactionConflict
from quarterjack.failpoint import failpoint
from quarterjack.rules import Gate, GateChange, Plan, Plans, Reason, Run, Schedule, Settlements
from quarterjack.store.rows import (
    attempt_row,
    closed_run_row,
    event_row,
    gate_row,
    run_row,
    schedule_row,
)
from quarterjack.store.specifications import Specifications
from quarterjack.store.statements import Query, QueryMany, Row, Statements
from quarterjack.telemetry.events import NOTABLE, Event, of_plans, of_settlements


def apply_plans(
    plans: Plans, before: Mapping[int, Schedule], specifications: Specifications, now: int
) -> Statements[bool]:
    """Write a batch of plans, except their budgets. Are there new notifications?"""
    decided = plans.plans
    yield from _write("add_runs", [run for plan in decided for run in plan.added])
    failpoint("plan.inserted")
    not_run = [(plan.schedule.id, *row) for plan in decided for row in plan.not_run]
    yield from _write("put_slots_not_run", not_run)
    yield from put_runs(run for plan in decided for run in plan.released)
    yield from put_runs(run for plan in decided for run in plan.closed)
    yield from put_runs(run for plan in decided for run in plan.cancelled)
    yield from _close_waiting(((plan.schedule.id, plan.closes) for plan in decided), now)
    rescoped = [(plan.rescoped, plan.schedule.id) for plan in decided if plan.rescoped is not None]
    yield from _write("rescope_runs", rescoped)
    yield from _add_versions(decided, before, specifications, now)
    yield from _write("put_schedules", [schedule_row(plan.schedule) for plan in decided])
    failpoint("plan.advanced")
    yield from _wake((other for plan in decided for other in plan.wakes), now)
    deleted = [(now, plan.schedule.id) for plan in decided if plan.deleted]
    yield from _write("delete_schedules", deleted)
    yield from _put_gates(plans.gates, plans.gate_changes)
    return (yield from add_events(of_plans(plans, before, now)))


def apply_settlements(
    decided: Settlements, before: Mapping[int, Schedule], now: int
) -> Statements[bool]:
    """Write a batch of settlements; a schedule is written once, in its last version. Are there new
    notifications?"""
    settlements = decided.settlements
    closed = [each.run for each in settlements if each.attempt is None]
    rows = [closed_run_row(run) for run in (*closed, *decided.abandoned)]
    yield from _write("close_runs", rows)
    yield from put_runs(each.run for each in settlements if each.attempt is not None)
    attempts = [attempt_row(each.attempt) for each in settlements if each.attempt is not None]
    yield from _write("add_attempts", attempts)
    not_run = [(each.schedule.id, row) for each in settlements for row in each.not_run]
    latest = {(owner, row.first): (owner, *row) for owner, row in not_run}
    yield from _write("put_slots_not_run", list(latest.values()))
    yield from _close_waiting(((each.schedule.id, each.closes) for each in settlements), now)
    last = {each.schedule.id: each.schedule for each in settlements}
    yield from _write("put_schedules", [schedule_row(each) for each in last.values()])
    woken = [each.wakes for each in settlements if each.wakes is not None]
    yield from _wake([*woken, *(run.schedule_id for run in decided.abandoned)], now)
    yield from _put_gates(decided.gates, decided.gate_changes)
    has_notifications = yield from add_events(of_settlements(decided, before, now))
    failpoint("settle.written")
    return has_notifications


def add_events(events: Sequence[Event]) -> Statements[bool]:
    """Write events, and put those to notify people of into the outbox. Are there such?"""
    yield from _write("add_events", [event_row(event) for event in events])
    notable = [event_row(event) for event in events if event.kind in NOTABLE]
    yield from _write("add_notifications", notable)
    return bool(notable)


def _write(statement: str, rows: Sequence[Row]) -> Statements[None]:
    if rows:
        yield QueryMany(statement, rows)


def put_runs(runs: Iterable[Run]) -> Statements[None]:
    yield from _write("put_runs", [run_row(run) for run in runs])


def _close_waiting(closes: Iterable[tuple[int, Reason | None]], now: int) -> Statements[None]:
    rows = [(reason, now, schedule_id) for schedule_id, reason in closes if reason is not None]
    yield from _write("close_waiting_runs", rows)


def _add_versions(
    plans: Sequence[Plan], before: Mapping[int, Schedule], specifications: Specifications, now: int
) -> Statements[None]:
    schedules = (plan.schedule for plan in plans)
    edited = [each for each in schedules if each.version != before[each.id].version]
    yield from add_specifications(edited, specifications, now)
    new = [(schedule.specification, schedule.id) for schedule in edited]
    rows = [(each.name, each.priority, each.preset, now, identity) for each, identity in new]
    yield from _write("put_edits", rows)


def add_specifications(
    schedules: Sequence[Schedule], specifications: Specifications, now: int
) -> Statements[None]:
    rows = []
    for schedule in schedules:
        specification, version = schedule.specification, (schedule.id, schedule.version)
        specifications.add(version, specification)
        body = specification.configuration_hash, specification.text
        rows.append((*version, *body, now, specification.service_preset))
    yield from _write("add_specifications", rows)


def _wake(schedule_ids: Iterable[int], now: int) -> Statements[None]:
    wanted = sorted(set(schedule_ids))
    if wanted and (busy := (yield Query("wake_schedules", (now, wanted)))):
        ids = ", ".join(str(schedule_id) for (schedule_id,) in busy)
        raise TransactionConflict(f"schedules {ids} are locked by another transaction; retrying")


def _put_gates(gates: Mapping[str, Gate], changes: Sequence[GateChange]) -> Statements[None]:
    yield from _write("put_gates", [gate_row(gates[key]) for key in sorted(gates)])
    yield from _write("add_gate_changes", changes)
