"""Daily statistics on every store."""

from __future__ import annotations

from harness.rules.values import at
from harness.store.shortcuts import KEEP_ALL, prune, started, write
from harness.store.stores import StoreClient
from quarterjack.rules import Retention
from quarterjack.store.types import DayStats
from quarterjack.times.instants import DAY, HOUR, MINUTE, SECOND


def days(client: StoreClient, which: str | None = None) -> list[DayStats]:
    today = at("00:00") // DAY
    return client.reads.days(which, today - 1, today + 1)


def create_runs(client: StoreClient) -> None:
    """Two runs of one schedule, one of another, and one that ends a day later."""
    client.add("a", every="1h")
    client.add("b", every="2h")
    for until in ("09:00", "10:00"):
        client.go(until)
        client.plan()
        client.clock.instant += 3 * SECOND
        claims = client.claim()
        client.clock.instant += MINUTE
        endings = {"a": "succeeded", "b": "failed"}
        client.settle(*((each.run, client.outcome(endings[each.key])) for each in claims))
    client.go("11:00")
    client.plan()
    (claim,) = client.claim()
    client.clock.instant += DAY
    client.settle((claim.run, client.outcome("timed_out")))


def test_runs_are_counted_per_day_for_each_schedule_and_for_all(client: StoreClient):
    create_runs(client)
    client.clock.instant += HOUR
    prune(client, KEEP_ALL)

    today = at("00:00") // DAY
    first, second = days(client, "a")
    assert (first.day, first.succeeded, first.failed, first.started) == (today, 2, 0, 2)
    assert (first.duration_sum, first.duration_max) == (2 * MINUTE, MINUTE)
    assert (first.delay_sum, first.delay_max) == (6 * SECOND, 3 * SECOND)
    assert (second.day, second.timed_out, second.duration_max) == (today + 1, 1, DAY)
    assert [(each.succeeded, each.failed) for each in days(client, "b")] == [(0, 1)]
    assert [(each.succeeded, each.failed) for each in days(client)] == [(2, 1), (0, 0)]
    assert days(client)[0].duration_sum == 3 * MINUTE


def test_each_run_is_counted_once(client: StoreClient):
    create_runs(client)
    client.clock.instant += HOUR
    for _ in range(3):
        prune(client, KEEP_ALL)

    assert [each.started for each in days(client)] == [3, 1]


def test_runs_of_the_last_minutes_are_counted_later(client: StoreClient):
    run = started(client)
    client.settle((run, client.outcome()))
    client.clock.instant += 5 * MINUTE
    prune(client, KEEP_ALL)
    assert days(client) == []

    client.clock.instant += 1
    prune(client, KEEP_ALL)
    assert [each.succeeded for each in days(client)] == [1]


def test_a_run_is_counted_before_it_is_deleted_for_its_age(client: StoreClient):
    """However short the retention is."""
    client.add(every="1h")
    for until in ("09:00", "10:00"):
        client.go(until)
        client.plan()
        (claim,) = client.claim()
        client.settle((claim.run, client.outcome()))
    kept = Retention(run_age=SECOND, run_count=1)
    client.clock.instant += 4 * MINUTE
    write(client, f"update runs set finished_at = {client.now - 2 * SECOND} where number = 0")

    prune(client, kept)
    assert (len(client.reads.runs("nightly")), days(client)) == (2, [])
    client.clock.instant += 5 * MINUTE
    prune(client, kept)

    assert [found.run.number for found in client.reads.runs("nightly")] == [1]
    assert [each.succeeded for each in days(client)] == [2]


def test_a_run_is_counted_before_it_is_deleted_as_surplus(client: StoreClient):
    """One has ended just now, though two later ones were planned."""
    client.add(every="1h", if_running="allow")
    runs = []
    for until in ("09:00", "10:00", "11:00"):
        client.go(until)
        client.plan()
        runs += [claim.run for claim in client.claim()]
    client.settle((runs[0], client.outcome()))
    client.clock.instant += HOUR
    client.settle((runs[1], client.outcome()), (runs[2], client.outcome()))
    kept = KEEP_ALL._replace(run_count=1)

    prune(client, kept)
    assert [found.run.number for found in client.reads.runs("nightly")] == [2, 1]
    client.clock.instant += HOUR
    prune(client, kept)

    assert [found.run.number for found in client.reads.runs("nightly")] == [2]
    assert [each.succeeded for each in days(client)] == [3]


def test_daily_statistics_have_their_own_retention(client: StoreClient):
    create_runs(client)
    client.clock.instant += HOUR
    prune(client, KEEP_ALL)
    client.clock.instant += 10 * DAY

    prune(client, KEEP_ALL._replace(daily_age=11 * DAY))
    assert len(days(client)) == 2
    prune(client, KEEP_ALL._replace(daily_age=10 * DAY))
    assert [each.timed_out for each in days(client)] == [1]
