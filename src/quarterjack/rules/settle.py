"""Settle: what becomes of a run and its schedule after one attempt, however that attempt ended.

`settle` folds over a batch: several attempts of one schedule may have ended, and gates are shared.
A run keeps the specification it was planned with, also for what follows when its retries are used
up; repeats, errors and anchor follow the schedule's current one. Manual runs and backfills count
for none of these; but under the preset `agent` a failed manual run is one of the errors in a row.
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
from quarterjack.rules.policies.anchors import anchored_at, slots_of
from quarterjack.rules.policies.catch_up import due_slots
from quarterjack.rules.policies.gate import SharedGates, held_until, judged
from quarterjack.rules.policies.overlap import next_in_line, still_open
from quarterjack.rules.policies.pause import has_too_many_errors, over, pauses_itself, woken
from quarterjack.rules.policies.repeats import repeats_used_up
from quarterjack.rules.policies.retry import OnExhausted
from quarterjack.rules.reasons import Reason
from quarterjack.rules.states import (
    RunEvent,
    ScheduleEvent,
    State,
    Status,
    moved_run,
)


def settle(
    ended: Sequence[Ended],
    schedules: Mapping[int, Schedule],
    gates: Mapping[str, Gate],
    held: Mapping[str, Sequence[Run]],
    now: int,
) -> Settlements:
    """The settlement of each attempt, in order; each shows its schedule as it is after that one.
    `held` are, by scope, the first held run of each schedule that has one, read after the
    `lock_keys` of the specifications were locked. Runs are as they were claimed, each once. A run
    whose schedule or specification is gone or cannot be used is closed on its own."""
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


def _abandoned(ended: Ended, error: Exception) -> Run:
    """Closed as its attempt ended, with the reason why nothing follows: nobody would ever close
    it else."""
    outcome = ended.outcome
    event = _CLOSING.get(outcome.ending, RunEvent.SUCCEED)
    said = f"{outcome.error}; " if outcome.error else ""
    told = outcome._replace(error=f"{said}not settled: {type(error).__name__}: {error}")
    return _closed(ended.run, told, Follows(event, Reason.INACTIVE))._replace(error=told.error)


class Follows(NamedTuple):
    """What follows for the run: it is closed by an event, or goes on when it is ready again."""

    event: RunEvent
    reason: Reason | None = None
    ready_at: int | None = None


_SUCCEEDS = Follows(RunEvent.SUCCEED)
_CLOSING = {
    Ending.FAILED: RunEvent.FAIL,
    Ending.TIMED_OUT: RunEvent.TIME_OUT,
    Ending.CANCELLED: RunEvent.CANCEL,
    Ending.LOST: RunEvent.LOSE,
}


_WITHOUT_A_WORD = {
    Ending.FAILED: "the attempt failed without a word",
    Ending.TIMED_OUT: "the attempt took longer than its timeout",
    Ending.LOST: "the worker was lost",
}


def _settle_one(
    ended: Ended, schedule: Schedule, gates: SharedGates, held: Sequence[Run] | None, now: int
) -> Settlement:
    run, specification, outcome = ended
    if run.cancel is not None and outcome.ending is not Ending.SUCCEEDED:
        outcome = outcome._replace(ending=Ending.CANCELLED)
    follows = _by_policy(run, specification, outcome)
    if run.state is not State.RUNNING:
        moved_run(run, follows.event)  # refused here, before anything is noted
    if follows.ready_at is not None and (stopped := _why_stopped(schedule, run)) is not None:
        follows = Follows(_CLOSING[outcome.ending], stopped)
    schedule = _counted(schedule, run, outcome, goes_on=follows.ready_at is not None)
    counts = _counts_as_error(schedule, run)
    if follows.ready_at is not None and counts and has_too_many_errors(schedule):
        follows = Follows(_CLOSING[outcome.ending], Reason.CONSECUTIVE_ERRORS)
    breaker = specification.breaker
    if breaker is not None and run.gate is not None:
        gates.put(judged(gates[run.gate], breaker, run, outcome), outcome.at, run.id)
    if follows.ready_at is not None:
        return _go_on(run, schedule, outcome, follows.ready_at, gates, now)
    return _end(_closed(run, outcome, follows), schedule, specification, held, now)


def _why_stopped(schedule: Schedule, run: Run) -> Reason | None:
    """Why there is no further attempt, whatever the run's policies say. The attempt that runs
    while its schedule is deleted is the last one. While a schedule is paused nothing is tried
    again; once it has ended, only what people asked for."""
    if schedule.deleted_at is not None:
        return Reason.DELETED
    goes_on = schedule.status is Status.ACTIVE
    if run.kind is Kind.MANUAL:
        goes_on = schedule.status not in (Status.PAUSED, Status.INVALID)
    return None if goes_on else Reason.INACTIVE


def _by_policy(run: Run, specification: Specification, outcome: Outcome) -> Follows:
    """What the run's own policies say."""
    ending = outcome.ending
    if ending is Ending.SUCCEEDED:
        return _SUCCEEDS
    event = _CLOSING[ending]
    if ending is Ending.CANCELLED:
        return Follows(event, run.cancel or Reason.REQUESTED)
    if ending is Ending.LOST:
        losses = run.losses + (not outcome.handed_back)
        if specification.execution.goes_on_after(losses):
            return Follows(RunEvent.TRY_AGAIN, None, outcome.at)
        return Follows(event, Reason.WORKER_LOST)
    retry, failures = specification.retry, run.failures + 1
    if not outcome.retryable:
        return Follows(event, Reason.NOT_RETRYABLE)
    if not retry.allows(failures):
        return Follows(event, Reason.EXHAUSTED if retry.retries_max else None)
    return Follows(RunEvent.TRY_AGAIN, None, outcome.at + retry.delay_after(failures))


