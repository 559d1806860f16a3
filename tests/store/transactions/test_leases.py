"""Leases on every store."""

from __future__ import annotations

import pytest

from harness.store.shortcuts import started
from harness.store.stores import StoreClient
from quarterjack import rules
from quarterjack.rules import Reason
from quarterjack.times.instants import HOUR, SECOND


def test_renewing_extends_the_lease(client: StoreClient):
    run = started(client)
    later = client.now + 20 * SECOND

    assert client(client.store.renew_leases("w1", [run], later)) == {(run.id, 1): None}
    assert client.reads.run(run.id)[0].run.lease_until == later


def test_the_result_says_why_an_attempt_is_to_stop(client: StoreClient):
    run = started(client)
    client.change(run.schedule_id, lambda facts, now: rules.cancel_run(facts, run, now))

    read = client(client.store.read_leases("w1", [run]))
    renewed = client(client.store.renew_leases("w1", [run], client.now + SECOND))

    assert read == renewed == {(run.id, 1): Reason.REQUESTED}


@pytest.mark.fault("F11")
def test_a_worker_that_lost_a_lease_can_neither_renew_nor_settle(client: StoreClient):
    run = started(client)
    client.clock.instant += 10 * SECOND
    client.rescue()
    (again,) = client.claim("w2")

    assert client(client.store.renew_leases("w1", [run], client.now + HOUR)) == {}
    settled = client.settle((run, client.outcome()))

    assert (list(settled.settled), list(settled.fenced)) == ([], [run])
    assert client.reads.run(run.id)[0].run == again.run
