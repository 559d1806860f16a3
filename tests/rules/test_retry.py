"""Retry, exhaustion, lost workers, and what counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.rules.world import World, at
from quarterjack.errors import WrongState
from quarterjack.rules import Ending, Status, read_specification
from quarterjack.rules.definition.patch import patched
from quarterjack.rules.policies.retry import Backoff, OnExhausted, Retry
from quarterjack.times.instants import SECOND


def started(**fields: object) -> tuple[World, int]:
    """Its first run is running at 09:00."""
    world = World()
    identity = world.add(**({"every": "1h"} | fields))
    world.go("09:00")
    world.step()
    world.claim()
    return world, identity


def fail(world: World, identity: int, ending: Ending = Ending.FAILED, **words: object) -> None:
    """The open run's attempt fails; the next one begins as soon as it may."""
    (run,) = world.open(identity)
    world.end(run.id, ending, **{"error": "boom", **words})
    for again in world.open(identity):
        world.go(max(world.now, again.ready_at))
        world.claim()


@pytest.mark.mission("P9")
@pytest.mark.parametrize(
    ("interval", "delays"),
    [(60, [60, 120, 240, 480, 600, 600]), (300, [300, 600, 1200, 2400, 3000, 3000])],
)
def test_exponential_backoff_doubles_up_to_ten_intervals(interval: int, delays: list[int]):
    retry = Retry(None, interval * SECOND, Backoff.EXPONENTIAL, False, OnExhausted.CONTINUE)

    assert [retry.delay_after(n) // SECOND for n in range(1, 7)] == delays
    assert retry.delay_after(10_000) == delays[-1] * SECOND


@pytest.mark.mission("P9", "P6")
def test_a_workflow_backs_off_by_its_interval():
    world = World()
    identity = world.add(workflow_id=1, every="60s")
    waits = []
    world.go("08:01")
    world.step()
    world.claim()
    for _ in range(3):
        world.end(f"{identity}-0", Ending.FAILED)
        waits.append(world.runs[f"{identity}-0"].ready_at - world.now)
        world.go(world.runs[f"{identity}-0"].ready_at)
        world.claim()

    assert [wait // SECOND for wait in waits] == [60, 120, 240]


@pytest.mark.mission("V6")
def test_a_fixed_delay_counts_from_the_end_of_the_failure_and_is_endless():
    world, identity = started(max_retries="endless", retry_backoff="fixed", retry_delay="90s")
    for minute in range(10):
        world.go(world.now + 17 * SECOND)
        ended = world.now
        fail(world, identity)
        run = world.runs[f"{identity}-0"]
        assert run.ready_at == ended + 90 * SECOND
        assert (run.state, run.attempt) == ("running", minute + 2)

    world.end(f"{identity}-0")
    schedule = world.schedules[identity]
    assert (schedule.current_retry, schedule.consecutive_errors) == (0, 0)
    assert (schedule.run_count, schedule.error_count, schedule.last_result) == (1, 10, "ok")


@pytest.mark.parametrize(
    ("fields", "delay"),
    [({"every": "7m"}, 420), ({"cron": "0 9 * * *"}, 30), ({"every": "1d"}, 86_400)],
)
def test_the_delay_is_the_interval_or_else_30_seconds(fields: dict[str, str], delay: int):
    world = World()
    world.add(**fields)

    assert world.versions[1, 1].retry.delay == delay * SECOND


@pytest.mark.parametrize(
    ("fields", "delay"), [({"retry_delay": "30s"}, 30), ({}, 86_400), ({"retry_delay": "1m"}, 60)]
)
def test_a_delay_that_was_said_stays_though_it_was_the_default_then(
    fields: dict[str, str], delay: int
):
    """Found by the simulator: only what differed from the default was remembered."""
    nightly = read_specification({"cron": "0 9 * * *", "task": "work"} | fields, key="k", now=0)
    body = patched(json.loads(nightly.text), {"every": "1d"})

    assert read_specification(body, key="k", now=0).retry.delay == delay * SECOND


@pytest.mark.mission("P6")
@pytest.mark.parametrize(("retries", "attempts"), [(3, 4), (1, 2), (0, 1)])
def test_so_many_retries_are_one_more_attempt_and_then_it_is_dead(retries: int, attempts: int):
    world, identity = started(max_retries=retries, retry_delay="1m", on_exhausted="dead")
    for number in range(attempts):
        schedule = world.schedules[identity]
        assert (schedule.status, schedule.current_retry) == (Status.ACTIVE, number)
        fail(world, identity, error=f"boom {number}")

    schedule, run = world.schedules[identity], world.runs[f"{identity}-0"]
    assert (run.state, run.attempt) == ("failed", attempts)
    assert run.reason == ("exhausted" if retries else None)
    assert (schedule.status, schedule.status_reason) == (Status.DEAD, "exhausted")
    assert (schedule.error_count, schedule.last_error) == (attempts, f"boom {attempts - 1}")
    assert (schedule.next_slot, schedule.wake_at) == (None, None)
    world.go("15:00")
    assert world.step() == []


@pytest.mark.mission("P6")
def test_success_counts_and_resets_the_retries():
    world, identity = started(max_retries=3, retry_delay="1m")
    fail(world, identity)
    assert world.schedules[identity].current_retry == 1

    settlement = world.end(f"{identity}-0", result={"rows": 3})

    schedule = world.schedules[identity]
    assert (schedule.run_count, schedule.current_repeat, schedule.current_retry) == (1, 1, 0)
    assert schedule.last_success_at == at("09:01")
    assert schedule.last_success_run_id == f"{identity}-0"
    assert settlement.run.result == {"rows": 3}


def test_an_attempt_is_a_row_of_its_own_only_when_the_run_goes_on():
    world, identity = started(max_retries=1, retry_delay="1m")

    first = world.end(f"{identity}-0", Ending.FAILED, error="boom")
    world.go("09:01")
    world.claim()
    last = world.end(f"{identity}-0", Ending.FAILED, error="again")

    assert first.attempt is not None
    assert (first.attempt.run_id, first.attempt.number) == (f"{identity}-0", 1)
    assert (first.attempt.worker, first.attempt.started_at) == ("w1", at("09:00"))
    assert first.attempt.outcome.error == "boom"
    assert (first.run.worker, first.run.lease_until, first.run.error) == (None, None, "boom")
    assert last.attempt is None
    assert last.run.error == "again"


def test_exhausted_may_pause_and_a_resume_goes_on():
    world, identity = started(on_exhausted="pause")
    fail(world, identity)

    schedule = world.schedules[identity]
    assert (schedule.status, schedule.status_reason) == (Status.PAUSED, "exhausted")
    assert schedule.paused_by == "quarterjack"
    world.resume(identity)
    assert world.schedules[identity].status is Status.ACTIVE


@pytest.mark.parametrize(
    ("fields", "status", "reason"),
    [
        ({"on_exhausted": "pause"}, Status.PAUSED, "exhausted"),
        ({"on_exhausted": "dead"}, Status.DEAD, "exhausted"),
        ({"max_consecutive_errors": 1}, Status.PAUSED, "consecutive_errors"),
    ],
)
def test_slots_that_came_due_before_a_schedule_stopped_itself_have_its_reason(
    fields: dict[str, Any], status: Status, reason: str
):
    """Found by the simulator: the planner had not come to them, and then never did."""
    world, identity = started(**fields)
    world.go("11:00")
    world.end(f"{identity}-0", Ending.FAILED)

    assert world.schedules[identity].status is status
    assert world.rows(identity) == [(2, "skipped", reason)]
    assert world.step() == []


def test_a_one_shot_that_came_due_before_its_schedule_stopped_itself_is_not_passed_over():
    world = World()
    identity = world.add(at="2026-11-16T08:30:00Z", on_exhausted="pause")
    world.go("08:30")
    world.step()
    world.claim()
    world.edit(identity, at="2026-11-16T08:40:00Z")
    world.go("08:40")
    world.end(f"{identity}-0", Ending.FAILED)
    assert world.schedules[identity].status is Status.PAUSED

    world.resume(identity)
    world.step()
    assert world.rows(identity) == []
    assert [run.slot for run in world.open(identity)] == [at("08:40")]


def test_exhausted_may_just_go_on():
    world, identity = started(max_retries=1, retry_delay="1m")
    fail(world, identity)
    fail(world, identity)

    schedule = world.schedules[identity]
    assert world.states(identity) == ["failed: exhausted"]
    assert (schedule.status, schedule.current_retry) == (Status.ACTIVE, 0)
    assert schedule.next_slot == at("10:00")


@pytest.mark.parametrize("ending", [Ending.FAILED, Ending.TIMED_OUT])
def test_a_failure_that_says_so_is_not_tried_again(ending: Ending):
    world, identity = started(max_retries=5, on_exhausted="dead")

    fail(world, identity, ending, retryable=False)

    assert world.states(identity) == [f"{ending}: not_retryable"]
    assert world.schedules[identity].status is Status.DEAD


def test_a_timeout_is_tried_again_and_then_told_as_such():
    world, identity = started(max_retries=1, retry_delay="1m")

    fail(world, identity, Ending.TIMED_OUT)
    fail(world, identity, Ending.TIMED_OUT)

    assert world.states(identity) == ["timed_out: exhausted"]
    assert world.schedules[identity].error_count == 2


class TestPreemption:
    """slot_preempts_retry: due by slot or by a waiting retry, and one run either way."""

    @pytest.mark.mission("V4")
    @pytest.mark.parametrize("ready", ["09:30", "10:30"])
    def test_a_new_slot_supersedes_a_waiting_retry(self, ready: str):
        world, identity = started(max_retries="endless", slot_preempts_retry=True, retry_delay="1m")
        world.end(f"{identity}-0", Ending.FAILED)
        run = world.runs[f"{identity}-0"]
        world.runs[run.id] = run._replace(ready_at=at(ready))

        world.go("10:00")
        world.step()
        world.claim()

        assert world.states(identity) == ["failed: superseded", "running"]

    @pytest.mark.mission("V4")
    def test_before_the_slot_the_retry_runs(self):
        world, identity = started(max_retries="endless", slot_preempts_retry=True, retry_delay="1m")
        fail(world, identity)

        assert (world.states(identity), world.now) == (["running"], at("09:01"))
        world.go("10:00")
        world.step()
        assert world.rows(identity) == [(1, "skipped", "overlap")]

    def test_without_it_the_retry_goes_first(self):
        world, identity = started(max_retries=3, retry_delay="2h")
        world.end(f"{identity}-0", Ending.FAILED)

        world.go("10:00")
        world.step()

        assert world.states(identity) == ["queued"]
        assert world.rows(identity) == [(1, "skipped", "overlap")]

    def test_a_slot_that_cannot_run_supersedes_nothing(self):
        world, identity = started(
            max_retries=3, retry_delay="2h", slot_preempts_retry=True, total_repeats=1
        )
        world.end(f"{identity}-0", Ending.FAILED)
        schedule = world.schedules[identity]
        world.schedules[identity] = schedule._replace(current_repeat=1)

        world.go("10:00")
        world.step()

        assert world.rows(identity) == [(1, "skipped", "repeats")]


class TestLostWorkers:
    @pytest.mark.mission("V6")
    def test_a_lost_worker_means_another_attempt_at_once_that_counts_as_no_retry(self):
        world, identity = started(max_retries=0)

        settlement = world.end(f"{identity}-0", Ending.LOST)

        run = settlement.run
        assert (run.state, run.failures, run.losses, run.ready_at) == ("queued", 0, 1, at("09:00"))
        assert world.schedules[identity].error_count == 0
        assert settlement.attempt is not None

    def test_with_the_fifth_loss_the_run_is_lost(self):
        world, identity = started()
        for number in range(1, 6):
            assert world.runs[f"{identity}-0"].attempt == number
            world.end(f"{identity}-0", Ending.LOST)
            world.claim()

        schedule, run = world.schedules[identity], world.runs[f"{identity}-0"]
        assert (run.state, run.reason, run.losses) == ("lost", "worker_lost", 5)
        assert (schedule.error_count, schedule.last_error) == (1, "the worker was lost")
        assert schedule.status is Status.ACTIVE

    def test_at_most_once_is_lost_at_once(self):
        world, identity = started(execution="at_most_once")
        world.end(f"{identity}-0", Ending.LOST)
        assert world.states(identity) == ["lost: worker_lost"]

    def test_work_handed_back_by_a_worker_that_stops_is_no_loss(self):
        world, identity = started()
        for _ in range(9):
            world.end(f"{identity}-0", Ending.LOST, handed_back=True)
            world.claim()

        assert world.runs[f"{identity}-0"].losses == 0
        assert world.runs[f"{identity}-0"].attempt == 10

    def test_at_most_once_is_lost_also_when_it_is_handed_back(self):
        world, identity = started(execution="at_most_once")
        world.end(f"{identity}-0", Ending.LOST, handed_back=True)
        assert world.states(identity) == ["lost: worker_lost"]


@pytest.mark.parametrize("ending", [Ending.FAILED, Ending.LOST])
def test_an_attempt_that_ends_while_the_schedule_is_paused_is_the_last(ending: Ending):
    world, identity = started(max_retries=3)
    world.pause(identity)

    world.end(f"{identity}-0", ending)

    assert world.states(identity) == [f"{ending}: inactive"]
    assert world.schedules[identity].status is Status.PAUSED


def test_an_attempt_that_succeeds_while_the_schedule_is_paused_counts():
    world, identity = started(total_repeats=1)
    world.pause(identity)
    world.end(f"{identity}-0")
    assert world.schedules[identity].status is Status.PAUSED

    world.resume(identity)
    world.step()

    schedule = world.schedules[identity]
    assert (schedule.status, schedule.status_reason) == (Status.DONE, "repeats")


def test_a_run_that_does_not_run_cannot_be_settled():
    world, identity = started()
    world.end(f"{identity}-0")

    with pytest.raises(WrongState, match="run 1-0 is succeeded and cannot succeed"):
        world.end(f"{identity}-0")


class TestErrors:
    """max_consecutive_errors pauses the schedule."""

    @pytest.mark.mission("E7", "E6")
    def test_ten_errors_in_a_row_pause_and_a_success_resets_the_count(self):
        world = World()
        identity = world.add(prompt="hello", every="1m")
        failing = True
        world.live("08:09", work=lambda run: "failed")
        assert world.schedules[identity].consecutive_errors == 9
        world.live("08:10")
        assert world.schedules[identity].consecutive_errors == 0
        world.live("08:20", work=lambda run: "failed" if failing else "succeeded")

        schedule = world.schedules[identity]
        assert (schedule.status, schedule.status_reason) == (Status.PAUSED, "consecutive_errors")
        assert (schedule.paused_by, schedule.wake_at) == ("quarterjack", None)
        assert (schedule.error_count, schedule.consecutive_errors) == (19, 10)
        world.live("08:30")
        assert len(world.runs) == 20

    @pytest.mark.mission("E7")
    def test_a_resume_resets_the_count(self):
        world = World()
        identity = world.add(prompt="hello", every="1m")
        world.live("08:10", work=lambda run: "failed")
        assert world.schedules[identity].status is Status.PAUSED

        world.resume(identity)

        assert world.schedules[identity].consecutive_errors == 0
        world.live("08:19", work=lambda run: "failed")
        assert world.schedules[identity].status is Status.ACTIVE

    @pytest.mark.mission("E6")
    def test_one_with_too_many_errors_is_paused_and_not_dispatched(self):
        world = World()
        identity = world.add(every="1m", if_running="allow")
        world.live("08:03", work=lambda run: "failed")
        world.edit(identity, every="1m", if_running="allow", max_consecutive_errors=3)

        world.go("08:05")
        world.step()

        schedule = world.schedules[identity]
        assert (schedule.status, schedule.status_reason) == (Status.PAUSED, "consecutive_errors")
        assert len(world.runs) == 3
        assert world.rows(identity) == [(2, "skipped", "consecutive_errors")]

    def test_retries_count_and_the_run_ends_with_the_pause(self):
        world, identity = started(max_retries="endless", retry_delay="1m", max_consecutive_errors=2)
        fail(world, identity)
        fail(world, identity)

        assert world.states(identity) == ["failed: consecutive_errors"]
        assert world.schedules[identity].status is Status.PAUSED

    def test_the_runs_that_wait_are_closed_with_the_pause(self):
        world, identity = started(if_running="queue", max_consecutive_errors=1)
        world.go("10:00")
        world.step()
        world.end(f"{identity}-0", Ending.FAILED)

        assert world.states(identity) == ["failed", "skipped: paused"]

    def test_manual_failures_do_not_count_but_a_manual_success_resets(self):
        world = World()
        identity = world.add(every="1m", max_consecutive_errors=3)
        world.live("08:02", work=lambda run: "failed")
        world.run_now(identity)
        world.claim()
        world.end(f"{identity}-2", Ending.FAILED)
        assert world.schedules[identity].consecutive_errors == 2
        assert world.schedules[identity].error_count == 3

        world.run_now(identity)
        world.claim()
        world.end(f"{identity}-3")
        assert world.schedules[identity].consecutive_errors == 0

    @pytest.mark.mission("E7", "E5")
    def test_under_the_preset_agent_manual_failures_count_as_well(self):
        world = World()
        identity = world.add(every="1h", preset="agent", max_consecutive_errors=3)
        world.live("09:01", work=lambda run: "failed")
        assert world.schedules[identity].consecutive_errors == 1
        run_by_hand(world, identity)
        run_by_hand(world, identity, Ending.FAILED)
        schedule = world.schedules[identity]
        assert (schedule.consecutive_errors, schedule.last_result) == (1, "error")

        run_by_hand(world, identity, Ending.TIMED_OUT)
        run_by_hand(world, identity, Ending.FAILED)

        schedule = world.schedules[identity]
        assert (schedule.status, schedule.status_reason) == (Status.PAUSED, "consecutive_errors")
        assert (schedule.consecutive_errors, schedule.next_slot) == (3, None)

    @pytest.mark.mission("E7")
    def test_under_the_preset_agent_a_manual_run_is_not_tried_again_once_it_was_one_too_many(self):
        world = World()
        identity = world.add(
            every="1h",
            preset="agent",
            max_consecutive_errors=2,
            max_retries="endless",
            retry_delay="1m",
        )
        run = world.run_now(identity)
        for state in ("queued", "failed"):
            world.claim()
            world.end(run.id, Ending.FAILED)
            assert world.runs[run.id].state == state
            world.go("08:02")

        assert world.runs[run.id].reason == "consecutive_errors"
        assert world.schedules[identity].status is Status.PAUSED


def run_by_hand(world: World, identity: int, ending: Ending = Ending.SUCCEEDED) -> None:
    run = world.run_now(identity)
    world.claim()
    world.end(run.id, ending)


class TestRepeats:
    @pytest.mark.mission("P6")
    def test_total_repeats_successes_and_the_schedule_is_done(self):
        world = World()
        identity = world.add(every="1h", total_repeats=3)
        world.live("20:00", work=lambda run: "failed" if run.number == 1 else "succeeded")

        schedule = world.schedules[identity]
        assert world.states(identity) == ["succeeded", "failed", "succeeded", "succeeded"]
        assert (schedule.status, schedule.status_reason) == (Status.DONE, "repeats")
        assert (schedule.current_repeat, schedule.next_slot, schedule.wake_at) == (3, None, None)

    def test_open_runs_may_use_up_the_repeats_so_no_more_are_planned(self):
        world = World()
        identity = world.add(every="1h", total_repeats=2, if_running="allow")
        for hour in ("09", "10", "11"):
            world.go(f"{hour}:00")
            world.step()
            world.claim()
        assert world.states(identity) == ["running", "running"]
        assert world.rows(identity) == [(1, "skipped", "repeats")]

        world.end(f"{identity}-0", Ending.FAILED)
        world.go("12:00")
        world.step()
        assert world.states(identity) == ["failed", "running", "queued"]

    def test_of_several_missed_slots_the_newest_are_taken(self):
        world = World()
        identity = world.add(every="1h", total_repeats=2, catch_up="run_all")
        world.go("12:00")
        world.step()

        assert [run.slot for run in world.runs.values()] == [at("11:00"), at("12:00")]
        assert world.rows(identity) == [(2, "skipped", "repeats")]

    def test_manual_runs_do_not_count(self):
        world = World()
        identity = world.add(every="1h", total_repeats=1)
        world.run_now(identity)
        world.claim()
        world.end(f"{identity}-0")

        schedule = world.schedules[identity]
        assert (schedule.run_count, schedule.current_repeat) == (1, 0)
        assert schedule.status is Status.ACTIVE

    def test_fewer_repeats_than_there_were_end_the_schedule_and_what_waits(self):
        world = World()
        identity = world.add(every="1h", if_running="queue")
        world.live("10:30")
        world.go("11:00")
        world.step()
        world.claim()
        world.go("12:00")
        world.step()
        world.edit(identity, every="1h", if_running="queue", total_repeats=2)
        world.go("13:00")
        world.step()

        assert world.states(identity)[2:] == ["running", "skipped: inactive"]
        assert world.schedules[identity].status is Status.DONE
