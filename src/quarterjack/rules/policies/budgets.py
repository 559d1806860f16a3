"""Applies the service limits to one schedule of a batch: whether it is postponed to a later second,
and whether and when it is caught up after an outage."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quarterjack.rules.definition.specification import Unreadable
from quarterjack.rules.draft import Draft
from quarterjack.rules.model import Facts, Schedule
from quarterjack.rules.policies.catch_up import Due
from quarterjack.rules.policies.service_limits import Outage, current_outage, outage_at_start
from quarterjack.rules.reasons import Reason


def with_current_outage(facts: Facts, now: int) -> Facts:
    """With the outage to catch up after, which may be detected now."""
    last_step_at, limits = facts.last_step_at, facts.limits
    return _with_outages(facts, lambda known: current_outage(known, last_step_at, limits, now))


def with_outage_at_start(facts: Facts, now: int) -> Facts:
    """With the outage that ends now, because no planner was alive: whatever is due and undecided
    was missed, however short the outage."""
    return _with_outages(facts, lambda known: outage_at_start(known, facts.last_step_at, now))


def _with_outages(facts: Facts, find: Callable[[Outage | None], Outage | None]) -> Facts:
    agents = facts.agent_budgets._replace(outage=find(facts.agent_budgets.outage))
    return facts._replace(outage=find(facts.outage), agent_budgets=agents)


def in_planning_order(facts: Facts) -> Sequence[Schedule]:
    """The oldest slot first if a budget is shared, so that postponed schedules come first."""
    limits = facts.limits
    if not any(limits.uses_budgets(is_agent=is_agent(each)) for each in facts.schedules):
        return facts.schedules
    return sorted(facts.schedules, key=lambda each: (each.next_slot or 0, each.id))


def is_agent(schedule: Schedule) -> bool:
    """Whether the limits of the preset `agent` apply to it."""
    specification = schedule.specification
    return not isinstance(specification, Unreadable) and specification.is_agent


def postponed_until(draft: Draft, due: Due) -> int | None:
    """The first second with room for this schedule, if the current one is full. Slots missed in an
    outage are not postponed if the stagger keeps the rate anyway, or if the catch-up budget is used
    up and nothing will run."""
    outage = draft.outage
    is_missed = outage is not None and outage.covers(due.newest)
    if is_missed and not draft.specification.once and not _has_room(draft):
        return None
    latest: int | None = None
    budgets = []
    for each in draft.budgets:
        keeps_rate = is_missed and each.limits.stagger_keeps_rate
        until = None if keeps_rate else each.postpones_until(draft.now)
        budgets.append(each if until is None else each.postponed_one(draft.now))
        latest = until if latest is None else max(latest, until or latest)
    draft.budgets = budgets
    return latest


def _has_room(draft: Draft) -> bool:
    """Whether one more recurring schedule may be caught up after the outage."""
    return all(each.has_room for each in draft.budgets)


def limit_after_outage(draft: Draft, slots: Sequence[int]) -> tuple[Sequence[int], int]:
    """The slots that the catch-up budget allows, and when the first of them may start."""
    outage, once = draft.outage, draft.specification.once
    if outage is None:
        return slots, 0
    later = [slot for slot in slots if not outage.covers(slot)]
    if len(later) == len(slots):
        return slots, 0
    if not once and not _has_room(draft):
        return draft.keep_newest(slots, len(later), Reason.OUTAGE_LIMIT), 0
    known = [each.outage for each in draft.budgets if each.outage is not None]
    ready_at = max(each.ready_at(draft.now) for each in known)
    draft.budgets = [each.caught_up_one(ready_at, recurring=not once) for each in draft.budgets]
    return slots, ready_at
