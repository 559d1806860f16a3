"""Two workers on one database: one that lost its lease changes nothing."""

from __future__ import annotations

import signal

import pytest

from harness.crash.kills import RealService, check_history, is_alive, wait_for

pytestmark = pytest.mark.unmeasured


@pytest.mark.fault("F11")
def test_a_worker_that_was_suspended_past_its_lease_is_fenced(service: RealService):
    service.declare({"slow": {"every": "1h", "command": service.work(4), "first_run": "now"}})
    first = service.start()
    (start,) = wait_for(service.lines, 20, "the command has started")
    second = service.start()
    wait_for(lambda: service.log().count(" up ") == 2, 20, "both have started")
    service.freeze(first)
    wait_for(
        lambda: len([n for n in service.lines() if n.what == "start"]) == 2,
        20,
        "the run has started again",
    )

    first.send_signal(signal.SIGCONT)
    wait_for(lambda: not is_alive(start.pid), 5, "the first attempt is stopped")

    done = "select attempt, state, worker from runs where finished_at is not null"
    ((attempt, state, worker),) = wait_for(lambda: service.query(done), 20, "it ends")
    assert (attempt, state) == (2, "succeeded")
    assert f"-{second.pid}-" in worker
    assert "lease lost; attempt stopped run=1-0" in service.log()
    service.stop(first)
    service.stop(second)


@pytest.mark.fault("F12")
@pytest.mark.mission("D1")
def test_two_processes_on_one_database_run_no_slot_twice(service: RealService):
    """One is suspended over several slots while the other works, and resumes."""
    both = [service.start(), service.start()]
    wait_for(lambda: service.succeeded() >= 1, 20, "they work")
    service.freeze(both[0])
    before = service.succeeded()
    wait_for(lambda: service.succeeded() >= before + 2, 30, "the other continues")
    both[0].send_signal(signal.SIGCONT)
    wait_for(lambda: service.succeeded() >= before + 3, 30, "both continue")
    wait_for(service.has_caught_up, 20, "they catch up")
    for process in both:
        service.stop(process)

    assert check_history(service)["steady: succeeded"] >= 4
