"""Circuit breakers, and the limit of outstanding polls."""

from __future__ import annotations

import pytest

from harness.rules.in_memory_service import InMemoryService
from harness.rules.values import at
from quarterjack.rules import Ended, Ending, Gate, GateState, Outcome, State, Status, settle
from quarterjack.times.instants import MINUTE


def with_open_breaker(**fields: object) -> tuple[InMemoryService, int]:
    """A plugin polled every 5 minutes, which failed at 08:05, 08:10 and 08:15."""
    service = InMemoryService()
    identity = service.add(plugin="echo", every="5m", **fields)
    service.run_until("08:15", work=lambda run: "failed")
    return service, identity


def test_the_end_of_a_probe_without_a_result_is_in_the_history():
    service = InMemoryService()
    identity = service.add(plugin="echo", every="5m")
    service.run_until("08:15", work=lambda run: "failed")
    service.plan_at("08:45")
    service.advance_to("08:46")
    service.cancel(f"{identity}-3")
    service.plan_at("08:50")

    change = service.gate_history[-1]
    assert (change.key, change.at, change.run_id) == ("echo/poll", at("08:46"), "1-3")
    assert (change.before, change.after) == (GateState.HALF_OPEN, GateState.OPEN)


def test_a_run_planned_without_a_breaker_does_not_change_one_that_was_added_later():
    service = InMemoryService()
    identity = service.add(every="10m")
    service.plan_at("08:10")
    service.claim()
    service.edit(identity, every="10m", circuit_breaker={"threshold": 1})
    service.finish(f"{identity}-0", Ending.FAILED)

    assert service.gates == {}


def test_a_new_schedule_does_not_inherit_the_breaker_of_a_deleted_one():
    service = InMemoryService()
    fields = {"every": "10m", "key": "x", "circuit_breaker": {"threshold": 1}}
    old = service.add(**fields)
    service.run_until("08:10", work=lambda run: "failed")
    service.delete(old)
    new = service.add(**fields)
    service.run_until("08:20")

    assert service.states(new) == ["succeeded"]


def test_a_pause_that_closes_the_probe_leaves_the_breaker_open():
    service = InMemoryService()
    identity = service.add(every="10m", circuit_breaker={"threshold": 1, "reset_after": "5m"})
    service.run_until("08:10", work=lambda run: "failed")
    service.advance_to("08:20")
    service.pause(identity)
    assert service.states(identity) == ["failed", "skipped: paused"]
    service.advance_to("08:30")
    service.resume(identity)
    service.run_until("08:50")

    assert service.gates["schedule/1"].state is GateState.CLOSED


@pytest.mark.mission("D10")
def test_the_breaker_opens_at_the_third_failure_in_a_row():
    service = InMemoryService()
    service.add(plugin="echo", every="5m")

    service.run_until("08:10", work=lambda run: "failed")
    assert (service.gates["echo/poll"].state, service.gates["echo/poll"].failures) == ("closed", 2)

    service.run_until("08:15", work=lambda run: "timed_out")
    gate = service.gates["echo/poll"]
    assert (gate.state, gate.failures, gate.until) == ("open", 3, at("08:45"))


@pytest.mark.mission("D10")
def test_a_success_resets_the_count_of_failures():
    service = InMemoryService()
    service.add(plugin="echo", every="5m")
    service.run_until("08:30", work=lambda run: "succeeded" if run.number == 2 else "failed")

    assert [change.at for change in service.gate_history] == [at("08:30")]


@pytest.mark.mission("D10")
def test_an_open_breaker_skips_slots_until_one_probe_after_30_minutes():
    service, identity = with_open_breaker()

    service.run_until("08:44")
    assert service.not_run_rows(identity) == [(5, "skipped", "breaker_open")]
    assert len(service.runs) == 3

    service.plan_at("08:45")
    gate = service.gates["echo/poll"]
    assert (gate.state, gate.probe) == (GateState.HALF_OPEN, f"{identity}-3")
    other = service.add(plugin="echo", every="1m", if_running="allow", max_outstanding_polls=0)
    service.plan_at("08:46")
    assert service.not_run_rows(other) == [(1, "skipped", "breaker_probing")]


