"""Settling: runs and schedules after an attempt has ended."""

from __future__ import annotations

from typing import Any

import pytest

from harness.rules.in_memory_service import InMemoryService
from harness.rules.values import at, minutes
from quarterjack.errors import WrongState
from quarterjack.rules import (
    Ended,
    Ending,
    Kind,
    Outcome,
    Reason,
    Run,
    State,
    Status,
    settle,
    skip_orphan,
)


def after_two_runs(**fields: object) -> tuple[InMemoryService, int]:
    """A schedule whose runs of 09:00 and 10:00 succeeded; it is 10:20."""
    service = InMemoryService()
    identity = service.add(**({"every": "1h"} | fields))
    service.run_until("10:20")
    return service, identity


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


def test_several_attempts_of_one_schedule_are_settled_one_after_the_other():
    service = InMemoryService()
    identity = service.add(every="10m", if_running="allow", max_consecutive_errors=2)
    service.plan_at("08:10", "08:20", "08:30")
    service.claim()
    schedule = service.schedules[identity]
    ended = [
        Ended(run, schedule.specification, Outcome(Ending.FAILED, service.now, f"boom {n}"))
        for n, run in enumerate(service.runs.values())
    ]

    settlements = settle(ended, {identity: schedule}, {}, {}, service.now).settlements

    assert [s.schedule.error_count for s in settlements] == [1, 2, 3]
    assert [s.schedule.status for s in settlements] == ["active", "paused", "paused"]
    assert [s.closes for s in settlements] == [None, "paused", None]
    assert [s.wakes for s in settlements] == [None, None, None]
    last = settlements[0].schedule
    assert (last.last_result, last.last_failure_at) == ("error", at("08:30"))
    assert last.last_error == "boom 0"


def test_a_schedule_that_dies_wakes_the_schedule_of_the_next_held_run():
    service = InMemoryService()
    fields = {"plugin": "echo", "command": "sync", "if_running": "queue"}
    dying = service.add(every="10m", on_exhausted="dead", **fields)
    other = service.add(at="2026-11-16T08:25:00Z", **fields)
    service.plan_at("08:10")
    service.claim()
    service.plan_at("08:20", "08:25")
    assert service.states(dying) == ["running", "held"]

    settlement = service.finish(f"{dying}-0", Ending.FAILED)
    service.plan_due()

    assert (settlement.closes, settlement.wakes) == ("inactive", other)
    assert service.states(dying) == ["failed", "skipped: inactive"]
    assert service.states(other) == ["queued"]


def test_a_closed_run_has_the_number_of_all_its_failures():
    service = InMemoryService()
    identity = service.add(every="1h", max_retries=1, retry_delay="1m")
    service.plan_at("09:00")
    for minute in ("09:00", "09:01"):
        service.advance_to(minute)
        service.claim()
        service.finish(f"{identity}-0", Ending.TIMED_OUT)

    run = service.runs[f"{identity}-0"]
    assert (run.failures, run.losses, run.attempt) == (2, 0, 2)
    assert run.finished_at == at("09:01")


def test_a_cancelled_run_has_no_failures():
    service = InMemoryService()
    identity = service.add(every="1h")
    service.plan_at("09:00")
    service.claim()
    service.finish(f"{identity}-0", Ending.CANCELLED)

    run = service.runs[f"{identity}-0"]
    assert (run.failures, run.losses) == (0, 0)
    assert service.schedules[identity].last_failure_at is None


def test_a_manual_success_does_not_reset_current_retry():
    service = InMemoryService()
    identity = service.add(every="1h", if_running="allow", max_retries=3, retry_delay="1h")
    service.plan_at("09:00")
    service.claim()
    service.finish(f"{identity}-0", Ending.FAILED)
    manual = service.run_now(identity)
    service.claim()
    service.finish(manual.id)

    assert service.schedules[identity].current_retry == 1


def test_a_success_after_a_failure_resets_current_retry():
    service = InMemoryService()
    identity = service.add(every="1h", max_retries=3, retry_delay="1m", total_repeats=1)
    service.plan_at("09:00")
    service.claim()
    service.finish(f"{identity}-0", Ending.FAILED)
    service.advance_to("09:01")
    service.claim()
    settlement = service.finish(f"{identity}-0")

    assert settlement.schedule.current_retry == 0


def test_a_success_while_the_schedule_is_paused_resets_current_retry():
    service = InMemoryService()
    identity = service.add(every="1h", max_retries=3, retry_delay="1m")
    service.plan_at("09:00")
    service.claim()
    service.finish(f"{identity}-0", Ending.FAILED)
    service.advance_to("09:01")
    service.claim()
    service.pause(identity)
    service.finish(f"{identity}-0")

    assert service.schedules[identity].current_retry == 0


