"""Overlap: a slot comes due while an earlier run is open."""

from __future__ import annotations

import pytest

from harness.rules.in_memory_service import InMemoryService
from harness.rules.values import at
from quarterjack.rules import Ending, Gate, GateState, Kind, Reason, Run, State
from quarterjack.rules.policies.overlap import held_in_order, next_held
from quarterjack.times.instants import HOUR


def with_running_run(**fields: object) -> tuple[InMemoryService, int]:
    """An hourly schedule whose first run, of 09:00, is running at 09:30."""
    service = InMemoryService()
    identity = service.add(every="1h", **fields)
    service.advance_to("09:00")
    service.plan_due()
    service.claim()
    service.advance_to("09:30")
    return service, identity


def test_held_runs_are_released_in_the_order_of_slot_then_schedule_then_number():
    runs = [
        Run(owner, number, Kind.SLOT, slot, 0, 0, "x", state=State.HELD)
        for slot, owner, number in [(9, 1, 1), (5, 2, 0), (5, 1, 7), (5, 1, 3), (7, 1, 0)]
    ]

    line = [(run.slot, run.schedule_id, run.number) for run in held_in_order(runs)]
    assert line == sorted(line)
    assert next_held(runs) == held_in_order(runs)[0]
    assert next_held([]) is None


@pytest.mark.mission("P5", "V11")
def test_skip_skips_the_slot_and_keeps_the_interval():
    service, identity = with_running_run()

    service.plan_at("10:00", "11:00")

    assert service.states(identity) == ["running"]
    assert service.not_run_rows(identity) == [(2, "skipped", "overlap")]
    service.advance_to("11:30")
    service.finish(f"{identity}-0")
    service.plan_at("12:00")
    assert service.states(identity) == ["succeeded", "queued"]


@pytest.mark.mission("P5")
def test_with_a_completion_anchor_a_whole_interval_follows_a_skip():
    service = InMemoryService()
    identity = service.add(every="1h", anchor="completion")
    service.run_now(identity)
    service.claim()
    service.plan_at("09:10")

    assert service.not_run_rows(identity) == [(1, "skipped", "overlap")]
    assert service.schedules[identity].next_slot == at("10:10")


@pytest.mark.mission("V11")
def test_different_schedules_run_at_the_same_time_but_no_schedule_overlaps_itself():
    service = InMemoryService()
    one, other = service.add(every="10m"), service.add(every="10m")
    service.advance_to("08:10")
    service.plan_due()
    service.claim()
    service.plan_at("08:20", "08:30")

    running = [run.schedule_id for run in service.runs.values() if run.state is State.RUNNING]
    assert sorted(running) == [one, other]
    assert service.states(one) == service.states(other) == ["running"]


@pytest.mark.parametrize("waiting", ["queued", "held", "retry"])
def test_every_open_run_counts_not_only_a_running_one(waiting: str):
    service = InMemoryService()
    identity = service.add(every="1h", max_retries=3, retry_delay="5h")
    service.advance_to("09:00")
    service.plan_due()
    if waiting == "retry":
        service.claim()
        service.finish(f"{identity}-0", Ending.FAILED)
    elif waiting == "held":
        service.runs[f"{identity}-0"] = service.runs[f"{identity}-0"]._replace(state=State.HELD)
        blocker = service.runs[f"{identity}-0"]._replace(number=9, request=1, state=State.RUNNING)
        service.runs[blocker.id] = blocker

    service.plan_at("10:00")

    assert service.not_run_rows(identity) == [(1, "skipped", "overlap")]


def test_queue_adds_a_held_run_and_releases_it_after_the_run_before_it():
    service, identity = with_running_run(if_running="queue")

    service.plan_at("10:00", "11:00")
    assert service.states(identity) == ["running", "held", "held"]

    service.advance_to("11:30")
    service.finish(f"{identity}-0")
    service.plan_due()
    assert service.states(identity) == ["succeeded", "queued", "held"]
    assert service.runs[f"{identity}-1"].ready_at == at("11:30")

    service.claim()
    service.finish(f"{identity}-1", Ending.FAILED)
    service.plan_due()
    assert service.states(identity) == ["succeeded", "failed", "queued"]


def test_at_most_queue_limit_runs_wait():
    service, identity = with_running_run(if_running="queue", queue_limit=2)

    service.plan_at("10:00", "11:00", "12:00", "13:00")

    assert service.states(identity) == ["running", "held", "held"]
    assert service.not_run_rows(identity) == [(2, "skipped", "queue_full")]


def test_queue_limit_also_limits_caught_up_slots():
    service = InMemoryService()
    identity = service.add(every="1h", if_running="queue", queue_limit=2, catch_up="run_all")
    service.plan_at("13:00")

    assert service.states(identity) == ["queued", "held", "held"]
    assert [run.slot for run in service.runs.values()] == [at("09:00"), at("10:00"), at("11:00")]
    assert service.not_run_rows(identity) == [(2, "skipped", "queue_full")]


def test_cancel_stops_the_running_run_and_waits_until_it_has_ended():
    service, identity = with_running_run(if_running="cancel")

    service.plan_at("10:00")
    assert service.runs[f"{identity}-0"].cancel is Reason.REPLACED
    assert service.states(identity) == ["running", "held"]

    service.advance_to("10:01")
    service.finish(f"{identity}-0", Ending.CANCELLED)
    service.plan_due()
    assert service.states(identity) == ["cancelled: replaced", "queued"]