@pytest.mark.mission("D10")
def test_a_probe_that_succeeds_closes_the_breaker():
    service, identity = with_open_breaker()
    service.plan_at("08:45")
    service.claim()

    service.finish(f"{identity}-3")

    gate = service.gates["echo/poll"]
    assert (gate.state, gate.failures, gate.until, gate.probe) == ("closed", 0, None, None)
    service.plan_at("08:50")
    assert service.states(identity)[-1] == "queued"


@pytest.mark.mission("D10")
@pytest.mark.parametrize(
    ("ending", "failures"),
    [(Ending.FAILED, 4), (Ending.CANCELLED, 3), (Ending.LOST, 3), (Ending.SKIPPED, 3)],
)
def test_a_probe_that_fails_or_ends_without_a_result_opens_the_breaker_again(
    ending: Ending, failures: int
):
    service, identity = with_open_breaker()
    service.plan_at("08:45")
    service.claim()
    service.advance_to("08:46")

    service.finish(f"{identity}-3", ending)

    gate = service.gates["echo/poll"]
    assert (gate.state, gate.until, gate.probe) == ("open", at("09:16"), None)
    assert gate.failures == failures


def test_a_task_that_skips_neither_resets_nor_raises_the_failures_of_a_closed_breaker():
    service = InMemoryService()
    identity = service.add(plugin="echo", every="5m")
    ends = [Ending.FAILED, Ending.FAILED, Ending.SKIPPED, Ending.FAILED]
    failures = []
    for minute, ending in zip(("08:05", "08:10", "08:15", "08:20"), ends, strict=True):
        service.plan_at(minute)
        service.claim()
        service.finish(service.open_runs(identity)[0].id, ending)
        failures.append(service.gates["echo/poll"].failures)

    assert failures == [1, 2, 2, 3]
    assert service.gates["echo/poll"].state is GateState.OPEN


@pytest.mark.mission("D10")
def test_every_change_is_recorded_in_the_history():
    service, identity = with_open_breaker()
    service.plan_at("08:45")
    service.claim()
    service.finish(f"{identity}-3")

    changes = [
        (c.at, str(c.before), str(c.after), c.failures, c.run_id) for c in service.gate_history
    ]
    assert changes == [
        (at("08:15"), "closed", "open", 3, f"{identity}-2"),
        (at("08:45"), "open", "half_open", 3, f"{identity}-3"),
        (at("08:45"), "half_open", "closed", 0, f"{identity}-3"),
    ]


@pytest.mark.mission("D10")
def test_there_is_exactly_one_probe_across_schedules_in_one_step():
    service = InMemoryService()
    fields = {"every": "5m", "max_outstanding_polls": 0, "if_running": "allow"}
    ids = [service.add(plugin="echo", **fields) for _ in range(4)]
    service.run_until("08:05", work=lambda run: "failed")
    service.plan_at("08:35")

    assert [len(service.open_runs(identity)) for identity in ids] == [1, 0, 0, 0]
    assert [service.not_run_rows(identity)[-1][2] for identity in ids[1:]] == [
        "breaker_probing"
    ] * 3


def test_of_several_missed_slots_only_the_newest_becomes_the_probe():
    service, identity = with_open_breaker(
        catch_up="run_all", if_running="allow", max_outstanding_polls=0
    )
    service.plan_at("09:02")

    assert [run.slot for run in service.open_runs(identity)] == [at("09:00")]
    assert service.not_run_rows(identity) == [(8, "skipped", "breaker_probing")]


@pytest.mark.mission("D10")
def test_threshold_reset_and_a_shared_name_are_settings():
    service = InMemoryService()
    breaker = {"threshold": 1, "reset_after": "2m", "name": "mail"}
    one = service.add(every="10m", circuit_breaker=breaker)
    other = service.add(every="10m", start_at="2026-11-16T08:11:00Z", circuit_breaker=breaker)
    service.run_until("08:10", work=lambda run: "failed")
    assert service.gates["mail"].until == at("08:12")

    service.plan_at("08:11")

    assert service.not_run_rows(other) == [(1, "skipped", "breaker_open")]
    assert service.states(one) == ["failed"]


def test_without_a_name_a_task_has_a_breaker_of_its_own():
    service = InMemoryService()
    one = service.add(every="10m", circuit_breaker={"threshold": 1})
    other = service.add(every="10m", circuit_breaker={"threshold": 1})
    service.run_until("08:10", work=lambda run: "failed" if run.schedule_id == one else "succeeded")

    assert service.gates[f"schedule/{one}"].state is GateState.OPEN
    assert service.gates.get(f"schedule/{other}") is None


