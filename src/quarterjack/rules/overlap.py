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
from quarterjack.rules.words import Word


class IfRunning(Word):
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


def turn(overlap: Overlap, slots: int, open_runs: Sequence[Run], *, once: bool) -> Turn:
    """Whose turn is it: that of the slots, or of the runs that are open?"""
    policy = overlap.if_running
    if policy is IfRunning.QUEUE and not once:
        waiting = sum(run.state is not State.RUNNING for run in open_runs)
        room = max(overlap.queue_limit - waiting, 0)
        return Turn(min(slots, room), Reason.QUEUE_FULL)
    if policy is IfRunning.CANCEL:
        return Turn(slots, Reason.OVERLAP, open_runs)
    if policy is IfRunning.SKIP and open_runs and not once:
        return Turn(0, Reason.OVERLAP)
    return Turn(slots, Reason.OVERLAP)


def next_in_line(open_runs: Iterable[Run]) -> Run | None:
    """The held run whose turn has come: the oldest, once nothing is queued or running."""
    head: Run | None = None
    for run in open_runs:
        if run.state is not State.HELD:
            return None
        if head is None or _place(run) < _place(head):
            head = run
    return head


def _place(run: Run) -> tuple[int, int, int]:
    return run.slot, run.schedule_id, run.number
