"""Control requests: a change of schedules or of a run, what follows from it, and its audit entry
are one transaction, under the settings of the service as that transaction reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quarterjack.errors import Conflict, NotFound, Refused
from quarterjack.rules import Facts, Plans, Run, Schedule, Specification, Unreadable
from quarterjack.store.audit import creation_row
from quarterjack.store.rows import DELETED_AT, new_schedule_row, stored_of
from quarterjack.store.statements import Query, QueryMany, Row, Statements
from quarterjack.store.transactions.apply_decisions import add_events, add_specifications
from quarterjack.store.transactions.facts import (
    lock_gates,
    missing_schedule,
    read_row,
    read_run,
    read_schedules,
)
from quarterjack.store.transactions.metadata import read_settings
from quarterjack.store.transactions.requests import (
    NodeContext,
    Request,
    count_active,
    facts_for,
    read_request,
    refuse_unrunnable,
    write,
)
from quarterjack.store.types import (
    Caller,
    DecideEdit,
    DecideNew,
    DecidePlans,
    DecideRun,
    NewSchedule,
    Patch,
    PrepareNew,
    ScheduleRef,
)
from quarterjack.telemetry.events import of_new_schedules


def add_schedules(
    context: NodeContext, prepare: PrepareNew, now: int, caller: Caller | None = None
) -> Statements[Sequence[Schedule]]:
    settings = yield from read_settings()
    new, decide = prepare(settings)
    if caller is not None:
        yield from refuse_unrunnable(context, [(each.key, each.specification) for each in new])
    request = Request(context, now, caller, settings)
    return (yield from add_prepared(request, new, decide))


def add_prepared(
    request: Request, new: Sequence[NewSchedule], decide: DecideNew
) -> Statements[Sequence[Schedule]]:
    if not new:
        return []
    now, caller, last_request = request.now, request.caller, 0
    if caller is not None:
        # Locked before schedules are counted, as by every other request.
        ((last_request,),) = yield Query("advance_counter", (len(new), "requests"))
    ((last,),) = yield Query("advance_counter", (len(new), "schedules"))
    is_agent = any(each.specification.is_agent for each in new)
    active = yield from count_active(request, is_agent=is_agent)
    created: list[Schedule] = []
    for identity, each in enumerate(new, last - len(new) + 1):
        created.append(decide(identity, each, active))
        is_counted = each.specification.is_agent or request.counts_all
        active += is_counted and created[-1].counts_as_active
    yield from _refuse_taken_keys(created)
    rows = [new_schedule_row(created[i], each, now) for i, each in enumerate(new)]
    yield QueryMany("add_schedules", rows)
    yield from add_specifications(created, request.node.specifications, now)
    yield from add_events(of_new_schedules([each.key for each in created], now))
    if caller is not None:
        numbers = range(last_request - len(created) + 1, last_request + 1)
        rows = [
            creation_row(number, each, caller, now)
            for number, each in zip(numbers, created, strict=True)
        ]
        yield QueryMany("add_audit", rows)
    return created


def _refuse_taken_keys(created: Sequence[Schedule]) -> Statements[None]:
    rows = yield Query("taken_keys", ([each.key for each in created],))
    if rows:
        taken = ", ".join(f'"{key}"' for (key,) in rows[:5])
        raise Conflict(f"the key {taken} is taken; use another, or delete that schedule first")


def change_schedules(
    context: NodeContext,
    which: Iterable[ScheduleRef],
    decide: DecidePlans,
    now: int,
    caller: Caller | None = None,
    *,
    ignores_missing: bool = False,
) -> Statements[Sequence[Plans]]:
    request = yield from read_request(context, now, caller)
    refused: list[Refused] = []
    found: dict[int, ScheduleRef] = {}
    for each in which:
        try:
            row = yield from read_row(each)
            found[row[0]] = each
        except NotFound as error:
            refused += [] if ignores_missing else [error]
    locked = yield from _lock(found)
    if len(locked) > 1:
        schedules = yield from read_schedules(list(locked.values()), context.specifications)
        yield from lock_gates(schedules, now)
    done = []
    for identity, called in sorted(found.items()):
        try:
            row = _not_deleted(locked.get(identity), called)
            schedule = yield from _permitted(row, request)
            done.append((yield from change(request, schedule, decide)))
        except NotFound as error:
            refused += [] if ignores_missing else [error]
        except Refused as error:
            refused.append(error)
    if refused:
        raise type(refused[0])("\n".join(map(str, refused)))
    return done


def edit_schedule(
    context: NodeContext,
    which: ScheduleRef,
    patch: Patch,
    decide: DecideEdit,
    now: int,
    caller: Caller | None = None,
) -> Statements[Plans]:
    settings = yield from read_settings()
    request = Request(context, now, caller, settings)
    found = yield from read_row(which)
    locked = yield from _lock([found[0]])
    row = _not_deleted(locked.get(found[0]), which)
    schedule = yield from _permitted(row, request)
    specification, before = patch(settings, schedule, now), schedule.specification
    if isinstance(before, Unreadable) or before.target.kind != specification.target.kind:
        yield from refuse_unrunnable(context, [(schedule.key, specification)])
    return (yield from edit(request, schedule, specification, decide))


def change_run(
    context: NodeContext, run_id: str, decide: DecideRun, now: int, caller: Caller | None = None
) -> Statements[Plans]:
    request = yield from read_request(context, now, caller)
    run = yield from read_run(run_id)
    locked = yield from _lock([run.schedule_id])
    if run.schedule_id not in locked:
        raise missing_schedule(run.schedule_id)
    schedule = yield from _permitted(locked[run.schedule_id], request)
    # Its scope cannot change any more, but a worker may still claim it, until the open runs of
    # that scope are locked: only then is it decided about.
    run = yield from read_run(run_id)
    facts = yield from facts_for(request, schedule, {run.scope})
    run = yield from _as_locked(run, facts)
    plans = decide(facts, run, now)
    yield from write(request, facts, plans, run)
    return plans


def _as_locked(run: Run, facts: Facts) -> Statements[Run]:
    """The run as it is now that no other transaction can change it."""
    if run.finished_at is not None:
        return run  # a closed run never changes
    for each in facts.open_runs.get(run.scope, ()):
        if each.id == run.id:
            return each
    return (yield from read_run(run.id))


def _lock(ids: Iterable[int]) -> Statements[dict[int, Row]]:
    """The rows of these schedules, locked until the end of the transaction."""
    rows = yield Query("schedules_by_ids", (sorted(ids),))
    return {row[0]: row for row in rows}


def _not_deleted(row: Row | None, which: ScheduleRef) -> Row:
    """Another transaction may delete a schedule between finding and locking it."""
    if row is None or row[DELETED_AT] is not None:
        raise missing_schedule(which)
    return row


def _permitted(row: Row, request: Request) -> Statements[Schedule]:
    (schedule,) = yield from read_schedules([row], request.node.specifications)
    stored = stored_of(row, schedule)
    if request.caller is not None:
        request.caller.permit(request.settings, stored)
    elif stored.deleted_at is not None:
        raise missing_schedule(schedule.id)
    return schedule


def edit(
    request: Request, schedule: Schedule, specification: Specification, decide: DecideEdit
) -> Statements[Plans]:
    """Give one schedule another definition."""

    def decide_edit(facts: Facts, now: int) -> Plans:
        return decide(facts, specification, now)

    return (yield from change(request, schedule, decide_edit, specification))


def change(
    request: Request, schedule: Schedule, decide: DecidePlans, becomes: Specification | None = None
) -> Statements[Plans]:
    """Apply an operation to one schedule. It gets all open runs, an edit those of both scopes."""
    scopes = {str(schedule.id) if becomes is None else becomes.scope(schedule.id)}
    facts = yield from facts_for(request, schedule, scopes, becomes)
    plans = decide(facts, request.now)
    yield from write(request, facts, plans)
    return plans


def count_owned(owner: str) -> Statements[int]:
    ((count,),) = yield Query("count_owned", (owner,))
    return int(count)
