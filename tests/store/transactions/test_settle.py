"""Settling and rescuing on every store."""

from __future__ import annotations

import pytest

from harness.store.shortcuts import clear_cache, started, states, write
from harness.store.stores import StoreClient
from quarterjack import rules
from quarterjack.rules import Ending, Reason, State
from quarterjack.times.instants import SECOND


def test_a_success_is_counted_and_its_result_stored(client: StoreClient):
    run = started(client)

    settled = client.settle((run, client.outcome(result={"rows": 3})))

    assert [each.state for each in settled.settled] == [State.SUCCEEDED]
    found = client.reads
    assert found.run(run.id)[0].run.result == {"rows": 3}
    assert found.schedule("nightly").schedule.run_count == 1


def test_an_attempt_is_settled_once(client: StoreClient):
    run = started(client)
    client.settle((run, client.outcome()))

    again = client.settle((run, client.outcome("failed")))

    assert list(again.fenced) == [run]
    assert client.reads.schedule("nightly").schedule.error_count == 0


def test_an_outcome_that_is_twice_in_a_batch_is_settled_once(client: StoreClient):
    run = started(client)

    settled = client.settle((run, client.outcome()), (run, client.outcome()))

    assert (len(settled.settled), len(settled.fenced)) == (1, 1)


def test_only_the_last_of_several_ended_attempts_is_settled(client: StoreClient):
    """As when a worker could not settle, lost the run, claimed it again and then settles both."""
    lost = started(client)
    client.clock.instant += 11 * SECOND
    client.rescue()
    (last,) = [claim.run for claim in client.claim()]

    settled = client.settle((lost, client.outcome()), (last, client.outcome("failed")))

    assert [run.state for run in settled.settled] == ["failed"]
    assert list(settled.fenced) == [lost]


def test_a_cancellation_during_the_attempt_is_applied(client: StoreClient):
    run = started(client)
    client.change(run.schedule_id, lambda facts, now: rules.cancel_run(facts, run, now))

    client.settle((run, client.outcome("failed", error="interrupted")))

    found = client.reads.run(run.id)[0].run
    assert (found.state, found.reason) == (State.CANCELLED, Reason.REQUESTED)


def test_a_failed_attempt_has_a_row_only_if_the_run_is_retried(client: StoreClient):
    run = started(client, max_retries=1, retry_delay="1m")
    client.settle((run, client.outcome("failed", error="boom")))
    client.go("09:01")
    (again,) = client.claim()
    client.settle((again.run, client.outcome("failed", error="bang")))

    found, attempts = client.reads.run(run.id)

    assert [(each.number, each.outcome.error) for each in attempts] == [(1, "boom")]
    assert (found.run.attempt, found.run.error) == (2, "bang")


@pytest.mark.mission("H11")
def test_the_codes_of_errors_are_stored_with_the_run_and_its_attempts(client: StoreClient):
    run = started(client, max_retries=3, retry_delay="1m")
    client.settle((run, client.outcome("failed", error="no funds", code="declined")))
    waiting, _ = client.reads.run(run.id)
    client.go("09:01")
    (again,) = client.claim()
    assert again.run.code == "declined"
    client.settle((again.run, client.outcome("timed_out", error="too slow")))
    client.go("09:05")
    (last,) = client.claim()
    client.settle((last.run, client.outcome("failed", code="gone", retryable=False)))

    found, attempts = client.reads.run(run.id)

    assert (waiting.run.error, waiting.run.code) == ("no funds", "declined")
    assert [(each.outcome.error, each.outcome.code) for each in attempts] == [
        ("no funds", "declined"),
        ("too slow", None),
    ]
    assert (found.run.state, found.run.reason, found.run.code) == (
        (State.FAILED, Reason.NOT_RETRYABLE, "gone")
    )


def test_a_success_after_an_error_with_a_code_is_stored_without_one(client: StoreClient):
    run = started(client, max_retries=1, retry_delay="1m")
    client.settle((run, client.outcome("failed", error="no funds", code="declined")))
    client.go("09:01")
    (again,) = client.claim()

    client.settle((again.run, client.outcome(result={"paid": 3})))

    found = client.reads.run(run.id)[0].run
    assert (found.result, found.error, found.code) == ({"paid": 3}, None, None)


