"""Plan: which of a schedule's due slots become runs, and why the others do not.

`plan` folds over a batch, because gates, budgets and the open runs of a plugin are shared: what
one schedule takes, the next one finds taken. Each schedule walks down the same steps; each step
asks one policy, and notes the answer in a draft.
"""

from __future__ import annotations

from collections.abc import Sequence

from quarterjack.rules.draft import BatchState, Draft
from quarterjack.rules.model import Facts, Kind, Plan, Plans, Run, Schedule
from quarterjack.rules.policies.anchors import anchored_at, slots_of
from quarterjack.rules.policies.backfill import work_off
from quarterjack.rules.policies.budgets import (
    in_turn,
    past_outage,
    postponed_until,
    with_current_outage,
)
from quarterjack.rules.policies.catch_up import Due, choose, due_slots
from quarterjack.rules.policies.gate import (
    RECHECK,
    held_until,
    may_probe,
    outstanding_polls,
    passed_by,
    refusal,
)
from quarterjack.rules.policies.overlap import IfRunning, in_line, next_in_line, still_open, turn
from quarterjack.rules.policies.pause import as_of, has_too_many_errors, over, pauses_itself, woken
from quarterjack.rules.policies.repeats import repeats_left, repeats_used_up
from quarterjack.rules.policies.windows import OnConstraint, ready_from
from quarterjack.rules.reasons import Reason
from quarterjack.rules.states import RunEvent, ScheduleEvent, State, Status, moved_schedule
from quarterjack.times import jitter_of


def plan(facts: Facts, now: int) -> Plans:
    """The plan of each schedule, in order. One that cannot be planned harms only itself."""
    facts = with_current_outage(facts, now)
    batch = BatchState(facts)
    return batch.results([plan_one(each, batch, now) for each in in_turn(facts)])


def plan_one(schedule: Schedule, batch: BatchState, now: int, *, paced: bool = True) -> Plan:
    """The plan of one schedule. What a person asks for does not wait for the pace."""
    try:
        return _plan_one(as_of(schedule, now), batch, now, paced=paced)
    except (OSError, MemoryError):
        raise  # no fault of the schedule, and it will pass
    except Exception as error:
        # Nothing is swallowed: the schedule's own row tells what it was.
        return invalidated(schedule, batch, f"{type(error).__name__}: {error}")


def _plan_one(schedule: Schedule, batch: BatchState, now: int, *, paced: bool) -> Plan:
    if schedule.status is not Status.ACTIVE:
        resting = schedule.status is Status.PAUSED
        return Plan(schedule._replace(wake_at=schedule.paused_until if resting else None))
    due, following = due_slots(slots_of(schedule), schedule.cursor, now)
    draft = Draft(schedule, batch, now)
    if due is not None and paced and (until := postponed_until(draft, due)) is not None:
        _release(draft)
        draft.schedule = schedule._replace(wake_at=until)
        return draft.plan()
    if due is not None:
        _decide_slots(draft, due)
    if draft.schedule.status is Status.ACTIVE:
        _look_ahead(draft, following)
    if draft.added:
        draft.rations = [each.dispatched_one(now) for each in draft.rations]
    return draft.plan()


def _decide_slots(draft: Draft, due: Due) -> None:
    """Each due slot becomes a run, or is passed over."""
    specification = draft.specification
    if has_too_many_errors(draft.schedule):
        _pause_instead(draft, due)
        return
    drops = specification.on_constraint is OnConstraint.DROP
    window = specification.window if drops else None
    outage = draft.outage
    missed_until = None if outage is None else outage.until
    chosen = choose(due, specification.catch_up, window, missed_until, once=specification.once)
    draft.not_run = chosen.not_run
    slots: Sequence[int] = chosen.slots
    if not slots:
        return
    alone = len(slots) == 1 and not draft.open_runs
    is_missed = outage is not None and outage.covers(slots[0])
    if alone and not specification.has_guards and not is_missed:
        _add_runs(draft, slots, 0, caught_up=chosen.caught_up, held=False)
        return  # nearly always nothing stands in the way
    ahead = _runs_ahead(draft)
    slots = draft.newest(slots, repeats_left(draft.schedule, ahead), Reason.REPEATS)
    idle, once = not draft.open_runs, specification.once
    overlap = turn(specification.overlap, len(slots), ahead, idle=idle, once=once)
    slots = draft.oldest(slots, overlap.admitted, overlap.reason)
    slots, held_by_polls = _past_polls(draft, slots, ahead)
    slots = _past_gate(draft, slots)
    slots, ready_at = past_outage(draft, slots)
    if not slots:
        return
    _make_room(draft, overlap.replaced)
    behind_others = bool(draft.open_runs) and not specification.allows_overlap
    held = held_by_polls or behind_others
    _add_runs(draft, slots, ready_at, caught_up=chosen.caught_up, held=held)


