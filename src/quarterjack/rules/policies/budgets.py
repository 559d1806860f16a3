"""Rationing: what the limits of the service mean for one schedule of a batch: whether it waits for
the pace, and whether it is caught up after an outage, and when."""

from __future__ import annotations

from collections.abc import Sequence

from quarterjack.rules.definition.specification import Unreadable
from quarterjack.rules.draft import Draft
from quarterjack.rules.model import Facts, Schedule
from quarterjack.rules.policies.catch_up import Due
from quarterjack.rules.policies.limits import current_outage, outage_at_start
from quarterjack.rules.reasons import Reason


def with_current_outage(facts: Facts, now: int) -> Facts:
    """With the outage that has to be caught up, if nobody looked for too long."""
    outage = current_outage(facts.outage, facts.last_look, facts.limits, now)
    agents = current_outage(facts.agents.outage, facts.last_look, facts.limits, now)
    return facts._replace(outage=outage, agents=facts.agents._replace(outage=agents))


def with_outage_until(facts: Facts, now: int) -> Facts:
    """With the outage that lasted until now, since no planner was alive: whatever is due and
    undecided was missed, however short that was."""
    outage = outage_at_start(facts.outage, facts.last_look, now)
    agents = outage_at_start(facts.agents.outage, facts.last_look, now)
    return facts._replace(outage=outage, agents=facts.agents._replace(outage=agents))


def in_turn(facts: Facts) -> Sequence[Schedule]:
    """By their slots, if something is rationed: who had to wait before goes first."""
    limits = facts.limits
    if not any(limits.rations(is_agent=is_agent(each)) for each in facts.schedules):
        return facts.schedules
    return sorted(facts.schedules, key=lambda each: (each.next_slot or 0, each.id))


def is_agent(schedule: Schedule) -> bool:
    """Do the limits of the preset `agent` hold for it, where no others are given?"""
    specification = schedule.specification
    return not isinstance(specification, Unreadable) and specification.is_agent


def postponed_until(draft: Draft, due: Due) -> int | None:
    """When there is room for it, if this second is full. What an outage has left behind does not
    wait, if the stagger keeps the pace already, or if nothing of it will run, for the budget is
    used up."""
    outage = draft.outage
    is_missed = outage is not None and outage.covers(due.newest)
    if is_missed and not draft.specification.once and not _has_room(draft):
        return None
    latest: int | None = None
    rations = []
    for each in draft.rations:
        keeps_pace = is_missed and each.limits.stagger_keeps_pace
        until = None if keeps_pace else each.postpones_until(draft.now)
        rations.append(each if until is None else each.postponed_one(draft.now))
        latest = until if latest is None else max(latest, until or latest)
    draft.rations = rations
    return latest


def _has_room(draft: Draft) -> bool:
    """May one more recurring schedule be caught up after the outage?"""
    return all(each.has_room for each in draft.rations)


def past_outage(draft: Draft, slots: Sequence[int]) -> tuple[Sequence[int], int]:
    """The slots that the budget after an outage lets pass, and when the first may start."""
    outage, once = draft.outage, draft.specification.once
    if outage is None:
        return slots, 0
    later = [slot for slot in slots if not outage.covers(slot)]
    if len(later) == len(slots):
        return slots, 0
    if not once and not _has_room(draft):
        return draft.newest(slots, len(later), Reason.OUTAGE_LIMIT), 0
    known = [each.outage for each in draft.rations if each.outage is not None]
    ready_at = max(each.ready_at(draft.now) for each in known)
    draft.rations = [each.caught_up_one(ready_at, recurring=not once) for each in draft.rations]
    return slots, ready_at
