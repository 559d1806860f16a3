"""Overlap: a slot comes due while an earlier run is open."""

from __future__ import annotations

import pytest

from harness.rules.world import World, at
from quarterjack.rules import Ending, Gate, GateState, Reason, State
from quarterjack.times.instants import HOUR


def busy(**fields: object) -> tuple[World, int]:
    """An hourly schedule whose first run, of 09:00, is running at 09:30."""
    world = World()
    identity = world.add(every="1h", **fields)
    world.go("09:00")
    world.step()
    world.claim()
    world.go("09:30")
    return world, identity


@pytest.mark.mission("P5", "V11")
def test_skip_passes_the_slot_over_and_goes_on_at_the_normal_interval():
    world, identity = busy()

    world.come("10:00", "11:00")

    assert world.states(identity) == ["running"]
    assert world.rows(identity) == [(2, "skipped", "overlap")]
    world.go("11:30")
    world.end(f"{identity}-0")
    world.come("12:00")
    assert world.states(identity) == ["succeeded", "queued"]


@pytest.mark.mission("P5")
def test_with_the_completion_anchor_a_skip_is_followed_by_a_whole_interval():
    world = World()
    identity = world.add(every="1h", anchor="completion")
    world.run_now(identity)
    world.claim()
    world.come("09:10")

    assert world.rows(identity) == [(1, "skipped", "overlap")]
    assert world.schedules[identity].next_slot == at("10:10")


@pytest.mark.mission("V11")
def test_different_schedules_run_side_by_side_and_one_never_beside_itself():
    world = World()
    one, other = world.add(every="10m"), world.add(every="10m")
    world.go("08:10")
    world.step()
    world.claim()
    world.come("08:20", "08:30")

    running = [run.schedule_id for run in world.runs.values() if run.state is State.RUNNING]
    assert sorted(running) == [one, other]
    assert world.states(one) == world.states(other) == ["running"]


@pytest.mark.parametrize("waiting", ["queued", "held", "retry"])
def test_any_open_run_counts_not_only_one_that_runs(waiting: str):
    world = World()
    identity = world.add(every="1h", max_retries=3, retry_delay="5h")
    world.go("09:00")
    world.step()
    if waiting == "retry":
        world.claim()
        world.end(f"{identity}-0", Ending.FAILED)
    elif waiting == "held":
        world.runs[f"{identity}-0"] = world.runs[f"{identity}-0"]._replace(state=State.HELD)
        blocker = world.runs[f"{identity}-0"]._replace(number=9, request=1, state=State.RUNNING)
        world.runs[blocker.id] = blocker

    world.come("10:00")

    assert world.rows(identity) == [(1, "skipped", "overlap")]


def test_queue_adds_the_slot_at_once_and_holds_it_until_its_turn():
    world, identity = busy(if_running="queue")

    world.come("10:00", "11:00")
    assert world.states(identity) == ["running", "held", "held"]

    world.go("11:30")
    world.end(f"{identity}-0")
    world.step()
    assert world.states(identity) == ["succeeded", "queued", "held"]
    assert world.runs[f"{identity}-1"].ready_at == at("11:30")

    world.claim()
    world.end(f"{identity}-1", Ending.FAILED)
    world.step()
    assert world.states(identity) == ["succeeded", "failed", "queued"]


def test_at_most_queue_limit_runs_wait():
    world, identity = busy(if_running="queue", queue_limit=2)

    world.come("10:00", "11:00", "12:00", "13:00")

    assert world.states(identity) == ["running", "held", "held"]
    assert world.rows(identity) == [(2, "skipped", "queue_full")]


def test_queue_limit_bounds_a_chain_of_caught_up_slots_too():
    world = World()
    identity = world.add(every="1h", if_running="queue", queue_limit=2, catch_up="run_all")
    world.come("13:00")

    assert world.states(identity) == ["queued", "held", "held"]
    assert [run.slot for run in world.runs.values()] == [at("09:00"), at("10:00"), at("11:00")]
    assert world.rows(identity) == [(2, "skipped", "queue_full")]


def test_cancel_stops_the_running_one_and_waits_until_it_has_ended():
    world, identity = busy(if_running="cancel")

    world.come("10:00")
    assert world.runs[f"{identity}-0"].cancel is Reason.REPLACED
    assert world.states(identity) == ["running", "held"]

    world.go("10:01")
    world.end(f"{identity}-0", Ending.CANCELLED)
    world.step()
    assert world.states(identity) == ["cancelled: replaced", "queued"]