def _counts_as_error(schedule: Schedule, run: Run) -> bool:
    """Does a failure count as one of the errors in a row?"""
    if run.kind is not Kind.MANUAL:
        return run.kind is Kind.SLOT
    specification = schedule.specification
    return not isinstance(specification, Unreadable) and specification.is_agent


def _counted(schedule: Schedule, run: Run, outcome: Outcome, *, goes_on: bool) -> Schedule:
    """The schedule's counters. A loss counts once the run is lost for good."""
    by_slot = run.kind is Kind.SLOT
    ending = outcome.ending
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
    if ending is Ending.CANCELLED or (ending is Ending.LOST and (goes_on or outcome.handed_back)):
        return schedule
    return schedule._replace(
        error_count=schedule.error_count + 1,
        current_retry=run.failures + 1 if by_slot else schedule.current_retry,
        consecutive_errors=schedule.consecutive_errors + _counts_as_error(schedule, run),
        last_error=outcome.error or _WITHOUT_A_WORD[ending],
        last_result="error",
        last_failure_at=outcome.at,
    )


def _go_on(
    run: Run, schedule: Schedule, outcome: Outcome, ready_at: int, gates: SharedGates, now: int
) -> Settlement:
    """Queued for another attempt; held, if its gate is not closed: the planner lets it through."""
    attempt = Attempt(run.id, run.attempt, run.worker, run.started_at, outcome)
    gate = None if run.gate is None else gates[run.gate]
    waits = gate is not None and gate.state is not GateState.CLOSED
    lost = outcome.ending is Ending.LOST
    run = run._replace(
        state=moved_run(run, RunEvent.HOLD if waits else RunEvent.TRY_AGAIN),
        ready_at=ready_at,
        failures=run.failures + (not lost),
        losses=run.losses + (lost and not outcome.handed_back),
        worker=None,
        lease_until=None,
        error=outcome.error,
    )
    if gate is not None and waits:
        schedule = woken(schedule, held_until(gate, run, now) or now)
    return Settlement(run, schedule, attempt)


