"""Operations: what a person may ask, and what it does to a schedule.

Edit, pause and delete first plan up to now under the specification as it was, in the same
decision, so that no slot falls between two definitions. Each answer is a plan, which a store
commits like any other; what cannot be done is refused by name, and nothing changes.
"""

from __future__ import annotations

from quarterjack.errors import Conflict, InvalidSpecification, WrongState
from quarterjack.rules.definition.specification import Specification, Unreadable, refuse_unreadable
from quarterjack.rules.draft import BatchState, Draft
from quarterjack.rules.model import Facts, Kind, Plan, Plans, Run, Schedule
from quarterjack.rules.plan import invalidated, plan_one
from quarterjack.rules.policies.anchors import counts_anew_on_resume, slots_of
from quarterjack.rules.policies.budgets import is_agent, with_current_outage
from quarterjack.rules.policies.first_run import first_cursor
from quarterjack.rules.policies.limits import Limits, active_max, refuse_beyond_limit
from quarterjack.rules.policies.overlap import IfRunning, turn
from quarterjack.rules.policies.pause import as_of, paused, resumed, woken
from quarterjack.rules.reasons import Reason
from quarterjack.rules.states import (
    OPEN,
    RunEvent,
    ScheduleEvent,
    State,
    Status,
    moved_run,
    moved_schedule,
)
from quarterjack.times import After
from quarterjack.times.instants import EARLIEST, from_datetime, to_text

BY_DECLARATION = "declaration"


def create(
    identity: int, key: str, specification: Specification, now: int, *, active: int, limits: Limits
) -> Schedule:
    """A new schedule. `active` says how many others count: those that are active, or rest only
    until some instant, of all or of the preset `agent`."""
    since = getattr(specification.recurrence, "created_at", None)
    schedule = Schedule(
        identity,
        key,
        specification,
        created_at=now,
        anchor_at=now if since is None else from_datetime(since),
        cursor=now,
    )
    slots = slots_of(schedule)
    cursor = first_cursor(specification.first_run, slots, now, once=specification.once)
    following = slots.after(cursor)
    # Without any slot the planner looks at it once, and finds that it is done.
    wake_at = now if following is None else following
    schedule = schedule._replace(cursor=cursor, next_slot=following, wake_at=wake_at)
    if not specification.enabled:
        return paused(schedule, Reason.DECLARED_DISABLED, by=BY_DECLARATION, until=None)
    refuse_beyond_limit(active, limits, is_agent=specification.is_agent)
    return schedule


def edit(facts: Facts, specification: Specification, now: int) -> Plans:
    """A new version. Only another recurrence, zone, bound or window plans anew, from now; for a
    one-shot only another instant."""
    batch, before = _up_to_now(facts, now)
    schedule = before.schedule
    was, moved = schedule.specification, True
    if not isinstance(was, Unreadable):
        moved = not was.names_the_same_slots(specification)
    is_switched = isinstance(was, Unreadable) or was.enabled != specification.enabled
    schedule = schedule._replace(specification=specification, version=schedule.version + 1)
    if schedule.status is Status.INVALID:
        schedule = _active(schedule, ScheduleEvent.MEND)
        moved = moved or not specification.once
    elif schedule.status is Status.DONE and moved and specification.once:
        schedule = _active(schedule, ScheduleEvent.REVIVE)
    if moved:
        schedule = _named_anew(schedule, now)
    if is_switched:
        schedule = _enabled_as_declared(schedule, now)
    was_active = before.schedule.status is Status.ACTIVE
    if schedule.counts_as_active and not _is_counted(before.schedule, facts.limits):
        refuse_beyond_limit(facts.active, facts.limits, is_agent=specification.is_agent)
    draft = Draft(woken(schedule, now), batch, now)
    _bring_along(draft, before.schedule)
    pauses = schedule.status is Status.PAUSED and was_active
    if pauses:
        draft.close_waiting(Reason.PAUSED)
    # What was about to go stays, if the edit revived it or does not want it to go any more.
    goes = schedule.status is Status.DONE and specification.delete_after_run
    draft.deleted = before.deleted and goes
    plans = batch.results([_joined(before._replace(deleted=False), draft.plan())])
    return _with_untouched_budgets(plans, facts) if pauses else plans


def pause(
    facts: Facts, now: int, *, by: str, reason: str | None = None, until: int | None = None
) -> Plans:
    """Resting until it is resumed, or until then. Runs that wait are skipped; those that run go
    on. A one-shot that is due and not planned yet is left for the resume."""
    if until is not None and until <= now:
        remedy = "give an instant to come, or none"
        raise InvalidSpecification.because("until", to_text(until), "has passed", remedy)
    (schedule,) = facts.schedules
    refuse_unreadable(schedule.specification, schedule.key)
    schedule = as_of(schedule, now)
    moved_schedule(schedule, ScheduleEvent.PAUSE)
    if schedule.specification.once:
        batch, before = BatchState(facts), Plan(schedule)
    else:
        batch, before = _up_to_now(facts, now)
    draft = Draft(before.schedule, batch, now)
    if before.schedule.status is Status.ACTIVE:  # it may have ended in this very moment
        draft.schedule = paused(before.schedule, reason, by=by, until=until)
        draft.close_waiting(Reason.PAUSED)
    plans = batch.results([_joined(before, draft.plan())])
    return _with_untouched_budgets(plans, facts)


