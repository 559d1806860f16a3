"""Decides what becomes of a run and its schedule after an attempt has ended, however it ended.

`settle` handles the attempts of a batch one after the other, because several may belong to one
schedule, and gates are shared. Retries and `on_exhausted` follow the specification that the run was
planned with; repeats, consecutive errors and the anchor follow the current one of the schedule.
Manual runs and backfills count for none of the latter, except that under the preset `agent` a
failed manual run counts as a consecutive error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from quarterjack.errors import WrongState
from quarterjack.rules.definition.specification import Specification, Unreadable
from quarterjack.rules.model import (
    Attempt,
    Ended,
    Ending,
    Gate,
    GateState,
    Kind,
    Outcome,
    Run,
    Schedule,
    Settlement,
    Settlements,
    SlotsNotRun,
)
from quarterjack.rules.policies.anchors import slots_of, with_anchor
from quarterjack.rules.policies.catch_up import due_slots
from quarterjack.rules.policies.gate import SharedGates, blocked_until, gate_after_attempt
from quarterjack.rules.policies.overlap import next_held, without_waiting
from quarterjack.rules.policies.pause import auto_paused, end_schedule, has_too_many_errors, wake_by
from quarterjack.rules.policies.repeats import repeats_used_up
from quarterjack.rules.policies.retry import OnExhausted
from quarterjack.rules.reasons import Reason
from quarterjack.rules.states import RunEvent, ScheduleEvent, State, Status, moved_run


def settle(
    ended: Sequence[Ended],
    schedules: Mapping[int, Schedule],
    gates: Mapping[str, Gate],
    held: Mapping[str, Sequence[Run]],
    now: int,
) -> Settlements:
    """The settlement of each attempt, in order, each with its schedule as it is after that one.

    Every run must be as it was claimed, and occur once. `held` contains, by scope, the first held
    run of each schedule that has one, read after the `lock_keys` of the specifications were locked.
    If settling raises an error, for example because a specification cannot be read, the run is
    closed without a change to its schedule.
    """
    shared = SharedGates(gates)
    latest = dict(schedules)
    settlements: list[Settlement] = []
    abandoned: list[Run] = []
    refused: list[tuple[Ended, Exception]] = []
    for each in ended:
        run = each.run
        try:
            settled = _settle_one(each, latest[run.schedule_id], shared, held.get(run.scope), now)
        except WrongState as error:
            refused.append((each, error))
        except Exception as error:
            abandoned.append(_abandoned(each, error))
        else:
            latest[run.schedule_id] = settled.schedule
            settlements.append(settled)
    return Settlements(settlements, shared.changed, shared.changes, abandoned, refused)


def skip_orphan(run: Run, now: int) -> Run:
    """A run that was claimed although its schedule was removed from the database by other means.
    The claim does not count as an attempt, and the times of an earlier attempt are dropped."""
    return run._replace(
        state=moved_run(run, RunEvent.SKIP),
        reason=Reason.DELETED,
        attempt=run.attempt - 1,
        worker=None,
        started_at=None,
        lease_until=None,
        finished_at=now,
    )


def _abandoned(ended: Ended, error: Exception) -> Run:
    """The run closed as its attempt ended, with both errors. Otherwise it would stay running for
    ever."""
    outcome = ended.outcome
    event = _CLOSING.get(outcome.ending, RunEvent.SUCCEED)
    cause = f"{outcome.error}; " if outcome.error else ""
    text = f"{cause}not settled: {type(error).__name__}: {error}"
    return _closed(ended.run, outcome, NextStep(event, Reason.INACTIVE))._replace(error=text)


class NextStep(NamedTuple):
    """What follows for the run: an event closes it, or with `ready_at` another attempt follows."""

    event: RunEvent
    reason: Reason | None = None
    ready_at: int | None = None


_CLOSING = {
    Ending.FAILED: RunEvent.FAIL,
    Ending.TIMED_OUT: RunEvent.TIME_OUT,
    Ending.CANCELLED: RunEvent.CANCEL,
    Ending.LOST: RunEvent.LOSE,
    Ending.SKIPPED: RunEvent.SKIP,
}

_DEFAULT_ERRORS = {
    Ending.FAILED: "the attempt failed without an error message",
    Ending.TIMED_OUT: "the attempt took longer than its timeout",
    Ending.LOST: "the worker was lost",
}


def _settle_one(
    ended: Ended, schedule: Schedule, gates: SharedGates, held: Sequence[Run] | None, now: int
) -> Settlement:
    run, specification, outcome = ended
    if run.cancel is not None and outcome.ending is not Ending.SUCCEEDED:
        outcome = outcome._replace(ending=Ending.CANCELLED)
    next_step = _next_step(run, specification, outcome)
    if run.state is not State.RUNNING:
        moved_run(run, next_step.event)  # raises before any shared state is changed
    if next_step.ready_at is not None and (stopped := _why_stopped(schedule, run)) is not None:
        next_step = NextStep(_CLOSING[outcome.ending], stopped)
    schedule = _with_counters(schedule, run, outcome, continues=next_step.ready_at is not None)
    counts = _counts_as_error(schedule, run)
    if next_step.ready_at is not None and counts and has_too_many_errors(schedule):
        next_step = NextStep(_CLOSING[outcome.ending], Reason.CONSECUTIVE_ERRORS)
    breaker = specification.breaker
    if breaker is not None and run.gate is not None:
        gates.put(gate_after_attempt(gates[run.gate], breaker, run, outcome), outcome.at, run.id)
    if next_step.ready_at is not None:
        return _requeue(run, schedule, outcome, next_step.ready_at, gates, now)
    return _finish_run(_closed(run, outcome, next_step), schedule, specification, held, now)


def _why_stopped(schedule: Schedule, run: Run) -> Reason | None:
    """Why no further attempt follows, whatever the policies of the run say. Nothing is retried
    after the schedule was deleted or while it is paused; once it is done or dead, only manual runs
    are."""
    if schedule.deleted_at is not None:
        return Reason.DELETED
    may_retry = schedule.status is Status.ACTIVE
    if run.kind is Kind.MANUAL:
        may_retry = schedule.status not in (Status.PAUSED, Status.INVALID)
    return None if may_retry else Reason.INACTIVE


def _next_step(run: Run, specification: Specification, outcome: Outcome) -> NextStep:
    """What follows according to the run's own policies."""
    ending = outcome.ending
    if ending is Ending.SUCCEEDED:
        return NextStep(RunEvent.SUCCEED)
    event = _CLOSING[ending]
    if ending is Ending.SKIPPED:
        return NextStep(event, Reason.BY_TASK)
    if ending is Ending.CANCELLED:
        return NextStep(event, run.cancel or Reason.REQUESTED)
    if ending is Ending.LOST:
        losses = run.losses + (not outcome.handed_back)
        if specification.execution.continues_after(losses):
            return NextStep(RunEvent.TRY_AGAIN, None, outcome.at)
        return NextStep(event, Reason.WORKER_LOST)
    retry, failures = specification.retry, run.failures + 1
    if not outcome.retryable:
        return NextStep(event, Reason.NOT_RETRYABLE)
    if not retry.allows(failures):
        return NextStep(event, Reason.EXHAUSTED if retry.retries_max else None)
    delay = retry.delay_after(failures) if outcome.retry_after is None else outcome.retry_after
    return NextStep(RunEvent.TRY_AGAIN, None, outcome.at + delay)


