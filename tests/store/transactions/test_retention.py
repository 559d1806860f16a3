"""Retention on every store."""

from __future__ import annotations

import json

from harness.rules.values import at
from harness.store.shortcuts import KEEP_ALL, prune, started, states, write
from harness.store.stores import StoreClient, new, query, statements
from quarterjack.rules import Retention
from quarterjack.store.statements import sql
from quarterjack.store.transactions.retention import PruneProgress
from quarterjack.store.types import Chunk, Progress, RunCursor
from quarterjack.times.instants import DAY, HOUR, MINUTE


def create_runs(client: StoreClient, count: int = 4) -> None:
    """Runs an hour apart, each with output, every other with progress. The first attempt of the
    first one fails."""
    client.add(every="1h", max_retries=1, retry_delay="1m")
    for number in range(count):
        client.clock.instant = at("09:00") + number * HOUR
        client.plan()
        (claim,) = client.claim()
        chunk = Chunk(1, number, 1, 0, client.now, b"text")
        progress = [Progress(1, number, 1, client.now, 0.5)] if number % 2 else []
        client(client.store.add_output([chunk], (), progress))
        if number == 0:
            client.settle((claim.run, client.outcome("failed")))
            client.clock.instant += MINUTE
            (claim,) = client.claim()
        client.settle((claim.run, client.outcome()))


def pruned(client: StoreClient, **retention: object) -> int:
    """How many rows a round deletes."""
    counts: list[int] = [batch.count for batch in prune(client, KEEP_ALL._replace(**retention))]
    return sum(counts)


def test_expired_runs_are_deleted_with_their_attempts_and_output(client: StoreClient):
    create_runs(client)
    client.clock.instant += 10 * DAY

    pruned(client, run_age=10 * DAY + 90 * MINUTE)

    assert [found.run.number for found in client.reads.runs("nightly")] == [3, 2]
    counts = "select (select count(*) from attempts), (select count(*) from output)"
    tables = query(client, f"{counts}, (select min(number) from progress)")
    assert tables == [(0, 2, 3)]


def test_the_last_run_and_the_last_success_are_not_deleted(client: StoreClient):
    create_runs(client)
    client.clock.instant += 1000 * DAY

    assert pruned(client, run_age=DAY) == 3 + 3 + 1 + 1, "with output, an attempt and progress"
    assert [found.run.number for found in client.reads.runs("nightly")] == [3]
    assert pruned(client, run_age=DAY) == 0


def test_surplus_runs_of_a_schedule_are_deleted(client: StoreClient):
    create_runs(client)

    assert pruned(client, run_count=2) == 2 + 2 + 1 + 1, "with output, an attempt and progress"
    assert [found.run.number for found in client.reads.runs("nightly")] == [3, 2]


def test_output_and_events_have_their_own_retention(client: StoreClient):
    create_runs(client)
    client.clock.instant += 10 * DAY

    assert pruned(client, output_age=DAY) == 4
    assert pruned(client, event_age=DAY) > 10
    assert len(client.reads.runs("nightly")) == 4


def test_unsent_notifications_are_not_deleted(client: StoreClient):
    run = started(client)
    client.settle((run, client.outcome("failed")))
    client.clock.instant += 10 * DAY

    pruned(client, event_age=DAY)
    notifications = client(client.store.unsent_notifications(10))
    assert len(notifications) == 1
    client(client.store.mark_sent(notifications, client.now))
    assert pruned(client, event_age=DAY) == 1


def test_open_runs_are_not_deleted_however_old(client: StoreClient):
    started(client)
    client.clock.instant += 1000 * DAY

    assert pruned(client, run_age=DAY, run_count=1) == 0


def test_nothing_is_deleted_without_a_retention(client: StoreClient):
    create_runs(client)
    client.clock.instant += 1000 * DAY

    assert pruned(client) == 0


def test_audit_rows_have_their_own_retention(client: StoreClient):
    for age in (3, 1):
        then = client.now - age * DAY
        row = f"{age}, {then}, 'a', 'b', 'c'"
        write(client, f"insert into audit (id, at, by, origin, verb) values ({row})")

    assert pruned(client, audit_age=2 * DAY) == 1
    assert pruned(client, audit_age=2 * DAY) == 0


