"""The operations on a schedule that people and declarations request: create, edit, pause, ...

Edit, pause, delete and run first plan up to now under the current specification, in the same
decision, so that no slot is lost between two definitions. Each operation returns plans, which a
store commits like those of the planner. An operation that is not possible raises, and nothing
changes.
"""

from __future__ import annotations

from quarterjack.errors import Conflict, WrongState
from quarterjack.rules.definition.input_checks import invalid
from quarterjack.rules.definition.specification import Specification, Unreadable, refuse_unreadable
from quarterjack.rules.draft import BatchState, Draft
from quarterjack.rules.model import Facts, Kind, Plan, Plans, Run, Schedule
from quarterjack.rules.plan import invalidated, plan_one
from quarterjack.rules.policies.anchors import restarts_on_resume, slots_of
from quarterjack.rules.policies.budgets import is_agent, with_current_outage
from quarterjack.rules.policies.first_run import first_cursor
from quarterjack.rules.policies.overlap import IfRunning, admit
from quarterjack.rules.policies.pause import paused, resumed, resumed_if_due, wake_by
from quarterjack.rules.policies.service_limits import Limits, active_max, refuse_beyond_limit
from quarterjack.rules.reasons import Reason
from quarterjack.rules.states import (
    OPEN,
    RunEvent,
    ScheduleEvent,
    State,
    Status,
    moved_run,
    moved_schedule,
    run_state_text,
)
from quarterjack.times import After
from quarterjack.times.instants import EARLIEST, from_datetime, to_text

BY_DECLARATION = "declaration"


def create(
    identity: int, key: str, specification: Specification, now: int, *, active: int, limits: Limits
) -> Schedule:
    """A new schedule. `active` is how many other schedules count for `max_scheduled_jobs`: of all
    schedules, or of those of the preset `agent`."""
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
    # A schedule without any slot is planned once, which moves it to done.
    wake_at = now if following is None else following
    schedule = schedule._replace(cursor=cursor, next_slot=following, wake_at=wake_at)
    if not specification.enabled:
        return paused(schedule, Reason.DECLARED_DISABLED, by=BY_DECLARATION, until=None)
    refuse_beyond_limit(active, limits, is_agent=specification.is_agent)
    return schedule


def edit(facts: Facts, specification: Specification, now: int) -> Plans:
    """A new version. The slots are counted from now only if recurrence, zone, bounds or window have
    changed; for a one-shot only if its instant has."""
    batch, before = _plan_up_to_now(facts, now)
    schedule = before.schedule
    was = schedule.specification
    moved = isinstance(was, Unreadable) or not was.names_the_same_slots(specification)
    is_switched = isinstance(was, Unreadable) or was.enabled != specification.enabled
    schedule = schedule._replace(specification=specification, version=schedule.version + 1)
    if schedule.status is Status.INVALID:
        schedule = _reactivated(schedule, ScheduleEvent.REPAIR)
        moved = moved or not specification.once
    elif schedule.status is Status.DONE and moved and specification.names_instants:
        schedule = _reactivated(schedule, ScheduleEvent.REVIVE)
    if moved:
        schedule = _restart_slots(schedule, now)
    if is_switched:
        schedule = _apply_enabled(schedule, now)
    was_active = before.schedule.status is Status.ACTIVE
    if schedule.counts_as_active and not _counts_for_limit(before.schedule, facts.limits):
        refuse_beyond_limit(facts.active, facts.limits, is_agent=specification.is_agent)
    draft = Draft(wake_by(schedule, now), batch, now)
    _move_open_runs(draft, before.schedule)
    pauses = schedule.status is Status.PAUSED and was_active
    if pauses:
        draft.close_waiting(Reason.PAUSED)
    # A schedule that was due for deletion stays if it is active again or `delete_after_run` is off.
    is_deletable = schedule.status is Status.DONE and specification.delete_after_run
    draft.deleted = before.deleted and is_deletable
    plans = batch.results([_combined(before._replace(deleted=False), draft.plan())])
    return _with_unchanged_budgets(plans, facts) if pauses else plans


