"""Backfill: a range of slots that a person wants to have run, worked off bit by bit.

Like a manual run it ignores windows, catch-up, guard and breaker, and counts for nothing but
itself. With `allow` a batch of slots is added in each step; otherwise one, whenever nothing of the
scope is open. Slots go first: one that comes due is held behind the backfill's run, and the next
run of the range waits for it.
"""

from __future__ import annotations

from itertools import islice

from quarterjack.rules.draft import Draft
from quarterjack.rules.gate import RECHECK
from quarterjack.rules.model import Kind
from quarterjack.rules.states import State
from quarterjack.times import slots_between

BATCH = 1000


def work_off(draft: Draft) -> int | None:
    """Add the next slots of the range; when to look again, if that is known."""
    schedule, specification, now = draft.schedule, draft.specification, draft.now
    backfill, allows = schedule.backfill, specification.allows_overlap
    assert backfill is not None
    if draft.open_runs and not allows:
        return None if draft.own_open_runs else now + RECHECK
    slots = specification.recurrence.slots_through(schedule.anchor_at)
    wanted = slots_between(slots, backfill.cursor, backfill.until)
    taken = list(islice(wanted, BATCH if allows else 1))
    runs = [
        draft.new_run(number, Kind.BACKFILL, slot, now, State.QUEUED, backfill.request)
        for number, slot in enumerate(taken, schedule.planned_count)
    ]
    draft.add(runs)
    more = bool(taken) and slots.count(taken[-1], backfill.until) > 0
    schedule = schedule._replace(
        planned_count=schedule.planned_count + len(taken),
        backfill=backfill._replace(cursor=taken[-1]) if more else None,
    )
    draft.schedule = schedule._replace(last_run_id=runs[-1].id) if runs else schedule
    return now if more and allows else None
