"""The pruner: batches, pauses and passes."""

from __future__ import annotations

import pytest

from harness.engine.service import SteppedService
from harness.rules.values import at
from harness.store.stored_world import ManualClock
from quarterjack import rules
from quarterjack.engine.pruner import Pruner
from quarterjack.rules import Retention, Status
from quarterjack.times.instants import DAY, HOUR, MILLISECOND, MINUTE, SECOND


@pytest.fixture
def service(sqlite_service: SteppedService) -> SteppedService:
    return sqlite_service


def test_expired_runs_are_pruned_batch_by_batch(service: SteppedService):
    service.add(every="1h", catch_up="skip")
    for day in range(3):
        service.run_until(at("09:00") + day * DAY)
    many = len(service.runs())
    service.clock.instant += 200 * DAY
    service.hint("planner")
    service.run_until(service.clock.instant + 2 * HOUR)

    assert many > 40
    assert len(service.runs()) < many
    assert service.schedule().status is Status.ACTIVE


class AdvancingClock(ManualClock):
    """Advances by 3 ms at each reading."""

    def now(self) -> int:
        self.instant += 3 * MILLISECOND
        return self.instant


@pytest.mark.parametrize(
    ("clock", "pause"),
    [(ManualClock(at("08:00")), 5), (AdvancingClock(at("08:00")), 2 * 3 + 9 * 3)],
)
def test_it_pauses_for_longer_than_a_batch_took(
    service: SteppedService, clock: ManualClock, pause: int
):
    service.add(every="1m")
    service.run_until("12:00")
    pruner = Pruner(service.store, Retention(run_age=HOUR))
    service.store._clock = clock
    now = service.clock.instant + HOUR

    clock.instant = first = service.run(pruner.step(now))
    second = service.run(pruner.step(first))

    assert (first, second) == (now + 2 * SECOND, first + pause * MILLISECOND)


def test_it_goes_on_after_the_clock_was_set_back(service: SteppedService):
    pruner = Pruner(service.store, Retention())
    now = service.run(pruner.step(service.run(pruner.step(at("12:00")))))

    assert service.run(pruner.step(now - DAY)) == now - DAY + 10 * MINUTE


def test_a_run_that_was_kept_is_examined_again_once_a_day(service: SteppedService):
    service.add("early", every="365d")
    service.change(1, rules.run_now)
    service.run_until("08:01")
    pruner = Pruner(service.store, Retention(run_age=HOUR))
    now = service.clock.instant = at("12:00")
    scans = []
    while now < at("12:00") + 25 * HOUR:
        before = pruner._progress.old
        now = service.clock.instant = service.run(pruner.step(now))
        if pruner._progress.old != before:
            scans.append((now - at("12:00")) // HOUR)

    assert scans == [0, 24, 24], "found, restarted after a day, and found again"
