"""Gate: the circuit breaker that schedules share."""

from __future__ import annotations

import pytest

from harness.rules.world import World, at
from quarterjack.rules import Ending, GateState, Status
from quarterjack.times.instants import MINUTE


def tripped(**fields: object) -> tuple[World, int]:
    """A plugin polled every 5 minutes, which failed at 08:05, 08:10 and 08:15."""
    world = World()
    identity = world.add(plugin="echo", every="5m", **fields)
    world.live("08:15", work=lambda run: "failed")
    return world, identity


@pytest.mark.mission("D10")
def test_the_breaker_opens_at_the_third_failure_in_a_row():
    world = World()
    world.add(plugin="echo", every="5m")

    world.live("08:10", work=lambda run: "failed")
    assert (world.gates["echo/poll"].state, world.gates["echo/poll"].failures) == ("closed", 2)

    world.live("08:15", work=lambda run: "timed_out")
    gate = world.gates["echo/poll"]
    assert (gate.state, gate.failures, gate.until) == ("open", 3, at("08:45"))


@pytest.mark.mission("D10")
def test_a_success_in_between_starts_the_count_anew():
    world = World()
    world.add(plugin="echo", every="5m")
    world.live("08:30", work=lambda run: "succeeded" if run.number == 2 else "failed")

    assert [change.at for change in world.gate_history] == [at("08:30")]


@pytest.mark.mission("D10")
def test_while_it_is_open_slots_are_skipped_and_after_30_minutes_there_is_one_probe():
    world, identity = tripped()

    world.live("08:44")
    assert world.rows(identity) == [(5, "skipped", "breaker_open")]
    assert len(world.runs) == 3

    world.come("08:45")
    gate = world.gates["echo/poll"]
    assert (gate.state, gate.probe) == (GateState.HALF_OPEN, f"{identity}-3")
    other = world.add(plugin="echo", every="1m", if_running="allow", max_outstanding_polls=0)
    world.come("08:46")
    assert world.rows(other) == [(1, "skipped", "breaker_probing")]


@pytest.mark.mission("D10")
def test_a_probe_that_succeeds_closes_it():
    world, identity = tripped()
    world.come("08:45")
    world.claim()

    world.end(f"{identity}-3")

    gate = world.gates["echo/poll"]
    assert (gate.state, gate.failures, gate.until, gate.probe) == ("closed", 0, None, None)
    world.come("08:50")
    assert world.states(identity)[-1] == "queued"


@pytest.mark.mission("D10")
@pytest.mark.parametrize(
    ("ending", "failures"), [(Ending.FAILED, 4), (Ending.CANCELLED, 3), (Ending.LOST, 3)]
)
def test_a_probe_that_fails_or_has_no_verdict_opens_it_anew(ending: Ending, failures: int):
    world, identity = tripped()
    world.come("08:45")
    world.claim()
    world.go("08:46")

    world.end(f"{identity}-3", ending)

    gate = world.gates["echo/poll"]
    assert (gate.state, gate.until, gate.probe) == ("open", at("09:16"), None)
    assert gate.failures == failures


@pytest.mark.mission("D10")
def test_every_change_is_a_row_of_its_history():
    world, identity = tripped()
    world.come("08:45")
    world.claim()
    world.end(f"{identity}-3")

    told = [(c.at, str(c.before), str(c.after), c.failures, c.run_id) for c in world.gate_history]
    assert told == [
        (at("08:15"), "closed", "open", 3, f"{identity}-2"),
        (at("08:45"), "open", "half_open", 3, f"{identity}-3"),
        (at("08:45"), "half_open", "closed", 0, f"{identity}-3"),
    ]


@pytest.mark.mission("D10")
def test_there_is_exactly_one_probe_across_schedules_in_one_step():
    world = World()
    fields = {"every": "5m", "max_outstanding_polls": 0, "if_running": "allow"}
    ids = [world.add(plugin="echo", **fields) for _ in range(4)]
    world.live("08:05", work=lambda run: "failed")
    world.come("08:35")

    assert [len(world.open(identity)) for identity in ids] == [1, 0, 0, 0]
    assert [world.rows(identity)[-1][2] for identity in ids[1:]] == ["breaker_probing"] * 3


