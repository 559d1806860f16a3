"""Policies on the running engine: catch-up, overlap, retries, circuit breakers, and one-shots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from harness.engine.service import SteppedService, failing
from harness.rules.values import at
from quarterjack import rules
from quarterjack.rules import Status
from quarterjack.targets.call import Call
from quarterjack.times.instants import HOUR, MINUTE, SECOND


class TestCatchUp:
    @pytest.mark.mission("D7", "H8", "V5")
    @pytest.mark.parametrize(
        ("policy", "ran"),
        [
            ("skip", []),
            ("run_once", ["08:40"]),
            ("run_all", ["08:10", "08:20", "08:30", "08:40"]),
        ],
    )
    def test_after_an_outage_each_policy_runs_its_slots(
        self, service: SteppedService, policy: str, ran: list[str]
    ):
        service.add(every="10m", catch_up=policy)
        service.run_until("08:00")
        service.suspend_until("08:45")
        service.restart()
        service.run_until("08:45")

        assert service.slots() == [at(slot) for slot in ran]
        assert sum(count for count, _ in service.not_run()) == 4 - len(ran)
        assert set(service.states()) <= {"succeeded"}

    @pytest.mark.mission("D7")
    def test_further_restarts_add_nothing(self, service: SteppedService):
        service.add(every="10m", catch_up="run_all")
        service.suspend_until("08:45")
        for _ in range(5):
            service.restart()
            service.run_until("08:45")

        assert len(service.started()) == len(set(service.started())) == 4

    @pytest.mark.mission("D7", "H8")
    def test_run_all_is_bounded(self, service: SteppedService):
        service.add(every="1s", catch_up="run_all", max_catch_up_runs=100)
        service.suspend_until("09:00")
        service.run_until("09:00")

        assert len(service.slots()) == 100
        assert service.not_run() == [(3500, "max_catch_up_runs")]


@pytest.mark.mission("D9")
def test_a_plugin_has_one_outstanding_poll_over_all_its_schedules(service: SteppedService):
    service.add("a", plugin="echo", every="10m", circuit_breaker="off")
    service.add("b", plugin="echo", every="10m", circuit_breaker="off", if_running="queue")
    service.run_until("08:10")

    outstanding = [run for run in (*service.runs(1), *service.runs(2)) if run.attempt]

    assert len(outstanding) == 1
    assert len(service.runs(1)) + len(service.runs(2)) == 1


@pytest.mark.mission("D10")
def test_a_circuit_breaker_opens_lets_one_probe_through_and_closes(service: SteppedService):
    breaker = {"threshold": 2, "reset_after": "30m", "name": "mail"}
    service.add("a", every="10m", circuit_breaker=breaker)
    service.add("b", every="10m", circuit_breaker=breaker)
    service.work = failing
    service.run_until("08:10")
    assert service.table("gates")[0][1] == "open"
    service.run_until("08:30")
    assert len(service.started()) == 2, "while it is open nothing runs"
    service.work = lambda call: None
    service.run_until("08:40")
    assert len(service.started()) == 3, "one probe across both schedules"
    service.run_until("08:50")

    changes = [(row[3], row[4]) for row in service.table("gate_changes")]
    assert changes == [("closed", "open"), ("open", "half_open"), ("half_open", "closed")]
    assert len(service.started()) == 5


class TestOneShots:
    @pytest.mark.mission("D12")
    def test_it_is_done_after_it_fired_also_over_restarts(self, service: SteppedService):
        service.add(at="2026-11-16T09:00:00Z")
        service.run_until("09:30")
        service.restart()
        service.run_until("10:00")

        assert service.schedule().status is Status.DONE
        assert len(service.started()) == 1

    @pytest.mark.mission("D12")
    def test_one_in_the_past_fires_at_once(self, service: SteppedService):
        service.add(at="2026-11-16T07:00:00Z")
        service.run_until("08:00")

        assert service.slots() == [at("07:00")]
        assert service.states() == ["succeeded"]

    @pytest.mark.mission("D12")
    def test_one_that_came_due_during_an_outage_is_not_lost(self, service: SteppedService):
        service.add(at="2026-11-16T08:30:00Z", catch_up="skip")
        service.suspend_until("15:00")
        service.restart()
        service.run_until("15:00")

        assert service.states() == ["succeeded"]


@pytest.mark.mission("D8")
class TestIfRunning:
    def test_queue_runs_them_one_after_the_other(self, service: SteppedService):
        service.add(every="10m", if_running="queue")
        service.work = lambda call: service.sleep(15 * MINUTE) if call.run_id == "1-0" else None
        service.run_until("08:35")

        starts = [when for when, _ in service.calls]
        assert starts == [at("08:10"), at("08:25"), at("08:30")]

    def test_cancel_stops_the_attempt_and_then_runs(self, service: SteppedService):
        service.add(every="10m", if_running="cancel")
        stopped: list[str] = []

        async def slow(call: Any) -> None:
            try:
                await service.sleep(HOUR)
            finally:
                stopped.append(call.run_id)

        service.work = slow
        service.run_until("08:21")

        assert stopped == ["1-0"]
        assert service.states() == ["cancelled: replaced", "running"]
        assert service.calls[1][0] == at("08:20"), "at once, not at the next renewal"

    def test_allow_runs_them_at_the_same_time(self, service: SteppedService):
        service.add(every="10m", if_running="allow")
        service.work = lambda call: service.sleep(HOUR)
        service.run_until("08:35")

        assert service.states() == ["running"] * 3


class TestPosix:
    @pytest.mark.mission("V4", "V6")
    def test_retries_go_on_with_a_fixed_delay_until_a_new_slot_supersedes_them(
        self, make_service: Callable[..., SteppedService]
    ):
        service = make_service("08:01")
        service.add(cron="0 * * * *", preset="posix", timezone="UTC", retry_delay="25m")
        service.work = failing
        service.run_until("09:59")
        assert [when for when, _ in service.calls] == [at("09:00"), at("09:25"), at("09:50")]
        service.work = lambda call: None
        service.run_until("10:30")

        assert service.states() == ["failed: superseded", "succeeded"]
        assert len(service.calls) == 4, "one run either way"

    @pytest.mark.mission("V6")
    def test_a_success_ends_the_retries(self, make_service: Callable[..., SteppedService]):
        service = make_service("08:01")
        service.add(cron="0 * * * *", preset="posix", timezone="UTC", retry_delay="10m")
        service.work = lambda call: failing(call) if call.attempt == 1 else None
        service.run_until("09:50")

        assert (service.states(), service.schedule().current_retry) == (["succeeded"], 0)

    @pytest.mark.mission("V7")
    def test_the_first_start_runs_only_schedules_that_match_the_current_minute(
        self, service: SteppedService
    ):
        service.add("matches", cron="0 8 * * *", preset="posix", timezone="UTC")
        service.add("does not", cron="0 9 * * *", preset="posix", timezone="UTC")
        service.run_until("08:00")

        assert (service.slots(1), service.slots(2)) == ([at("08:00")], [])

    @pytest.mark.mission("V5", "V11")
    def test_missed_slots_are_not_caught_up_and_runs_do_not_overlap(self, service: SteppedService):
        service.add(cron="* * * * *", preset="posix", timezone="UTC")
        service.suspend_until("08:30")
        running: list[int] = []

        async def alone(call: Any) -> None:
            running.append(1)
            assert len(running) == 1
            await service.sleep(90 * SECOND)
            running.pop()

        service.work = alone
        service.run_until("08:40")

        assert service.slots()[0] == at("08:30")
        assert {str(run.state) for run in service.runs()} <= {"succeeded", "running"}


@pytest.mark.mission("P7", "P6")
def test_the_repeat_number_counts_the_repeats_that_had_succeeded_when_the_run_was_planned(
    service: SteppedService,
):
    service.add(every="10m", if_running="queue", max_retries=1, retry_delay="1m")

    def work(call: Call) -> Any:
        if call.run_id == "1-0":
            failing(call)
        return service.sleep(25 * MINUTE) if call.run_id == "1-3" else None

    service.work = work
    service.run_until("08:11")
    service.change(1, rules.run_now)
    service.run_until("09:05")

    repeats = [(call.run_id, call.attempt, call.repeat_number) for _, call in service.calls]
    assert repeats == [
        ("1-0", 1, 0),
        ("1-0", 2, 0),
        ("1-1", 1, 0),  # a manual run is not a repeat
        ("1-2", 1, 0),
        ("1-3", 1, 1),
        ("1-4", 1, 1),  # was planned while 1-3 ran
        ("1-5", 1, 1),
        ("1-6", 1, 4),
    ]
    assert service.schedule().current_repeat == 5


@pytest.mark.mission("D10", "P6", "H8", "V6", "E7")
def test_schedules_of_all_presets_fail_side_by_side_each_by_its_own_policies(
    service: SteppedService,
):
    for preset in ("ductile", "pipelit", "horsies", "posix", "agent"):
        zone = {"timezone": "UTC"} if preset == "posix" else {}
        service.add(preset, every="10m", preset=preset, **zone)
    service.work = failing
    service.run_until("12:00")

    after = [service.schedule(identity) for identity in range(1, 6)]
    assert [(str(each.status), str(each.status_reason)) for each in after] == [
        ("active", "None"),
        ("dead", "exhausted"),
        ("active", "None"),
        ("active", "None"),
        ("paused", "consecutive_errors"),
    ]
    tried = Counter(call.key for _, call in service.calls)
    assert (tried["ductile"], service.table("gates")[0][1]) == (3 + 7, "open"), (
        "probed each half hour"
    )
    assert (tried["pipelit"], tried["agent"]) == (4, 10)
    assert tried["horsies"] == 24, "each slot once"
    assert {run.state for run in service.runs(4)[:-1]} == {"failed"}, "each is superseded by a slot"
