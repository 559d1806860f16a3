"""Backfill: runs for a range of past slots, on request. Slots that already have a succeeded or open
run are left out, unless `again` is set.

Like manual runs, these runs ignore windows, catch-up, poll limits and the circuit breaker, and do
not count for repeats or errors. With `if_running: allow` each planner step adds a batch of them;
otherwise one is added whenever no run of the scope is open. A slot that comes due meanwhile takes
precedence: it is held behind the current run, and the backfill continues after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from quarterjack.errors import Conflict, WrongState
from quarterjack.rules.definition.input_checks import invalid
from quarterjack.rules.definition.specification import refuse_unreadable
from quarterjack.rules.draft import BatchState, Draft
from quarterjack.rules.model import Backfill, Facts, Kind, Plan, Plans, Schedule
from quarterjack.rules.policies.gate import RECHECK
from quarterjack.rules.policies.pause import wake_by
from quarterjack.rules.states import State, Status
from quarterjack.times import Slots, slots_between
from quarterjack.times.instants import to_text

BATCH = 1000


def count_backfill(schedule: Schedule, start: int, until: int) -> int:
    """How many slots are in [start, until]."""
    refuse_unreadable(schedule.specification, schedule.key)
    slots = schedule.specification.recurrence.slots_through(schedule.anchor_at)
    return slots.count(start - 1, until)


def count_slots_among(schedule: Schedule, instants: Iterable[int]) -> int:
    """How many of these instants are slots of the schedule's current recurrence."""
    slots = schedule.specification.recurrence.slots_through(schedule.anchor_at)
    return sum(slots.after(instant - 1) == instant for instant in instants)


def backfill(facts: Facts, now: int, *, start: int, until: int, again: bool = False) -> Plans:
    """Starts a backfill of the slots in [start, until], which the planner then adds in steps."""
    (schedule,) = facts.schedules
    refuse_unreadable(schedule.specification, schedule.key)
    if schedule.status is not Status.ACTIVE:
        remedy = "only an active schedule can be backfilled"
        raise WrongState(f'schedule "{schedule.key}" is {schedule.status}; {remedy}')
    if schedule.specification.once or schedule.specification.completion:
        what = schedule.specification.recurrence.describe()
        remedy = "use run instead"
        raise WrongState(f'schedule "{schedule.key}" is {what}, without past slots; {remedy}')
    if schedule.backfill is not None:
        end = to_text(schedule.backfill.until)
        remedy = "wait until it is done, or stop it"
        raise Conflict(f'schedule "{schedule.key}" already has a backfill up to {end}; {remedy}')
    if not start <= until <= now:
        remedy = "give a start, and an end that is neither before it nor in the future"
        given = f"{to_text(start)} to {to_text(until)}"
        raise invalid("backfill", given, "is not a past range", remedy)
    requested = Backfill(facts.request, start - 1, until, again)
    return BatchState(facts).results([Plan(schedule._replace(backfill=requested, wake_at=now))])


def stop_backfill(facts: Facts, now: int) -> Plans:
    """The rest of the range does not run; runs that were added stay."""
    (schedule,) = facts.schedules
    if schedule.backfill is None:
        raise WrongState(f'schedule "{schedule.key}" has no backfill; there is nothing to stop')
    # Planned now, because the schedule may be done: only the backfill may have kept it active.
    stopped = wake_by(schedule._replace(backfill=None), now)
    return BatchState(facts).results([Plan(stopped)])


def add_backfill_runs(draft: Draft) -> int | None:
    """Adds runs for the next slots of the range. Returns when to continue, if that is known."""
    schedule, specification, now = draft.schedule, draft.specification, draft.now
    backfill, allows = schedule.backfill, specification.allows_overlap
    assert backfill is not None
    if draft.open_runs and not allows:
        return None if draft.own_open_runs else now + RECHECK
    slots = specification.recurrence.slots_through(schedule.anchor_at)
    remaining, cursor = _remaining_slots(draft, slots, backfill)
    taken = list(islice(remaining, BATCH if allows else 1))
    runs = [
        draft.new_run(number, Kind.BACKFILL, slot, now, State.QUEUED, backfill.request)
        for number, slot in enumerate(taken, schedule.planned_count)
    ]
    draft.add(runs)
    if taken:
        cursor = taken[-1]
    more = slots.count(cursor, backfill.until) > 0
    schedule = schedule._replace(
        planned_count=schedule.planned_count + len(taken),
        backfill=backfill._replace(cursor=cursor) if more else None,
    )
    draft.schedule = schedule._replace(last_run_id=runs[-1].id) if runs else schedule
    return now if more and (allows or not taken) else None


def _remaining_slots(draft: Draft, slots: Slots, backfill: Backfill) -> tuple[Iterator[int], int]:
    """The slots that are still to be run, and the instant up to which that is known."""
    done = draft.batch.done.get(draft.schedule.id)
    if done is None:
        return slots_between(slots, backfill.cursor, backfill.until), backfill.until
    until = min(done.until, backfill.until)
    found = slots_between(slots, backfill.cursor, until)
    return (slot for slot in found if slot not in done.slots), until
