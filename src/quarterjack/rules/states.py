"""States: the two tables that say which event may move a schedule or a run, and where to.

Whatever is not in a table is refused, and the refusal names the thing, its state and the event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quarterjack.errors import WrongState
from quarterjack.rules.text_enum import TextEnum

if TYPE_CHECKING:
    from quarterjack.rules.model import Run, Schedule


class Status(TextEnum):
    """Of a schedule."""

    ACTIVE = "active"
    PAUSED = "paused"
    INVALID = "invalid"
    DONE = "done"
    DEAD = "dead"


class ScheduleEvent(TextEnum):
    PAUSE = "pause"
    RESUME = "resume"
    FINISH = "finish"
    DIE = "die"
    INVALIDATE = "invalidate"
    REVIVE = "revive"
    MEND = "mend"


class State(TextEnum):
    """Of a run. The last two are of slots and runs that never start."""

    HELD = "held"
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    LOST = "lost"
    SKIPPED = "skipped"
    MISSED = "missed"


WAITING = frozenset({State.HELD, State.QUEUED})
OPEN = WAITING | {State.RUNNING}


class RunEvent(TextEnum):
    RELEASE = "release"
    CLAIM = "claim"
    SKIP = "skip"
    CANCEL = "cancel"
    SUPERSEDE = "supersede"
    SUCCEED = "succeed"
    FAIL = "fail"
    TIME_OUT = "time out"
    LOSE = "lose"
    TRY_AGAIN = "try again"
    HOLD = "hold"


SCHEDULE_MOVES = {
    (Status.ACTIVE, ScheduleEvent.PAUSE): Status.PAUSED,
    (Status.ACTIVE, ScheduleEvent.FINISH): Status.DONE,
    (Status.ACTIVE, ScheduleEvent.DIE): Status.DEAD,
    (Status.ACTIVE, ScheduleEvent.INVALIDATE): Status.INVALID,
    (Status.PAUSED, ScheduleEvent.RESUME): Status.ACTIVE,
    (Status.PAUSED, ScheduleEvent.INVALIDATE): Status.INVALID,
    (Status.INVALID, ScheduleEvent.MEND): Status.ACTIVE,
    (Status.DONE, ScheduleEvent.REVIVE): Status.ACTIVE,
}

RUN_MOVES = {
    (State.HELD, RunEvent.RELEASE): State.QUEUED,
    (State.HELD, RunEvent.SKIP): State.SKIPPED,
    (State.HELD, RunEvent.CANCEL): State.CANCELLED,
    (State.QUEUED, RunEvent.CLAIM): State.RUNNING,
    (State.QUEUED, RunEvent.SKIP): State.SKIPPED,
    (State.QUEUED, RunEvent.CANCEL): State.CANCELLED,
    (State.QUEUED, RunEvent.SUPERSEDE): State.FAILED,
    (State.HELD, RunEvent.SUPERSEDE): State.FAILED,
    (State.RUNNING, RunEvent.SUCCEED): State.SUCCEEDED,
    (State.RUNNING, RunEvent.FAIL): State.FAILED,
    (State.RUNNING, RunEvent.TIME_OUT): State.TIMED_OUT,
    (State.RUNNING, RunEvent.CANCEL): State.CANCELLED,
    (State.RUNNING, RunEvent.LOSE): State.LOST,
    (State.RUNNING, RunEvent.TRY_AGAIN): State.QUEUED,
    (State.RUNNING, RunEvent.HOLD): State.HELD,
}

_NO_SUCH_STEP = "no such step is in its table of states"
_REMEDIES = {
    ScheduleEvent.PAUSE: "only an active schedule can be paused",
    ScheduleEvent.RESUME: "only a paused schedule can be resumed",
    RunEvent.CANCEL: "only an open run can be cancelled",
    RunEvent.CLAIM: "only a queued run can be claimed",
}


def moved_schedule(schedule: Schedule, event: ScheduleEvent) -> Status:
    """Where the event takes a schedule."""
    moved = SCHEDULE_MOVES.get((schedule.status, event))
    if moved is None:
        remedy = _REMEDIES.get(event, _NO_SUCH_STEP)
        raise WrongState(f'schedule "{schedule.key}" is {schedule.status}; {remedy}')
    return moved


def moved_run(run: Run, event: RunEvent) -> State:
    """Where the event takes a run."""
    moved = RUN_MOVES.get((run.state, event))
    if moved is None:
        remedy = _REMEDIES.get(event, _NO_SUCH_STEP)
        raise WrongState(f"run {run.id} is {run.state} and cannot {event}; {remedy}")
    return moved
