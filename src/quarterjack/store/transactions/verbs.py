"""The verbs, each written once as steps; `contract` says what they promise."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from quarterjack.failpoint import failpoint
from quarterjack.rules import (
    LOOK_NOTED_AFTER,
    Ended,
    Ending,
    Gate,
    Limits,
    Outcome,
    Run,
    Schedule,
    Specification,
    Unreadable,
    may_notice_outage,
)
from quarterjack.store.rows import (
    CALLER,
    from_json,
    planning_row,
    reason_of,
    run_of,
)
from quarterjack.store.specifications import Specifications, Version
from quarterjack.store.statements import Query, QueryMany, Row, Statements
from quarterjack.store.transactions.apply_decisions import (
    add_events,
    apply_plans,
    apply_settlements,
    skip_orphans,
)
from quarterjack.store.transactions.facts import (
    budgets,
    read_facts,
    read_gates,
    read_held_heads,
    read_metadata,
    read_planning,
    read_schedules,
    uses_budgets,
)
from quarterjack.store.types import (
    Chunk,
    Claim,
    Claimed,
    DecidePlans,
    DecideSettlements,
    Leases,
    Notification,
    Planned,
    Rescued,
    Settled,
)
from quarterjack.telemetry.events import of_claims
from quarterjack.times.instants import MILLISECOND

HELD_BY_OTHERS = 10 * MILLISECOND
"""So long after, what another node decides just now is looked at again."""


def plan_due(
    specifications: Specifications, now: int, limit: int, decide: DecidePlans, limits: Limits
) -> Statements[Planned]:
    failpoint("plan.begun")
    rows = yield Query("due_schedules", (now, limit))
    schedules = yield from read_schedules(rows, specifications)
    is_locked = any(uses_budgets(each, limits) for each in schedules)
    facts = yield from read_facts(schedules, now, locks_planning=is_locked)
    if not is_locked and may_notice_outage(facts.last_look, now):
        is_locked, facts = True, (yield from read_planning(facts, is_locked=True))
    failpoint("plan.read")
    added, stops, is_notable = 0, False, False
    noted = facts.last_look is not None and 0 <= now - facts.last_look < LOOK_NOTED_AFTER
    if schedules or not noted:
        plans = decide(facts, now)
        if is_locked and (not noted or budgets(plans) != budgets(facts)):
            yield QueryMany("put_planner_state", [planning_row(now, *budgets(plans))])
        elif not noted:
            yield QueryMany("note_planner_step", [(now,)])
        before = {schedule.id: schedule for schedule in schedules}
        is_notable = yield from apply_plans(plans, before, specifications, now)
        added = sum(len(plan.added) + len(plan.released) for plan in plans.plans)
        stops = any(plan.cancelled for plan in plans.plans)
    next_wake = yield from _next_wake()
    next_wake = _unless_held(next_wake, now, is_all=len(schedules) < limit)
    return Planned(len(schedules), added, next_wake, stops, is_notable)


def _unless_held(instant: int | None, now: int, *, is_all: bool) -> int | None:
    """When to look again. If all was taken that could be, what is still due is another node's for
    a moment."""
    if instant is None or instant > now or not is_all:
        return instant
    return now + HELD_BY_OTHERS


def due_ids(now: int, limit: int) -> Statements[Sequence[int]]:
    rows = yield Query("due_schedules", (now, limit))
    return [row[0] for row in rows]


def _next_wake() -> Statements[int | None]:
    ((next_wake,),) = yield Query("next_wake")
    return next_wake  # type: ignore[no-any-return]


def claim_runs(
    specifications: Specifications,
    worker: str,
    queues: Sequence[str],
    seats: int,
    lease_until: int,
    now: int,
) -> Statements[Claimed]:
    found: list[Row] = []
    waiting = yield from _waiting(queues)
    for queue, priority, first in waiting:
        room = seats - len(found)
        if room > 0 and first <= now:
            rows = yield Query("claim_runs", (worker, now, lease_until, queue, priority, room))
            found += sorted(rows, key=_TURN)
    is_all = len(found) < seats
    if found and is_all:  # what is ready all the same, another node holds
        waiting = yield from _waiting(queues)
    claims = yield from _claims(found, specifications, now)
    yield from add_events(of_claims((claim.run for claim in claims), now))
    failpoint("claim.written")
    next_ready = min((first for _, _, first in waiting), default=None)
    return Claimed(claims, _unless_held(next_ready, now, is_all=is_all))


_TURN = itemgetter(4, 0, 1)
"""Of one priority, whoever is ready first; then by schedule and number."""


def _waiting(queues: Sequence[str]) -> Statements[list[tuple[str, int, int]]]:
    """The priorities that wait, the highest first: of which queue, and when the first is ready."""
    levels = []
    for queue in queues:
        rows = yield Query("waiting_levels", (queue,))
        levels += [(queue, *row) for row in rows]
    return sorted(levels, key=lambda level: -level[1])


def _claims(
    rows: Sequence[Row], specifications: Specifications, now: int
) -> Statements[list[Claim]]:
    """The runs that are now the worker's own, and what it needs to know of them."""
    yield from skip_orphans([run_of(row) for row in rows if row[CALLER] is None], now)
    rows = [row for row in rows if row[CALLER] is not None]
    found = yield from specifications.read({(row[0], row[8]): row[CALLER] for row in rows})
    return [Claim._make((run_of(row), found[row[0], row[8]], *row[CALLER:])) for row in rows]


