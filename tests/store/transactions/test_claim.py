"""Claiming on every store."""

from __future__ import annotations

from harness.rules.values import at
from harness.store.shortcuts import write
from harness.store.stores import StoreClient, new
from quarterjack import rules
from quarterjack.rules import Reason, State
from quarterjack.times.instants import SECOND


def test_a_run_is_claimed_by_one_worker(client: StoreClient):
    client.add(every="1h")
    client.go("09:00")
    client.plan()

    (claim,) = client.claim("w1")

    assert client.claim("w2") == []
    run = claim.run
    assert (run.state, run.attempt, run.worker) == (State.RUNNING, 1, "w1")
    assert (run.started_at, run.lease_until) == (client.now, client.now + 10 * SECOND)
    assert client.reads.run(run.id)[0].run == run


def test_runs_are_claimed_by_priority_and_then_by_readiness(client: StoreClient):
    client.add("low", every="1h")
    client.add("high", every="1h", priority=5)
    client.add("older", every="50m", priority=5)
    client.go("09:00")
    client.plan()

    order = [client.claim(limit=1)[0].key for _ in range(3)]

    assert order == ["older", "high", "low"]


def test_runs_that_are_ready_at_the_same_time_are_claimed_in_the_order_of_their_schedules(
    client: StoreClient,
):
    first, second = client.add("first", every="1h"), client.add("second", every="1h")
    client.change(second, rules.run_now)
    client.change(first, rules.run_now)

    assert [claim.key for claim in client.claim()] == ["first", "second"]


def test_only_runs_of_the_given_queues_are_claimed(client: StoreClient):
    client.add("a", every="1h")
    client.add("b", every="1h", queue="reports")
    client.go("09:00")
    client.plan()

    assert [claim.key for claim in client.claim(queues=["reports"])] == ["b"]
    assert [claim.key for claim in client.claim(queues=["reports", "default"])] == ["a"]


def test_the_result_says_when_the_next_run_is_ready(client: StoreClient):
    client.add(every="1h", max_retries=1, retry_delay="5m")
    client.go("09:00")
    client.plan()
    (claim,) = client.claim()
    client.settle((claim.run, client.outcome("failed")))

    claimed = client(client.store.claim_runs("w1", ["default"], 5, client.now + SECOND, client.now))

    assert (list(claimed.claims), claimed.next_ready) == ([], at("09:05"))


def test_the_result_says_when_the_next_run_is_ready_even_at_the_limit(client: StoreClient):
    client.add("a", every="1h")
    client.add("b", every="1h")
    client.go("09:00")
    client.plan()

    claimed = client(client.store.claim_runs("w1", ["default"], 1, client.now + SECOND, client.now))

    assert (len(claimed.claims), claimed.next_ready) == (1, at("09:00"))


def test_a_claim_has_the_key_specification_and_last_success_of_its_schedule(client: StoreClient):
    client.add(every="1h", payload={"n": 1})
    client.go("09:00")
    client.plan()
    (first,) = client.claim()
    client.settle((first.run, client.outcome()))
    client.go("10:00")
    client.plan()

    (second,) = client.claim()

    assert (first.key, first.last_success_at) == ("nightly", None)
    assert second.last_success_at == at("09:00")
    assert second.specification.payload == {"n": 1}


def test_a_run_keeps_the_version_it_was_planned_with(client: StoreClient):
    identity = client.add(every="1h", payload={"n": 1})
    client.go("09:00")
    client.plan()
    changed = new("nightly", client.now, every="1h", payload={"n": 2}).specification
    client.change(identity, lambda facts, now: rules.edit(facts, changed, now))

    (claim,) = client.claim()

    assert (claim.run.version, claim.specification.payload) == (1, {"n": 1})


def test_runs_of_a_schedule_that_was_removed_by_sql_are_skipped(client: StoreClient):
    client.add("gone", every="1h")
    client.add("kept", every="1h")
    client.go("09:00")
    client.plan()
    write(client, "delete from schedules where id = 1")

    assert [claim.key for claim in client.claim()] == ["kept"]
    run = client.reads.run("1-0")[0].run
    assert (run.state, run.reason) == (State.SKIPPED, Reason.DELETED)