def test_of_several_missed_slots_only_the_newest_is_the_probe():
    world, identity = tripped(catch_up="run_all", if_running="allow", max_outstanding_polls=0)
    world.come("09:02")

    assert [run.slot for run in world.open(identity)] == [at("09:00")]
    assert world.rows(identity) == [(8, "skipped", "breaker_probing")]


@pytest.mark.mission("D10")
def test_threshold_reset_and_a_shared_name_are_settings():
    world = World()
    breaker = {"threshold": 1, "reset_after": "2m", "name": "mail"}
    one = world.add(every="10m", circuit_breaker=breaker)
    other = world.add(every="10m", start_at="2026-11-16T08:11:00Z", circuit_breaker=breaker)
    world.live("08:10", work=lambda run: "failed")
    assert world.gates["mail"].until == at("08:12")

    world.come("08:11")

    assert world.rows(other) == [(1, "skipped", "breaker_open")]
    assert world.states(one) == ["failed"]


def test_without_a_name_a_schedule_that_is_no_plugin_has_a_breaker_of_its_own():
    world = World()
    one = world.add(every="10m", circuit_breaker={"threshold": 1})
    other = world.add(every="10m", circuit_breaker={"threshold": 1})
    world.live("08:10", work=lambda run: "failed" if run.schedule_id == one else "succeeded")

    assert world.gates[f"schedule/{one}"].state is GateState.OPEN
    assert world.gates.get(f"schedule/{other}") is None


def test_only_the_probe_decides_while_it_is_not_closed():
    world = World()
    fields = {"every": "5m", "max_outstanding_polls": 0, "if_running": "allow"}
    ids = [world.add(plugin="echo", **fields) for _ in range(4)]
    world.come("08:05")
    world.claim()
    for identity in ids[:3]:
        world.end(f"{identity}-0", Ending.FAILED)
    world.end(f"{ids[3]}-0")  # begun before it opened

    gate = world.gates["echo/poll"]
    assert (gate.state, gate.failures) == (GateState.OPEN, 3)


@pytest.mark.parametrize("ending", [Ending.CANCELLED, Ending.LOST])
def test_no_verdict_is_no_failure(ending: Ending):
    world = World()
    world.add(plugin="echo", every="5m", execution="at_most_once")
    world.live("08:30", work=lambda run: ending)

    assert world.gates == {}


def test_manual_runs_pass_an_open_breaker_and_say_nothing_about_it():
    world, identity = tripped()
    for ending in (Ending.FAILED, Ending.SUCCEEDED):
        run = world.run_now(identity)
        world.claim()
        world.end(run.id, ending)

    assert world.gates["echo/poll"].failures == 3
    assert world.gates["echo/poll"].state is GateState.OPEN
    assert list(world.gates) == ["echo/poll"]


