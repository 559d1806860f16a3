"""Overlap: what happens to a slot that comes due while an earlier run is open (queued, running,
held, or waiting to retry). The scope is the schedule; for plugins, all schedules of the same plugin
and command.

`skip`    skip the slot
`queue`   add a run that is held until the runs before it have ended; at most `queue_limit` wait
`cancel`  cancel the open runs; the new run is held until the running ones have ended
`allow`   run at the same time

Slots that are planned in the same step do not overlap each other: all but the first are held,
unless `allow`. A one-shot is never skipped, but held.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from quarterjack.rules.model import Run
from quarterjack.rules.reasons import Reason
from quarterjack.rules.states import State
from quarterjack.rules.text_enum import TextEnum


class IfRunning(TextEnum):
    SKIP = "skip"
    QUEUE = "queue"
    CANCEL = "cancel"
    ALLOW = "allow"


class Overlap(NamedTuple):
    if_running: IfRunning
    queue_limit: int


class Admission(NamedTuple):
    """How many slots become runs, oldest first; why the others do not; which runs to cancel."""

    admitted: int
    reason: Reason
    replaced: Sequence[Run] = ()


def admit(
    overlap: Overlap, slots: int, ahead: Sequence[Run], *, idle: bool, once: bool
) -> Admission:
    """Applies the policy to a number of due slots. `ahead` are the earlier open runs. If the scope
    is `idle`, the first slot does not count for `queue_limit`, because it need not wait."""
    policy = overlap.if_running
    if policy is IfRunning.QUEUE and not once:
        held = sum(run.state is State.HELD for run in ahead)
        room = max(overlap.queue_limit - held, 0) + idle
        return Admission(min(slots, room), Reason.QUEUE_FULL)
    if policy is IfRunning.CANCEL:
        return Admission(slots, Reason.OVERLAP, ahead)
    if policy is IfRunning.SKIP and ahead and not once:
        return Admission(0, Reason.OVERLAP)
    return Admission(slots, Reason.OVERLAP)


def held_in_order(open_runs: Iterable[Run]) -> list[Run]:
    """The held runs, in the order in which they will be released."""
    return sorted((run for run in open_runs if run.state is State.HELD), key=_release_order)


def next_held(open_runs: Sequence[Run]) -> Run | None:
    """The held run to release now: the first, unless a run is queued or running."""
    for run in open_runs:
        if run.state is not State.HELD:
            return None
    return min(open_runs, key=_release_order, default=None)


def without_waiting(runs: Sequence[Run], schedule_id: int) -> Sequence[Run]:
    """The runs that are still open after the waiting runs of this schedule were closed."""
    return [run for run in runs if run.schedule_id != schedule_id or run.state is State.RUNNING]


def _release_order(run: Run) -> tuple[int, int, int]:
    return run.slot, run.schedule_id, run.number
