"""Execution modes: what happens after the loss of a worker."""

from __future__ import annotations

import pytest

from harness.rules.in_memory_service import InMemoryService
from harness.rules.values import at
from quarterjack.rules import Ending, Status


def with_running_run(**fields: object) -> tuple[InMemoryService, int]:
    """Its first run is running at 09:00."""
    service = InMemoryService()
    identity = service.add(**({"every": "1h"} | fields))
    service.advance_to("09:00")
    service.plan_due()
    service.claim()
    return service, identity


@pytest.mark.mission("V6")
def test_a_lost_worker_leads_to_another_attempt_that_is_not_counted_as_a_retry():
    service, identity = with_running_run(max_retries=0)

    settlement = service.finish(f"{identity}-0", Ending.LOST)

    run = settlement.run
    assert (run.state, run.failures, run.losses, run.ready_at) == ("queued", 0, 1, at("09:00"))
    assert service.schedules[identity].error_count == 0
    assert settlement.attempt is not None


def test_with_the_fifth_loss_the_run_is_lost():
    service, identity = with_running_run()
    for number in range(1, 6):
        assert service.runs[f"{identity}-0"].attempt == number
        service.finish(f"{identity}-0", Ending.LOST)
        service.claim()

    schedule, run = service.schedules[identity], service.runs[f"{identity}-0"]
    assert (run.state, run.reason, run.losses) == ("lost", "worker_lost", 5)
    assert (schedule.error_count, schedule.last_error) == (1, "the worker was lost")
    assert schedule.status is Status.ACTIVE


def test_at_most_once_ends_the_run_with_the_first_loss():
    service, identity = with_running_run(execution="at_most_once")
    service.finish(f"{identity}-0", Ending.LOST)
    assert service.states(identity) == ["lost: worker_lost"]


def test_a_run_handed_back_at_a_shutdown_is_not_a_loss():
    service, identity = with_running_run()
    for _ in range(9):
        service.finish(f"{identity}-0", Ending.LOST, handed_back=True)
        service.claim()

    assert service.runs[f"{identity}-0"].losses == 0
    assert service.runs[f"{identity}-0"].attempt == 10


def test_at_most_once_ends_the_run_also_when_it_is_handed_back():
    service, identity = with_running_run(execution="at_most_once")
    service.finish(f"{identity}-0", Ending.LOST, handed_back=True)
    assert service.states(identity) == ["lost: worker_lost"]
