"""Notifications on every store."""

from __future__ import annotations

import pytest

from harness.store.shortcuts import started
from harness.store.stores import StoreClient


@pytest.mark.fault("F8")
def test_a_notification_is_returned_until_it_is_marked_as_sent(client: StoreClient):
    run = started(client)
    client.settle((run, client.outcome("failed", error="boom")))

    notifications = client(client.store.unsent_notifications(10))
    again = client(client.store.unsent_notifications(10))

    assert notifications == again
    assert [(each.kind, each.about, each.detail) for each in notifications] == [
        ("run.failed", ["1-0"], "boom")
    ]
    client(client.store.mark_sent(notifications, client.now))
    assert client(client.store.unsent_notifications(10)) == []


def test_no_notifications_are_accepted(client: StoreClient):
    assert client(client.store.mark_sent([], client.now)) is None
