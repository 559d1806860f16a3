"""The state machines of schedules and runs: one table each, from (state, event) to the next state.

Every change of state goes through `moved_schedule` or `moved_run`. A transition that is not in the
table raises `WrongState`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quarterjack.errors import WrongState
from quarterjack.rules.text_enum import TextEnum

if TYPE_CHECKING:
    from quarterjack.rules.model import Run, Schedule


class Status(TextEnum):
    """State of a schedule."""

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
    REPAIR = "repair"


class State(TextEnum):
    """State of a run. `skipped` and `missed` are for slots and runs that never start."""

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
    (Status.INVALID, ScheduleEvent.REPAIR): Status.ACTIVE,
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
    (State.RUNNING, RunEvent.SKIP): State.SKIPPED,
}

_REMEDIES = {
    ScheduleEvent.PAUSE: "only an active schedule can be paused",
    ScheduleEvent.RESUME: "only a paused schedule can be resumed",
    RunEvent.CANCEL: "only an open run can be cancelled",
    RunEvent.CLAIM: "only a queued run can be claimed",
}


def moved_schedule(schedule: Schedule, event: ScheduleEvent) -> Status:
    """The status after this event."""
    moved = SCHEDULE_MOVES.get((schedule.status, event))
    if moved is None:
        raise WrongState(f'schedule "{schedule.key}" is {schedule.status}; {_remedy(event)}')
    return moved


def moved_run(run: Run, event: RunEvent) -> State:
    """The state after this event."""
    moved = RUN_MOVES.get((run.state, event))
    if moved is None:
        raise WrongState(f"{run_state_text(run)}; {_remedy(event)}")
    return moved


def run_state_text(run: Run) -> str:
    """For errors: `run 9-0 has already succeeded`."""
    has_ended = run.state in (State.SUCCEEDED, State.FAILED, State.TIMED_OUT)
    verb = "is" if run.state in OPEN else "has already" if has_ended else "was already"
    return f"run {run.id} {verb} {run.state.replace('_', ' ')}"


def _remedy(event: ScheduleEvent | RunEvent) -> str:
    return _REMEDIES.get(event, f'the transition "{event}" is not allowed in this state')