def test_a_queued_run_cannot_be_settled():
    service = InMemoryService()
    identity = service.add(every="1h")
    service.run_now(identity)
    with pytest.raises(WrongState) as caught:
        service.finish(f"{identity}-0")
    assert str(caught.value) == (
        'run 1-0 is queued; the transition "succeed" is not allowed in this state'
    )


@pytest.mark.parametrize(
    ("ending", "message"),
    [
        (Ending.FAILED, "the attempt failed without an error message"),
        (Ending.TIMED_OUT, "the attempt took longer than its timeout"),
    ],
)
def test_an_outcome_without_an_error_gets_a_default_error(ending: Ending, message: str):
    service = InMemoryService()
    identity = service.add(every="1h")
    service.plan_at("09:00")
    service.claim()
    service.finish(f"{identity}-0", ending)

    assert service.schedules[identity].last_error == message


def test_a_run_lost_while_its_schedule_is_paused_counts_as_an_error():
    service = InMemoryService()
    identity = service.add(every="1h")
    service.plan_at("09:00")
    service.claim()
    service.pause(identity)
    service.finish(f"{identity}-0", Ending.LOST)

    assert service.states(identity) == ["lost: inactive"]
    assert service.schedules[identity].error_count == 1


def test_a_run_handed_back_while_its_schedule_is_paused_is_not_an_error():
    service = InMemoryService()
    identity = service.add(every="1h")
    service.plan_at("09:00")
    service.claim()
    service.pause(identity)
    service.finish(f"{identity}-0", Ending.LOST, handed_back=True)

    assert service.states(identity) == ["lost: inactive"]
    assert service.runs[f"{identity}-0"].losses == 0
    assert service.schedules[identity].error_count == 0


def test_an_attempt_that_cannot_be_settled_does_not_affect_others():
    service = InMemoryService()
    one, other = service.add(every="10m"), service.add(every="10m")
    service.plan_at("08:10")
    service.claim()
    outcome = Outcome(Ending.SUCCEEDED, service.now)
    stale = service.runs[f"{one}-0"]._replace(state=State.CANCELLED)
    ended = [
        Ended(stale, service.versions[one, 1], outcome),
        Ended(service.runs[f"{other}-0"], service.versions[other, 1], outcome),
    ]

    decided = settle(ended, service.schedules, {}, {}, service.now)

    assert [each.run.schedule_id for each in decided.settlements] == [other]
    assert [(each.run.id, type(error)) for each, error in decided.refused] == [
        (f"{one}-0", WrongState)
    ]


@pytest.mark.mission("D11", "H5")
def test_the_fields_of_a_schedule_follow_its_runs():
    service, identity = after_two_runs()

    schedule = service.schedules[identity]
    assert schedule.last_fired_at == at("10:00")
    assert (schedule.last_run_id, schedule.last_success_run_id) == ("1-1", "1-1")
    assert (schedule.last_success_at, schedule.next_slot) == (at("10:00"), at("11:00"))


@pytest.mark.mission("P6")
def test_a_success_is_counted_and_resets_current_retry():
    service, identity = with_running_run(max_retries=3, retry_delay="1m")
    fail_attempt(service, identity)
    assert service.schedules[identity].current_retry == 1

    settlement = service.finish(f"{identity}-0", result={"rows": 3})

    schedule = service.schedules[identity]
    assert (schedule.run_count, schedule.current_repeat, schedule.current_retry) == (1, 1, 0)
    assert schedule.last_success_at == at("09:01")
    assert schedule.last_success_run_id == f"{identity}-0"
    assert settlement.run.result == {"rows": 3}


def test_an_attempt_gets_a_row_only_if_another_attempt_follows():
    service, identity = with_running_run(max_retries=1, retry_delay="1m")

    first = service.finish(f"{identity}-0", Ending.FAILED, error="boom")
    service.advance_to("09:01")
    service.claim()
    last = service.finish(f"{identity}-0", Ending.FAILED, error="again")

    assert first.attempt is not None
    assert (first.attempt.run_id, first.attempt.number) == (f"{identity}-0", 1)
    assert (first.attempt.worker, first.attempt.started_at) == ("w1", at("09:00"))
    assert first.attempt.outcome.error == "boom"
    assert (first.run.worker, first.run.lease_until, first.run.error) == (None, None, "boom")
    assert last.attempt is None
    assert last.run.error == "again"


@pytest.mark.parametrize(
    ("fields", "status", "reason"),
    [
        ({"on_exhausted": "pause"}, Status.PAUSED, "exhausted"),
        ({"on_exhausted": "dead"}, Status.DEAD, "exhausted"),
        ({"max_consecutive_errors": 1}, Status.PAUSED, "consecutive_errors"),
    ],
)
def test_due_slots_get_the_reason_for_which_the_schedule_stopped(
    fields: dict[str, Any], status: Status, reason: str
):
    """Found by the simulator: the planner had not come to them, and then never did."""
    service, identity = with_running_run(**fields)
    service.advance_to("11:00")
    service.finish(f"{identity}-0", Ending.FAILED)

    assert service.schedules[identity].status is status
    assert service.not_run_rows(identity) == [(2, "skipped", reason)]
    assert service.plan_due() == []