def resume(facts: Facts, now: int) -> Plans:
    """Active again, and nothing is replayed; if the pause was over, from its end on."""
    (schedule,) = facts.schedules
    until = schedule.paused_until
    schedule = resumed(schedule, now if until is None else min(now, until))
    refuse_beyond_limit(facts.active, facts.limits, is_agent=is_agent(schedule))
    return BatchState(facts).results([Plan(schedule)])


def delete(facts: Facts, now: int, *, though_running: bool = False) -> Plans:
    """Gone, with its history kept. While an attempt runs that is refused to people; if a
    declaration drops the schedule, the attempt goes on and is the last."""
    (schedule,) = facts.schedules
    for run in () if though_running else facts.open_runs.get(_scope(schedule), ()):
        if run.schedule_id == schedule.id and run.state is State.RUNNING:
            raise _in_the_way(run, f'schedule "{schedule.key}" cannot be deleted')
    if isinstance(schedule.specification, Unreadable):
        gone = schedule._replace(next_slot=None, wake_at=None)
        plan = Plan(gone, closes=Reason.DELETED, deleted=True)
        return BatchState(facts).results([plan])
    batch, before = _up_to_now(facts, now)
    draft = Draft(before.schedule._replace(next_slot=None, wake_at=None), batch, now)
    draft.close_waiting(Reason.DELETED)
    draft.deleted = True
    plans = batch.results([_joined(before, draft.plan())])
    return _with_untouched_budgets(plans, facts)


def run_now(facts: Facts, now: int) -> Plans:
    """One run at once, whatever window, breaker and guard say; it moves no slot. A slot that is due
    already goes first."""
    return _run_at_once(facts, now, slot=now)


def retry_run(facts: Facts, run: Run, now: int) -> Plans:
    """A run that waits to be tried again does not wait any longer. One that was closed without
    success stays as it is: a new run, asked for by a person, is for the same slot."""
    if run.state is State.QUEUED and run.waits_to_retry:
        (schedule,) = facts.schedules
        ready = run._replace(ready_at=min(run.ready_at, now))
        return BatchState(facts).results([Plan(schedule, released=[ready])])
    if run.state in OPEN or run.state is State.SUCCEEDED:
        remedy = "only one that was closed without success, or waits to retry, can be tried again"
        raise WrongState(f"run {run.id} is {run.state}; {remedy}")
    return _run_at_once(facts, now, slot=run.slot)


def _run_at_once(facts: Facts, now: int, slot: int) -> Plans:
    (schedule,) = facts.schedules
    refuse_unreadable(schedule.specification, schedule.key)
    batch, before = _up_to_now(facts, now)
    schedule = before.schedule
    if schedule.status in (Status.PAUSED, Status.INVALID):
        remedy = "resume it first" if schedule.status is Status.PAUSED else "mend it first"
        raise WrongState(f'schedule "{schedule.key}" is {schedule.status}; {remedy}')
    draft = Draft(schedule, batch, now)
    specification, ahead = schedule.specification, draft.open_runs
    held = bool(ahead) and not specification.allows_overlap
    queues = specification.overlap.if_running is IfRunning.QUEUE
    if held and not (queues and schedule.status is Status.ACTIVE):
        raise _in_the_way(ahead[0], f'schedule "{schedule.key}" must not run beside it')
    if held and not turn(specification.overlap, 1, ahead, idle=False, once=False).admitted:
        full = f"{specification.overlap.queue_limit} runs waiting already"
        remedy = "cancel some, or raise queue_limit"
        raise Conflict(f'schedule "{schedule.key}" has {full}; {remedy}')
    state = State.HELD if held else State.QUEUED
    run = draft.new_run(schedule.planned_count, Kind.MANUAL, slot, now, state, facts.request)
    draft.add([run])
    draft.schedule = schedule._replace(planned_count=run.number + 1, last_run_id=run.id)
    return batch.results([_joined(before, draft.plan())])


def invalidate(facts: Facts, reason: str) -> Plans:
    """Its definition cannot be used; what waits is closed, until an edit mends it."""
    (schedule,) = facts.schedules
    batch = BatchState(facts)
    return batch.results([invalidated(schedule, batch, reason)])