def renew_leases(worker: str, held: Sequence[Run], lease_until: int) -> Statements[Leases]:
    wanted = [(run.schedule_id, run.number, run.attempt) for run in held]
    rows = yield Query("renew_leases", (lease_until, worker, wanted))
    return _leases(rows)


def look_at_leases(worker: str, held: Sequence[Run]) -> Statements[Leases]:
    wanted = [(run.schedule_id, run.number, run.attempt) for run in held]
    rows = yield Query("held_leases", (wanted, worker))
    return _leases([row[:4] for row in rows])


def _leases(rows: Sequence[Row]) -> Leases:
    return {
        (f"{schedule_id}-{number}", attempt): reason_of(cancel)
        for schedule_id, number, attempt, cancel in rows
    }


def settle_runs(
    specifications: Specifications,
    worker: str,
    outcomes: Sequence[tuple[Run, Outcome]],
    decide: DecideSettlements,
    now: int,
) -> Statements[Settled]:
    locked = yield from _lock_for_settling([run for run, _ in outcomes], specifications, now)
    # Read only now: until the gates were locked, the planner of another schedule of the same
    # scope could still ask one of these runs to stop.
    wanted = [(run.schedule_id, run.number, run.attempt) for run, _ in outcomes]
    rows = yield Query("held_leases", (wanted, worker))
    # A batch may hold ends of several attempts of one run: those that were lost, and the last.
    mine = {(row[0], row[1], row[2]): row[3:] for row in rows}
    current, fenced = [], []
    for run, outcome in outcomes:
        lease = mine.pop((run.schedule_id, run.number, run.attempt), None)
        if lease is None:
            fenced.append(run)
            continue
        cancel, scope = lease
        if cancel is not None or scope != run.scope:
            run = run._replace(cancel=reason_of(cancel), scope=scope)  # noqa: PLW2901
        current.append((run, outcome))
    settled, next_wake, is_notable = yield from _settle(locked, current, decide, now)
    return Settled(settled, fenced, next_wake, is_notable)


def rescue_runs(
    specifications: Specifications,
    now: int,
    limit: int,
    decide: DecideSettlements,
    spared: Container[tuple[str, int]],
) -> Statements[Rescued]:
    lapsed = yield from _lapsed("lapsed_runs", now, limit, spared)
    locked = yield from _lock_for_settling(lapsed, specifications, now)
    if lapsed:  # as they are now that their schedules are locked, and those of no others
        again = yield from _lapsed("take_lapsed_runs", now, limit, spared)
        known = {run.id for run in lapsed}
        lapsed = [run for run in again if run.id in known]
    lost = [(run, Outcome(Ending.LOST, now, _worker_lost(run))) for run in lapsed]
    settled, next_wake, _ = yield from _settle(locked, lost, decide, now)
    ((next_lease_end,),) = yield Query("next_lease_end", (now,))
    return Rescued(settled, next_lease_end, next_wake)


