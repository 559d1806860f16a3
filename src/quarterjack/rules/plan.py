"""Plan: which of a schedule's due slots become runs, and why the others do not.

`plan` folds over a batch, because gates, budgets and the open runs of a plugin are shared: what
one schedule takes, the next one finds taken. Each schedule walks down the same steps; each step
asks one policy, and notes the answer in a draft.
"""

from __future__ import annotations

from collections.abc import Sequence

from quarterjack.rules.anchors import anchored_at, slots_of
from quarterjack.rules.backfill import work_off
from quarterjack.rules.catch_up import Due, choose, due_slots
from quarterjack.rules.draft import Commons, Draft
from quarterjack.rules.gate import looks_again_at, may_probe, outstanding_polls, passed_by, refusal
from quarterjack.rules.model import Facts, Kind, Plan, Plans, Run, Schedule
from quarterjack.rules.overlap import IfRunning, next_in_line, turn
from quarterjack.rules.pause import has_too_many_errors, pauses_itself, resumed
from quarterjack.rules.reasons import Reason
from quarterjack.rules.repeats import repeats_left, repeats_used_up
from quarterjack.rules.states import RunEvent, ScheduleEvent, State, Status, moved_schedule
from quarterjack.rules.windows import OnConstraint, ready_from
from quarterjack.times import jitter_of


def plan(facts: Facts, now: int) -> Plans:
    """The plan of each schedule, in order. One that cannot be planned harms only itself."""
    commons = Commons(facts, now)
    plans = []
    for schedule in facts.schedules:
        try:
            plans.append(plan_one(schedule, commons, now))
        except Exception as error:
            # Nothing is swallowed: the schedule's own row tells what it was.
            plans.append(_invalid(schedule, error))
    return commons.results(plans)


def plan_one(schedule: Schedule, commons: Commons, now: int) -> Plan:
    until = schedule.paused_until
    if schedule.status is Status.PAUSED and until is not None and until <= now:
        schedule = resumed(schedule, until)
    if schedule.status is not Status.ACTIVE:
        return Plan(schedule._replace(wake_at=schedule.paused_until))
    due, following = due_slots(slots_of(schedule), schedule.cursor, now)
    if due is not None:
        postponed_until = commons.pace.postpones_until(commons.limits)
        if postponed_until is not None:
            commons.pace = commons.pace.postponed_one()
            return Plan(schedule._replace(wake_at=postponed_until))
    draft = Draft(schedule, commons, now)
    if due is not None:
        _decide_slots(draft, due)
    if draft.schedule.status is Status.ACTIVE:
        _look_ahead(draft, following, due)
    return draft.plan()


def _decide_slots(draft: Draft, due: Due) -> None:
    """Each due slot becomes a run, or is passed over."""
    specification = draft.specification
    drops = specification.on_constraint is OnConstraint.DROP
    window = specification.window if drops else None
    chosen = choose(due, specification.catch_up, window, once=specification.once)
    draft.passed = chosen.passed
    slots: Sequence[int] = chosen.slots
    if has_too_many_errors(draft.schedule):
        draft.pass_over(slots, Reason.CONSECUTIVE_ERRORS)
        draft.schedule = pauses_itself(draft.schedule, Reason.CONSECUTIVE_ERRORS)
        draft.close_waiting(Reason.PAUSED)
        return
    ahead = _runs_ahead(draft)
    if not ahead and not specification.has_guards and draft.commons.outage is None:
        _add_runs(draft, slots, 0, caught_up=chosen.caught_up, held=False)
        return  # nearly always nothing stands in the way
    slots = draft.newest(slots, repeats_left(draft.schedule, ahead), Reason.REPEATS)
    overlap = turn(specification.overlap, len(slots), ahead, once=specification.once)
    slots = draft.oldest(slots, overlap.admitted, overlap.reason)
    slots, held_by_polls = _past_polls(draft, slots, ahead)
    slots, held_by_gate = _past_gate(draft, slots)
    slots, ready_at = _past_outage(draft, slots)
    if not slots:
        return
    _make_room(draft, overlap.replaced)
    behind_others = bool(draft.open_runs) and not specification.allows_overlap
    held = held_by_polls or held_by_gate or behind_others
    _add_runs(draft, slots, ready_at, caught_up=chosen.caught_up, held=held)


def _runs_ahead(draft: Draft) -> Sequence[Run]:
    """The open runs that count as earlier ones; not the retries that a new slot supersedes."""
    if not draft.specification.retry.preempted_by_slot:
        return draft.open_runs
    return [run for run in draft.open_runs if not _is_superseded(run, draft.schedule.id)]


def _is_superseded(run: Run, schedule_id: int) -> bool:
    return run.waits_to_retry and run.schedule_id == schedule_id


def _past_polls(
    draft: Draft, slots: Sequence[int], ahead: Sequence[Run]
) -> tuple[Sequence[int], bool]:
    """The slots that the poll guard lets pass, and whether they must wait for it."""
    specification = draft.specification
    most = specification.polls_max
    if not most or not slots or specification.overlap.if_running is IfRunning.CANCEL:
        return slots, False
    room = max(most - outstanding_polls(ahead), 0)
    if specification.once:
        return slots, not room
    if room and not specification.allows_overlap:
        return slots, False  # one is queued, and the others are held behind it
    return draft.oldest(slots, room, Reason.OUTSTANDING_POLLS), False


