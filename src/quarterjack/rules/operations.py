"""Operations: what a person may ask, and what it does to a schedule.

Edit, pause and delete first plan up to now under the specification as it was, in the same
decision, so that no slot falls between two definitions. Each answer is a plan, which a store
commits like any other; what cannot be done is refused by name, and nothing changes.
"""

from __future__ import annotations

from quarterjack.errors import Conflict, InvalidSpecification, WrongState
from quarterjack.rules.anchors import counts_anew_on_resume, slots_of
from quarterjack.rules.draft import Commons, Draft
from quarterjack.rules.first_run import first_cursor
from quarterjack.rules.limits import Limits, refuse_beyond_limit
from quarterjack.rules.model import Backfill, Facts, Kind, Plan, Plans, Run, Schedule
from quarterjack.rules.overlap import IfRunning, turn
from quarterjack.rules.pause import paused, resumed
from quarterjack.rules.plan import plan_one
from quarterjack.rules.reasons import Reason
from quarterjack.rules.specification import Specification
from quarterjack.rules.states import (
    RunEvent,
    ScheduleEvent,
    State,
    Status,
    moved_run,
    moved_schedule,
)
from quarterjack.times import After
from quarterjack.times.instants import EARLIEST, from_datetime, to_text


def create(
    identity: int, key: str, specification: Specification, now: int, *, active: int, limits: Limits
) -> Schedule:
    """A new schedule. `active` says how many there are already."""
    since = getattr(specification.recurrence, "created_at", None)
    schedule = Schedule(
        identity,
        key,
        specification,
        created_at=now,
        anchor_at=now if since is None else from_datetime(since),
        cursor=now,
    )
    if not specification.enabled:
        return paused(schedule, Reason.DECLARED_DISABLED, by="declaration", until=None)
    refuse_beyond_limit(active, limits)
    slots = slots_of(schedule)
    cursor = first_cursor(specification.first_run, slots, now, once=specification.once)
    following = slots.after(cursor)
    # Without any slot the planner looks at it once, and finds that it is done.
    wake_at = now if following is None else following
    return schedule._replace(cursor=cursor, next_slot=following, wake_at=wake_at)


def edit(facts: Facts, specification: Specification, now: int) -> Plans:
    """A new version. Only another recurrence, zone, bound or window plans anew, from now."""
    commons, (before,) = _up_to_now(facts, now)
    schedule = before.schedule
    moved = not schedule.specification.names_the_same_slots(specification)
    schedule = schedule._replace(specification=specification, version=schedule.version + 1)
    if schedule.status is Status.INVALID:
        schedule = _active(schedule, ScheduleEvent.MEND)
        moved = True
    if schedule.status is Status.DONE and moved and specification.once:
        schedule = _active(schedule, ScheduleEvent.REVIVE)
    if moved:
        schedule = _named_anew(schedule, now)
    schedule = _enabled_as_declared(schedule, now)
    draft = Draft(schedule, commons, now)
    _bring_along(draft, before.schedule)
    if schedule.status is Status.PAUSED and before.schedule.status is Status.ACTIVE:
        draft.close_waiting(Reason.PAUSED)
    return commons.results([_joined(before, draft.plan())])


def pause(
    facts: Facts, now: int, *, by: str, reason: str | None = None, until: int | None = None
) -> Plans:
    """Resting until it is resumed, or until then. Runs that wait are skipped; those that run go
    on."""
    if until is not None and until <= now:
        remedy = "give an instant to come, or none"
        raise InvalidSpecification.because("until", to_text(until), "has passed", remedy)
    (schedule,) = facts.schedules
    moved_schedule(schedule, ScheduleEvent.PAUSE)
    commons, (before,) = _up_to_now(facts, now)
    draft = Draft(before.schedule, commons, now)
    if before.schedule.status is Status.ACTIVE:  # it may have ended in this very moment
        draft.schedule = paused(before.schedule, reason, by=by, until=until)
        draft.close_waiting(Reason.PAUSED)
    return commons.results([_joined(before, draft.plan())])


def resume(schedule: Schedule, now: int, *, active: int, limits: Limits) -> Plan:
    """Active again, and nothing is replayed. `active` says how many there are already."""
    schedule = resumed(schedule, now)
    refuse_beyond_limit(active, limits)
    return Plan(schedule)


def delete(facts: Facts, now: int) -> Plans:
    """Gone, with its history kept; not while an attempt runs."""
    (schedule,) = facts.schedules
    for run in facts.open_runs.get(_scope(schedule), ()):
        if run.schedule_id == schedule.id and run.state is State.RUNNING:
            raise Conflict(f'schedule "{schedule.key}" has {_named(run)}; {_WAIT}')
    commons, (before,) = _up_to_now(facts, now)
    draft = Draft(before.schedule._replace(next_slot=None, wake_at=None), commons, now)
    draft.close_waiting(Reason.DELETED)
    gone = draft.plan()._replace(deleted=True)
    return commons.results([_joined(before, gone)])


