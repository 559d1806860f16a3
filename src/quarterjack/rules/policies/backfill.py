"""Backfill: a range of slots that a person wants to have run, worked off bit by bit. A slot that
has a run which succeeded or is open is left out, unless it is wanted `again`.

Like a manual run it ignores windows, catch-up, guard and breaker, and counts for nothing but
itself. With `allow` a batch of slots is added in each step; otherwise one, whenever nothing of the
scope is open. Slots go first: one that comes due is held behind the backfill's run, and the next
run of the range waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from quarterjack.errors import Conflict, InvalidSpecification, WrongState
from quarterjack.rules.definition.specification import refuse_unreadable
from quarterjack.rules.draft import BatchState, Draft
from quarterjack.rules.model import Backfill, Facts, Kind, Plan, Plans, Schedule
from quarterjack.rules.policies.gate import RECHECK
from quarterjack.rules.policies.pause import woken
from quarterjack.rules.states import State, Status
from quarterjack.times import Slots, slots_between
from quarterjack.times.instants import to_text

BATCH = 1000


def count_backfill(schedule: Schedule, start: int, until: int) -> int:
    """How many slots lie in [start, until]."""
    refuse_unreadable(schedule.specification, schedule.key)
    slots = schedule.specification.recurrence.slots_through(schedule.anchor_at)
    return slots.count(start - 1, until)


def count_named(schedule: Schedule, instants: Iterable[int]) -> int:
    """How many of these instants are slots of the schedule."""
    slots = schedule.specification.recurrence.slots_through(schedule.anchor_at)
    return sum(slots.after(instant - 1) == instant for instant in instants)


def backfill(facts: Facts, now: int, *, start: int, until: int, again: bool = False) -> Plans:
    """The slots in [start, until] are worked off by the planner, from now on: those that have no
    run that has succeeded or is open, or all of them, `again`."""
    (schedule,) = facts.schedules
    refuse_unreadable(schedule.specification, schedule.key)
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
    wanted = Backfill(facts.request, start - 1, until, again)
    planned = Plan(schedule._replace(backfill=wanted, wake_at=now))
    return BatchState(facts).results([planned])


def stop_backfill(facts: Facts, now: int) -> Plans:
    """What is left of the range is not run."""
    (schedule,) = facts.schedules
    if schedule.backfill is None:
        raise WrongState(
            f'schedule "{schedule.key}" has no range to fill; there is nothing to stop'
        )
    # The planner sees whether that was all that it was kept for.
    stopped = woken(schedule._replace(backfill=None), now)
    return BatchState(facts).results([Plan(stopped)])


def work_off(draft: Draft) -> int | None:
    """Add the next slots of the range; when to look again, if that is known."""
    schedule, specification, now = draft.schedule, draft.specification, draft.now
    backfill, allows = schedule.backfill, specification.allows_overlap
    assert backfill is not None
    if draft.open_runs and not allows:
        return None if draft.own_open_runs else now + RECHECK
    slots = specification.recurrence.slots_through(schedule.anchor_at)
    wanted, looked_until = _wanted(draft, slots, backfill)
    taken = list(islice(wanted, BATCH if allows else 1))
    runs = [
        draft.new_run(number, Kind.BACKFILL, slot, now, State.QUEUED, backfill.request)
        for number, slot in enumerate(taken, schedule.planned_count)
    ]
    draft.add(runs)
    if taken:
        looked_until = taken[-1]
    more = slots.count(looked_until, backfill.until) > 0
    schedule = schedule._replace(
        planned_count=schedule.planned_count + len(taken),
        backfill=backfill._replace(cursor=looked_until) if more else None,
    )
    draft.schedule = schedule._replace(last_run_id=runs[-1].id) if runs else schedule
    return now if more and (allows or not taken) else None


def _wanted(draft: Draft, slots: Slots, backfill: Backfill) -> tuple[Iterator[int], int]:
    """The slots that are still to be run, and up to where that is known."""
    done = draft.batch.done.get(draft.schedule.id)
    if done is None:
        return slots_between(slots, backfill.cursor, backfill.until), backfill.until
    until = min(done.until, backfill.until)
    found = slots_between(slots, backfill.cursor, until)
    return (slot for slot in found if slot not in done.slots), until
