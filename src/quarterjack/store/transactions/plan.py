"""Planning the schedules that are due: each slot is decided in the transaction that moves the
cursor past it, so that it is decided once, however many planners there are."""

from __future__ import annotations

from collections.abc import Sequence

from quarterjack.failpoint import failpoint
from quarterjack.rules import Limits
from quarterjack.rules.policies.service_limits import NOTE_STEP_EVERY, may_detect_outage
from quarterjack.store.rows import planning_row
from quarterjack.store.specifications import Specifications
from quarterjack.store.statements import Query, QueryMany, Statements
from quarterjack.store.transactions.apply_decisions import apply_plans
from quarterjack.store.transactions.facts import (
    budgets,
    read_facts,
    read_planning,
    read_schedules,
    recheck_at,
    uses_budgets,
)
from quarterjack.store.types import DecidePlans, Planned

NO_LIMITS = Limits(0, 0, 0, 0)


def plan_due(
    specifications: Specifications,
    now: int,
    limit: int,
    decide: DecidePlans,
    limits: Limits = NO_LIMITS,
) -> Statements[Planned]:
    failpoint("plan.begun")
    rows = yield Query("due_schedules", (now, limit))
    schedules = yield from read_schedules(rows, specifications)
    is_locked = any(uses_budgets(each, limits) for each in schedules)
    facts = yield from read_facts(schedules, now, locks_planning=is_locked)
    if not is_locked and may_detect_outage(facts.last_step_at, now):
        is_locked, facts = True, (yield from read_planning(facts, is_locked=True))
    failpoint("plan.read")
    added, has_cancelled, has_notifications = 0, False, False
    # A step that finds nothing is recorded only now and then: each write wakes other processes.
    is_recent = facts.last_step_at is not None and 0 <= now - facts.last_step_at < NOTE_STEP_EVERY
    if schedules or not is_recent:
        plans = decide(facts, now)
        if is_locked and (not is_recent or budgets(plans) != budgets(facts)):
            yield QueryMany("put_planner_state", [planning_row(now, *budgets(plans))])
        elif not is_recent:
            yield QueryMany("put_planner_step", [(now,)])
        before = {schedule.id: schedule for schedule in schedules}
        has_notifications = yield from apply_plans(plans, before, specifications, now)
        added = sum(len(plan.added) + len(plan.released) for plan in plans.plans)
        has_cancelled = any(plan.cancelled for plan in plans.plans)
    ((next_wake,),) = yield Query("next_wake")
    next_wake = recheck_at(next_wake, now, took_all=len(schedules) < limit)
    return Planned(len(schedules), added, next_wake, has_cancelled, has_notifications)


def due_ids(now: int, limit: int) -> Statements[Sequence[int]]:
    rows = yield Query("due_schedules", (now, limit))
    return [row[0] for row in rows]