def _counts_as_error(schedule: Schedule, run: Run) -> bool:
    """Whether a failure of this run counts for `max_consecutive_errors`."""
    if run.kind is not Kind.MANUAL:
        return run.kind is Kind.SLOT
    specification = schedule.specification
    return not isinstance(specification, Unreadable) and specification.is_agent


def _with_counters(schedule: Schedule, run: Run, outcome: Outcome, *, continues: bool) -> Schedule:
    """The schedule with updated counters. A loss counts only when the run ends as lost; a run that
    its task skipped is neither a success nor an error."""
    by_slot, ending = run.kind is Kind.SLOT, outcome.ending
    if ending is Ending.SUCCEEDED:
        return schedule._replace(
            run_count=schedule.run_count + 1,
            current_repeat=schedule.current_repeat + by_slot,
            current_retry=0 if by_slot else schedule.current_retry,
            consecutive_errors=0,
            last_result="ok",
            last_success_at=outcome.at,
            last_success_run_id=run.id,
        )
    is_neutral = ending is Ending.CANCELLED or ending is Ending.SKIPPED
    if is_neutral or (ending is Ending.LOST and (continues or outcome.handed_back)):
        return schedule
    return schedule._replace(
        error_count=schedule.error_count + 1,
        current_retry=run.failures + 1 if by_slot else schedule.current_retry,
        consecutive_errors=schedule.consecutive_errors + _counts_as_error(schedule, run),
        last_error=outcome.error or _DEFAULT_ERRORS[ending],
        last_result="error",
        last_failure_at=outcome.at,
    )


