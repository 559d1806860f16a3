"""Settling: what becomes of a run and its schedule after an attempt has ended.

A worker settles the attempts that it holds; the rescuer settles as lost those whose lease has
expired. Rows are locked in the order schedules, gates, runs, as everywhere.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from quarterjack.rules import Ended, Ending, Gate, Outcome, Run, Schedule, Specification, Unreadable
from quarterjack.store.rows import reason_of, run_of
from quarterjack.store.specifications import Specifications, Version
from quarterjack.store.statements import Query, Statements
from quarterjack.store.transactions.apply_decisions import apply_settlements
from quarterjack.store.transactions.facts import (
    lock_keys,
    read_gates,
    read_held_heads,
    read_schedules,
)
from quarterjack.store.types import DecideSettlements, Rescued, Settled


def settle_runs(
    specifications: Specifications,
    worker: str,
    outcomes: Sequence[tuple[Run, Outcome]],
    decide: DecideSettlements,
    now: int,
) -> Statements[Settled]:
    locked = yield from _lock_for_settling([run for run, _ in outcomes], specifications, now)
    # Leases are read only now: until the gates were locked, the planner of another schedule of the
    # same scope could still cancel one of these runs.
    wanted = [(run.schedule_id, run.number, run.attempt) for run, _ in outcomes]
    rows = yield Query("held_leases", (wanted, worker))
    # A batch may contain several attempts of one run: those that were lost, and the last one.
    held = {(row[0], row[1], row[2]): row[3:] for row in rows}
    current, fenced = [], []
    for run, outcome in outcomes:
        lease = held.pop((run.schedule_id, run.number, run.attempt), None)
        if lease is None:
            fenced.append(run)
            continue
        cancel, scope = lease
        if cancel is not None or scope != run.scope:
            run = run._replace(cancel=reason_of(cancel), scope=scope)  # noqa: PLW2901
        current.append((run, outcome))
    settled, next_wake, has_notifications = yield from _settle(locked, current, decide, now)
    return Settled(settled, fenced, next_wake, has_notifications)


def rescue_runs(
    specifications: Specifications,
    now: int,
    limit: int,
    decide: DecideSettlements,
    alive: Container[tuple[str, int]] = (),
) -> Statements[Rescued]:
    expired = yield from _expired("expired_leases", now, limit, alive)
    locked = yield from _lock_for_settling(expired, specifications, now)
    if expired:  # read again under the locks; runs of schedules that are not locked are left out
        known = {run.id for run in expired}
        again = yield from _expired("lock_expired_leases", now, limit, alive)
        expired = [run for run in again if run.id in known]
    lost = [(run, Outcome(Ending.LOST, now, _lost_error(run))) for run in expired]
    settled, next_wake, _ = yield from _settle(locked, lost, decide, now)
    ((next_lease_end,),) = yield Query("next_lease_end", (now,))
    return Rescued(settled, next_lease_end, next_wake)


def _expired(
    statement: str, now: int, limit: int, alive: Container[tuple[str, int]]
) -> Statements[list[Run]]:
    runs = [run_of(row) for row in (yield Query(statement, (now, limit)))]
    return [run for run in runs if (run.id, run.attempt) not in alive]


def _lost_error(run: Run) -> str:
    return f"worker {run.worker} was lost: its lease was not renewed"


class _Locked(NamedTuple):
    """What the rule reads, from rows that are now locked."""

    schedules: Mapping[int, Schedule]
    specifications: Mapping[Version, Specification | Unreadable]
    """The versions that the runs were planned with."""
    gates: Mapping[str, Gate]


def _lock_for_settling(
    runs: Sequence[Run], specifications: Specifications, now: int
) -> Statements[_Locked]:
    if not runs:
        return _Locked({}, {}, {})
    rows = yield Query("schedules_by_ids", (sorted({run.schedule_id for run in runs}),))
    schedules = yield from read_schedules(rows, specifications)
    keys = {schedule.id: schedule.key for schedule in schedules}
    versions = {(run.schedule_id, run.version): keys.get(run.schedule_id, "") for run in runs}
    found = yield from specifications.read(versions)
    gates = {run.gate for run in runs if run.gate is not None}
    gates |= lock_keys((version[0], found[version]) for version in versions)
    # An edit may have moved a run into the scope of the latest version.
    gates |= lock_keys((each.id, each.specification) for each in schedules)
    locked = yield from read_gates(gates, now)
    return _Locked({each.id: each for each in schedules}, found, locked)


def _settle(
    locked: _Locked, outcomes: Sequence[tuple[Run, Outcome]], decide: DecideSettlements, now: int
) -> Statements[tuple[Sequence[Run], int | None, bool]]:
    """The settled runs, when planners have to look at their schedules, and whether there are new
    notifications."""
    if not outcomes:
        return [], None, False
    schedules, found, gates = locked
    ended = [
        Ended(run, found[run.schedule_id, run.version], outcome)  # type: ignore[arg-type]
        for run, outcome in outcomes
    ]
    held = yield from read_held_heads({run.scope for run, _ in outcomes})
    decided = decide(ended, schedules, gates, held, now)
    has_notifications = yield from apply_settlements(decided, schedules, now)
    runs = [*(each.run for each in decided.settlements), *decided.abandoned]
    if decided.abandoned or any(each.wakes for each in decided.settlements):
        return runs, now, has_notifications
    # Planners know a wake that has not changed.
    last = {each.schedule.id: each.schedule.wake_at for each in decided.settlements}
    wakes = [wake for owner, wake in last.items() if wake != schedules[owner].wake_at]
    next_wake = min((wake for wake in wakes if wake is not None), default=None)
    return runs, next_wake, has_notifications