def _closed(run: Run, outcome: Outcome, follows: Follows) -> Run:
    state = moved_run(run, follows.event)
    if state is State.SUCCEEDED:  # nearly always, and then there is less to write
        return run._replace(state=state, finished_at=outcome.at, error=None, result=outcome.result)
    failed = state is State.FAILED or state is State.TIMED_OUT
    return run._replace(
        state=state,
        reason=follows.reason,
        failures=run.failures + failed,
        losses=run.losses + (state is State.LOST and not outcome.handed_back),
        finished_at=outcome.at,
        error=outcome.error,
        result=outcome.result,
    )


def _end(
    run: Run,
    schedule: Schedule,
    specification: Specification,
    held: Sequence[Run] | None,
    now: int,
) -> Settlement:
    """The run is closed: what that means for its schedule, and whose turn it is."""
    closes: Reason | None = None
    not_run: Sequence[SlotsNotRun] = ()
    if schedule.status is Status.ACTIVE and schedule.deleted_at is None:
        if run.kind is Kind.SLOT:
            schedule = _after_its_run(schedule, run, specification)
        elif _counts_as_error(schedule, run) and has_too_many_errors(schedule):
            schedule = pauses_itself(schedule, Reason.CONSECUTIVE_ERRORS)
        if schedule.status is not Status.ACTIVE:
            closes = Reason.PAUSED if schedule.status is Status.PAUSED else Reason.INACTIVE
            schedule, not_run = _decided_up_to(schedule, now)
        elif _may_be_done(schedule):
            schedule = woken(schedule, now)
    wakes: int | None = None
    if held:
        head = next_in_line(still_open(held, schedule.id) if closes else held)
        if head is not None and head.schedule_id != schedule.id:
            wakes = head.schedule_id
        elif head is not None:
            schedule = woken(schedule, now)
    return Settlement(run, schedule, None, closes, wakes, not_run)


def _decided_up_to(schedule: Schedule, now: int) -> tuple[Schedule, Sequence[SlotsNotRun]]:
    """It stops by itself: what came due before, and is not planned yet, is passed over for the same
    reason. A one-shot fires when the schedule is resumed."""
    if schedule.specification.once:
        return schedule, ()
    due, _ = due_slots(slots_of(schedule), schedule.cursor, now)
    if due is None:
        return schedule, ()
    assert isinstance(schedule.status_reason, Reason)
    return schedule._replace(cursor=now), due.row(due.first, due.newest, schedule.status_reason)


def _may_be_done(schedule: Schedule) -> bool:
    """Only the planner knows what is open: it looks, or goes on with a backfill."""
    goes_on = schedule.next_slot is not None and schedule.backfill is None
    return not goes_on or repeats_used_up(schedule)


def _after_its_run(schedule: Schedule, run: Run, specification: Specification) -> Schedule:
    """The schedule after a run that one of its slots made."""
    if schedule.specification.delete_after_run and schedule.next_slot is None:
        return schedule  # it goes, whatever became of the run
    failed = run.state is State.FAILED or run.state is State.TIMED_OUT
    exhausted = failed and run.reason is not Reason.CONSECUTIVE_ERRORS
    if exhausted and specification.retry.on_exhausted is OnExhausted.DEAD:
        return over(schedule, ScheduleEvent.DIE, Reason.EXHAUSTED)
    if exhausted and specification.retry.on_exhausted is OnExhausted.PAUSE:
        return pauses_itself(schedule, Reason.EXHAUSTED)
    if has_too_many_errors(schedule):
        return pauses_itself(schedule, Reason.CONSECUTIVE_ERRORS)
    if schedule.current_retry:
        schedule = schedule._replace(current_retry=0)
    if schedule.specification.completion and run.finished_at is not None:
        return anchored_at(schedule, run.finished_at)
    return schedule