def _requeue(
    run: Run, schedule: Schedule, outcome: Outcome, ready_at: int, gates: SharedGates, now: int
) -> Settlement:
    """The run queued for another attempt. If its breaker is not closed it is held, and the planner
    decides when it may start."""
    attempt = Attempt(run.id, run.attempt, run.worker, run.started_at, outcome)
    gate = None if run.gate is None else gates[run.gate]
    is_held = gate is not None and gate.state is not GateState.CLOSED
    lost = outcome.ending is Ending.LOST
    run = run._replace(
        state=moved_run(run, RunEvent.HOLD if is_held else RunEvent.TRY_AGAIN),
        ready_at=ready_at,
        failures=run.failures + (not lost),
        losses=run.losses + (lost and not outcome.handed_back),
        worker=None,
        lease_until=None,
        error=outcome.error,
        code=outcome.code,
    )
    if gate is not None and is_held:
        schedule = wake_by(schedule, blocked_until(gate, run, now) or now)
    return Settlement(run, schedule, attempt)


def _closed(run: Run, outcome: Outcome, next_step: NextStep) -> Run:
    state = moved_run(run, next_step.event)
    if state is State.SUCCEEDED:  # the common case, with fewer fields to change
        return run._replace(
            state=state, finished_at=outcome.at, error=None, result=outcome.result, code=None
        )
    failed = state is State.FAILED or state is State.TIMED_OUT
    return run._replace(
        state=state,
        reason=next_step.reason,
        failures=run.failures + failed,
        losses=run.losses + (state is State.LOST and not outcome.handed_back),
        finished_at=outcome.at,
        error=outcome.error,
        result=outcome.result,
        code=outcome.code,
    )


def _finish_run(
    run: Run, schedule: Schedule, specification: Specification, held: Sequence[Run] | None, now: int
) -> Settlement:
    """The settlement of a closed run: its schedule, and which held run may be released next."""
    closes: Reason | None = None
    not_run: Sequence[SlotsNotRun] = ()
    if schedule.status is Status.ACTIVE and schedule.deleted_at is None:
        if run.kind is Kind.SLOT:
            schedule = _after_slot_run(schedule, run, specification)
        elif _counts_as_error(schedule, run) and has_too_many_errors(schedule):
            schedule = auto_paused(schedule, Reason.CONSECUTIVE_ERRORS)
        if schedule.status is not Status.ACTIVE:
            closes = Reason.PAUSED if schedule.status is Status.PAUSED else Reason.INACTIVE
            schedule, not_run = _skip_due_slots(schedule, now)
        elif _must_be_planned(schedule):
            schedule = wake_by(schedule, now)
    wakes: int | None = None
    if held:
        head = next_held(without_waiting(held, schedule.id) if closes else held)
        if head is not None and head.schedule_id != schedule.id:
            wakes = head.schedule_id
        elif head is not None:
            schedule = wake_by(schedule, now)
    return Settlement(run, schedule, None, closes, wakes, not_run)


def _skip_due_slots(schedule: Schedule, now: int) -> tuple[Schedule, Sequence[SlotsNotRun]]:
    """After the schedule has stopped automatically: due slots that are not planned yet are recorded
    as not run, with the same reason. A one-shot keeps its slot, which fires after a resume."""
    if schedule.specification.once:
        return schedule, ()
    due, _ = due_slots(slots_of(schedule), schedule.cursor, now)
    if due is None:
        return schedule, ()
    assert isinstance(schedule.status_reason, Reason)
    return schedule._replace(cursor=now), due.row(due.first, due.newest, schedule.status_reason)


def _must_be_planned(schedule: Schedule) -> bool:
    """Whether the planner must check the schedule now: it may be done, or have a backfill to
    continue. Only the planner knows all open runs."""
    has_slots_only = schedule.next_slot is not None and schedule.backfill is None
    return not has_slots_only or repeats_used_up(schedule)


def _after_slot_run(schedule: Schedule, run: Run, specification: Specification) -> Schedule:
    """The schedule after a run of one of its slots was closed."""
    if schedule.specification.delete_after_run and schedule.next_slot is None:
        return schedule  # the planner deletes it, whatever the result
    failed = run.state is State.FAILED or run.state is State.TIMED_OUT
    exhausted = failed and run.reason is not Reason.CONSECUTIVE_ERRORS
    if exhausted and specification.retry.on_exhausted is OnExhausted.DEAD:
        return end_schedule(schedule, ScheduleEvent.DIE, Reason.EXHAUSTED)
    if exhausted and specification.retry.on_exhausted is OnExhausted.PAUSE:
        return auto_paused(schedule, Reason.EXHAUSTED)
    if has_too_many_errors(schedule):
        return auto_paused(schedule, Reason.CONSECUTIVE_ERRORS)
    if schedule.current_retry:
        schedule = schedule._replace(current_retry=0)
    if schedule.specification.completion and run.finished_at is not None:
        return with_anchor(schedule, run.finished_at)
    return schedule