def cancel_run(facts: Facts, run: Run, now: int) -> Plans:
    """A run that waits is closed; one that runs is asked to stop."""
    moved_run(run, RunEvent.CANCEL)
    (schedule,) = facts.schedules
    batch = BatchState(facts)
    draft = Draft(schedule, batch, now)
    draft.cancel(run, Reason.REQUESTED)
    draft.wake_next()
    if schedule.status is Status.ACTIVE:  # the planner sees what that means for the schedule
        draft.schedule = draft.schedule._replace(wake_at=now)
    return batch.results([draft.plan()])


def _in_the_way(run: Run, what: str) -> Conflict:
    attempt = f" (attempt {run.attempt}, worker {run.worker})" if run.attempt else ""
    remedy = "cancel it first, or wait until it has ended"
    return Conflict(f"run {run.id} is {run.state}{attempt} and {what}; {remedy}")


def _scope(schedule: Schedule) -> str:
    if isinstance(schedule.specification, Unreadable):
        return str(schedule.id)
    return schedule.specification.scope(schedule.id)


def _up_to_now(facts: Facts, now: int) -> tuple[BatchState, Plan]:
    """The plan under the specification as it was. A person does not wait for the pace, but takes
    from the budget of an outage that no planner has noticed yet."""
    batch = BatchState(with_current_outage(facts, now))
    (schedule,) = facts.schedules
    return batch, plan_one(schedule, batch, now, paced=False)


def _with_untouched_budgets(plans: Plans, facts: Facts) -> Plans:
    """What was planned up to now is closed in the same decision, so nothing of it will start."""
    return plans._replace(outage=facts.outage, pace=facts.pace, agents=facts.agents)


def _joined(first: Plan, second: Plan) -> Plan:
    """Both, one after the other."""
    return Plan(
        second.schedule,
        [*first.added, *second.added],
        [*first.not_run, *second.not_run],
        [*first.released, *second.released],
        [*first.closed, *second.closed],
        [*first.cancelled, *second.cancelled],
        second.closes or first.closes,
        second.rescoped,
        [*first.wakes, *second.wakes],
        second.deleted or first.deleted,
    )


def _active(schedule: Schedule, event: ScheduleEvent) -> Schedule:
    """Active again; or paused, if a person had paused it."""
    schedule = schedule._replace(status=moved_schedule(schedule, event), status_reason=None)
    if schedule.paused_by is None:
        return schedule
    reason = Reason.DECLARED_DISABLED if schedule.paused_by == BY_DECLARATION else None
    return paused(schedule, reason, by=schedule.paused_by, until=schedule.paused_until)


def _named_anew(schedule: Schedule, now: int) -> Schedule:
    """Its slots count from now. A one-shot whose instant has passed fires at once, unless that
    slot or a later one has fired before."""
    specification = schedule.specification
    recurrence = specification.recurrence
    if isinstance(recurrence, After) or counts_anew_on_resume(recurrence):
        schedule = schedule._replace(anchor_at=now)
    cursor = max(schedule.cursor, now)
    if specification.once:
        slot = slots_of(schedule).after(EARLIEST - 1)
        fired = schedule.last_slot
        if slot is not None and (fired is None or slot > fired):
            cursor = min(cursor, slot - 1)
    schedule = schedule._replace(cursor=cursor, not_run=None, backfill=None)
    if schedule.status is not Status.ACTIVE:
        return schedule
    return schedule._replace(next_slot=slots_of(schedule).after(cursor))


def _bring_along(draft: Draft, before: Schedule) -> None:
    """Open runs of the old version must not get lost: they are judged in the new scope, and are
    held only where holding is looked at. Whoever waited behind them in the old scope is woken."""
    old_scope = _scope(before)
    if old_scope != draft.scope:
        runs = draft.batch.open_runs.get(old_scope, ())
        own = [run for run in runs if run.schedule_id == before.id]
        others = [run for run in runs if run.schedule_id != before.id]
        draft.open_runs = others
        draft.wake_next()
        draft.batch.open_runs[old_scope] = others
        theirs = draft.batch.open_runs.get(draft.scope, ())
        draft.open_runs = [*theirs, *(run._replace(scope=draft.scope) for run in own)]
        draft.rescoped = draft.scope
    if not draft.specification.reads_open_runs:
        for run in draft.own_open_runs:
            if run.state is State.HELD:
                draft.release(run)


def _is_counted(schedule: Schedule, limits: Limits) -> bool:
    """Is it one of those whose number is limited?"""
    return schedule.counts_as_active and active_max(limits, is_agent=is_agent(schedule)) > 0


def _enabled_as_declared(schedule: Schedule, now: int) -> Schedule:
    """A declaration can pause, and end only a pause of its own."""
    if not schedule.specification.enabled:
        if schedule.status is Status.ACTIVE:
            return paused(schedule, Reason.DECLARED_DISABLED, by=BY_DECLARATION, until=None)
    elif schedule.status is Status.PAUSED and schedule.paused_by == BY_DECLARATION:
        return resumed(schedule, now)
    return schedule
