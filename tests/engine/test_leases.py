"""Leases: renewed in time, lost to another worker, and never to the own lease rescuer."""

from __future__ import annotations

import pytest

from harness.engine.service import SteppedService
from harness.rules.values import at
from quarterjack.engine.leases import LeaseRescuer
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