def test_cancel_closes_a_waiting_run_and_starts_at_once():
    service = InMemoryService()
    identity = service.add(every="1h", if_running="cancel")
    service.plan_at("09:00", "10:00")

    assert service.states(identity) == ["cancelled: replaced", "queued"]
    assert service.runs[f"{identity}-0"].finished_at == at("10:00")


def test_a_cancelled_run_that_succeeds_first_has_succeeded():
    service, identity = with_running_run(if_running="cancel")
    service.plan_at("10:00")

    service.finish(f"{identity}-0", Ending.SUCCEEDED)

    assert service.states(identity)[0] == "succeeded"


@pytest.mark.parametrize("ending", [Ending.FAILED, Ending.LOST, Ending.TIMED_OUT])
def test_a_run_that_was_requested_to_stop_is_not_retried_however_it_ends(ending: Ending):
    service, identity = with_running_run(if_running="cancel", max_retries=3)
    service.plan_at("10:00")

    service.finish(f"{identity}-0", ending)

    assert service.states(identity)[0] == "cancelled: replaced"
    assert service.schedules[identity].error_count == 0


def test_cancel_cancels_nothing_when_the_new_slot_cannot_run():
    breaker = {"threshold": 1, "reset_after": "5h"}
    service = InMemoryService()
    identity = service.add(every="1h", if_running="cancel", circuit_breaker=breaker)
    service.advance_to("09:00")
    service.plan_due()
    service.claim()
    service.gates["schedule/1"] = Gate(
        "schedule/1", GateState.OPEN, 1, until=at("15:00"), reset_after=5 * HOUR
    )
    service.plan_at("10:00")

    assert service.states(identity) == ["running"]
    assert service.runs[f"{identity}-0"].cancel is None
    assert service.not_run_rows(identity) == [(1, "skipped", "breaker_open")]


def test_allow_runs_at_the_same_time():
    service, identity = with_running_run(if_running="allow")

    service.plan_at("10:00", "11:00")
    service.claim()

    assert service.states(identity) == ["running"] * 3


@pytest.mark.mission("D12")
def test_a_one_shot_that_meets_an_open_run_is_held_and_not_skipped():
    service = InMemoryService()
    identity = service.add(at="2026-11-16T09:00:00Z")
    service.run_now(identity)
    service.claim()
    service.plan_at("09:00")
    assert service.states(identity) == ["running", "held"]

    service.finish(f"{identity}-0")
    service.plan_due()

    assert service.states(identity) == ["succeeded", "queued"]


class TestPlugins:
    """For plugins the scope is the plugin and command."""

    def test_schedules_of_the_same_command_do_not_overlap(self):
        service = InMemoryService()
        one = service.add(plugin="echo", command="sync", every="10m")
        other = service.add(plugin="echo", command="sync", every="10m")
        service.plan_at("08:10")

        assert service.states(one) == ["queued"]
        assert service.states(other) == []
        assert service.not_run_rows(other) == [(1, "skipped", "overlap")]

    def test_schedules_of_other_commands_and_plugins_may_overlap(self):
        service = InMemoryService()
        service.add(plugin="echo", command="sync", every="10m")
        service.add(plugin="echo", command="clean", every="10m")
        service.add(plugin="other", command="sync", every="10m")
        service.plan_at("08:10")

        assert [run.state for run in service.runs.values()] == [State.QUEUED] * 3

    def test_the_schedule_of_the_next_held_run_is_woken(self):
        service = InMemoryService()
        one = service.add(plugin="echo", command="sync", every="10m", if_running="queue")
        other = service.add(plugin="echo", command="sync", every="10m", if_running="queue")
        service.plan_at("08:10")
        assert (service.states(one), service.states(other)) == (["queued"], ["held"])
        service.claim()
        service.plan_at("08:20")

        settlement = service.finish(f"{one}-0")
        service.plan_due()

        assert settlement.wakes == other
        assert service.states(other) == ["queued", "held"]
        assert service.states(one) == ["succeeded", "held"]

    def test_cancel_cancels_runs_of_other_schedules(self):
        service = InMemoryService()
        one = service.add(plugin="echo", command="sync", every="10m")
        other = service.add(
            plugin="echo",
            command="sync",
            every="10m",
            start_at="2026-11-16T08:15:00Z",
            if_running="cancel",
        )
        service.plan_at("08:10", "08:15")

        assert service.states(one) == ["cancelled: replaced"]
        assert service.states(other) == ["queued"]

    def test_a_schedule_continues_after_another_one_cancelled_its_run(self):
        service = InMemoryService()
        one = service.add(plugin="echo", command="sync", every="10m", anchor="completion")
        service.add(
            plugin="echo",
            command="sync",
            every="10m",
            start_at="2026-11-16T08:15:00Z",
            if_running="cancel",
        )
        service.plan_at("08:10", "08:15")

        assert service.states(one) == ["cancelled: replaced"]
        assert service.schedules[one].next_slot == at("08:25")

    def test_a_pause_wakes_the_schedule_of_the_next_held_run(self):
        service = InMemoryService()
        one = service.add(plugin="echo", command="sync", every="10m", if_running="queue")
        other = service.add(plugin="echo", command="sync", every="10m", if_running="queue")
        service.plan_at("08:10")

        service.pause(one)
        service.plan_due()

        assert service.states(one) == ["skipped: paused"]
        assert service.states(other) == ["queued"]
