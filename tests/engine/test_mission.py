"""The rows of the mission on the running engine: real planner, worker, rescuer and store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from harness.engine.service import Failed, House, failing
from harness.rules.world import at
from harness.store.stores import HOUSES, new
from quarterjack import rules
from quarterjack.control import recover
from quarterjack.errors import Conflict, InvalidSpecification, WrongState
from quarterjack.rules import AS_A_SETTING, Limits, Status
from quarterjack.targets.call import Call
from quarterjack.times.instants import HOUR, MINUTE, SECOND


@pytest.fixture(params=HOUSES)
def make(request: pytest.FixtureRequest) -> Iterator[Callable[..., House]]:
    made: list[House] = []

    def service(*values: Any, **words: Any) -> House:
        made.append(House(*values, on=request.param, **words))
        return made[-1]

    yield service
    for each in made:
        each.close()


@pytest.fixture
def service(make: Callable[..., House]) -> House:
    return make()


@pytest.mark.mission("D1", "V3")
def test_one_loop_plans_all_schedules_and_their_state_outlives_a_restart(service: House):
    service.add("hourly", every="1h")
    service.add("half", every="30m")
    service.go("09:00")
    before = [service.schedule(1)[3:], service.schedule(2)[3:]]

    service.restart()
    service.go("09:00")

    assert [service.schedule(1)[3:], service.schedule(2)[3:]] == before
    service.go("10:00")
    assert (service.slots(1), len(service.slots(2))) == ([at("09:00"), at("10:00")], 4)


@pytest.mark.mission("V3")
def test_callbacks_are_never_stored(service: House):
    service.add(every="1h")

    assert "function" not in str(service.table("specifications"))
    assert '"task":"work"' in str(service.table("specifications"))


@pytest.mark.mission("D3")
@pytest.mark.parametrize("when", [{}, {"every": "1h", "cron": "0 * * * *"}])
def test_none_or_several_recurrences_are_an_error_that_names_the_schedule(
    service: House, when: dict[str, str]
):
    with pytest.raises(InvalidSpecification, match='schedule "nightly"'):
        service.add("nightly", **when)

    assert service.table("schedules") == []


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
    def test_after_the_power_was_off_each_policy_does_as_it_says(
        self, service: House, policy: str, ran: list[str]
    ):
        service.add(every="10m", catch_up=policy)
        service.go("08:00")
        service.sleep_until("08:45")
        service.restart()
        service.go("08:45")

        assert service.slots() == [at(slot) for slot in ran]
        assert sum(count for count, _ in service.not_run()) == 4 - len(ran)
        assert set(service.states()) <= {"succeeded"}

    @pytest.mark.mission("D7")
    def test_restarting_again_and_again_adds_nothing(self, service: House):
        service.add(every="10m", catch_up="run_all")
        service.sleep_until("08:45")
        for _ in range(5):
            service.restart()
            service.go("08:45")

        assert len(service.started()) == len(set(service.started())) == 4

    @pytest.mark.mission("D7", "H8")
    def test_it_is_bounded(self, service: House):
        service.add(every="1s", catch_up="run_all", max_catch_up_runs=100)
        service.sleep_until("09:00")
        service.go("09:00")

        assert len(service.slots()) == 100
        assert service.not_run() == [(3500, "max_catch_up_runs")]


@pytest.mark.mission("D9")
def test_one_outstanding_poll_of_a_plugin_over_all_its_schedules(service: House):
    service.add("a", plugin="echo", every="10m", circuit_breaker="off")
    service.add("b", plugin="echo", every="10m", circuit_breaker="off", if_running="queue")
    service.go("08:10")

    outstanding = [run for run in (*service.runs(1), *service.runs(2)) if run.attempt]

    assert len(outstanding) == 1
    assert len(service.runs(1)) + len(service.runs(2)) == 1


@pytest.mark.mission("D10")
def test_the_breaker_opens_lets_one_probe_through_and_closes(service: House):
    breaker = {"threshold": 2, "reset_after": "30m", "name": "mail"}
    service.add("a", every="10m", circuit_breaker=breaker)
    service.add("b", every="10m", circuit_breaker=breaker)
    service.work = failing
    service.go("08:10")
    assert service.table("gates")[0][1] == "open"
    service.go("08:30")
    assert len(service.started()) == 2, "while it is open nothing runs"
    service.work = lambda call: None
    service.go("08:40")
    assert len(service.started()) == 3, "one probe across both schedules"
    service.go("08:50")

    changes = [(row[3], row[4]) for row in service.table("gate_changes")]
    assert changes == [("closed", "open"), ("open", "half_open"), ("half_open", "closed")]
    assert len(service.started()) == 5


@pytest.mark.mission("D11")
def test_a_schedule_knows_how_far_it_has_come(service: House):
    service.add(every="1h")
    service.go("09:00")
    service.work = failing
    service.go("10:00")
    schedule = service.schedule()

    assert (schedule.last_fired_at, schedule.next_slot) == (at("10:00"), at("11:00"))
    assert (schedule.last_success_at, schedule.last_success_run_id) == (at("09:00"), "1-0")
    assert (schedule.last_failure_at, schedule.last_error) == (at("10:00"), "Failed: boom")
    assert schedule.status is Status.ACTIVE


class TestOneShots:
    @pytest.mark.mission("D12")
    def test_one_is_done_after_it_fired_also_over_restarts(self, service: House):
        service.add(at="2026-11-16T09:00:00Z")
        service.go("09:30")
        service.restart()
        service.go("10:00")

        assert service.schedule().status is Status.DONE
        assert len(service.started()) == 1

    @pytest.mark.mission("D12")
    def test_one_in_the_past_that_never_fired_fires_at_once(self, service: House):
        service.add(at="2026-11-16T07:00:00Z")
        service.go("08:00")

        assert service.slots() == [at("07:00")]
        assert service.states() == ["succeeded"]

    @pytest.mark.mission("D12")
    def test_one_that_came_due_while_the_power_was_off_is_not_lost(self, service: House):
        service.add(at="2026-11-16T08:30:00Z", catch_up="skip")
        service.sleep_until("15:00")
        service.restart()
        service.go("15:00")

        assert service.states() == ["succeeded"]


class TestStates:
    @pytest.mark.mission("P3")
    def test_what_the_table_of_states_does_not_have_is_refused(self, service: House):
        service.add(every="1h")
        with pytest.raises(WrongState):
            service.ask(1, rules.resume)
        service.ask(1, rules.pause, by="ada")
        with pytest.raises(WrongState):
            service.ask(1, rules.pause, by="ada")
        service.ask(1, rules.resume)
        assert service.schedule().status is Status.ACTIVE

    @pytest.mark.mission("P4")
    def test_a_pause_clears_the_next_run_and_what_is_queued_does_nothing(
        self, make: Callable[..., House]
    ):
        service = make(seats=1)
        service.add("busy", every="1h")
        service.add("waits", every="1h")
        service.work = lambda call: service.sleep(2 * HOUR)
        service.go("09:00")
        assert service.states(2) == ["queued"]

        service.ask(2, rules.pause, by="ada")
        service.go("12:00")

        assert service.states(2) == ["skipped: paused"]
        assert service.schedule(2).next_slot is None
        service.ask(2, rules.resume)
        service.go("12:30")
        assert service.schedule(2).next_slot == at("13:00"), "one interval from the resume"

    @pytest.mark.mission("P5", "V11")
    def test_a_run_that_is_still_open_lets_the_next_slot_be_skipped(self, service: House):
        service.add("slow", every="10m")
        service.add("other", every="10m")
        service.work = lambda call: service.sleep(25 * MINUTE) if call.key == "slow" else None
        service.go("08:40")

        assert service.slots(1) == [at("08:10"), at("08:40")]
        assert service.not_run(1) == [(2, "overlap")]
        assert len(service.slots(2)) == 4, "others go on beside it"

    @pytest.mark.mission("P6")
    def test_success_and_failure_are_counted_until_it_is_dead(self, service: House):
        service.add(
            every="10m", max_retries=3, on_exhausted="dead", retry_delay="1m", total_repeats=0
        )
        service.go("08:10")
        service.work = failing
        service.go("09:00")
        schedule = service.schedule()

        assert (schedule.run_count, schedule.current_repeat) == (1, 1)
        assert (schedule.status, schedule.error_count) == (Status.DEAD, 4)
        assert schedule.last_error == "Failed: boom"
        assert service.runs()[1].attempt == 4, "three retries are four attempts"

    @pytest.mark.mission("P6")
    def test_after_its_repeats_it_is_done(self, service: House):
        service.add(every="10m", total_repeats=2)
        service.go("09:00")

        assert (service.schedule().status, service.states()) == (Status.DONE, ["succeeded"] * 2)

    @pytest.mark.mission("P9")
    def test_each_retry_waits_twice_as_long_up_to_ten_intervals(self, service: House):
        service.add(every="1h", max_retries=6, retry_delay="1m", if_running="skip")
        service.work = failing
        service.go("09:59")

        instants = [when for when, _ in service.calls]
        waits = [(later - sooner) // MINUTE for sooner, later in pairwise(instants)]
        assert waits == [1, 2, 4, 8, 10, 10]


class TestRecovery:
    @pytest.mark.mission("P10", "V10")
    @pytest.mark.fault("F6")
    def test_what_a_crash_interrupted_runs_again_and_recovering_twice_adds_nothing(
        self, service: House
    ):
        service.add(every="1h")
        service.add("paused", every="1h")
        service.add("overdue", every="90m")
        service.ask(2, rules.pause, by="ada")
        service.work = lambda call: service.sleep(HOUR)
        service.go("09:00")
        service.restart()  # the work is gone with its process
        service.work = lambda call: None
        service.sleep_until("09:30")

        recovered = service.run(recover(service.store, Limits(), at("09:30")))
        again = service.run(recover(service.store, Limits(), at("09:30")))
        service.go("09:30")

        assert (recovered, again) == (2, 0)
        assert service.states(1) == ["succeeded"]
        assert [call.attempt for _, call in service.calls if call.schedule_id == 1] == [1, 2]
        assert {call.run_id for _, call in service.calls if call.schedule_id == 1} == {"1-0"}
        assert service.states(2) == []
        assert service.states(3) == ["succeeded"]

    @pytest.mark.mission("V10")
    @pytest.mark.fault("F10")
    def test_dying_a_hundred_times_loses_and_doubles_nothing(self, service: House):
        service.add(every="1m", catch_up="run_all", if_running="queue")
        service.work = lambda call: service.sleep(7 * SECOND)
        for minute in range(100):
            service.go(at("08:00") + minute * MINUTE + 3 * SECOND)
            service.restart(f"w{minute}")
        service.work = lambda call: None
        service.go("12:00")

        assert service.slots() == [at("08:00") + n * MINUTE for n in range(1, 241)]
        assert set(service.states()) == {"succeeded"}


class TestChanges:
    @pytest.mark.mission("H5")
    def test_another_definition_counts_from_now_and_the_same_one_does_not(self, service: House):
        service.add(every="1h")
        service.go("08:30")
        said = service.schedule().specification
        assert (
            said.configuration_hash
            == new("nightly", 0, every="1h").specification.configuration_hash
        )

        changed = new("nightly", service.clock.instant, every="20m").specification
        service.ask(1, rules.edit, changed)
        service.go("09:00")

        assert service.slots() == [at("08:50")]
        schedule = service.schedule()
        assert (schedule.version, schedule.last_run_id, schedule.run_count) == (2, "1-0", 1)


class TestPosix:
    @pytest.mark.mission("V4", "V6")
    def test_retries_go_on_with_a_fixed_delay_until_a_new_slot_supersedes_them(
        self, make: Callable[..., House]
    ):
        service = make("08:01")
        service.add(cron="0 * * * *", preset="posix", timezone="UTC", retry_delay="25m")
        service.work = failing
        service.go("09:59")
        assert [when for when, _ in service.calls] == [at("09:00"), at("09:25"), at("09:50")]
        service.work = lambda call: None
        service.go("10:30")

        assert service.states() == ["failed: superseded", "succeeded"]
        assert len(service.calls) == 4, "one run either way"

    @pytest.mark.mission("V6")
    def test_a_success_ends_the_retries(self, make: Callable[..., House]):
        service = make("08:01")
        service.add(cron="0 * * * *", preset="posix", timezone="UTC", retry_delay="10m")
        service.work = lambda call: failing(call) if call.attempt == 1 else None
        service.go("09:50")

        assert (service.states(), service.schedule().current_retry) == (["succeeded"], 0)

    @pytest.mark.mission("V7")
    def test_the_first_start_runs_only_what_matches_the_current_minute(self, service: House):
        service.add("matches", cron="0 8 * * *", preset="posix", timezone="UTC")
        service.add("does not", cron="0 9 * * *", preset="posix", timezone="UTC")
        service.go("08:00")

        assert (service.slots(1), service.slots(2)) == ([at("08:00")], [])

    @pytest.mark.mission("V5", "V11")
    def test_no_missed_slot_is_made_up_and_none_runs_beside_itself(self, service: House):
        service.add(cron="* * * * *", preset="posix", timezone="UTC")
        service.sleep_until("08:30")
        running: list[int] = []

        async def alone(call: Any) -> None:
            running.append(1)
            assert len(running) == 1
            await service.sleep(90 * SECOND)
            running.pop()

        service.work = alone
        service.go("08:40")

        assert service.slots()[0] == at("08:30")
        assert {str(run.state) for run in service.runs()} <= {"succeeded", "running"}


@pytest.mark.mission("P7", "P6")
def test_the_repeat_number_is_how_many_repeats_had_succeeded_when_the_run_was_planned(
    service: House,
):
    service.add(every="10m", if_running="queue", max_retries=1, retry_delay="1m")

    def work(call: Call) -> Any:
        if call.run_id == "1-0":
            failing(call)
        return service.sleep(25 * MINUTE) if call.run_id == "1-3" else None

    service.work = work
    service.go("08:11")
    service.ask(1, rules.run_now)
    service.go("09:05")

    repeats = [(call.run_id, call.attempt, call.repeat_number) for _, call in service.calls]
    assert repeats == [
        ("1-0", 1, 0),
        ("1-0", 2, 0),
        ("1-1", 1, 0),  # a manual run, which is no repeat
        ("1-2", 1, 0),
        ("1-3", 1, 1),
        ("1-4", 1, 1),  # was planned while 1-3 ran
        ("1-5", 1, 1),
        ("1-6", 1, 4),
    ]
    assert service.schedule().current_repeat == 5


@pytest.mark.mission("D10", "P6", "H8", "V6", "E7")
def test_schedules_of_all_five_seeds_fail_side_by_side_each_in_the_way_of_its_own(service: House):
    for preset in ("ductile", "pipelit", "horsies", "posix", "agent"):
        zone = {"timezone": "UTC"} if preset == "posix" else {}
        service.add(preset, every="10m", preset=preset, **zone)
    service.work = failing
    service.go("12:00")

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


AGENT: Limits = AS_A_SETTING["agent"]["limits"]


class TestServiceLimits:
    @pytest.mark.mission("E6")
    def test_after_an_outage_five_recurring_ones_are_caught_up_five_seconds_apart(
        self, make: Callable[..., House]
    ):
        service = make(limits=AGENT._replace(max_dispatch_per_tick=0))
        for number in range(8):
            service.add(f"s{number}", every="1h")
        service.go("08:30")
        service.add("once", at="2026-11-16T08:45:00Z")
        service.sleep_until("10:30")
        service.restart()
        service.go("10:31")

        starts = sorted(when for when, _ in service.calls)
        assert starts == [at("10:30") + step * 5 * SECOND for step in range(6)]
        assert "9-0" in service.started(), "a one-shot is never lost"
        skipped = [service.not_run(identity) for identity in range(1, 9)]
        assert sum(rows[-1][1] == "outage_limit" for rows in skipped if rows) == 3

    @pytest.mark.mission("E7", "E6")
    def test_ten_errors_in_a_row_pause_it_and_a_success_resets_the_count(
        self, make: Callable[..., House]
    ):
        service = make(limits=AGENT)
        service.add(every="1m", max_consecutive_errors=10)
        service.work = lambda call: failing(call) if call.run_id != "1-5" else None
        service.go("09:00")

        schedule = service.schedule()
        assert (schedule.status, schedule.status_reason) == (Status.PAUSED, "consecutive_errors")
        assert len(service.calls) == 5 + 1 + 10
        told = [row[1] for row in service.table("outbox")]
        assert "schedule.paused" in told

    @pytest.mark.mission("E8")
    def test_so_many_are_dispatched_in_a_second_and_so_many_may_be_active(
        self, make: Callable[..., House]
    ):
        service = make(limits=Limits(max_dispatch_per_tick=5, max_scheduled_jobs=12))
        for number in range(12):
            service.add(f"s{number}", every="1h")
        with pytest.raises(Conflict, match="max_scheduled_jobs is 12"):
            service.add("one too many", every="1h")
        service.go("09:00:05")

        seconds = [(when - at("09:00")) // SECOND for when, _ in service.calls]
        assert seconds == [0] * 5 + [1] * 5 + [2] * 2


@pytest.mark.mission("D8")
class TestIfRunning:
    def test_queue_runs_one_after_the_other(self, service: House):
        service.add(every="10m", if_running="queue")
        service.work = lambda call: service.sleep(15 * MINUTE) if call.run_id == "1-0" else None
        service.go("08:35")

        starts = [when for when, _ in service.calls]
        assert starts == [at("08:10"), at("08:25"), at("08:30")]

    def test_cancel_stops_the_attempt_and_then_runs(self, service: House):
        service.add(every="10m", if_running="cancel")
        stopped: list[str] = []

        async def slow(call: Any) -> None:
            try:
                await service.sleep(HOUR)
            finally:
                stopped.append(call.run_id)

        service.work = slow
        service.go("08:21")

        assert stopped == ["1-0"]
        assert service.states() == ["cancelled: replaced", "running"]
        assert service.calls[1][0] == at("08:20"), "at once, not at the next renewal"

    def test_allow_runs_beside_it(self, service: House):
        service.add(every="10m", if_running="allow")
        service.work = lambda call: service.sleep(HOUR)
        service.go("08:35")

        assert service.states() == ["running"] * 3


class TestPoison:
    @pytest.mark.fault("F13")
    def test_a_schedule_that_cannot_be_carried_out_becomes_invalid_and_others_go_on(
        self, service: House
    ):
        service.add("bad", every="1h")
        service.add("good", every="1h")
        service.go("09:00")
        # Somebody set the cursor back by hand: the slot of nine is planned already.
        service.meddle(
            f"update schedules set cursor = {at('08:30')}, wake_at = {at('09:30')} where id = 1"
        )
        service.go("11:00")

        assert service.schedule(1).status is Status.INVALID
        assert "unique constraint" in (service.schedule(1).status_reason or "").lower()
        assert service.slots(2) == [at("09:00"), at("10:00"), at("11:00")]

    @pytest.mark.fault("F13")
    def test_work_that_raises_whatever_it_likes_harms_no_other(self, service: House):
        def awful(call: Any) -> None:
            raise {0: SystemExit(3), 1: KeyboardInterrupt(), 2: Failed("x" * 10_000)}[
                call.schedule_id - 1
            ]

        for key in "abc":
            service.add(key, every="1h")
        service.work = awful
        service.go("09:00")

        assert [service.states(identity) for identity in (1, 2, 3)] == [["failed"]] * 3
        assert service.runs(1)[0].error == "SystemExit: 3"
        assert len(service.runs(3)[0].error or "") == 4000
        assert b"Traceback" in service.table("output")[0][5]
