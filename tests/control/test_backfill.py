"""Backfills."""

from __future__ import annotations

import pytest

from harness.control.client import ControlClient
from harness.engine.service import SteppedService, failing
from harness.rules.values import at
from quarterjack.rules import Status
from quarterjack.times.instants import HOUR


def hours_called(service: SteppedService, identity: int, since: int) -> list[int]:
    """The slots of the attempts of a schedule, in hours after that instant."""
    calls = [call for _, call in service.calls if call.run_id.startswith(f"{identity}-")]
    return sorted((call.slot - since) // HOUR for call in calls)


def test_the_slots_of_the_range_are_counted_and_run(service: SteppedService, ada: ControlClient):
    ada.add(cron="0 * * * *", if_running="allow")

    found = ada("backfill", 1, at("2026-11-15T00:00:00Z"), at("2026-11-15T11:30:00Z"))
    service.run_until("08:01")

    assert (found.slots, found.left_out, len(service.calls)) == (12, 0, 12)
    assert found.schedule.next_slot == at("09:00")
    assert {run.request for run in service.runs()} == {2}, "the id of its audit entry"
    error = ada.refused("backfill", 1, at("07:00"), at("18:00"))
    assert (error.status, "is not a past range" in str(error)) == (400, True)


@pytest.mark.mission("H8")
def test_a_repeated_backfill_runs_only_slots_that_have_not_succeeded(
    service: SteppedService, ada: ControlClient
):
    ada.add(cron="0 * * * *", if_running="allow")
    service.work = lambda call: failing(call) if call.slot in (at("03:00"), at("05:00")) else None
    service.run_until("09:01")
    service.calls.clear()
    midnight, night = at("00:00"), (at("00:00"), at("09:00"))
    first = ada("backfill", 1, *night)
    service.run_until("09:02")
    assert (first.slots, first.left_out) == (9, 1), "the planned run of 09:00 has succeeded too"
    assert hours_called(service, 1, since=midnight) == list(range(9))

    service.calls.clear()
    second = ada("backfill", 1, *night)
    service.run_until("09:03")

    assert (second.slots, second.left_out) == (2, 8)
    assert hours_called(service, 1, since=midnight) == [3, 5]


@pytest.mark.mission("H8")
def test_with_again_a_backfill_runs_every_slot(service: SteppedService, ada: ControlClient):
    ada.add(cron="0 * * * *", if_running="allow")
    night = at("00:00"), at("07:30")
    ada("backfill", 1, *night)
    service.run_until("08:01")
    service.calls.clear()

    nothing = ada("backfill", 1, *night)
    service.run_until("08:02")
    again = ada("backfill", 1, *night, again=True)
    service.run_until("08:03")

    assert (nothing.slots, nothing.left_out) == (0, 8)
    assert (again.slots, again.left_out) == (8, 0)
    assert hours_called(service, 1, since=at("00:00")) == list(range(8))


@pytest.mark.mission("H8")
def test_a_slot_whose_run_is_open_is_left_out(service: SteppedService, ada: ControlClient):
    ada.add(cron="0 * * * *", if_running="allow")
    service.work = lambda call: service.sleep(HOUR) if call.slot == at("09:00") else None
    service.run_until("09:01")

    found = ada("backfill", 1, at("08:00"), at("09:00"))
    service.run_until("09:02")

    assert (found.slots, found.left_out) == (1, 1)
    assert service.slots() == [at("09:00"), at("08:00")]


@pytest.mark.mission("E7")
def test_failures_of_a_backfill_do_not_pause_a_schedule_of_the_preset_agent(
    service: SteppedService, ada: ControlClient
):
    ada.add(cron="0 * * * *", preset="agent", max_consecutive_errors=1)
    service.work = failing

    ada("backfill", 1, at("06:00"), at("07:00"))
    service.run_until("08:01")

    assert service.states() == ["failed", "failed"]
    schedule = service.schedule()
    assert (schedule.status, schedule.consecutive_errors) == (Status.ACTIVE, 0)


def test_a_stopped_backfill_leaves_out_the_rest_of_the_range(
    service: SteppedService, ada: ControlClient
):
    ada.add(cron="0 * * * *")
    service.work = lambda call: service.sleep(HOUR)
    ada("backfill", 1, at("01:00"), at("05:00"))
    service.run_until("08:01")

    assert ada("stop_backfill", 1).backfill is None
    service.run_until("08:59")

    assert (service.slots(), service.states()) == ([at("01:00")], ["running"])
