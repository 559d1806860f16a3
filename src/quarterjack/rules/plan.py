"""Decides which due slots become runs, and records why the others do not.

`plan` handles the schedules of a batch one after the other, because they share gates, budgets and
the open runs of a plugin: what one schedule uses is not available to the next. For each schedule
the policies are applied in the same order, and their results are collected in a `Draft`.
"""

from __future__ import annotations

from collections.abc import Sequence

from quarterjack.rules.draft import BatchState, Draft
from quarterjack.rules.model import Facts, Kind, Plan, Plans, Run, Schedule
from quarterjack.rules.policies.anchors import slots_of, with_anchor
from quarterjack.rules.policies.backfill import add_backfill_runs
from quarterjack.rules.policies.budgets import (
    in_planning_order,
    limit_after_outage,
    postponed_until,
    with_current_outage,
)
from quarterjack.rules.policies.catch_up import Due, choose, due_slots
from quarterjack.rules.policies.gate import blocking_reason, may_probe, outstanding_polls
from quarterjack.rules.policies.overlap import (
    IfRunning,
    admit,
    held_in_order,
    next_held,
    without_waiting,
)
from quarterjack.rules.policies.pause import (
    auto_paused,
    end_schedule,
    has_too_many_errors,
    resumed_if_due,
    wake_by,
)
from quarterjack.rules.policies.repeats import repeats_left, repeats_used_up
from quarterjack.rules.policies.windows import ready_at
from quarterjack.rules.reasons import Reason
from quarterjack.rules.states import RunEvent, ScheduleEvent, State, Status, moved_schedule


def plan(facts: Facts, now: int) -> Plans:
    """The plan of each schedule. One that cannot be planned becomes invalid, without an effect on
    the others."""
    facts = with_current_outage(facts, now)
    batch = BatchState(facts)
    return batch.results([plan_one(each, batch, now) for each in in_planning_order(facts)])


def plan_one(schedule: Schedule, batch: BatchState, now: int, *, paced: bool = True) -> Plan:
    """The plan of one schedule. Operations are not `paced`: they ignore `max_dispatch_per_tick`."""
    try:
        return _plan_one(resumed_if_due(schedule, now), batch, now, paced=paced)
    except (OSError, MemoryError):
        raise  # a passing condition of the machine, not a fault of the schedule
    except Exception as error:
        # The error is kept as the `status_reason` of the schedule.
        return invalidated(schedule, batch, f"{type(error).__name__}: {error}")


def _plan_one(schedule: Schedule, batch: BatchState, now: int, *, paced: bool) -> Plan:
    if schedule.status is not Status.ACTIVE:
        is_paused = schedule.status is Status.PAUSED
        return Plan(schedule._replace(wake_at=schedule.paused_until if is_paused else None))
    due, following = due_slots(slots_of(schedule), schedule.cursor, now)
    draft = Draft(schedule, batch, now)
    if due is not None and paced and (until := postponed_until(draft, due)) is not None:
        _release(draft)
        draft.schedule = schedule._replace(wake_at=until)
        return draft.plan()
    if due is not None:
        _decide_slots(draft, due)
    if draft.schedule.status is Status.ACTIVE:
        _advance(draft, following)
    if draft.added:
        draft.budgets = [each.dispatched_one(now) for each in draft.budgets]
    return draft.plan()


def _decide_slots(draft: Draft, due: Due) -> None:
    """Adds a run for each due slot, or records why it does not run."""
    specification = draft.specification
    if has_too_many_errors(draft.schedule):
        _pause_for_errors(draft, due)
        return
    window = specification.dropping_window
    outage = draft.outage
    missed_until = None if outage is None else outage.until
    chosen = choose(due, specification.catch_up, window, missed_until, once=specification.once)
    draft.not_run = chosen.not_run
    slots: Sequence[int] = chosen.slots
    if not slots:
        return
    is_single = len(slots) == 1 and not draft.open_runs
    is_missed = outage is not None and outage.covers(slots[0])
    if is_single and not specification.has_guards and not is_missed:
        _add_runs(draft, slots, 0, caught_up=chosen.caught_up, held=False)
        return  # the common case: no other policy can apply
    ahead = _runs_ahead(draft)
    slots = draft.keep_newest(slots, repeats_left(draft.schedule, ahead), Reason.REPEATS)
    idle, once = not draft.open_runs, specification.once
    overlap = admit(specification.overlap, len(slots), ahead, idle=idle, once=once)
    slots = draft.keep_oldest(slots, overlap.admitted, overlap.reason)
    slots, held_by_polls = _limit_polls(draft, slots, ahead)
    slots = _limit_by_breaker(draft, slots)
    slots, not_before = limit_after_outage(draft, slots)
    if not slots:
        return
    _replace_open_runs(draft, overlap.replaced)
    behind_others = bool(draft.open_runs) and not specification.allows_overlap
    held = held_by_polls or behind_others
    _add_runs(draft, slots, not_before, caught_up=chosen.caught_up, held=held)


