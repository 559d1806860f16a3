"""States of schedules: pause, resume, and what the canonical view shows of them."""

from __future__ import annotations

import pytest

from harness.control.client import ControlClient, view
from harness.engine.service import SteppedService, failing
from harness.rules.values import at
from quarterjack.errors import WrongState
from quarterjack.rules import Status
from quarterjack.times.instants import HOUR


@pytest.mark.mission("D11")
def test_a_view_shows_the_last_run_the_last_success_and_the_next_run(
    service: SteppedService, ada: ControlClient
):
    ada.add(every="1h")
    service.work = lambda call: failing(call) if call.repeat_number else None
    service.run_until("10:30")

    state = view(service.schedule())

    assert {name: state[name] for name in ("last_fired_at", "last_success_at")} == {
        "last_fired_at": "2026-11-16T10:00:00Z",
        "last_success_at": "2026-11-16T09:00:00Z",
    }
    assert (state["last_success_run_id"], state["last_run_id"]) == ("1-0", "1-1")
    assert (state["status"], state["next_run_at"]) == ("active", "2026-11-16T11:00:00Z")
    (paused,) = ada("pause", "nightly", reason="repairs")
    state = view(paused)
    assert (state["status"], state["status_reason"]) == ("paused", "repairs")
    assert (state["paused_by"], state["next_run_at"]) == ("ada", None)


@pytest.mark.mission("D12")
def test_a_one_shot_that_fired_is_done_also_after_restarts(
    service: SteppedService, ada: ControlClient
):
    ada.add("past", at="2026-11-15T00:00:00Z")
    ada.add("soon", at="2026-11-16T09:00:00Z")
    service.run_until("08:00")
    assert service.started() == ["1-0"], "one in the past that never fired, fires at once"
    service.run_until("09:00")
    for _ in range(3):
        service.restart()
        service.run_until(service.clock.instant + HOUR)

    assert service.started() == ["1-0", "2-0"]
    assert {service.schedule(1).status, service.schedule(2).status} == {Status.DONE}
    error = ada.refused("resume", "soon")
    assert (type(error), error.status) == (WrongState, 400)


@pytest.mark.mission("P4")
def test_a_pause_clears_the_next_slot_and_a_resume_counts_from_now(
    service: SteppedService, ada: ControlClient
):
    ada.add("busy", every="1h", queue="default", priority=5)
    ada.add("waits", every="1h", jitter="30m", max_retries=3)
    service.work = lambda call: failing(call) if call.key == "busy" else None
    service.run_until("09:00")
    assert service.states(2) == ["queued"], "it is delayed by its jitter"
    error_count = service.schedule(1).error_count

    _busy, waits = ada("pause", "busy", "waits")
    service.run_until("10:45")

    assert (waits.next_slot, service.states(2)) == (None, ["skipped: paused"])
    assert [call.key for _, call in service.calls] == ["busy"], "nothing fired"
    ada("resume", "busy", "waits")
    resumed = service.schedule(1)
    assert (resumed.next_slot, resumed.error_count) == (at("11:45"), error_count)


def test_a_pause_until_an_instant_ends_by_itself(service: SteppedService, ada: ControlClient):
    ada.add(every="1h")
    ada("pause", 1, until=at("10:30"))
    service.run_until("11:30")

    assert service.slots() == [at("11:30")]
    error = ada.refused("pause", 1, until=at("09:00"))
    assert (error.status, "is in the past" in str(error)) == (400, True)


def test_several_are_paused_or_none(ada: ControlClient):
    ada.add("a", every="1h")
    ada.add("b", every="1h")
    ada("pause", "b")

    error = ada.refused("pause", "a", "b", "c")

    assert 'there is no schedule "c"' in str(error)
    assert 'schedule "b" is paused' in str(error)