def test_a_due_one_shot_is_not_skipped_when_the_schedule_stops():
    service = InMemoryService()
    identity = service.add(at="2026-11-16T08:30:00Z", on_exhausted="pause")
    service.advance_to("08:30")
    service.plan_due()
    service.claim()
    service.edit(identity, at="2026-11-16T08:40:00Z")
    service.advance_to("08:40")
    service.finish(f"{identity}-0", Ending.FAILED)
    assert service.schedules[identity].status is Status.PAUSED

    service.resume(identity)
    service.plan_due()
    assert service.not_run_rows(identity) == []
    assert [run.slot for run in service.open_runs(identity)] == [at("08:40")]


@pytest.mark.parametrize("ending", [Ending.FAILED, Ending.LOST])
def test_an_attempt_that_ends_while_the_schedule_is_paused_is_the_last(ending: Ending):
    service, identity = with_running_run(max_retries=3)
    service.pause(identity)

    service.finish(f"{identity}-0", ending)

    assert service.states(identity) == [f"{ending}: inactive"]
    assert service.schedules[identity].status is Status.PAUSED


def test_an_attempt_that_succeeds_while_the_schedule_is_paused_counts():
    service, identity = with_running_run(total_repeats=1)
    service.pause(identity)
    service.finish(f"{identity}-0")
    assert service.schedules[identity].status is Status.PAUSED

    service.resume(identity)
    service.plan_due()

    schedule = service.schedules[identity]
    assert (schedule.status, schedule.status_reason) == (Status.DONE, "repeats")


def test_a_closed_run_cannot_be_settled_again():
    service, identity = with_running_run()
    service.finish(f"{identity}-0")

    with pytest.raises(WrongState, match="run 1-0 has already succeeded"):
        service.finish(f"{identity}-0")


def test_an_orphan_is_skipped_and_its_claim_does_not_count_as_an_attempt():
    claimed = Run(1, 7, Kind.SLOT, at("09:00"), at("09:00"), at("09:00"), "1")._replace(
        state=State.RUNNING, attempt=2, worker="w1", started_at=at("09:05"), lease_until=at("09:06")
    )

    orphan = skip_orphan(claimed, at("09:05"))

    assert (orphan.state, orphan.reason) == (State.SKIPPED, Reason.DELETED)
    assert (orphan.attempt, orphan.finished_at) == (1, at("09:05"))
    assert (orphan.worker, orphan.started_at, orphan.lease_until) == (None, None, None)
    with pytest.raises(WrongState, match="run 1-7 was already skipped"):
        skip_orphan(orphan, at("09:06"))


@pytest.mark.mission("H11")
def test_the_code_of_an_error_is_kept_on_the_attempt_and_the_run_and_cleared_by_a_success():
    service, identity = with_running_run(max_retries=1, retry_delay="1m")

    first = service.finish(f"{identity}-0", Ending.FAILED, error="no funds", code="declined")
    assert first.attempt is not None
    assert first.attempt.outcome.code == "declined"
    assert (first.run.error, first.run.code) == ("no funds", "declined")

    service.advance_to("09:01")
    service.claim()
    last = service.finish(f"{identity}-0", result={"paid": 3})
    assert (last.run.result, last.run.error, last.run.code) == ({"paid": 3}, None, None)


@pytest.mark.mission("H11")
def test_a_failed_run_has_the_code_of_its_last_attempt():
    service, identity = with_running_run(max_retries=1, retry_delay="1m")

    fail_attempt(service, identity, code="declined")
    last = service.finish(f"{identity}-0", Ending.FAILED, error="closed", code="closed_account")

    assert (last.run.state, last.run.reason) == (State.FAILED, Reason.EXHAUSTED)
    assert (last.run.error, last.run.code) == ("closed", "closed_account")


def test_an_attempt_that_times_out_after_an_error_with_a_code_has_none():
    service, identity = with_running_run(max_retries=1, retry_delay="1m")

    fail_attempt(service, identity, code="declined")
    last = service.finish(f"{identity}-0", Ending.TIMED_OUT, error="timed out after 5 s")

    assert (last.run.error, last.run.code) == ("timed out after 5 s", None)


def test_an_error_that_is_not_retryable_ends_the_run_with_its_code():
    service, identity = with_running_run(max_retries="endless")

    last = service.finish(
        f"{identity}-0", Ending.FAILED, code="gone", retryable=False, retry_after=minutes(1)
    )

    assert service.states(identity) == ["failed: not_retryable"]
    assert last.run.code == "gone"