def pause(
    facts: Facts, now: int, *, by: str, reason: str | None = None, until: int | None = None
) -> Plans:
    """Paused until it is resumed, or until an instant. Waiting runs are skipped, running ones
    continue. A one-shot that is due and not planned yet keeps its slot."""
    if until is not None and until <= now:
        remedy = "give a future instant, or leave it out"
        raise invalid("until", to_text(until), "is in the past", remedy)
    (schedule,) = facts.schedules
    refuse_unreadable(schedule.specification, schedule.key)
    schedule = resumed_if_due(schedule, now)
    moved_schedule(schedule, ScheduleEvent.PAUSE)
    batch, before = BatchState(facts), Plan(schedule)
    if not schedule.specification.once:
        batch, before = _plan_up_to_now(facts, now)
    draft = Draft(before.schedule, batch, now)
    if before.schedule.status is Status.ACTIVE:  # planning up to now may have ended it
        draft.schedule = paused(before.schedule, reason, by=by, until=until)
        draft.close_waiting(Reason.PAUSED)
    plans = batch.results([_combined(before, draft.plan())])
    return _with_unchanged_budgets(plans, facts)


def resume(facts: Facts, now: int) -> Plans:
    """Active again. Nothing is replayed, except slots after a `paused_until` that has passed."""
    (schedule,) = facts.schedules
    until = schedule.paused_until
    schedule = resumed(schedule, now if until is None else min(now, until))
    refuse_beyond_limit(facts.active, facts.limits, is_agent=is_agent(schedule))
    return BatchState(facts).results([Plan(schedule)])


def delete(facts: Facts, now: int, *, though_running: bool = False) -> Plans:
    """Deleted, with its history kept. Refused while an attempt is running, unless `though_running`:
    then that attempt continues, and is the last one of its run."""
    (schedule,) = facts.schedules
    for run in () if though_running else facts.open_runs.get(_scope(schedule), ()):
        if run.schedule_id == schedule.id and run.state is State.RUNNING:
            raise _blocked_by(run, f'schedule "{schedule.key}" cannot be deleted')
    if isinstance(schedule.specification, Unreadable):
        stopped = schedule._replace(next_slot=None, wake_at=None)
        return BatchState(facts).results([Plan(stopped, closes=Reason.DELETED, deleted=True)])
    batch, before = _plan_up_to_now(facts, now)
    draft = Draft(before.schedule._replace(next_slot=None, wake_at=None), batch, now)
    draft.close_waiting(Reason.DELETED)
    draft.deleted = True
    plans = batch.results([_combined(before, draft.plan())])
    return _with_unchanged_budgets(plans, facts)


def run_now(facts: Facts, now: int) -> Plans:
    """One run now, whatever window, breaker and poll limit say. Slots stay as they are; one that
    is due is planned first."""
    return _run_at_once(facts, now, slot=now)


def retry_run(facts: Facts, run: Run, now: int) -> Plans:
    """A run that waits for a retry becomes ready now. A run that ended without success is not
    changed: a new manual run for the same slot is added."""
    if run.state is State.QUEUED and run.waits_to_retry:
        (schedule,) = facts.schedules
        ready = run._replace(ready_at=min(run.ready_at, now))
        return BatchState(facts).results([Plan(schedule, released=[ready])])
    if run.state in OPEN or run.state is State.SUCCEEDED:
        remedy = "only a run that ended without success, or waits for a retry, can be retried"
        raise WrongState(f"{run_state_text(run)}; {remedy}")
    return _run_at_once(facts, now, slot=run.slot)


def _run_at_once(facts: Facts, now: int, slot: int) -> Plans:
    (schedule,) = facts.schedules
    refuse_unreadable(schedule.specification, schedule.key)
    batch, before = _plan_up_to_now(facts, now)
    schedule = before.schedule
    if schedule.status in (Status.PAUSED, Status.INVALID):
        remedy = "resume it" if schedule.status is Status.PAUSED else "correct its definition"
        raise WrongState(f'schedule "{schedule.key}" is {schedule.status}; {remedy} first')
    draft = Draft(schedule, batch, now)
    specification, ahead = schedule.specification, draft.open_runs
    held = bool(ahead) and not specification.allows_overlap
    queues = specification.overlap.if_running is IfRunning.QUEUE
    if held and not (queues and schedule.status is Status.ACTIVE):
        raise _blocked_by(ahead[0], f'schedule "{schedule.key}" does not allow overlapping runs')
    if held and not admit(specification.overlap, 1, ahead, idle=False, once=False).admitted:
        full = f"already has {specification.overlap.queue_limit} waiting runs"
        remedy = "cancel some, or raise queue_limit"
        raise Conflict(f'schedule "{schedule.key}" {full}; {remedy}')
    state = State.HELD if held else State.QUEUED
    run = draft.new_run(schedule.planned_count, Kind.MANUAL, slot, now, state, facts.request)
    draft.add([run])
    draft.schedule = schedule._replace(planned_count=run.number + 1, last_run_id=run.id)
    return batch.results([_combined(before, draft.plan())])