def _pause_for_errors(draft: Draft, due: Due) -> None:
    """Pauses the schedule instead of planning its slots. The slot of a one-shot is kept, and fires
    when the schedule is resumed."""
    schedule = draft.schedule
    if not draft.specification.once:
        draft.not_run = due.row(due.first, due.newest, Reason.CONSECUTIVE_ERRORS)
        schedule = schedule._replace(cursor=max(schedule.cursor, draft.now))
    draft.schedule = auto_paused(schedule, Reason.CONSECUTIVE_ERRORS)
    draft.close_waiting(Reason.PAUSED)


def _runs_ahead(draft: Draft) -> Sequence[Run]:
    """The open runs that count for overlap: not those of a backfill, because slots take precedence,
    and not retries that the new slot supersedes."""
    preempts, own = draft.specification.retry.preempted_by_slot, draft.schedule.id
    return [
        run
        for run in draft.open_runs
        if run.kind is not Kind.BACKFILL
        and not (preempts and run.waits_to_retry and run.schedule_id == own)
    ]


def _limit_polls(
    draft: Draft, slots: Sequence[int], ahead: Sequence[Run]
) -> tuple[Sequence[int], bool]:
    """The slots that `max_outstanding_polls` allows, and whether they are held because of it."""
    specification = draft.specification
    most = specification.max_outstanding_polls
    if not most or not slots or specification.overlap.if_running is IfRunning.CANCEL:
        return slots, False
    room = max(most - outstanding_polls(ahead), 0)
    if specification.once:
        return slots, not room
    if room and not specification.allows_overlap:
        return slots, False  # only the first is queued, the others are held behind it
    return draft.keep_oldest(slots, room, Reason.OUTSTANDING_POLLS), False


def _limit_by_breaker(draft: Draft, slots: Sequence[int]) -> Sequence[int]:
    """The slots that the circuit breaker allows. A one-shot is never skipped; it is held later."""
    key = draft.specification.gate_key(draft.schedule.id)
    if key is None or not slots or draft.specification.once:
        return slots
    gate = draft.gate(key)
    reason = blocking_reason(gate, draft.now)
    if reason is not None:
        return draft.keep_oldest(slots, 0, reason)
    if may_probe(gate, draft.now):
        return draft.keep_newest(slots, 1, Reason.BREAKER_PROBING)
    return slots


def _replace_open_runs(draft: Draft, replaced: Sequence[Run]) -> None:
    """Supersedes waiting retries and cancels open runs, now that a new run takes their place."""
    if draft.specification.retry.preempted_by_slot:
        for run in draft.own_open_runs:
            if run.waits_to_retry:
                draft.close(run, RunEvent.SUPERSEDE, Reason.SUPERSEDED)
    for run in replaced:
        draft.cancel(run, Reason.REPLACED)
        draft.wake(run.schedule_id)


def _add_runs(
    draft: Draft, slots: Sequence[int], not_before: int, *, caught_up: bool, held: bool
) -> None:
    """One run for each slot. All but the first are held, unless overlap is allowed."""
    schedule, specification = draft.schedule, draft.specification
    gate_key = specification.gate_key(schedule.id)
    runs = []
    for number, slot in enumerate(slots, schedule.planned_count):
        ready = max(ready_at(specification, schedule.key, slot), not_before)
        state = State.HELD if held else State.QUEUED
        run = draft.new_run(number, Kind.SLOT, slot, ready, state, 0, gate_key, caught_up=caught_up)
        if not held:
            if gate_key is not None and draft.blocked_until(run) is not None:
                run = run._replace(state=State.HELD)
            else:
                draft.pass_gate(run)
            held = not specification.allows_overlap
        runs.append(run)
    draft.add(runs)