@pytest.mark.parametrize(
    ("retry_after", "ready_at"), [(None, "09:05"), (0, "09:00"), (minutes(90), "10:30")]
)
def test_retry_after_replaces_the_delay_of_the_retry_policy(retry_after: int | None, ready_at: str):
    service, identity = with_running_run(max_retries=3, retry_delay="5m")

    settlement = service.finish(f"{identity}-0", Ending.FAILED, retry_after=retry_after)

    assert settlement.run.ready_at == at(ready_at)


def test_retry_after_holds_for_one_delay_and_uses_up_a_retry():
    service, identity = with_running_run(
        max_retries=2, retry_delay="1m", retry_backoff="exponential"
    )

    fail_attempt(service, identity, retry_after=minutes(30))
    assert (service.now, service.open_runs(identity)[0].failures) == (at("09:30"), 1)
    fail_attempt(service, identity)
    assert service.now == at("09:32")  # the second delay of the policy
    fail_attempt(service, identity, retry_after=minutes(1))

    assert service.states(identity) == ["failed: exhausted"]


@pytest.mark.mission("H11")
def test_a_task_that_skips_ends_the_run_as_neither_success_nor_error():
    service, identity = with_running_run(max_retries=3, retry_delay="1m")
    fail_attempt(service, identity)
    before = service.schedules[identity]

    settlement = service.finish(f"{identity}-0", Ending.SKIPPED, error="no new orders")

    run, after = settlement.run, service.schedules[identity]
    assert service.states(identity) == ["skipped: by_task"]
    assert (run.error, run.code, run.failures, run.finished_at) == (
        ("no new orders", None, 1, at("09:01"))
    )
    assert settlement.attempt is None
    assert (before.error_count, before.current_retry, after.current_retry) == (1, 1, 0)
    assert after._replace(current_retry=1) == before


def test_a_task_that_skips_uses_up_no_repeat():
    service, identity = with_running_run(total_repeats=1)
    service.finish(f"{identity}-0", Ending.SKIPPED)
    service.plan_at("10:00")
    service.claim()
    service.finish(f"{identity}-1")
    service.plan_due()

    assert service.states(identity) == ["skipped: by_task", "succeeded"]
    assert service.schedules[identity].status_reason is Reason.REPEATS


def test_a_task_that_skips_keeps_the_count_of_consecutive_errors():
    service, identity = with_running_run(max_consecutive_errors=2)
    for hour, ending in (("10:00", Ending.FAILED), ("11:00", Ending.SKIPPED)):
        service.finish(service.open_runs(identity)[0].id, ending)
        service.plan_at(hour)
        service.claim()
    assert service.schedules[identity].consecutive_errors == 1

    service.finish(service.open_runs(identity)[0].id, Ending.FAILED)

    schedule = service.schedules[identity]
    assert (schedule.status, schedule.status_reason) == (Status.PAUSED, Reason.CONSECUTIVE_ERRORS)


@pytest.mark.parametrize("on_exhausted", ["pause", "dead"])
def test_a_one_shot_whose_task_skips_is_done(on_exhausted: str):
    service = InMemoryService()
    identity = service.add(at="2026-11-16T09:00:00Z", max_retries=3, on_exhausted=on_exhausted)
    service.plan_at("09:00")
    service.claim()

    service.finish(f"{identity}-0", Ending.SKIPPED)
    service.plan_due()

    assert service.schedules[identity].status is Status.DONE


def test_a_task_that_skips_moves_the_anchor_of_completion_on():
    service, identity = with_running_run(anchor="completion")
    service.advance_to("09:10")

    service.finish(f"{identity}-0", Ending.SKIPPED)

    assert service.schedules[identity].next_slot == at("10:10")


def test_a_task_that_skips_releases_the_next_held_run():
    service, identity = with_running_run(if_running="queue")
    service.plan_at("10:00")
    assert service.states(identity) == ["running", "held"]

    service.finish(f"{identity}-0", Ending.SKIPPED)
    service.plan_due()

    assert service.states(identity) == ["skipped: by_task", "queued"]


def test_a_cancelled_run_whose_task_skips_is_cancelled():
    service, identity = with_running_run()
    service.cancel(f"{identity}-0")

    service.finish(f"{identity}-0", Ending.SKIPPED, error="no new orders")

    assert service.states(identity) == ["cancelled: requested"]


def test_a_task_that_skips_while_its_schedule_is_paused_is_skipped_by_itself():
    service, identity = with_running_run()
    service.pause(identity)

    service.finish(f"{identity}-0", Ending.SKIPPED)

    assert service.states(identity) == ["skipped: by_task"]
