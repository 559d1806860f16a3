"""Leases: renewed in time, lost to another worker, and never to the own lease rescuer."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from harness.engine.service import SteppedService
from harness.rules.values import at
from quarterjack.engine.leases import LeaseRenewer, LeaseRescuer
from quarterjack.times.instants import HOUR, MINUTE


@pytest.fixture
def service(sqlite_service: SteppedService) -> SteppedService:
    return sqlite_service


def test_an_attempt_longer_than_its_lease_keeps_it(service: SteppedService):
    service.add(every="1h")
    service.work = lambda call: service.sleep(40 * MINUTE)
    service.run_until("09:50")

    assert [call.attempt for _, call in service.calls] == [1]
    assert service.states() == ["succeeded"]


def test_a_requested_check_reads_the_leases_and_writes_nothing(service: SteppedService):
    """Otherwise two nodes on one database would wake each other without end."""
    service.add(every="1h")
    service.work = lambda call: service.sleep(10 * MINUTE)
    service.run_until("09:00")
    connection = service.store._executor._connection
    before = connection.total_changes()
    for _ in range(5):
        service.check_leases()
        service.run_until("09:00")

    assert connection.total_changes() == before


@pytest.mark.fault("F11")
def test_an_attempt_whose_lease_another_worker_took_is_stopped_and_writes_nothing(
    service: SteppedService,
):
    service.add(every="1h")
    service.work = lambda call: service.sleep(10 * MINUTE)
    service.run_until("09:00")
    service.execute(f"update runs set worker = 'other', attempt = 2, lease_until = {at('12:00')}")
    service.run_until("09:01")

    assert service.workers["w1"].held == []
    assert (service.runs()[0].worker, service.states()) == ("other", ["running"])


def test_an_expired_lease_of_the_own_process_is_not_lost(service: SteppedService):
    """As when the store was away for longer than the lease."""
    service.add(every="1h")
    service.work = lambda call: service.sleep(10 * MINUTE)
    service.run_until("09:00")
    service.clock.instant += MINUTE
    rescuer = service.processes["lease rescuer w1"]
    assert isinstance(rescuer, LeaseRescuer)
    rescuer.expected = None
    service.run(rescuer.step(service.clock.instant))

    service.run_until("09:30")

    assert service.states() == ["succeeded"]
    assert service.runs()[0].losses == 0


def test_leases_are_renewed_in_time_after_the_clock_was_set_back(service: SteppedService):
    service.add(every="1h")
    service.work = lambda call: service.sleep(20 * HOUR)
    service.run_until("09:00:04")
    service.clock.instant = at("08:00")
    service.hint("lease renewer")
    service.run_until("08:00:05")

    assert (service.runs()[0].lease_until or 0) > at("08:00:10")
    assert service.states() == ["running"]


def block_from(service: SteppedService, since: str, until: str) -> None:
    """The event loop is blocked: of its node only the renewer steps."""
    service.run_until(since)
    renewer = service.processes["lease renewer w1"]
    assert isinstance(renewer, LeaseRenewer)
    renewer._background.blocked_at = at(since)  # type: ignore[attr-defined]
    wake = renewer.due
    while wake is not None and wake <= at(until):
        service.clock.instant = wake
        wake = service.run(renewer.step(wake))


def last_lease(service: SteppedService) -> int:
    return service.runs()[0].lease_until or 0


@pytest.mark.fault("F54")
def test_a_blocked_event_loop_keeps_an_attempt_until_its_timeout_and_the_time_of_a_stop(
    service: SteppedService,
):
    service.add(every="1h", timeout="30s")
    service.work = lambda call: service.sleep(HOUR)
    block_from(service, "09:00", "09:05")

    assert at("09:00:35") <= last_lease(service) <= at("09:00:45")


@pytest.mark.fault("F54")
def test_a_blocked_event_loop_keeps_an_attempt_without_timeout_for_ten_minutes(
    service: SteppedService,
):
    service.add(every="1h", timeout="none")
    service.work = lambda call: service.sleep(HOUR)
    block_from(service, "09:00", "09:30")

    assert at("09:10") <= last_lease(service) <= at("09:10:10")


@pytest.mark.fault("F54")
def test_an_attempt_that_has_ended_is_kept_until_it_can_be_settled(service: SteppedService):
    service.add(every="1h", timeout="30s")
    service.work = lambda call: service.sleep(HOUR)
    service.run_until("09:00")
    (attempt,) = service.workers["w1"].held
    attempt.has_ended = True
    block_from(service, "09:00", "09:05")

    assert last_lease(service) >= at("09:05")


@pytest.mark.fault("F54")
def test_a_claim_whose_answer_a_blocked_event_loop_has_not_received_is_renewed():
    with closing(SteppedService(concurrency=1)) as service:
        for key in ("first", "second"):
            service.add(key, every="1h", timeout="none")
        service.work = lambda call: service.sleep(3 * HOUR)
        service.run_until("09:00")
        worker, now = service.workers["w1"], at("09:00")
        until = now + service.config.lease
        service.run(service.store.claim_runs("w1", ("default",), 1, until, now))
        worker.claiming_since = now
        block_from(service, "09:00", "09:01")

        leases = [service.runs(identity)[0].lease_until or 0 for identity in (1, 2)]
        assert min(leases) >= at("09:01")


@pytest.mark.fault("F54")
@pytest.mark.parametrize("taker", ["other", "w1"])
def test_a_claim_whose_answer_came_after_its_lease_starts_only_what_it_still_holds(taker: str):
    with closing(SteppedService()) as service:
        service.add(every="1h")
        claim_runs = service.store.claim_runs

        async def late(*values: Any) -> Any:
            claimed = await claim_runs(*values)
            if claimed.claims:
                service.clock.instant += MINUTE
                service.execute(f"update runs set worker = '{taker}'")
            return claimed

        service.store.claim_runs = late
        service.run_until("09:00")

        assert len(service.calls) == (1 if taker == "w1" else 0)
