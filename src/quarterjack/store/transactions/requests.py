"""What control requests share: the node that executes one, who made it, the settings of the service
as its transaction reads them, the facts for the decision, and how that is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from quarterjack.errors import InvalidSpecification, Problems, quote
from quarterjack.rules import (
    Facts,
    Plans,
    Run,
    Schedule,
    ServiceSettings,
    Specification,
    Unreadable,
)
from quarterjack.rules.definition.capabilities import Capabilities, check_runnable
from quarterjack.rules.definition.presets import AGENT
from quarterjack.rules.policies.budgets import with_outage_at_start
from quarterjack.rules.policies.service_limits import active_max
from quarterjack.store.audit import request_row
from quarterjack.store.rows import planning_row
from quarterjack.store.specifications import Specifications
from quarterjack.store.statements import Query, QueryMany, Statements
from quarterjack.store.transactions.apply_decisions import apply_plans
from quarterjack.store.transactions.facts import budgets, read_facts
from quarterjack.store.transactions.metadata import read_settings
from quarterjack.store.transactions.nodes import is_planner_alive, live_workers
from quarterjack.store.types import Caller, NodeInfo


class NodeContext(NamedTuple):
    """The node that executes a request."""

    specifications: Specifications
    is_alive: Callable[[NodeInfo], bool]


class Request(NamedTuple):
    """One request in its transaction. That of the planner has no caller: it is neither limited nor
    audited."""

    node: NodeContext
    now: int
    caller: Caller | None
    settings: ServiceSettings

    @property
    def counts_all(self) -> bool:
        """Is the number of all schedules limited, not only that of the preset `agent`?"""
        return self.caller is not None and self.settings.limits.max_scheduled_jobs is not None


def read_request(node: NodeContext, now: int, caller: Caller | None) -> Statements[Request]:
    settings = ServiceSettings() if caller is None else (yield from read_settings())
    return Request(node, now, caller, settings)


def refuse_unrunnable(
    node: NodeContext, definitions: Iterable[tuple[str, Specification]]
) -> Statements[None]:
    nodes = yield from live_workers(node.is_alive)
    workers = [Capabilities.from_text(each.capabilities) for each in nodes]
    problems = Problems(InvalidSpecification)
    for key, specification in definitions:
        try:
            check_runnable(specification, workers)
        except InvalidSpecification as error:
            problems.note(error.within(f"schedule {quote(key or 'new')}"))
    problems.raise_if_any()


def count_active(
    request: Request, *, is_agent: bool, without: Schedule | None = None
) -> Statements[int]:
    """How many other schedules are active, among those that share a limit with this one; 0 if
    there is no limit."""
    most = active_max(request.settings.limits, is_agent=is_agent)
    if request.caller is None or not most:
        return 0
    is_counted = without is not None and without.counts_as_active
    if request.counts_all:
        ((count,),) = yield Query("count_active", (most + is_counted,))
    else:
        ((count,),) = yield Query("count_active_of_preset", (AGENT, most + is_counted))
    return int(count) - is_counted


def facts_for(
    request: Request, schedule: Schedule, scopes: set[str], becomes: Specification | None = None
) -> Statements[Facts]:
    """The facts for an operation on one schedule, locked. An edit names the new specification."""
    now = request.now
    readable = None if isinstance(schedule.specification, Unreadable) else schedule.specification
    if readable is not None:
        scopes = scopes | {readable.scope(schedule.id)}
    may_dispatch = _may_dispatch(schedule, now)
    facts = yield from read_facts([schedule], now, scopes=scopes, locks_planning=may_dispatch)
    is_due = _is_past(schedule.next_slot, now)
    if is_due and not (yield from is_planner_alive(request.node.is_alive)):
        facts = with_outage_at_start(facts, now)
    if request.caller is None:
        return facts
    # The counter is locked first, so that of two requests the second counts what the first added.
    ((number,),) = yield Query("advance_counter", (1, "requests"))
    is_agent = any(each is not None and each.is_agent for each in (readable, becomes))
    is_counted = readable is not None and (readable.is_agent or request.counts_all)
    without = schedule if is_counted else None
    active = yield from count_active(request, is_agent=is_agent, without=without)
    return facts._replace(limits=request.settings.limits, active=active, request=number)


def _may_dispatch(schedule: Schedule, now: int) -> bool:
    """May planning it up to now add runs, which count in the budgets that all planners share? Its
    slots do, and so do those of a backfill, for which it has a wake of its own."""
    return _is_past(schedule.next_slot, now) or _is_past(schedule.wake_at, now)


def _is_past(instant: int | None, now: int) -> bool:
    return instant is not None and instant <= now


def write(request: Request, facts: Facts, plans: Plans, run: Run | None = None) -> Statements[None]:
    """Write the decision about one schedule, and the audit entry of the request."""
    now, (schedule,) = request.now, facts.schedules
    yield from apply_plans(plans, {schedule.id: schedule}, request.node.specifications, now)
    if _may_dispatch(schedule, now) and budgets(plans) != budgets(facts):
        last_step_at = facts.last_step_at or now
        yield QueryMany("put_planner_state", [planning_row(last_step_at, *budgets(plans))])
    if request.caller is not None:
        row = request_row(facts.request, schedule, plans.plans[0], run, request.caller, now)
        yield QueryMany("add_audit", [row])
