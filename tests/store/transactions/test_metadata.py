"""Metadata on every store."""

from __future__ import annotations

from harness.rules.values import at
from harness.store.stores import StoreClient
from quarterjack import rules


def test_changed_zone_data_makes_every_active_schedule_due(client: StoreClient):
    client.add("active", every="1h")
    client.change(client.add("paused", every="1h"), rules.pause, by="ada")

    assert client(client.store.record_zone_data("2026a", client.now)) is False, (
        "the first is no change"
    )
    assert client(client.store.record_zone_data("2026a", client.now)) is False
    assert client(client.store.record_zone_data("2026b", client.now)) is True
    assert list(client(client.store.due_ids(client.now, 10))) == [1]
    assert client.plan().added == 0
    assert client.plan().next_wake == at("09:00")