def test_cancel_closes_what_only_waits_and_runs_at_once():
    world = World()
    identity = world.add(every="1h", if_running="cancel")
    world.come("09:00", "10:00")

    assert world.states(identity) == ["cancelled: replaced", "queued"]
    assert world.runs[f"{identity}-0"].finished_at == at("10:00")


def test_a_cancelled_run_that_succeeds_first_has_succeeded():
    world, identity = busy(if_running="cancel")
    world.come("10:00")

    world.end(f"{identity}-0", Ending.SUCCEEDED)

    assert world.states(identity)[0] == "succeeded"


@pytest.mark.parametrize("ending", [Ending.FAILED, Ending.LOST, Ending.TIMED_OUT])
def test_a_run_that_was_asked_to_stop_is_not_tried_again_however_it_ends(ending: Ending):
    world, identity = busy(if_running="cancel", max_retries=3)
    world.come("10:00")

    world.end(f"{identity}-0", ending)

    assert world.states(identity)[0] == "cancelled: replaced"
    assert world.schedules[identity].error_count == 0


def test_cancel_replaces_nothing_when_the_new_slot_cannot_run():
    breaker = {"threshold": 1, "reset_after": "5h"}
    world = World()
    identity = world.add(every="1h", if_running="cancel", circuit_breaker=breaker)
    world.go("09:00")
    world.step()
    world.claim()
    world.gates["schedule/1"] = Gate(
        "schedule/1", GateState.OPEN, 1, until=at("15:00"), reset_after=5 * HOUR
    )
    world.come("10:00")

    assert world.states(identity) == ["running"]
    assert world.runs[f"{identity}-0"].cancel is None
    assert world.rows(identity) == [(1, "skipped", "breaker_open")]


def test_allow_runs_beside_what_is_open():
    world, identity = busy(if_running="allow")

    world.come("10:00", "11:00")
    world.claim()

    assert world.states(identity) == ["running"] * 3


class TestPlugins:
    """For plugins overlap is judged per plugin and command."""

    def test_schedules_of_one_command_do_not_overlap(self):
        world = World()
        one = world.add(plugin="echo", command="sync", every="10m")
        other = world.add(plugin="echo", command="sync", every="10m")
        world.come("08:10")

        assert world.states(one) == ["queued"]
        assert world.states(other) == []
        assert world.rows(other) == [(1, "skipped", "overlap")]

    def test_other_commands_and_other_plugins_do(self):
        world = World()
        world.add(plugin="echo", command="sync", every="10m")
        world.add(plugin="echo", command="clean", every="10m")
        world.add(plugin="other", command="sync", every="10m")
        world.come("08:10")

        assert [run.state for run in world.runs.values()] == [State.QUEUED] * 3

    def test_the_next_in_line_is_woken_whichever_schedule_it_belongs_to(self):
        world = World()
        one = world.add(plugin="echo", command="sync", every="10m", if_running="queue")
        other = world.add(plugin="echo", command="sync", every="10m", if_running="queue")
        world.come("08:10")
        assert (world.states(one), world.states(other)) == (["queued"], ["held"])
        world.claim()
        world.come("08:20")

        settlement = world.end(f"{one}-0")
        world.step()

        assert settlement.wakes == other
        assert world.states(other) == ["queued", "held"]
        assert world.states(one) == ["succeeded", "held"]

    def test_cancel_reaches_the_runs_of_other_schedules(self):
        world = World()
        one = world.add(plugin="echo", command="sync", every="10m")
        other = world.add(
            plugin="echo",
            command="sync",
            every="10m",
            start_at="2026-11-16T08:15:00Z",
            if_running="cancel",
        )
        world.come("08:10", "08:15")

        assert world.states(one) == ["cancelled: replaced"]
        assert world.states(other) == ["queued"]

    def test_a_run_that_another_schedule_cancelled_does_not_stop_its_own_schedule(self):
        world = World()
        one = world.add(plugin="echo", command="sync", every="10m", anchor="completion")
        world.add(
            plugin="echo",
            command="sync",
            every="10m",
            start_at="2026-11-16T08:15:00Z",
            if_running="cancel",
        )
        world.come("08:10", "08:15")

        assert world.states(one) == ["cancelled: replaced"]
        assert world.schedules[one].next_slot == at("08:25")

    def test_a_pause_hands_the_turn_to_the_next_in_line(self):
        world = World()
        one = world.add(plugin="echo", command="sync", every="10m", if_running="queue")
        other = world.add(plugin="echo", command="sync", every="10m", if_running="queue")
        world.come("08:10")

        world.pause(one)
        world.step()

        assert world.states(one) == ["skipped: paused"]
        assert world.states(other) == ["queued"]