def run_now(facts: Facts, now: int, request: int) -> Plans:
    """One run at once, whatever window, breaker and guard say; it moves no slot."""
    (schedule,) = facts.schedules
    if schedule.status in (Status.PAUSED, Status.INVALID):
        remedy = "resume it first" if schedule.status is Status.PAUSED else "mend it first"
        raise WrongState(f'schedule "{schedule.key}" is {schedule.status}; {remedy}')
    commons = Commons(facts, now)
    draft = Draft(schedule, commons, now)
    specification, ahead = schedule.specification, draft.open_runs
    queues = specification.overlap.if_running is IfRunning.QUEUE
    if ahead and not (queues or specification.allows_overlap):
        raise Conflict(f'schedule "{schedule.key}" has {_named(ahead[0])}; {_WAIT}')
    if queues and not turn(specification.overlap, 1, ahead, once=False).admitted:
        remedy = "wait, cancel some, or raise queue_limit"
        raise Conflict(f'schedule "{schedule.key}" has {len(ahead)} runs waiting; {remedy}')
    run = Run(
        schedule_id=schedule.id,
        number=schedule.planned_count,
        kind=Kind.MANUAL,
        slot=now,
        ready_at=now,
        planned_at=now,
        scope=draft.scope,
        version=schedule.version,
        request=request,
        state=State.HELD if ahead and queues else State.QUEUED,
        priority=specification.priority,
        queue=specification.queue,
    )
    draft.add([run])
    draft.schedule = schedule._replace(planned_count=schedule.planned_count + 1, last_run_id=run.id)
    return commons.results([draft.plan()])


def count_backfill(schedule: Schedule, start: int, until: int) -> int:
    """How many slots lie in [start, until]."""
    slots = schedule.specification.recurrence.slots_through(schedule.anchor_at)
    return slots.count(start - 1, until)


def backfill(schedule: Schedule, now: int, request: int, *, start: int, until: int) -> Plan:
    """The slots in [start, until] are worked off by the planner, from now on."""
    if schedule.status is not Status.ACTIVE:
        raise WrongState(f'schedule "{schedule.key}" is {schedule.status}; only an active one runs')
    if schedule.specification.once or schedule.specification.completion:
        what = schedule.specification.recurrence.describe()
        remedy = "use run instead"
        raise WrongState(f'schedule "{schedule.key}" is {what}, without past slots; {remedy}')
    if schedule.backfill is not None:
        upto = to_text(schedule.backfill.until)
        raise Conflict(f'schedule "{schedule.key}" is filled up to {upto} already; wait for that')
    if not start <= until <= now:
        remedy = "give a start, and an end that is neither before it nor to come"
        said = f"{to_text(start)} to {to_text(until)}"
        raise InvalidSpecification.because("backfill", said, "is no past range", remedy)
    wanted = Backfill(request, start - 1, until)
    return Plan(schedule._replace(backfill=wanted, wake_at=now))


def cancel_run(facts: Facts, run: Run, now: int) -> Plans:
    """A run that waits is closed; one that runs is asked to stop."""
    moved_run(run, RunEvent.CANCEL)
    (schedule,) = facts.schedules
    commons = Commons(facts, now)
    draft = Draft(schedule, commons, now)
    draft.cancel(run, Reason.REQUESTED)
    if schedule.status is Status.ACTIVE:  # the planner sees whose turn it is
        draft.schedule = schedule._replace(wake_at=now)
    return commons.results([draft.plan()])


_WAIT = "cancel it first, or wait until it has ended"


def _named(run: Run) -> str:
    attempt = f", attempt {run.attempt} by {run.worker}" if run.state is State.RUNNING else ""
    return f"run {run.id} {run.state}{attempt}"


def _scope(schedule: Schedule) -> str:
    return schedule.specification.scope(schedule.id)


def _up_to_now(facts: Facts, now: int) -> tuple[Commons, list[Plan]]:
    """The plan under the specification as it was; a person does not wait for the pace."""
    unpaced = facts.limits._replace(max_dispatch_per_tick=0)
    commons = Commons(facts._replace(limits=unpaced), now)
    return commons, [plan_one(schedule, commons, now) for schedule in facts.schedules]


def _joined(first: Plan, second: Plan) -> Plan:
    """Both, one after the other."""
    return Plan(
        second.schedule,
        [*first.added, *second.added],
        [*first.passed, *second.passed],
        [*first.released, *second.released],
        [*first.closed, *second.closed],
        [*first.cancelled, *second.cancelled],
        second.closes or first.closes,
        second.scope,
        [*first.wakes, *second.wakes],
        second.deleted,
    )


def _active(schedule: Schedule, event: ScheduleEvent) -> Schedule:
    status = moved_schedule(schedule, event)
    return schedule._replace(status=status, status_reason=None)


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
        fired = schedule.last_fired_at
        if slot is not None and (fired is None or slot > fired):
            cursor = min(cursor, slot - 1)
    schedule = schedule._replace(cursor=cursor, passed=None)
    if schedule.status is not Status.ACTIVE:
        return schedule
    following = slots_of(schedule).after(cursor)
    return schedule._replace(next_slot=following, wake_at=now if following is None else following)


def _bring_along(draft: Draft, before: Schedule) -> None:
    """Open runs of the old version must not get lost: they are judged in the new scope, are no
    probe of a gate that the schedule has left, and are held only where holding is looked at."""
    old_scope, specification = _scope(before), draft.specification
    if old_scope != draft.scope:
        runs = draft.commons.open_runs.get(old_scope, ())
        own = [run for run in runs if run.schedule_id == before.id]
        draft.commons.open_runs[old_scope] = [run for run in runs if run not in own]
        draft.open_runs = [*draft.open_runs, *(run._replace(scope=draft.scope) for run in own)]
        draft.rescoped = draft.scope
    for run in draft.own_open_runs:
        if run.gate != specification.gate_key(before.key):
            draft.leave_gate(run)
        if run.state is State.HELD and not specification.reads_open_runs:
            draft.release(run)


def _enabled_as_declared(schedule: Schedule, now: int) -> Schedule:
    """A declaration can pause, and end only a pause of its own."""
    if not schedule.specification.enabled:
        if schedule.status is Status.ACTIVE:
            return paused(schedule, Reason.DECLARED_DISABLED, by="declaration", until=None)
    elif schedule.status is Status.PAUSED and schedule.status_reason == Reason.DECLARED_DISABLED:
        return resumed(schedule, now)
    return schedule