def _pause_instead(draft: Draft, due: Due) -> None:
    """It has too many errors. Its slots are passed over, but for a one-shot: that fires when the
    schedule is resumed."""
    schedule = draft.schedule
    if not draft.specification.once:
        draft.not_run = due.row(due.first, due.newest, Reason.CONSECUTIVE_ERRORS)
        schedule = schedule._replace(cursor=max(schedule.cursor, draft.now))
    draft.schedule = pauses_itself(schedule, Reason.CONSECUTIVE_ERRORS)
    draft.close_waiting(Reason.PAUSED)


def _runs_ahead(draft: Draft) -> Sequence[Run]:
    """The open runs that count as earlier ones: not those of a backfill, which give way to slots,
    nor the retries that a new slot supersedes."""
    preempts, own = draft.specification.retry.preempted_by_slot, draft.schedule.id
    return [
        run
        for run in draft.open_runs
        if run.kind is not Kind.BACKFILL
        and not (preempts and run.waits_to_retry and run.schedule_id == own)
    ]


def _past_polls(
    draft: Draft, slots: Sequence[int], ahead: Sequence[Run]
) -> tuple[Sequence[int], bool]:
    """The slots that the poll guard lets pass, and whether they must wait for it."""
    specification = draft.specification
    most = specification.max_outstanding_polls
    if not most or not slots or specification.overlap.if_running is IfRunning.CANCEL:
        return slots, False
    room = max(most - outstanding_polls(ahead), 0)
    if specification.once:
        return slots, not room
    if room and not specification.allows_overlap:
        return slots, False  # one is queued, and the others are held behind it
    return draft.oldest(slots, room, Reason.OUTSTANDING_POLLS), False


def _past_gate(draft: Draft, slots: Sequence[int]) -> Sequence[int]:
    """The slots that the breaker lets pass. A one-shot passes here, and is held at the gate."""
    key = draft.specification.gate_key(draft.schedule.id)
    if key is None or not slots or draft.specification.once:
        return slots
    gate = draft.gate(key)
    reason = refusal(gate, draft.now)
    if reason is not None:
        return draft.oldest(slots, 0, reason)
    return draft.newest(slots, 1, Reason.BREAKER_PROBING) if may_probe(gate, draft.now) else slots


def _make_room(draft: Draft, replaced: Sequence[Run]) -> None:
    """Retries are superseded and open runs cancelled, now that a new run takes their place."""
    if draft.specification.retry.preempted_by_slot:
        for run in draft.own_open_runs:
            if run.waits_to_retry:
                draft.close(run, RunEvent.SUPERSEDE, Reason.SUPERSEDED)
    for run in replaced:
        draft.cancel(run, Reason.REPLACED)
        draft.wake(run.schedule_id)


def _add_runs(
    draft: Draft, slots: Sequence[int], ready_at: int, *, caught_up: bool, held: bool
) -> None:
    """One run for each slot: the first may start, the others wait behind it unless they may
    overlap."""
    schedule, specification = draft.schedule, draft.specification
    gate_key = specification.gate_key(schedule.id)
    runs = []
    for number, slot in enumerate(slots, schedule.planned_count):
        ready = slot
        if specification.window is not None:
            ready = ready_from(slot, specification.window, specification.on_constraint)
        if specification.jitter:
            ready += jitter_of(schedule.key, slot, specification.jitter)
        run = draft.new_run(
            number,
            Kind.SLOT,
            slot,
            max(ready, ready_at),
            State.HELD if held else State.QUEUED,
            0,
            gate_key,
            caught_up=caught_up,
        )
        if not held:
            if gate_key is not None:
                run = _at_its_gate(draft, run)
            held = not specification.allows_overlap
        runs.append(run)
    draft.add(runs)


