"""Recovery after a crash."""

from __future__ import annotations

import pytest

from harness.control.client import ControlClient
from harness.engine.service import SteppedService
from harness.rules.values import at
from quarterjack.control import recover
from quarterjack.rules import Limits
from quarterjack.times.instants import HOUR


@pytest.mark.mission("P10")
def test_interrupted_runs_and_missed_slots_are_counted_and_other_schedules_stay_as_they_are(
    service: SteppedService, ada: ControlClient
):
    for key in ("killed", "asleep", "paused", "done"):
        ada.add(key, **({"at": "2026-11-16T08:30:00Z"} if key == "done" else {"every": "1h"}))
    service.work = lambda call: service.sleep(HOUR) if call.key == "killed" else None
    service.run_until("09:00")
    ada("pause", "paused")
    before = [service.schedule(identity) for identity in (3, 4)]
    service.suspend_until("12:30")

    def recovered() -> int:
        return service.run(recover(service.store, Limits(), service.clock.instant))

    assert recovered() == 2, "the attempt that was lost, and the newest slot of the other"
    assert recovered() == 0, "it is safe to repeat"
    assert [service.schedule(identity) for identity in (3, 4)] == before
    service.restart()
    service.work = lambda call: None
    service.run_until("12:31")
    assert service.states(1)[0] == "succeeded"
    assert service.slots(2)[-1] == at("12:00")