def _advance(draft: Draft, following: int | None) -> None:
    """Moves the cursor, next slot and next wake; releases held runs; finishes a schedule without
    further slots."""
    schedule, last = draft.schedule, draft.added[-1] if draft.added else None
    schedule = schedule._replace(
        cursor=max(schedule.cursor, draft.now),
        next_slot=following,
        wake_at=following,
        planned_count=schedule.planned_count + len(draft.added),
        last_fired_at=schedule.last_fired_at if last is None else draft.now,
        last_slot=schedule.last_slot if last is None else last.slot,
        last_run_id=schedule.last_run_id if last is None else last.id,
    )
    if following is None and draft.specification.completion and _has_no_open_slot_run(draft):
        schedule = with_anchor(schedule, draft.now)
    draft.schedule = schedule
    if (check_at := _release(draft)) is not None:
        draft.schedule = wake_by(draft.schedule, check_at)
    if schedule.backfill is not None and (check_at := add_backfill_runs(draft)) is not None:
        draft.schedule = wake_by(draft.schedule, check_at)
    if (reason := _why_done(draft)) is not None:
        _finish(draft, reason)


def _why_done(draft: Draft) -> Reason | None:
    """Why the schedule is done, or None. Open manual runs and backfills keep it active."""
    schedule = draft.schedule
    used_up = repeats_used_up(schedule)
    if not (used_up or schedule.next_slot is None) or schedule.backfill is not None:
        return None
    own = draft.own_open_runs
    if used_up and not any(run.kind is not Kind.SLOT for run in own):
        return Reason.REPEATS
    return Reason.NO_MORE_SLOTS if schedule.next_slot is None and not own else None


def _has_no_open_slot_run(draft: Draft) -> bool:
    """Whether `anchor: completion` counts from now: after a skip, or if the run that it waited for
    was closed in any way."""
    return not any(run.kind is Kind.SLOT for run in draft.own_open_runs)


def _release(draft: Draft) -> int | None:
    """Queues the held runs that may start now. If a gate blocks them, returns when to check again.
    If the next held run belongs to another schedule, that schedule is woken."""
    if not draft.open_runs:
        return None
    if draft.specification.allows_overlap:
        ready: Sequence[Run] = held_in_order(draft.own_open_runs)
    else:
        head = next_held(draft.open_runs)
        if head is not None and draft.blocked_until(head) is None:
            draft.wake(head.schedule_id)
        ready = [head] if head is not None and head.schedule_id == draft.schedule.id else []
    for run in ready:
        if (check_at := draft.blocked_until(run)) is not None:
            return check_at
        draft.pass_gate(run)
        draft.release(run)
    return None


def _finish(draft: Draft, reason: Reason) -> None:
    """Moves the schedule to `done`; deletes it if `delete_after_run` is set and it has fired."""
    draft.schedule = end_schedule(draft.schedule, ScheduleEvent.FINISH, reason)
    has_fired = draft.schedule.last_slot is not None
    draft.deleted = has_fired and draft.specification.delete_after_run
    if draft.own_open_runs:
        draft.close_waiting(Reason.INACTIVE)


def invalidated(schedule: Schedule, batch: BatchState, why: str) -> Plan:
    """The schedule moved to `invalid`: its waiting runs are closed, and other schedules that waited
    for them are woken."""
    wakes = []
    for scope, runs in list(batch.open_runs.items()):
        left = batch.open_runs[scope] = without_waiting(runs, schedule.id)
        if len(left) < len(runs) and (head := next_held(left)) is not None:
            wakes.append(head.schedule_id)
    invalid = schedule._replace(
        status=moved_schedule(schedule, ScheduleEvent.INVALIDATE),
        status_reason=why,
        next_slot=None,
        wake_at=None,
    )
    return Plan(invalid, closes=Reason.INACTIVE, wakes=wakes)