def _past_gate(draft: Draft, slots: Sequence[int]) -> tuple[Sequence[int], bool]:
    """The slots that the breaker lets pass, and whether they must wait for it."""
    key = draft.specification.gate_key(draft.schedule.key)
    if key is None or not slots:
        return slots, False
    gate = draft.commons.gates[key]
    reason = refusal(gate, draft.now)
    if reason is not None:
        if draft.specification.once:
            return slots, True
        return draft.oldest(slots, 0, reason), False
    if may_probe(gate, draft.now):
        return draft.newest(slots, 1, Reason.BREAKER_PROBING), False
    return slots, False


def _past_outage(draft: Draft, slots: Sequence[int]) -> tuple[Sequence[int], int]:
    """The slots that the budget after an outage lets pass, and when the first may start."""
    commons, once = draft.commons, draft.specification.once
    outage = commons.outage
    if outage is None or not slots or not outage.covers(slots[-1]):
        return slots, 0
    if not once and not outage.has_room(commons.limits):
        return draft.oldest(slots, 0, Reason.OUTAGE_LIMIT), 0
    commons.outage = outage.caught_up_one(recurring=not once)
    return slots, outage.next_ready_at(commons.limits)


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
    schedule, specification, commons = draft.schedule, draft.specification, draft.commons
    gate_key = specification.gate_key(schedule.key)
    runs = []
    for number, slot in enumerate(slots, schedule.planned_count):
        ready = slot
        if specification.window is not None:
            ready = ready_from(slot, specification.window, specification.on_constraint)
        if specification.jitter:
            ready += jitter_of(schedule.key, slot, specification.jitter)
        run = Run(
            schedule.id,
            number,
            Kind.SLOT,
            slot,
            max(ready, ready_at),
            draft.now,
            draft.scope,
            gate_key,
            schedule.version,
            0,
            State.HELD if held else State.QUEUED,
            None,
            specification.priority,
            specification.queue,
            caught_up,
        )
        if not held:
            _let_through(draft, run)
            held = not specification.allows_overlap
        runs.append(run)
    draft.add(runs)
    if commons.limits.max_dispatch_per_tick:
        commons.pace = commons.pace.dispatched_one()


def _let_through(draft: Draft, run: Run) -> None:
    gate = draft.gate_of(run)
    if gate is not None:
        draft.put_gate(passed_by(gate, run, draft.now), run.id)


def _look_ahead(draft: Draft, following: int | None, due: Due | None) -> None:
    """Cursor, next slot and next wake; what is released; whether the schedule is done."""
    now = draft.now
    schedule, last = draft.schedule, draft.added[-1] if draft.added else None
    schedule = schedule._replace(
        cursor=max(schedule.cursor, now),
        next_slot=following,
        wake_at=following,
        planned_count=schedule.planned_count + len(draft.added),
        last_fired_at=schedule.last_fired_at if last is None else last.slot,
        last_run_id=schedule.last_run_id if last is None else last.id,
    )
    if draft.specification.completion and following is None and _counts_anew(draft, due):
        schedule = anchored_at(schedule, now)
    draft.schedule = schedule
    wakes = (_release(draft), work_off(draft))
    if repeats_used_up(schedule):
        _finish(draft, Reason.REPEATS)
    elif schedule.next_slot is None and not draft.own_open_runs and draft.schedule.backfill is None:
        _finish(draft, Reason.NO_MORE_SLOTS)
    elif earlier := [wake for wake in wakes if wake is not None]:
        wake = schedule.wake_at
        soonest = min(earlier) if wake is None else min(wake, *earlier)
        draft.schedule = draft.schedule._replace(wake_at=soonest)


def _counts_anew(draft: Draft, due: Due | None) -> bool:
    """After a skip; or if the run that it waited for is gone, whatever became of it."""
    skipped = due is not None and not draft.added
    return skipped or not any(run.kind is Kind.SLOT for run in draft.own_open_runs)


def _release(draft: Draft) -> int | None:
    """The held run whose turn has come is queued, if its gate lets it through; else the instant at
    which to look again. If it belongs to another schedule, that one is woken."""
    if not draft.open_runs:
        return None
    head = next_in_line(draft.open_runs)
    if head is None:
        return None
    if head.schedule_id != draft.schedule.id:
        draft.wake(head.schedule_id)
        return None
    gate = draft.gate_of(head)
    if gate is not None:
        if refusal(gate, draft.now) is not None:
            return looks_again_at(gate, draft.now)
        _let_through(draft, head)
    draft.release(head)
    return None


def _finish(draft: Draft, reason: Reason) -> None:
    schedule = draft.schedule
    draft.schedule = schedule._replace(
        status=moved_schedule(schedule, ScheduleEvent.FINISH),
        status_reason=reason,
        next_slot=None,
        wake_at=None,
    )
    if draft.own_open_runs:
        draft.close_waiting(Reason.INACTIVE)


def _invalid(schedule: Schedule, error: Exception) -> Plan:
    return Plan(
        schedule._replace(
            status=Status.INVALID,
            status_reason=f"{type(error).__name__}: {error}",
            next_slot=None,
            wake_at=None,
        )
    )
