"""Pauses, resumes and consecutive errors."""

from __future__ import annotations

import pytest

from harness.rules.in_memory_service import InMemoryService
from harness.rules.values import at
from quarterjack.rules import Ending, Reason, Status


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


def run_manually(
    service: InMemoryService, identity: int, ending: Ending = Ending.SUCCEEDED
) -> None:
    run = service.run_now(identity)
    service.claim()
    service.finish(run.id, ending)


class TestResume:
    def test_an_after_keeps_its_instant(self):
        service = InMemoryService()
        identity = service.add(after="1h")
        service.advance_to("08:10")
        service.pause(identity)
        service.advance_to("08:20")
        service.resume(identity)

        assert service.schedules[identity].next_slot == at("09:00")
        assert service.schedules[identity].anchor_at == at("08:00")

    def test_a_completion_anchor_moves_to_the_resume(self):
        service = InMemoryService()
        identity = service.add(every="1h", anchor="completion", start_at="2026-11-16T08:30:00Z")
        service.run_until("08:40")
        service.pause(identity)
        service.advance_to("09:10")
        service.resume(identity)

        assert service.schedules[identity].next_slot == at("10:10")

    def test_it_clears_the_reason_and_starts_a_new_row_of_slots_not_run(self):
        service = InMemoryService()
        identity = service.add(every="10m", only_between="20:00-21:00")
        service.plan_at("08:10")
        service.pause(identity, reason="holiday")
        assert service.schedules[identity].not_run is None
        service.advance_to("08:15")
        service.resume(identity)
        service.plan_at("08:25")

        assert service.schedules[identity].status_reason is None
        assert service.not_run_rows(identity) == [(1, "skipped", "only_between")] * 2