def test_a_run_is_deleted_only_after_all_of_its_output(client: StoreClient):
    create_runs(client)
    more = [Chunk(1, 0, 1, number, client.now, b"text") for number in range(1, 60)]
    client(client.store.add_output(more))
    client.clock.instant += DAY

    batches = prune(client, KEEP_ALL._replace(run_count=3))

    assert [batch.count for batch in batches if batch.count] == [12] * 5 + [1, 1]
    assert [found.run.number for found in client.reads.runs("nightly")] == [3, 2, 1]
    assert [chunk.data for chunk in client.reads.output("1-3")] == [b"text"]


def test_a_former_last_run_is_deleted_when_the_search_for_old_runs_starts_over(client: StoreClient):
    create_runs(client, count=1)
    client.clock.instant += 100 * DAY
    retention = KEEP_ALL._replace(run_age=DAY)
    first = prune(client, retention)[-1].progress
    assert states(client) == ["succeeded"], "it was the last run"
    client.plan()
    (claim,) = client.claim()
    client.settle((claim.run, client.outcome()))
    client.clock.instant += HOUR

    assert prune(client, retention, PruneProgress(old=first.old))[-1].count == 0
    assert pruned(client, run_age=DAY) == 1 + 1 + 1


def test_a_surplus_run_that_was_open_is_deleted_after_it_has_ended(client: StoreClient):
    """While it was open, it could not be deleted."""
    client.add(every="1h", if_running="allow")
    runs = []
    for number in range(3):
        client.clock.instant = at("09:00") + number * HOUR
        client.plan()
        (claim,) = client.claim()
        runs.append(claim.run)
    client.settle((runs[1], client.outcome()))
    client.clock.instant += HOUR
    assert pruned(client, run_count=2) == 0
    client.settle((runs[0], client.outcome()))
    client.settle((runs[2], client.outcome()))
    client.clock.instant += HOUR

    assert pruned(client, run_count=2) == 1


def test_another_number_of_runs_to_keep_starts_the_search_over(client: StoreClient):
    create_runs(client)
    client.clock.instant += HOUR

    assert [pruned(client, run_count=count) for count in (3, 3, 2, 1)] == [3, 0, 3, 2]


def test_a_round_does_not_read_idle_schedules(client: StoreClient):
    """Or each round would read all of a million idle schedules."""
    client.add_all([new(f"idle{number}", client.now, every="365d") for number in range(200)])
    create_runs(client)
    client.clock.instant += HOUR
    pruned(client, run_count=2, run_age=DAY)
    with statements(client) as executed:
        assert pruned(client, run_count=2, run_age=DAY) == 0

    assert not [name for name in executed if "schedules" in sql(name, "sqlite")]
    assert len(executed) < 25


def test_the_next_search_for_surplus_runs_starts_after_the_last_run_that_ended(client: StoreClient):
    create_runs(client)
    client.clock.instant += HOUR

    progress = prune(client, KEEP_ALL._replace(run_count=2))[-1].progress

    assert progress.surplus == RunCursor(client.reads.run("1-3")[0].run.finished_at, 1, 3)


def test_counting_and_pruning_go_on_after_a_clock_was_ahead(client: StoreClient):
    client.add(every="1h")
    for hour in range(9, 14):
        client.go(f"{hour:02}:00")
        client.plan()
        for claim in client.claim():
            client.settle((claim.run, client.outcome()))
    ahead = client.now + 30 * DAY
    for name, place in [("daily_stats", [ahead, 1, 0]), ("surplus", [3, ahead, 1, 0])]:
        client(client.store.put_metadata(name, json.dumps(place)))
    retention = Retention(run_count=3)
    for hour in range(14, 18):
        client.go(f"{hour:02}:00")
        client.plan()
        for claim in client.claim():
            client.settle((claim.run, client.outcome()))
        client.clock.instant += 10 * MINUTE
        prune(client, retention)

    counted = "select succeeded from daily_stats where schedule_id = 1"
    assert query(client, counted) == [(3,)], "counted after the clock was corrected"
    assert query(client, "select count(*) from runs") == [(3,)]
