"""Running, cancelling and retrying."""

from __future__ import annotations

import pytest

from harness.control.client import ControlClient
from harness.engine.service import SteppedService, failing
from harness.rules.values import at
from quarterjack.errors import Conflict, WrongState
from quarterjack.rules import Status
from quarterjack.times.instants import HOUR, MINUTE


@pytest.mark.mission("E5")
def test_a_manual_run_starts_at_once_and_moves_no_slot(service: SteppedService, ada: ControlClient):
    ada.add(cron="0 9 * * *", only_between="08:30-18:00")
    service.run_until("08:10")

    run = ada("run", "nightly")
    service.run_until("08:11")

    assert (run.id, service.started()) == ("1-0", ["1-0"])
    assert service.schedule().next_slot == at("09:00")
    service.run_until("09:01")
    assert service.slots() == [at("08:10"), at("09:00")]


@pytest.mark.mission("E5")
def test_a_running_schedule_is_neither_run_nor_deleted_and_a_paused_one_not_run(
    service: SteppedService, ada: ControlClient
):
    ada.add(every="1h")
    service.work = lambda call: service.sleep(30 * MINUTE)
    service.run_until("09:00")
    for verb in ("run", "delete"):
        error = ada.refused(verb, 1)
        assert (type(error), error.status) == (Conflict, 409)
        assert "run 1-0 is running (attempt 1, worker w1)" in str(error)
    service.run_until("09:31")
    ada("pause", 1)
    error = ada.refused("run", 1)
    assert (type(error), error.status) == (WrongState, 400)
    assert str(error) == 'schedule "nightly" is paused; resume it first'

    ada("delete", 1)

    assert service.states() == ["succeeded"], "its history stays"
    assert ada.add("nightly", every="1h").id == 2, "its key is free"


def test_a_waiting_run_is_cancelled_and_a_running_one_is_stopped(
    service: SteppedService, ada: ControlClient
):
    ada.add("slow", every="1h", if_running="queue")
    service.work = lambda call: service.sleep(5 * HOUR)
    service.run_until("10:00")
    assert service.states() == ["running", "held"]

    assert ada("cancel", "1-1").state == "cancelled"
    assert ada("cancel", "1-0").cancel == "requested"
    assert ada("cancel", "1-0").cancel == "requested", "a repetition changes nothing"
    service.run_until("10:01")

    assert service.states() == ["cancelled: requested", "cancelled: requested"]
    error = ada.refused("cancel", "1-0")
    assert (type(error), error.status) == (WrongState, 400)


def test_a_run_that_waits_for_its_next_attempt_is_retried_at_once(
    service: SteppedService, ada: ControlClient
):
    ada.add(every="5h", max_retries=3, retry_delay="2h")
    service.work = lambda call: failing(call) if call.attempt == 1 else None
    service.run_until("13:30")
    assert service.states() == ["queued"]

    assert ada("retry", "1-0").id == "1-0"
    service.run_until("13:31")

    assert (service.states(), len(service.calls)) == (["succeeded"], 2)
    error = ada.refused("retry", "1-0")
    assert (type(error), "run 1-0 has already succeeded" in str(error)) == (WrongState, True)


def test_a_failed_run_is_retried_by_a_new_run_of_the_same_slot(
    service: SteppedService, ada: ControlClient
):
    ada.add(every="1h")
    service.work = lambda call: failing(call) if call.run_id == "1-0" else None
    service.run_until("09:10")

    again = ada("retry", "1-0")
    service.run_until("09:11")

    assert (again.id, again.slot, again.kind) == ("1-1", at("09:00"), "manual")
    assert service.states() == ["failed", "succeeded"], "a closed run never changes"
    assert service.schedule().next_slot == at("10:00")


@pytest.mark.mission("E7", "E5")
def test_ten_manual_runs_that_fail_pause_a_schedule_of_the_preset_agent(
    service: SteppedService, ada: ControlClient
):
    ada.add("agent", every="1h", preset="agent")
    ada.add("other", every="1h", max_consecutive_errors=10)
    service.work = failing
    for minute in range(10):
        assert {service.schedule(1).status, service.schedule(2).status} == {Status.ACTIVE}
        ada("run", "agent")
        ada("run", "other")
        service.run_until(f"08:{minute + 1:02}")

    agent, other = service.schedule(1), service.schedule(2)
    assert (agent.status, agent.status_reason) == (Status.PAUSED, "consecutive_errors")
    assert (agent.consecutive_errors, agent.last_result) == (10, "error")
    assert (other.status, other.consecutive_errors, other.error_count) == (Status.ACTIVE, 0, 10)
    assert (agent.next_slot, other.next_slot) == (None, at("09:00"))
    error = ada.refused("run", "agent")
    assert (type(error), error.status) == (WrongState, 400)