class TestAProbeWithoutVerdict:
    """Whatever closes it, the breaker is open again from then on."""

    def probing(self, **fields: object) -> tuple[World, int]:
        world, identity = tripped(**fields)
        world.come("08:45")
        assert world.gates["echo/poll"].probe == f"{identity}-3"
        world.go("08:46")
        return world, identity

    def test_pausing_its_schedule(self):
        world, identity = self.probing()
        world.pause(identity)
        assert world.states(identity)[-1] == "skipped: paused"
        assert self.found_open_until(world) == at("09:16")

    def test_cancelling_it(self):
        world, identity = self.probing()
        world.cancel(f"{identity}-3")
        assert self.found_open_until(world) == at("09:16")

    def test_deleting_its_schedule(self):
        world, identity = self.probing()
        world.delete(identity)
        assert self.found_open_until(world) == at("09:16")

    def test_an_older_run_that_pauses_the_schedule(self):
        world = World()
        identity = world.add(
            plugin="echo",
            every="5m",
            if_running="allow",
            max_outstanding_polls=0,
            max_consecutive_errors=4,
        )
        world.come("08:05")
        world.claim()
        world.live("08:20", work=lambda run: "failed")
        world.come("08:50")
        assert world.gates["echo/poll"].probe == f"{identity}-4"

        world.end(f"{identity}-0", Ending.FAILED)

        assert world.schedules[identity].status is Status.PAUSED
        assert self.found_open_until(world) == at("09:20")

    def test_but_a_probe_that_runs_keeps_its_word_also_when_its_schedule_is_paused(self):
        world, identity = self.probing()
        world.claim()
        world.pause(identity)
        world.end(f"{identity}-3")

        assert world.gates["echo/poll"].state is GateState.CLOSED

    def test_and_also_when_its_schedule_is_edited(self):
        world, identity = self.probing()
        world.edit(identity, plugin="other", every="5m")
        assert world.runs[f"{identity}-3"].scope == "other/poll"
        world.claim()
        world.end(f"{identity}-3")

        assert world.gates["echo/poll"].state is GateState.CLOSED
        assert "other/poll" not in world.gates

    def test_being_replaced_by_another_schedule(self):
        world = World()
        breaker = {"threshold": 1, "reset_after": "5m", "name": "mine"}
        one = world.add(plugin="echo", every="10m", circuit_breaker=breaker)
        world.add(
            plugin="echo",
            every="10m",
            start_at="2026-11-16T08:25:00Z",
            if_running="cancel",
            circuit_breaker="off",
        )
        world.live("08:10", work=lambda run: "failed")
        world.come("08:20")
        assert world.gates["mine"].probe == f"{one}-1"

        world.come("08:25")
        world.come("08:29")
        world.claim()
        world.end("2-0")
        world.come("08:30")

        assert world.gates["mine"].probe == f"{one}-2"
        assert [str(c.after) for c in world.gate_history[-2:]] == ["open", "half_open"]

    def found_open_until(self, world: World) -> int | None:
        """As another schedule finds it."""
        other = world.add(plugin="echo", every="1m")
        world.go(world.now + MINUTE)
        world.step()
        assert world.rows(other) == [(1, "skipped", "breaker_open")]
        gate = world.gates["echo/poll"]
        assert (gate.state, gate.probe) == (GateState.OPEN, None)
        return gate.until


class TestRunsThatWaitForTheGate:
    def test_a_retry_is_held_until_it_may_be_the_probe(self):
        world = World()
        breaker = {"threshold": 1, "reset_after": "30m"}
        identity = world.add(
            cron="0 9 * * *", max_retries=3, retry_delay="1m", circuit_breaker=breaker
        )
        world.come("09:00")
        world.claim()
        world.end(f"{identity}-0", Ending.FAILED)
        assert world.states(identity) == ["held"]
        assert world.schedules[identity].wake_at == at("09:30")

        world.come("09:30")

        assert world.states(identity) == ["queued"]
        assert world.gates["schedule/1"].probe == f"{identity}-0"
        world.claim()
        world.end(f"{identity}-0")
        assert world.gates["schedule/1"].state is GateState.CLOSED

    @pytest.mark.mission("D12")
    def test_a_one_shot_is_held_and_not_skipped(self):
        world, identity = tripped()
        once = world.add(plugin="echo", at="2026-11-16T08:20:00Z")
        world.come("08:20")
        assert world.states(once) == ["held"]
        assert world.schedules[once].wake_at == at("08:45")
        world.pause(identity)

        world.come("08:45")

        assert world.states(once) == ["queued"]
        assert world.gates["echo/poll"].probe == f"{once}-0"

    def test_others_of_its_scope_do_not_wake_it_while_the_gate_is_shut(self):
        """It knows when to look; slots that are passed over meanwhile cost one step each."""
        world, identity = tripped()
        once = world.add(plugin="echo", at="2026-11-16T08:20:00Z")
        world.come("08:20")
        world.go("08:25")

        assert [plan.schedule.id for plan in world.step()] == [identity]
        assert world.schedules[once].wake_at == at("08:45")

    def test_while_another_run_is_the_probe_it_looks_again_each_minute(self):
        world = World()
        breaker = {"threshold": 1, "reset_after": "5m", "name": "mail"}
        one = world.add(every="10m", circuit_breaker=breaker)
        once = world.add(at="2026-11-16T08:20:30Z", circuit_breaker=breaker)
        world.live("08:10", work=lambda run: "failed")
        world.come("08:20", "08:20:30")
        assert world.gates["mail"].probe == f"{one}-1"
        assert world.states(once) == ["held"]
        assert world.schedules[once].wake_at == at("08:20:30") + MINUTE

        world.claim()
        world.end(f"{one}-1")
        world.come("08:21:30")

        assert world.states(once) == ["queued"]
