"""Overlap: a slot comes due while an earlier run is open (queued, running, held, or waiting to
retry). Judged per schedule; for plugins per plugin and command.

`skip`    pass the slot over
`queue`   add it at once, held until its turn; at most `queue_limit` wait
`cancel`  cancel the open ones; it is held until those that run have ended
`allow`   run beside them

Slots of one step are no overlap of each other: they are held one behind the other, unless `allow`.
A one-shot is never skipped: it is held.
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


class Turn(NamedTuple):
    """How many of the slots are added, oldest first; why the others are not; what is cancelled."""

    admitted: int
    reason: Reason
    replaced: Sequence[Run] = ()


def turn(overlap: Overlap, slots: int, ahead: Sequence[Run], *, idle: bool, once: bool) -> Turn:
    """Whose turn is it: that of the slots, or of the runs ahead of them? If the schedule is idle,
    the first one need not wait."""
    policy = overlap.if_running
    if policy is IfRunning.QUEUE and not once:
        held = sum(run.state is State.HELD for run in ahead)
        room = max(overlap.queue_limit - held, 0) + idle
        return Turn(min(slots, room), Reason.QUEUE_FULL)
    if policy is IfRunning.CANCEL:
        return Turn(slots, Reason.OVERLAP, ahead)
    if policy is IfRunning.SKIP and ahead and not once:
        return Turn(0, Reason.OVERLAP)
    return Turn(slots, Reason.OVERLAP)


def in_line(open_runs: Iterable[Run]) -> list[Run]:
    """The held runs, in the order of their turns."""
    return sorted((run for run in open_runs if run.state is State.HELD), key=_place)


def next_in_line(open_runs: Sequence[Run]) -> Run | None:
    """The held run whose turn has come: the first, once nothing is queued or running."""
    for run in open_runs:
        if run.state is not State.HELD:
            return None
    return min(open_runs, key=_place, default=None)


def still_open(open_runs: Sequence[Run], schedule_id: int) -> Sequence[Run]:
    """The runs that stay open when a schedule's own that wait are closed."""
    return [
        run for run in open_runs if run.schedule_id != schedule_id or run.state is State.RUNNING
    ]


def _place(run: Run) -> tuple[int, int, int]:
    return run.slot, run.schedule_id, run.number