def test_only_the_probe_counts_while_the_breaker_is_not_closed():
    service = InMemoryService()
    fields = {"every": "5m", "max_outstanding_polls": 0, "if_running": "allow"}
    ids = [service.add(plugin="echo", **fields) for _ in range(4)]
    service.plan_at("08:05")
    service.claim()
    for identity in ids[:3]:
        service.finish(f"{identity}-0", Ending.FAILED)
    service.finish(f"{ids[3]}-0")  # begun before it opened

    gate = service.gates["echo/poll"]
    assert (gate.state, gate.failures) == (GateState.OPEN, 3)


@pytest.mark.parametrize("ending", [Ending.CANCELLED, Ending.LOST])
def test_an_attempt_without_a_result_is_not_a_failure(ending: Ending):
    service = InMemoryService()
    service.add(plugin="echo", every="5m", execution="at_most_once")
    service.run_until("08:30", work=lambda run: ending)

    assert service.gates == {}


def test_manual_runs_ignore_the_breaker_and_do_not_change_it():
    service, identity = with_open_breaker()
    for ending in (Ending.FAILED, Ending.SUCCEEDED):
        run = service.run_now(identity)
        service.claim()
        service.finish(run.id, ending)

    assert service.gates["echo/poll"].failures == 3
    assert service.gates["echo/poll"].state is GateState.OPEN
    assert list(service.gates) == ["echo/poll"]


class TestOutstandingPolls:
    """At most max_outstanding_polls polls of a plugin are open, over all its schedules."""

    def test_a_one_shot_poll_is_queued_if_there_is_room(self):
        service = InMemoryService()
        once = service.add(plugin="echo", at="2026-11-16T08:10:00Z", if_running="allow")
        service.advance_to("08:10")
        (decided,) = service.plan([once])

        assert [run.state for run in decided.added] == [State.QUEUED]
        assert list(decided.released) == []

    def test_the_first_of_several_caught_up_polls_is_queued_at_once(self):
        service = InMemoryService()
        poll = service.add(plugin="echo", every="10m", catch_up="run_all")
        service.advance_to("08:20")
        (decided,) = service.plan([poll])

        assert [run.state for run in decided.added] == [State.QUEUED, State.HELD]
        assert list(decided.released) == []

    def test_with_allow_a_second_poll_is_queued_at_once_if_there_is_room(self):
        service = InMemoryService()
        poll = service.add(plugin="echo", every="10m", if_running="allow", max_outstanding_polls=2)
        service.plan_at("08:10")
        service.advance_to("08:20")
        (decided,) = service.plan([poll])

        assert [run.state for run in decided.added] == [State.QUEUED]
        assert list(decided.released) == []

    @pytest.mark.mission("D9")
    @pytest.mark.parametrize("policy", ["queue", "allow"])
    def test_one_poll_is_outstanding_also_with_queue_and_allow(self, policy: str):
        service = InMemoryService()
        one = service.add(plugin="echo", every="10m", if_running=policy)
        other = service.add(plugin="echo", every="10m", if_running=policy)
        service.plan_at("08:10")
        service.claim()
        service.plan_at("08:20")

        assert service.states(one) == ["running"]
        assert service.states(other) == []
        assert service.not_run_rows(one) == [(1, "skipped", "outstanding_polls")]
        assert service.not_run_rows(other) == [(2, "skipped", "outstanding_polls")]
        service.finish(f"{one}-0")
        service.plan_at("08:30")
        assert service.states(one) == ["succeeded", "queued"]

    @pytest.mark.mission("D9")
    def test_the_number_is_a_setting_and_0_is_off(self):
        for most, outstanding in [(1, 1), (2, 2), (0, 3)]:
            service = InMemoryService()
            for _ in range(3):
                service.add(
                    plugin="echo", every="10m", if_running="allow", max_outstanding_polls=most
                )
            service.plan_at("08:10")
            assert len(service.runs) == outstanding

    @pytest.mark.mission("D9")
    def test_only_polls_created_by_slots_count(self):
        service = InMemoryService()
        service.add(plugin="echo", command="sync", every="10m", if_running="allow")
        poll = service.add(plugin="echo", every="10m", if_running="allow")
        service.run_now(poll)
        service.plan_at("08:10")

        assert [str(run.kind) for run in service.runs.values()] == ["manual", "slot", "slot"]

    @pytest.mark.mission("D9")
    def test_cancel_ignores_the_limit(self):
        service = InMemoryService()
        identity = service.add(plugin="echo", every="10m", if_running="cancel")
        service.plan_at("08:10", "08:20")

        assert service.states(identity) == ["cancelled: replaced", "queued"]

    def test_caught_up_polls_run_one_at_a_time(self):
        service = InMemoryService()
        identity = service.add(plugin="echo", every="10m", catch_up="run_all")
        service.plan_at("08:30")

        assert service.states(identity) == ["queued", "held", "held"]

    def test_with_allow_as_many_caught_up_polls_run_as_there_is_room(self):
        service = InMemoryService()
        identity = service.add(
            plugin="echo",
            every="10m",
            catch_up="run_all",
            if_running="allow",
            max_outstanding_polls=2,
        )
        service.plan_at("08:40")

        assert service.states(identity) == ["queued", "queued"]
        assert service.not_run_rows(identity) == [(2, "skipped", "outstanding_polls")]

    @pytest.mark.mission("D12")
    def test_a_one_shot_poll_waits_for_room(self):
        service = InMemoryService()
        poll = service.add(plugin="echo", every="10m", if_running="allow")
        once = service.add(plugin="echo", at="2026-11-16T08:15:00Z", if_running="allow")
        service.plan_at("08:10")
        service.claim()
        service.plan_at("08:15")
        assert service.states(once) == ["held"]

        service.finish(f"{poll}-0")
        service.plan_due()
        assert service.states(once) == ["queued"]

    def test_a_one_shot_poll_runs_at_once_if_there_is_room(self):
        service = InMemoryService()
        once = service.add(plugin="echo", at="2026-11-16T08:15:00Z")
        service.plan_at("08:15")

        assert service.states(once) == ["queued"]


