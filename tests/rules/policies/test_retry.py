"""Retries, their delays, and what follows when they are exhausted."""

from __future__ import annotations

import pytest

from harness.rules.in_memory_service import InMemoryService
from harness.rules.values import at
from quarterjack.rules import Ending, Status
from quarterjack.rules.policies.retry import Backoff, OnExhausted, Retry
from quarterjack.times.instants import SECOND


def fail_attempt(
    service: InMemoryService, identity: int, ending: Ending = Ending.FAILED, **words: object
) -> None:
    """The open run's attempt fails; the next one begins as soon as it may."""
    (run,) = service.open_runs(identity)
    service.finish(run.id, ending, **{"error": "boom", **words})
    for again in service.open_runs(identity):
        service.advance_to(max(service.now, again.ready_at))
        service.claim()


def with_running_run(**fields: object) -> tuple[InMemoryService, int]:
    """Its first run is running at 09:00."""
    service = InMemoryService()
    identity = service.add(**({"every": "1h"} | fields))
    service.advance_to("09:00")
    service.plan_due()
    service.claim()
    return service, identity


@pytest.mark.parametrize("preempts", [False, True])
def test_closing_a_waiting_retry_resets_current_retry(preempts: bool):
    service = InMemoryService()
    identity = service.add(
        every="1h", max_retries=3, retry_delay="2h", slot_preempts_retry=preempts
    )
    service.plan_at("09:00")
    service.claim()
    service.finish(f"{identity}-0", Ending.FAILED)
    assert service.schedules[identity].current_retry == 1
    if preempts:
        service.plan_at("10:00")
    else:
        service.cancel(f"{identity}-0")

    assert service.schedules[identity].current_retry == 0


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
    service = InMemoryService()
    identity = service.add(workflow_id=1, every="60s")
    waits = []
    service.advance_to("08:01")
    service.plan_due()
    service.claim()
    for _ in range(3):
        service.finish(f"{identity}-0", Ending.FAILED)
        waits.append(service.runs[f"{identity}-0"].ready_at - service.now)
        service.advance_to(service.runs[f"{identity}-0"].ready_at)
        service.claim()

    assert [wait // SECOND for wait in waits] == [60, 120, 240]


@pytest.mark.mission("V6")
def test_a_fixed_delay_counts_from_the_end_of_each_failure_without_limit():
    service, identity = with_running_run(
        max_retries="endless", retry_backoff="fixed", retry_delay="90s"
    )
    for minute in range(10):
        service.advance_to(service.now + 17 * SECOND)
        ended = service.now
        fail_attempt(service, identity)
        run = service.runs[f"{identity}-0"]
        assert run.ready_at == ended + 90 * SECOND
        assert (run.state, run.attempt) == ("running", minute + 2)

    service.finish(f"{identity}-0")
    schedule = service.schedules[identity]
    assert (schedule.current_retry, schedule.consecutive_errors) == (0, 0)
    assert (schedule.run_count, schedule.error_count, schedule.last_result) == (1, 10, "ok")


@pytest.mark.parametrize(
    ("fields", "delay"),
    [({"every": "7m"}, 420), ({"cron": "0 9 * * *"}, 30), ({"every": "1d"}, 86_400)],
)
def test_the_delay_is_the_interval_or_else_30_seconds(fields: dict[str, str], delay: int):
    service = InMemoryService()
    service.add(**fields)

    assert service.versions[1, 1].retry.delay == delay * SECOND


@pytest.mark.mission("P6")
@pytest.mark.parametrize(("retries", "attempts"), [(3, 4), (1, 2), (0, 1)])
def test_a_schedule_is_dead_after_max_retries_plus_one_attempts(retries: int, attempts: int):
    service, identity = with_running_run(max_retries=retries, retry_delay="1m", on_exhausted="dead")
    for number in range(attempts):
        schedule = service.schedules[identity]
        assert (schedule.status, schedule.current_retry) == (Status.ACTIVE, number)
        fail_attempt(service, identity, error=f"boom {number}")

    schedule, run = service.schedules[identity], service.runs[f"{identity}-0"]
    assert (run.state, run.attempt) == ("failed", attempts)
    assert run.reason == ("exhausted" if retries else None)
    assert (schedule.status, schedule.status_reason) == (Status.DEAD, "exhausted")
    assert (schedule.error_count, schedule.last_error) == (attempts, f"boom {attempts - 1}")
    assert (schedule.next_slot, schedule.wake_at) == (None, None)
    service.advance_to("15:00")
    assert service.plan_due() == []


def test_on_exhausted_pause_pauses_until_a_resume():
    service, identity = with_running_run(on_exhausted="pause")
    fail_attempt(service, identity)

    schedule = service.schedules[identity]
    assert (schedule.status, schedule.status_reason) == (Status.PAUSED, "exhausted")
    assert schedule.paused_by == "quarterjack"
    service.resume(identity)
    assert service.schedules[identity].status is Status.ACTIVE


def test_on_exhausted_continue_continues_with_the_next_slot():
    service, identity = with_running_run(max_retries=1, retry_delay="1m")
    fail_attempt(service, identity)
    fail_attempt(service, identity)

    schedule = service.schedules[identity]
    assert service.states(identity) == ["failed: exhausted"]
    assert (schedule.status, schedule.current_retry) == (Status.ACTIVE, 0)
    assert schedule.next_slot == at("10:00")


@pytest.mark.parametrize("ending", [Ending.FAILED, Ending.TIMED_OUT])
def test_a_failure_that_is_not_retryable_is_not_retried(ending: Ending):
    service, identity = with_running_run(max_retries=5, on_exhausted="dead")

    fail_attempt(service, identity, ending, retryable=False)

    assert service.states(identity) == [f"{ending}: not_retryable"]
    assert service.schedules[identity].status is Status.DEAD


def test_a_timeout_is_retried_and_the_run_ends_as_timed_out():
    service, identity = with_running_run(max_retries=1, retry_delay="1m")

    fail_attempt(service, identity, Ending.TIMED_OUT)
    fail_attempt(service, identity, Ending.TIMED_OUT)

    assert service.states(identity) == ["timed_out: exhausted"]
    assert service.schedules[identity].error_count == 2


class TestPreemption:
    """slot_preempts_retry: a slot and a waiting retry become one run."""

    @pytest.mark.mission("V4")
    @pytest.mark.parametrize("ready", ["09:30", "10:30"])
    def test_a_new_slot_supersedes_a_waiting_retry(self, ready: str):
        service, identity = with_running_run(
            max_retries="endless", slot_preempts_retry=True, retry_delay="1m"
        )
        service.finish(f"{identity}-0", Ending.FAILED)
        run = service.runs[f"{identity}-0"]
        service.runs[run.id] = run._replace(ready_at=at(ready))

        service.advance_to("10:00")
        service.plan_due()
        service.claim()

        assert service.states(identity) == ["failed: superseded", "running"]

    @pytest.mark.mission("V4")
    def test_a_retry_that_is_ready_before_the_slot_runs(self):
        service, identity = with_running_run(
            max_retries="endless", slot_preempts_retry=True, retry_delay="1m"
        )
        fail_attempt(service, identity)

        assert (service.states(identity), service.now) == (["running"], at("09:01"))
        service.advance_to("10:00")
        service.plan_due()
        assert service.not_run_rows(identity) == [(1, "skipped", "overlap")]

    def test_without_it_the_slot_is_skipped(self):
        service, identity = with_running_run(max_retries=3, retry_delay="2h")
        service.finish(f"{identity}-0", Ending.FAILED)

        service.advance_to("10:00")
        service.plan_due()

        assert service.states(identity) == ["queued"]
        assert service.not_run_rows(identity) == [(1, "skipped", "overlap")]

    def test_a_slot_that_cannot_run_supersedes_nothing(self):
        service, identity = with_running_run(
            max_retries=3, retry_delay="2h", slot_preempts_retry=True, total_repeats=1
        )
        service.finish(f"{identity}-0", Ending.FAILED)
        schedule = service.schedules[identity]
        service.schedules[identity] = schedule._replace(current_repeat=1)

        service.advance_to("10:00")
        service.plan_due()

        assert service.not_run_rows(identity) == [(1, "skipped", "repeats")]