def _lapsed(
    statement: str, now: int, limit: int, spared: Container[tuple[str, int]]
) -> Statements[list[Run]]:
    found = [run_of(row) for row in (yield Query(statement, (now, limit)))]
    return [run for run in found if (run.id, run.attempt) not in spared]


def _worker_lost(run: Run) -> str:
    return f"worker {run.worker} was lost: its lease was not renewed"


class _Locked(NamedTuple):
    """What settling runs needs to know, read in the order in which it is locked."""

    schedules: Mapping[int, Schedule]
    specifications: Mapping[Version, Specification | Unreadable]
    """Of the versions that the runs were planned with."""
    gates: Mapping[str, Gate]


def _lock_for_settling(
    runs: Sequence[Run], specifications: Specifications, now: int
) -> Statements[_Locked]:
    if not runs:
        return _Locked({}, {}, {})
    rows = yield Query("schedules_by_ids", (sorted({run.schedule_id for run in runs}),))
    schedules = {each.id: each for each in (yield from read_schedules(rows, specifications))}
    keys = {
        (run.schedule_id, run.version): schedules[run.schedule_id].key
        if run.schedule_id in schedules
        else ""
        for run in runs
    }
    found = yield from specifications.read(keys)
    locks = {run.gate for run in runs if run.gate is not None}
    # An edit may have moved a run into the scope of the new version.
    latest = ((each.id, each.specification) for each in schedules.values())
    for schedule_id, specification in (*((key[0], found[key]) for key in keys), *latest):
        if not isinstance(specification, Unreadable) and specification.shares_locks:
            locks.update(specification.lock_keys(schedule_id))
    gates = yield from read_gates(locks, now)
    return _Locked(schedules, found, gates)


def _settle(
    locked: _Locked,
    outcomes: Sequence[tuple[Run, Outcome]],
    decide: DecideSettlements,
    now: int,
) -> Statements[tuple[Sequence[Run], int | None, bool]]:
    if not outcomes:
        return [], None, False
    schedules, found, gates = locked
    ended = [
        Ended(run, found[run.schedule_id, run.version], outcome)  # type: ignore[arg-type]
        for run, outcome in outcomes
    ]
    held = yield from read_held_heads({run.scope for run, _ in outcomes})
    decided = decide(ended, schedules, gates, held, now)
    is_notable = yield from apply_settlements(decided, schedules, now)
    # A wake that is as it was before is known to whoever plans.
    last = {each.schedule.id: each.schedule.wake_at for each in decided.settlements}
    wakes = [wake for owner, wake in last.items() if wake != schedules[owner].wake_at]
    woken = bool(decided.abandoned) or any(each.wakes for each in decided.settlements)
    next_wake = min((wake for wake in wakes if wake is not None), default=None)
    runs = [*(each.run for each in decided.settlements), *decided.abandoned]
    return runs, now if woken else next_wake, is_notable


def add_output(chunks: Sequence[Chunk]) -> Statements[None]:
    yield QueryMany("add_output", chunks)
    failpoint("output.written")


def take_notifications(limit: int) -> Statements[Sequence[Notification]]:
    rows = yield Query("unsent_notifications", (limit,))
    return [Notification._make((*row[:3], from_json(row[3]), row[4])) for row in rows]


def mark_sent(notifications: Sequence[Notification], now: int) -> Statements[None]:
    yield QueryMany("mark_sent", [(now, notification.id) for notification in notifications])


def put_metadata(name: str, value: str) -> Statements[None]:
    yield Query("put_metadata", (name, value))


def note_zone_data(version: str, now: int) -> Statements[bool]:
    known = yield from read_metadata("zone_data")
    if known == version:
        return False
    yield Query("put_metadata", ("zone_data", version))
    if known is None:
        return False
    yield Query("wake_all", (now,))
    return True