class TestConsecutiveErrors:
    """max_consecutive_errors pauses the schedule."""

    def test_it_closes_waiting_runs_with_the_reason_paused(self):
        service = InMemoryService()
        identity = service.add(every="10m", if_running="queue", max_consecutive_errors=3)
        service.plan_at("08:10")
        service.claim()
        service.plan_at("08:20")
        schedule = service.schedules[identity]
        service.schedules[identity] = schedule._replace(consecutive_errors=3)
        service.plan_at("08:30")

        assert service.states(identity) == ["running", "skipped: paused"]
        assert service.schedules[identity].status is Status.PAUSED
        assert service.not_run_rows(identity) == [(1, "skipped", Reason.CONSECUTIVE_ERRORS)]

    def test_a_one_shot_with_too_many_errors_fires_after_the_resume(self):
        service = InMemoryService()
        identity = service.add(at="2026-11-16T09:00:00Z", max_consecutive_errors=1)
        schedule = service.schedules[identity]
        service.schedules[identity] = schedule._replace(consecutive_errors=1)
        service.plan_at("09:00")
        assert service.schedules[identity].status is Status.PAUSED
        assert (service.states(identity), service.not_run_rows(identity)) == ([], [])

        service.resume(identity)
        service.plan_due()
        assert service.states(identity) == ["queued"]

    @pytest.mark.mission("E7", "E6")
    def test_ten_errors_in_a_row_pause_and_a_success_resets_the_count(self):
        service = InMemoryService()
        identity = service.add(prompt="hello", every="1m")
        failing = True
        service.run_until("08:09", work=lambda run: "failed")
        assert service.schedules[identity].consecutive_errors == 9
        service.run_until("08:10")
        assert service.schedules[identity].consecutive_errors == 0
        service.run_until("08:20", work=lambda run: "failed" if failing else "succeeded")

        schedule = service.schedules[identity]
        assert (schedule.status, schedule.status_reason) == (Status.PAUSED, "consecutive_errors")
        assert (schedule.paused_by, schedule.wake_at) == ("quarterjack", None)
        assert (schedule.error_count, schedule.consecutive_errors) == (19, 10)
        service.run_until("08:30")
        assert len(service.runs) == 20

    @pytest.mark.mission("E7")
    def test_a_resume_resets_the_count(self):
        service = InMemoryService()
        identity = service.add(prompt="hello", every="1m")
        service.run_until("08:10", work=lambda run: "failed")
        assert service.schedules[identity].status is Status.PAUSED

        service.resume(identity)

        assert service.schedules[identity].consecutive_errors == 0
        service.run_until("08:19", work=lambda run: "failed")
        assert service.schedules[identity].status is Status.ACTIVE

    @pytest.mark.mission("E6")
    def test_a_schedule_with_too_many_errors_is_paused_instead_of_planned(self):
        service = InMemoryService()
        identity = service.add(every="1m", if_running="allow")
        service.run_until("08:03", work=lambda run: "failed")
        service.edit(identity, every="1m", if_running="allow", max_consecutive_errors=3)

        service.advance_to("08:05")
        service.plan_due()

        schedule = service.schedules[identity]
        assert (schedule.status, schedule.status_reason) == (Status.PAUSED, "consecutive_errors")
        assert len(service.runs) == 3
        assert service.not_run_rows(identity) == [(2, "skipped", "consecutive_errors")]

    def test_retries_count_and_the_run_ends_with_the_pause(self):
        service, identity = with_running_run(
            max_retries="endless", retry_delay="1m", max_consecutive_errors=2
        )
        fail_attempt(service, identity)
        fail_attempt(service, identity)

        assert service.states(identity) == ["failed: consecutive_errors"]
        assert service.schedules[identity].status is Status.PAUSED

    def test_waiting_runs_are_closed_with_the_pause(self):
        service, identity = with_running_run(if_running="queue", max_consecutive_errors=1)
        service.advance_to("10:00")
        service.plan_due()
        service.finish(f"{identity}-0", Ending.FAILED)

        assert service.states(identity) == ["failed", "skipped: paused"]

    def test_manual_failures_do_not_count_but_a_manual_success_resets(self):
        service = InMemoryService()
        identity = service.add(every="1m", max_consecutive_errors=3)
        service.run_until("08:02", work=lambda run: "failed")
        service.run_now(identity)
        service.claim()
        service.finish(f"{identity}-2", Ending.FAILED)
        assert service.schedules[identity].consecutive_errors == 2
        assert service.schedules[identity].error_count == 3

        service.run_now(identity)
        service.claim()
        service.finish(f"{identity}-3")
        assert service.schedules[identity].consecutive_errors == 0

    @pytest.mark.mission("E7", "E5")
    def test_with_the_preset_agent_manual_failures_count(self):
        service = InMemoryService()
        identity = service.add(every="1h", preset="agent", max_consecutive_errors=3)
        service.run_until("09:01", work=lambda run: "failed")
        assert service.schedules[identity].consecutive_errors == 1
        run_manually(service, identity)
        run_manually(service, identity, Ending.FAILED)
        schedule = service.schedules[identity]
        assert (schedule.consecutive_errors, schedule.last_result) == (1, "error")

        run_manually(service, identity, Ending.TIMED_OUT)
        run_manually(service, identity, Ending.FAILED)

        schedule = service.schedules[identity]
        assert (schedule.status, schedule.status_reason) == (Status.PAUSED, "consecutive_errors")
        assert (schedule.consecutive_errors, schedule.next_slot) == (3, None)

    @pytest.mark.mission("E7")
    def test_with_the_preset_agent_a_manual_run_is_not_retried_once_the_limit_is_reached(self):
        service = InMemoryService()
        identity = service.add(
            every="1h",
            preset="agent",
            max_consecutive_errors=2,
            max_retries="endless",
            retry_delay="1m",
        )
        run = service.run_now(identity)
        for state in ("queued", "failed"):
            service.claim()
            service.finish(run.id, Ending.FAILED)
            assert service.runs[run.id].state == state
            service.advance_to("08:02")

        assert service.runs[run.id].reason == "consecutive_errors"
        assert service.schedules[identity].status is Status.PAUSED
