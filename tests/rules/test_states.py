"""State transitions of schedules and runs."""

from __future__ import annotations

from itertools import product

import pytest

from harness.rules.values import at, specification
from quarterjack.errors import WrongState
from quarterjack.rules import Kind, Limits, Run, State, Status, create
from quarterjack.rules.states import (
    OPEN,
    RUN_MOVES,
    SCHEDULE_MOVES,
    RunEvent,
    ScheduleEvent,
    moved_run,
    moved_schedule,
    run_state_text,
)

SCHEDULE = create(42, "nightly", specification(every="1h"), at("08:00"), active=0, limits=Limits())
RUN = Run(42, 7, Kind.SLOT, at("09:00"), at("09:00"), at("09:00"), "42")


@pytest.mark.mission("P3")
def test_a_schedule_has_exactly_these_transitions():
    drawn = {
        ("active", "pause"): "paused",
        ("paused", "resume"): "active",
        ("active", "finish"): "done",
        ("active", "die"): "dead",
        ("active", "invalidate"): "invalid",
        ("paused", "invalidate"): "invalid",
        ("invalid", "repair"): "active",
        ("done", "revive"): "active",
    }
    for status, event in product(Status, ScheduleEvent):
        schedule = SCHEDULE._replace(status=status)
        if (status, event) in drawn:
            assert moved_schedule(schedule, event) == drawn[status, event]
        else:
            with pytest.raises(WrongState, match=f'schedule "nightly" is {status}; '):
                moved_schedule(schedule, event)
    assert len(SCHEDULE_MOVES) == len(drawn)


def test_a_run_has_exactly_these_transitions():
    drawn = {
        "held": {"release": "queued", "skip": "skipped", "cancel": "cancelled"}
        | {"supersede": "failed"},
        "queued": {"claim": "running", "skip": "skipped", "cancel": "cancelled"}
        | {"supersede": "failed"},
        "running": {"succeed": "succeeded", "fail": "failed", "time out": "timed_out"}
        | {"cancel": "cancelled", "lose": "lost", "try again": "queued", "hold": "held"}
        | {"skip": "skipped"},
    }
    for state, event in product(State, RunEvent):
        run = RUN._replace(state=state)
        expected = drawn.get(state, {}).get(event)
        if expected:
            assert moved_run(run, event) == expected
        else:
            with pytest.raises(WrongState, match=state.replace("_", " ")):
                moved_run(run, event)
    assert len(RUN_MOVES) == sum(len(moves) for moves in drawn.values())


def test_a_closed_run_has_no_transition():
    assert {state for state, _ in RUN_MOVES} == OPEN


def test_a_refused_transition_names_state_and_remedy():
    with pytest.raises(WrongState) as caught:
        moved_run(RUN._replace(state=State.LOST), RunEvent.CLAIM)
    assert str(caught.value) == ("run 42-7 was already lost; only a queued run can be claimed")
    with pytest.raises(WrongState) as caught:
        moved_schedule(SCHEDULE, ScheduleEvent.REPAIR)
    assert str(caught.value) == (
        'schedule "nightly" is active; the transition "repair" is not allowed in this state'
    )


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (State.HELD, "run 42-7 is held"),
        (State.RUNNING, "run 42-7 is running"),
        (State.SUCCEEDED, "run 42-7 has already succeeded"),
        (State.TIMED_OUT, "run 42-7 has already timed out"),
        (State.CANCELLED, "run 42-7 was already cancelled"),
        (State.SKIPPED, "run 42-7 was already skipped"),
    ],
)
def test_an_error_describes_the_state_of_a_run(state: State, text: str):
    assert run_state_text(RUN._replace(state=state)) == text
