"""Writing decisions on every store."""

from __future__ import annotations

import pytest

from harness.store.shortcuts import started
from harness.store.stores import StoreClient, query
from quarterjack import rules
from quarterjack.times.instants import MINUTE


def test_events_are_written_in_the_transaction_of_the_decision(client: StoreClient):
    run = started(client)
    client.settle((run, client.outcome()))

    def broken(*facts: object) -> rules.Settlements:
        raise ZeroDivisionError

    client.go("10:00")
    client.plan()
    client.claim()
    client.clock.instant += MINUTE
    with pytest.raises(ZeroDivisionError):
        client(client.store.rescue_runs(client.now, 1, broken))

    kinds = query(client, "select kind, about from events order by id")
    assert kinds == [
        ("schedule.created", '["nightly"]'),
        ("run.planned", '["1-0"]'),
        ("run.started", '["1-0"]'),
        ("run.succeeded", '["1-0"]'),
        ("run.planned", '["1-1"]'),
        ("run.started", '["1-1"]'),
    ]