class TestHeldRuns:
    def test_a_one_shot_with_an_open_breaker_wakes_when_the_breaker_half_opens(self):
        service = InMemoryService()
        once = service.add(at="2026-11-16T08:10:00Z", circuit_breaker={"threshold": 1, "name": "m"})
        service.gates["m"] = Gate("m", GateState.OPEN, 1, at("08:30"), 30 * MINUTE)
        service.advance_to("08:10")
        (decided,) = service.plan([once])

        assert [run.state for run in decided.added] == [State.HELD]
        assert decided.schedule.wake_at == at("08:30")

    def test_with_allow_a_held_retry_is_released_while_other_runs_are_open(self):
        service = InMemoryService()
        breaker = {"threshold": 1, "reset_after": "5m"}
        identity = service.add(
            every="1m", if_running="allow", max_retries=1, circuit_breaker=breaker
        )
        service.plan_at("08:01")
        service.claim()
        service.finish(f"{identity}-0", Ending.FAILED)
        assert service.states(identity) == ["held"]
        service.run_until("08:10")

        assert service.states(identity)[0] == "succeeded"

    def test_held_runs_of_two_versions_may_have_different_breakers(self):
        service = InMemoryService()
        one, other = ({"threshold": 1, "reset_after": "5m", "name": name} for name in "ab")
        fields = {"every": "1m", "if_running": "allow", "max_retries": 1, "retry_delay": "1m"}
        identity = service.add(**fields, circuit_breaker=one)
        service.plan_at("08:01")
        service.claim()
        service.finish(f"{identity}-0", Ending.FAILED)
        service.edit(identity, **fields, circuit_breaker=other)
        service.plan_at("08:02")
        service.claim()
        service.finish(f"{identity}-1", Ending.FAILED)
        assert service.states(identity) == ["held", "held"]

        service.plan_at("08:10")

        assert service.states(identity)[:2] == ["queued", "held"]
        assert (service.gates["a"].probe, service.gates["b"].probe) == (f"{identity}-0", "1-2")

    def test_a_run_that_is_not_ready_does_not_become_the_probe(self):
        service = InMemoryService()
        breaker = {"threshold": 1, "reset_after": "5m", "name": "mail"}
        quick = service.add(every="10m", circuit_breaker=breaker)
        late = service.add(
            every="10m",
            start_at="2026-11-16T08:16:00Z",
            only_between="12:00-13:00",
            on_constraint="defer",
            circuit_breaker=breaker,
        )
        service.run_until("08:10", work=lambda run: "failed")
        service.plan_at("08:16")
        assert service.states(late) == ["held"]
        assert service.gates["mail"].state is GateState.OPEN

        service.plan_at("08:20")
        assert service.gates["mail"].probe == f"{quick}-1"
        service.claim()
        service.finish(f"{quick}-1")
        service.schedules[late] = service.schedules[late]._replace(wake_at=service.now)
        service.plan_due()
        assert service.states(late) == ["queued"]
        assert service.runs[f"{late}-0"].ready_at == at("12:00")

    def test_a_run_that_would_be_the_probe_is_checked_again_when_it_is_ready(self):
        service = InMemoryService()
        breaker = {"threshold": 1, "reset_after": "1m"}
        identity = service.add(every="10m", jitter="5m", key="k", circuit_breaker=breaker)
        service.plan_at("08:10")
        service.advance_to("08:15")
        service.claim()
        service.finish(f"{identity}-0", Ending.FAILED)
        service.plan_at("08:20")
        run = service.runs[f"{identity}-1"]
        assert (run.state, run.ready_at > service.now) == ("held", True)
        assert service.schedules[identity].wake_at == run.ready_at

        service.advance_to(run.ready_at)
        service.plan_due()
        assert service.runs[run.id].state == "queued"
        assert service.gates["schedule/1"].probe == run.id

    def test_a_retry_settled_late_is_held_although_the_breaker_may_half_open(self):
        service = InMemoryService()
        breaker = {"threshold": 1, "reset_after": "1m"}
        identity = service.add(cron="10 8 * * *", max_retries=3, circuit_breaker=breaker)
        service.plan_at("08:10")
        service.claim()
        run = service.runs[f"{identity}-0"]
        ended = Ended(run, service.versions[identity, 1], Outcome(Ending.FAILED, at("08:11")))
        schedules = {identity: service.schedules[identity]}

        decided = settle([ended], schedules, {}, {}, at("08:20"))

        (settlement,) = decided.settlements
        assert (settlement.run.state, settlement.schedule.wake_at) == ("held", at("08:20"))
        assert decided.gates["schedule/1"].until == at("08:12")

    def test_a_retry_is_held_until_it_may_be_the_probe(self):
        service = InMemoryService()
        breaker = {"threshold": 1, "reset_after": "30m"}
        identity = service.add(
            cron="0 9 * * *", max_retries=3, retry_delay="1m", circuit_breaker=breaker
        )
        service.plan_at("09:00")
        service.claim()
        service.finish(f"{identity}-0", Ending.FAILED)
        assert service.states(identity) == ["held"]
        assert service.schedules[identity].wake_at == at("09:30")

        service.plan_at("09:30")

        assert service.states(identity) == ["queued"]
        assert service.gates["schedule/1"].probe == f"{identity}-0"
        service.claim()
        service.finish(f"{identity}-0")
        assert service.gates["schedule/1"].state is GateState.CLOSED

    @pytest.mark.mission("D12")
    def test_a_one_shot_is_held_and_not_skipped(self):
        service, identity = with_open_breaker()
        once = service.add(plugin="echo", at="2026-11-16T08:20:00Z")
        service.plan_at("08:20")
        assert service.states(once) == ["held"]
        assert service.schedules[once].wake_at == at("08:45")
        service.pause(identity)

        service.plan_at("08:45")

        assert service.states(once) == ["queued"]
        assert service.gates["echo/poll"].probe == f"{once}-0"

    def test_other_schedules_of_the_scope_do_not_wake_it_while_the_breaker_is_open(self):
        """It has a wake of its own; slots that are skipped meanwhile cost one step each."""
        service, identity = with_open_breaker()
        once = service.add(plugin="echo", at="2026-11-16T08:20:00Z")
        service.plan_at("08:20")
        service.advance_to("08:25")

        assert [plan.schedule.id for plan in service.plan_due()] == [identity]
        assert service.schedules[once].wake_at == at("08:45")

    def test_it_is_checked_again_each_minute_while_another_run_is_the_probe(self):
        service = InMemoryService()
        breaker = {"threshold": 1, "reset_after": "5m", "name": "mail"}
        one = service.add(every="10m", circuit_breaker=breaker)
        once = service.add(at="2026-11-16T08:20:30Z", circuit_breaker=breaker)
        service.run_until("08:10", work=lambda run: "failed")
        service.plan_at("08:20", "08:20:30")
        assert service.gates["mail"].probe == f"{one}-1"
        assert service.states(once) == ["held"]
        assert service.schedules[once].wake_at == at("08:20:30") + MINUTE

        service.claim()
        service.finish(f"{one}-1")
        service.plan_at("08:21:30")

        assert service.states(once) == ["queued"]