def _at_its_gate(draft: Draft, run: Run) -> Run:
    """Let through, or held if it would be the probe and cannot start yet."""
    if _held_back(draft, run) is not None:
        return run._replace(state=State.HELD)
    _let_through(draft, run)
    return run


def _held_back(draft: Draft, run: Run) -> int | None:
    """Until when its gate holds this run back."""
    most = draft.specification.max_outstanding_polls
    if most and run.kind is Kind.SLOT and outstanding_polls(draft.open_runs) >= most:
        return draft.now + RECHECK
    return None if run.gate is None else held_until(draft.gate(run.gate), run, draft.now)


def _let_through(draft: Draft, run: Run) -> None:
    if run.gate is not None:
        draft.put_gate(passed_by(draft.gate(run.gate), run, draft.now), run)


def _look_ahead(draft: Draft, following: int | None) -> None:
    """Cursor, next slot and next wake; what is released; whether the schedule is done."""
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
    if following is None and draft.specification.completion and _counts_anew(draft):
        schedule = anchored_at(schedule, draft.now)
    draft.schedule = schedule
    if (look_again_at := _release(draft)) is not None:
        draft.schedule = woken(draft.schedule, look_again_at)
    if schedule.backfill is not None and (look_again_at := work_off(draft)) is not None:
        draft.schedule = woken(draft.schedule, look_again_at)
    if (reason := _why_done(draft)) is not None:
        _finish(draft, reason)


def _why_done(draft: Draft) -> Reason | None:
    """Nothing is left to do. What people asked for beside the slots is done first."""
    schedule = draft.schedule
    used_up = repeats_used_up(schedule)
    if not (used_up or schedule.next_slot is None) or schedule.backfill is not None:
        return None
    own = draft.own_open_runs
    if used_up and not any(run.kind is not Kind.SLOT for run in own):
        return Reason.REPEATS
    return Reason.NO_MORE_SLOTS if schedule.next_slot is None and not own else None


def _counts_anew(draft: Draft) -> bool:
    """After a skip, or if the run that it waited for is gone, whatever became of it."""
    return not any(run.kind is Kind.SLOT for run in draft.own_open_runs)


def _release(draft: Draft) -> int | None:
    """Held runs whose turn has come are queued, if their gate lets them through; else the instant
    at which to look again. If the next in line is another schedule's, that one is woken."""
    if not draft.open_runs:
        return None
    if draft.specification.allows_overlap:
        ready: Sequence[Run] = in_line(draft.own_open_runs)
    else:
        head = next_in_line(draft.open_runs)
        if head is not None and _held_back(draft, head) is None:
            draft.wake(head.schedule_id)
        ready = [head] if head is not None and head.schedule_id == draft.schedule.id else []
    for run in ready:
        look_again_at = _held_back(draft, run)
        if look_again_at is not None:
            return look_again_at
        _let_through(draft, run)
        draft.release(run)
    return None


def _finish(draft: Draft, reason: Reason) -> None:
    """Done; and gone, if that was wanted and it has fired."""
    draft.schedule = over(draft.schedule, ScheduleEvent.FINISH, reason)
    fired = draft.schedule.last_slot is not None
    draft.deleted = fired and draft.specification.delete_after_run
    if draft.own_open_runs:
        draft.close_waiting(Reason.INACTIVE)


def invalidated(schedule: Schedule, batch: BatchState, why: str) -> Plan:
    """Out of the way: what waits is closed, and whoever waited behind it is woken."""
    wakes = []
    for scope, runs in list(batch.open_runs.items()):
        left = batch.open_runs[scope] = still_open(runs, schedule.id)
        head = next_in_line(left) if len(left) < len(runs) else None
        if head is not None:
            wakes.append(head.schedule_id)
    invalid = schedule._replace(
        status=moved_schedule(schedule, ScheduleEvent.INVALIDATE),
        status_reason=why,
        next_slot=None,
        wake_at=None,
    )
    return Plan(invalid, closes=Reason.INACTIVE, wakes=wakes)