def test_retry_after_is_stored_as_when_the_run_is_ready(client: StoreClient):
    run = started(client, max_retries=1, retry_delay="1m")

    client.settle((run, client.outcome("failed", retry_after=90 * SECOND)))

    assert client.reads.run(run.id)[0].run.ready_at == client.now + 90 * SECOND
    client.clock.instant += 90 * SECOND - 1
    assert client.claim() == []
    client.clock.instant += 1
    assert [claim.run.id for claim in client.claim()] == [run.id]


@pytest.mark.mission("H11")
def test_a_run_that_its_task_skipped_is_stored_with_its_reason(client: StoreClient):
    run = started(client)

    settled = client.settle((run, client.outcome("skipped", error="no new orders")))

    assert [each.state for each in settled.settled] == [State.SKIPPED]
    found = client.reads.run(run.id)[0].run
    assert (found.state, found.reason, found.error) == (
        (State.SKIPPED, Reason.BY_TASK, "no new orders")
    )
    schedule = client.reads.schedule("nightly").schedule
    assert (schedule.run_count, schedule.error_count, schedule.last_result) == (0, 0, None)


def test_a_held_run_is_released_after_the_run_before_it_has_ended(client: StoreClient):
    run = started(client, if_running="queue")
    client.go("10:00")
    client.plan()
    assert states(client) == ["running", "held"]

    settled = client.settle((run, client.outcome()))

    assert settled.next_wake == client.now
    assert client.plan().added == 1
    assert states(client) == ["succeeded", "queued"]


def test_an_unchanged_wake_is_not_returned(client: StoreClient):
    run = started(client)

    assert client.settle((run, client.outcome())).next_wake is None


def test_a_run_with_an_unreadable_specification_is_closed(client: StoreClient):
    run = started(client, max_retries=5)
    write(client, "update specifications set body = 'x'")
    clear_cache(client)

    settled = client.settle((run, client.outcome("failed", error="boom")))

    assert [each.state for each in settled.settled] == [State.FAILED]
    assert (settled.settled[0].error or "").startswith("boom; not settled: JSONDecodeError")


@pytest.mark.fault("F4", "F6")
def test_an_expired_lease_leads_to_another_attempt_of_the_same_run(client: StoreClient):
    run = started(client)
    client.clock.instant += 10 * SECOND - 1
    assert list(client.rescue().lost) == []
    client.clock.instant += 1

    rescued = client.rescue()

    assert [each.id for each in rescued.lost] == [run.id]
    (claim,) = client.claim("w2")
    assert (claim.run.id, claim.run.attempt, claim.run.losses) == (run.id, 2, 1)
    _, (attempt,) = client.reads.run(run.id)
    assert (attempt.number, attempt.outcome.ending) == (1, Ending.LOST)
    assert attempt.outcome.error == "worker w1 was lost: its lease was not renewed"


def test_leases_that_expire_together_are_settled_in_the_order_of_their_schedules(
    client: StoreClient,
):
    first, second = client.add("first", every="1h"), client.add("second", every="1h")
    for which in (second, first):
        client.change(which, rules.run_now)
        client.claim()
    client.clock.instant += 10 * SECOND

    assert [run.schedule_id for run in client.rescue().lost] == [first, second]


@pytest.mark.fault("F4")
def test_an_at_most_once_run_is_lost_with_its_worker(client: StoreClient):
    run = started(client, execution="at_most_once")
    client.clock.instant += 10 * SECOND

    client.rescue()

    found = client.reads.run(run.id)[0].run
    assert (found.state, found.reason) == (State.LOST, Reason.WORKER_LOST)
    assert client.claim() == []


def test_rescuing_returns_when_the_next_lease_ends(client: StoreClient):
    run = started(client)

    assert client.rescue().next_lease_end == run.lease_until
    client.settle((run, client.outcome()))
    assert client.rescue().next_lease_end is None


def test_an_attempt_whose_schedule_was_removed_by_sql_is_closed(client: StoreClient):
    run = started(client)
    write(client, "delete from schedules")
    client.clock.instant += 10 * SECOND

    client.rescue()

    found = client.reads.run(run.id)[0].run
    assert (found.state, found.reason) == (State.LOST, Reason.INACTIVE)
    assert "not settled: KeyError" in (found.error or "")
    assert client.rescue().next_lease_end is None