class TestProbeWithoutResult:
    """Whatever closes the probe, the breaker is open again from then on."""

    def with_probe(self, **fields: object) -> tuple[InMemoryService, int]:
        service, identity = with_open_breaker(**fields)
        service.plan_at("08:45")
        assert service.gates["echo/poll"].probe == f"{identity}-3"
        service.advance_to("08:46")
        return service, identity

    def test_its_schedule_is_paused(self):
        service, identity = self.with_probe()
        service.pause(identity)
        assert service.states(identity)[-1] == "skipped: paused"
        assert self.open_until(service) == at("09:16")

    def test_it_is_cancelled(self):
        service, identity = self.with_probe()
        service.cancel(f"{identity}-3")
        assert self.open_until(service) == at("09:16")

    def test_its_schedule_is_deleted(self):
        service, identity = self.with_probe()
        service.delete(identity)
        assert self.open_until(service) == at("09:16")

    def test_an_older_run_pauses_its_schedule(self):
        service = InMemoryService()
        identity = service.add(
            plugin="echo",
            every="5m",
            if_running="allow",
            max_outstanding_polls=0,
            max_consecutive_errors=4,
        )
        service.plan_at("08:05")
        service.claim()
        service.run_until("08:20", work=lambda run: "failed")
        service.plan_at("08:50")
        assert service.gates["echo/poll"].probe == f"{identity}-4"

        service.finish(f"{identity}-0", Ending.FAILED)

        assert service.schedules[identity].status is Status.PAUSED
        assert self.open_until(service) == at("09:20")

    def test_a_running_probe_still_decides_when_its_schedule_is_paused(self):
        service, identity = self.with_probe()
        service.claim()
        service.pause(identity)
        service.finish(f"{identity}-3")

        assert service.gates["echo/poll"].state is GateState.CLOSED

    def test_a_running_probe_still_decides_when_its_schedule_is_edited(self):
        service, identity = self.with_probe()
        service.edit(identity, plugin="other", every="5m")
        assert service.runs[f"{identity}-3"].scope == "other/poll"
        service.claim()
        service.finish(f"{identity}-3")

        assert service.gates["echo/poll"].state is GateState.CLOSED
        assert "other/poll" not in service.gates

    def test_it_is_replaced_by_a_run_of_another_schedule(self):
        service = InMemoryService()
        breaker = {"threshold": 1, "reset_after": "5m", "name": "mine"}
        one = service.add(plugin="echo", every="10m", circuit_breaker=breaker)
        service.add(
            plugin="echo",
            every="10m",
            start_at="2026-11-16T08:25:00Z",
            if_running="cancel",
            circuit_breaker="off",
        )
        service.run_until("08:10", work=lambda run: "failed")
        service.plan_at("08:20")
        assert service.gates["mine"].probe == f"{one}-1"

        service.plan_at("08:25")
        service.plan_at("08:29")
        service.claim()
        service.finish("2-0")
        service.plan_at("08:30")

        assert service.gates["mine"].probe == f"{one}-2"
        assert [str(c.after) for c in service.gate_history[-2:]] == ["open", "half_open"]

    def open_until(self, service: InMemoryService) -> int | None:
        """As another schedule finds it."""
        other = service.add(plugin="echo", every="1m")
        service.advance_to(service.now + MINUTE)
        service.plan_due()
        assert service.not_run_rows(other) == [(1, "skipped", "breaker_open")]
        gate = service.gates["echo/poll"]
        assert (gate.state, gate.probe) == (GateState.OPEN, None)
        return gate.until