def invalidate(facts: Facts, reason: str) -> Plans:
    """Moved to `invalid`, because its definition cannot be used; an edit can correct it. Waiting
    runs are closed."""
    (schedule,) = facts.schedules
    batch = BatchState(facts)
    return batch.results([invalidated(schedule, batch, reason)])


def cancel_run(facts: Facts, run: Run, now: int) -> Plans:
    """Closes a waiting run, or requests a running one to stop."""
    moved_run(run, RunEvent.CANCEL)
    (schedule,) = facts.schedules
    batch = BatchState(facts)
    draft = Draft(schedule, batch, now)
    draft.cancel(run, Reason.REQUESTED)
    draft.wake_next()
    if schedule.status is Status.ACTIVE:  # the schedule may be done, which the planner decides
        draft.schedule = draft.schedule._replace(wake_at=now)
    return batch.results([draft.plan()])


def _blocked_by(run: Run, consequence: str) -> Conflict:
    attempt = f" (attempt {run.attempt}, worker {run.worker})" if run.attempt else ""
    remedy = "cancel it first, or wait until it has ended"
    return Conflict(f"{run_state_text(run)}{attempt} and {consequence}; {remedy}")


def _scope(schedule: Schedule) -> str:
    if isinstance(schedule.specification, Unreadable):
        return str(schedule.id)
    return schedule.specification.scope(schedule.id)


def _plan_up_to_now(facts: Facts, now: int) -> tuple[BatchState, Plan]:
    """The plan up to now under the current specification. It ignores `max_dispatch_per_tick`, but
    uses the catch-up budget, also of an outage that is detected only now."""
    batch = BatchState(with_current_outage(facts, now))
    (schedule,) = facts.schedules
    return batch, plan_one(schedule, batch, now, paced=False)


def _with_unchanged_budgets(plans: Plans, facts: Facts) -> Plans:
    """The plans without a use of budgets: the runs that were planned up to now are closed in the
    same decision, so none of them starts."""
    return plans._replace(
        outage=facts.outage, dispatch_rate=facts.dispatch_rate, agent_budgets=facts.agent_budgets
    )


def _combined(first: Plan, second: Plan) -> Plan:
    """Two plans of a schedule, one after the other, as one."""
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


def _reactivated(schedule: Schedule, event: ScheduleEvent) -> Schedule:
    """Active again, or paused if it was paused before."""
    schedule = schedule._replace(status=moved_schedule(schedule, event), status_reason=None)
    if schedule.paused_by is None:
        return schedule
    reason = Reason.DECLARED_DISABLED if schedule.paused_by == BY_DECLARATION else None
    return paused(schedule, reason, by=schedule.paused_by, until=schedule.paused_until)


def _restart_slots(schedule: Schedule, now: int) -> Schedule:
    """The slots counted from now. A one-shot whose instant has passed fires at once, unless that
    slot or a later one has fired before."""
    specification = schedule.specification
    recurrence = specification.recurrence
    if isinstance(recurrence, After) or restarts_on_resume(recurrence):
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


def _move_open_runs(draft: Draft, before: Schedule) -> None:
    """Moves open runs to the scope of the new version, and wakes a schedule that waited for them in
    the old one. Held runs are released if the new version never reads open runs, because otherwise
    nothing would release them."""
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


def _counts_for_limit(schedule: Schedule, limits: Limits) -> bool:
    """Whether it already counts for `max_scheduled_jobs`."""
    return schedule.counts_as_active and active_max(limits, is_agent=is_agent(schedule)) > 0


def _apply_enabled(schedule: Schedule, now: int) -> Schedule:
    """Pauses or resumes as declared by `enabled`. Only a pause by a declaration is ended."""
    if not schedule.specification.enabled:
        if schedule.status is Status.ACTIVE:
            return paused(schedule, Reason.DECLARED_DISABLED, by=BY_DECLARATION, until=None)
    elif schedule.status is Status.PAUSED and schedule.paused_by == BY_DECLARATION:
        return resumed(schedule, now)
    return schedule
