"""Asking: what people ask of schedules and runs. The decision, what it changes, and who asked for
it are one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from quarterjack.errors import Conflict, NotFound, Refused
from quarterjack.rules import (
    Facts,
    Plans,
    Run,
    Schedule,
    Specification,
    Status,
    Unreadable,
    active_max,
    with_outage_until,
)
from quarterjack.rules.definition.presets import AGENT
from quarterjack.store.audit import creation_row, request_row
from quarterjack.store.rows import DELETED_AT, new_schedule_row, planning_row, stored_of
from quarterjack.store.specifications import Specifications
from quarterjack.store.statements import Query, QueryMany, Row, Statements
from quarterjack.store.transactions.apply_decisions import (
    add_events,
    add_specifications,
    apply_plans,
)
from quarterjack.store.transactions.facts import (
    budgets,
    lock_gates,
    missing_schedule,
    read_facts,
    read_row,
    read_run,
    read_schedules,
)
from quarterjack.store.transactions.nodes import is_planned
from quarterjack.store.types import (
    Caller,
    DecideEdit,
    DecideNew,
    DecidePlans,
    DecideRun,
    NewSchedule,
    NodeInfo,
    Patch,
    StoredSchedule,
    Which,
)
from quarterjack.telemetry.events import of_new_schedules


def add_schedules(
    specifications: Specifications,
    new: Sequence[NewSchedule],
    decide: DecideNew,
    now: int,
    caller: Caller | None,
) -> Statements[Sequence[Schedule]]:
    if not new:
        return []
    last_request = 0
    if caller is not None:  # locked before anything is counted, as by every other request
        ((last_request,),) = yield Query("take_numbers", (len(new), "requests"))
    ((last,),) = yield Query("take_numbers", (len(new), "schedules"))
    agents = [each for each in new if each.specification.is_agent]
    active = yield from _count_active(caller, is_agent=bool(agents))
    made: list[Schedule] = []
    for identity, each in enumerate(new, last - len(new) + 1):
        made.append(decide(identity, each, active))
        is_counted = each.specification.is_agent or _counts_all(caller)
        active += is_counted and _counts_as_active(made[-1])
    yield from _refuse_taken(made)
    rows = [new_schedule_row(made[i], each, now) for i, each in enumerate(new)]
    yield QueryMany("add_schedules", rows)
    yield from add_specifications(made, specifications, now)
    yield from add_events(of_new_schedules([each.key for each in made], now))
    if caller is not None:
        numbers = range(last_request - len(made) + 1, last_request + 1)
        audit = [creation_row(*each, caller, now) for each in zip(numbers, made, strict=True)]
        yield QueryMany("add_audit", audit)
    return made


def _refuse_taken(made: Sequence[Schedule]) -> Statements[None]:
    rows = yield Query("taken_keys", ([each.key for each in made],))
    if rows:
        taken = ", ".join(f'"{key}"' for (key,) in rows[:5])
        raise Conflict(f"the key {taken} is taken; use another, or delete that schedule first")


def _count_active(
    caller: Caller | None, *, is_agent: bool, without: Schedule | None = None
) -> Statements[int]:
    """How many are active, as far as that is limited, of those among which one like this counts;
    but for this one."""
    most = active_max(caller.limits, is_agent=is_agent) if caller is not None else 0
    if not most:
        return 0
    is_counted = without is not None and _counts_as_active(without)
    if _counts_all(caller):
        ((count,),) = yield Query("count_active", (most + is_counted,))
    else:
        ((count,),) = yield Query("count_active_of_preset", (AGENT, most + is_counted))
    return int(count) - is_counted


def _counts_all(caller: Caller | None) -> bool:
    """Is the number of all schedules limited, and not only that of some preset?"""
    return caller is not None and caller.limits.max_scheduled_jobs is not None


def _counts_as_active(schedule: Schedule) -> bool:
    """As the statement counts: active, or resting only until some instant."""
    return schedule.status is Status.ACTIVE or schedule.paused_until is not None


class NodeContext(NamedTuple):
    """The node that carries out a request."""

    specifications: Specifications
    is_alive: Callable[[NodeInfo], bool]


def change_schedules(
    context: NodeContext,
    which: Iterable[Which],
    decide: DecidePlans,
    now: int,
    caller: Caller | None,
    *,
    ignores_missing: bool = False,
) -> Statements[Sequence[Plans]]:
    refused: list[Refused] = []
    found: dict[int, Which] = {}
    for each in which:
        try:
            row = yield from read_row(each)
            found[row[0]] = each
        except NotFound as error:
            refused += [] if ignores_missing else [error]
    locked = yield from _locked(found)
    if len(locked) > 1:
        schedules = yield from read_schedules(list(locked.values()), context.specifications)
        yield from lock_gates(schedules, now)
    done = []
    for identity, called in sorted(found.items()):
        try:
            row = _not_deleted(locked.get(identity), called)
            stored = yield from _permitted(context.specifications, row, caller)
            done.append((yield from changed(context, stored.schedule, decide, now, caller)))
        except NotFound as error:
            refused += [] if ignores_missing else [error]
        except Refused as error:
            refused.append(error)
    if refused:
        raise type(refused[0])("\n".join(map(str, refused)))
    return done


def edit_schedule(
    context: NodeContext,
    which: Which,
    patch: Patch,
    decide: DecideEdit,
    now: int,
    caller: Caller | None,
) -> Statements[Plans]:
    found = yield from read_row(which)
    locked = yield from _locked([found[0]])
    row = _not_deleted(locked.get(found[0]), which)
    stored = yield from _permitted(context.specifications, row, caller)
    schedule = stored.schedule
    return (yield from edited(context, schedule, patch(schedule, now), decide, now, caller))


def change_run(
    context: NodeContext, run_id: str, decide: DecideRun, now: int, caller: Caller | None
) -> Statements[Plans]:
    run = yield from read_run(run_id)
    locked = yield from _locked([run.schedule_id])
    if run.schedule_id not in locked:
        raise missing_schedule(run.schedule_id)
    stored = yield from _permitted(context.specifications, locked[run.schedule_id], caller)
    # Its scope cannot change any more, but a worker may still claim it, until the open runs of
    # that scope are locked: only then is it decided about.
    run = yield from read_run(run_id)
    facts = yield from _facts_for(context, stored.schedule, {run.scope}, now, caller)
    run = yield from _as_locked(run, facts)
    plans = decide(facts, run, now)
    yield from _carry_out(context.specifications, facts, plans, now, caller, run)
    return plans


def _as_locked(run: Run, facts: Facts) -> Statements[Run]:
    """The run as it is now that no other transaction can change it."""
    if run.finished_at is not None:
        return run  # a closed run never changes
    for each in facts.open_runs.get(run.scope, ()):
        if each.id == run.id:
            return each
    return (yield from read_run(run.id))


def _locked(ids: Iterable[int]) -> Statements[dict[int, Row]]:
    """The rows of these schedules, locked until the end of the transaction."""
    rows = yield Query("schedules_by_ids", (sorted(ids),))
    return {row[0]: row for row in rows}


def _not_deleted(row: Row | None, which: Which) -> Row:
    """Between finding a schedule and locking it, another transaction may have deleted it."""
    if row is None or row[DELETED_AT] is not None:
        raise missing_schedule(which)
    return row


def _permitted(
    specifications: Specifications, row: Row, caller: Caller | None
) -> Statements[StoredSchedule]:
    (schedule,) = yield from read_schedules([row], specifications)
    stored = stored_of(row, schedule)
    if caller is not None:
        caller.permit(stored)
    elif stored.deleted_at is not None:
        raise missing_schedule(schedule.id)
    return stored


def edited(
    context: NodeContext,
    schedule: Schedule,
    specification: Specification,
    decide: DecideEdit,
    now: int,
    caller: Caller | None,
) -> Statements[Plans]:
    """One schedule under another definition."""

    def under_another(facts: Facts, now: int) -> Plans:
        return decide(facts, specification, now)

    return (
        yield from changed(context, schedule, under_another, now, caller, becomes=specification)
    )


def changed(
    context: NodeContext,
    schedule: Schedule,
    decide: DecidePlans,
    now: int,
    caller: Caller | None,
    *,
    becomes: Specification | None = None,
) -> Statements[Plans]:
    """One schedule after what was decided; an operation sees all open runs, for an edit those of
    both scopes."""
    scopes = {str(schedule.id) if becomes is None else becomes.scope(schedule.id)}
    facts = yield from _facts_for(context, schedule, scopes, now, caller, becomes=becomes)
    plans = decide(facts, now)
    yield from _carry_out(context.specifications, facts, plans, now, caller)
    return plans


def _facts_for(
    context: NodeContext,
    schedule: Schedule,
    scopes: set[str],
    now: int,
    caller: Caller | None,
    becomes: Specification | None = None,
) -> Statements[Facts]:
    """What a decision about one schedule needs to know, locked; an edit says what it becomes."""
    readable = None if isinstance(schedule.specification, Unreadable) else schedule.specification
    if readable is not None:
        scopes = scopes | {readable.scope(schedule.id)}
    # What is due may take from what all planners share.
    is_due = _is_due(schedule, now)
    facts = yield from read_facts([schedule], now, scopes=scopes, locks_planning=is_due)
    if is_due and not (yield from is_planned(context.is_alive)):
        facts = with_outage_until(facts, now)
    if caller is None:
        return facts
    # The counter is locked first, so that of two requests the second counts what the first made.
    ((request,),) = yield Query("take_numbers", (1, "requests"))
    is_agent = any(each is not None and each.is_agent for each in (readable, becomes))
    is_counted = readable is not None and (readable.is_agent or _counts_all(caller))
    without = schedule if is_counted else None
    active = yield from _count_active(caller, is_agent=is_agent, without=without)
    return facts._replace(limits=caller.limits, active=active, request=request)


def _is_due(schedule: Schedule, now: int) -> bool:
    return schedule.next_slot is not None and schedule.next_slot <= now


def _carry_out(
    specifications: Specifications,
    facts: Facts,
    plans: Plans,
    now: int,
    caller: Caller | None,
    run: Run | None = None,
) -> Statements[None]:
    """Write what was decided about one schedule, and who asked for it."""
    (schedule,) = facts.schedules
    yield from apply_plans(plans, {schedule.id: schedule}, specifications, now)
    if _is_due(schedule, now) and budgets(plans) != budgets(facts):
        last_look = facts.last_look or now
        yield QueryMany("put_planner_state", [planning_row(last_look, *budgets(plans))])
    if caller is not None:
        row = request_row(facts.request, schedule, plans.plans[0], run, caller, now)
        yield QueryMany("add_audit", [row])


def count_owned(owner: str) -> Statements[int]:
    ((count,),) = yield Query("count_owned", (owner,))
    return int(count)