@pytest.mark.mission("D12")
def test_a_one_shot_that_meets_an_open_run_is_held_and_not_skipped():
    world = World()
    identity = world.add(at="2026-11-16T09:00:00Z")
    world.run_now(identity)
    world.claim()
    world.come("09:00")
    assert world.states(identity) == ["running", "held"]

    world.end(f"{identity}-0")
    world.step()

    assert world.states(identity) == ["succeeded", "queued"]


class TestPolls:
    """At most max_outstanding_polls of a plugin's polls, over all its schedules."""

    @pytest.mark.mission("D9")
    @pytest.mark.parametrize("policy", ["queue", "allow"])
    def test_one_poll_is_outstanding_also_under_queue_and_allow(self, policy: str):
        world = World()
        one = world.add(plugin="echo", every="10m", if_running=policy)
        other = world.add(plugin="echo", every="10m", if_running=policy)
        world.come("08:10")
        world.claim()
        world.come("08:20")

        assert world.states(one) == ["running"]
        assert world.states(other) == []
        assert world.rows(one) == [(1, "skipped", "outstanding_polls")]
        assert world.rows(other) == [(2, "skipped", "outstanding_polls")]
        world.end(f"{one}-0")
        world.come("08:30")
        assert world.states(one) == ["succeeded", "queued"]

    @pytest.mark.mission("D9")
    def test_the_number_is_a_setting_and_0_is_off(self):
        for most, outstanding in [(1, 1), (2, 2), (0, 3)]:
            world = World()
            for _ in range(3):
                world.add(
                    plugin="echo", every="10m", if_running="allow", max_outstanding_polls=most
                )
            world.come("08:10")
            assert len(world.runs) == outstanding

    @pytest.mark.mission("D9")
    def test_only_polls_made_by_slots_are_guarded(self):
        world = World()
        world.add(plugin="echo", command="sync", every="10m", if_running="allow")
        poll = world.add(plugin="echo", every="10m", if_running="allow")
        world.run_now(poll)
        world.come("08:10")

        assert [str(run.kind) for run in world.runs.values()] == ["manual", "slot", "slot"]

    @pytest.mark.mission("D9")
    def test_cancel_passes(self):
        world = World()
        identity = world.add(plugin="echo", every="10m", if_running="cancel")
        world.come("08:10", "08:20")

        assert world.states(identity) == ["cancelled: replaced", "queued"]

    def test_a_chain_of_caught_up_polls_has_one_outstanding_at_a_time(self):
        world = World()
        identity = world.add(plugin="echo", every="10m", catch_up="run_all")
        world.come("08:30")

        assert world.states(identity) == ["queued", "held", "held"]

    def test_with_allow_as_many_caught_up_polls_run_as_there_is_room(self):
        world = World()
        identity = world.add(
            plugin="echo",
            every="10m",
            catch_up="run_all",
            if_running="allow",
            max_outstanding_polls=2,
        )
        world.come("08:40")

        assert world.states(identity) == ["queued", "queued"]
        assert world.rows(identity) == [(2, "skipped", "outstanding_polls")]

    @pytest.mark.mission("D12")
    def test_a_one_shot_poll_waits_for_room(self):
        world = World()
        poll = world.add(plugin="echo", every="10m", if_running="allow")
        once = world.add(plugin="echo", at="2026-11-16T08:15:00Z", if_running="allow")
        world.come("08:10")
        world.claim()
        world.come("08:15")
        assert world.states(once) == ["held"]

        world.end(f"{poll}-0")
        world.step()
        assert world.states(once) == ["queued"]

    def test_a_one_shot_poll_runs_at_once_if_there_is_room(self):
        world = World()
        once = world.add(plugin="echo", at="2026-11-16T08:15:00Z")
        world.come("08:15")

        assert world.states(once) == ["queued"]
