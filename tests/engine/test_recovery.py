"""Recovery after a crash, on the running engine."""

from __future__ import annotations

import pytest

from harness.engine.service import SteppedService
from harness.rules.values import at
from quarterjack import rules
from quarterjack.control import recover
from quarterjack.rules import Limits
from quarterjack.times.instants import HOUR, MINUTE, SECOND


@pytest.mark.mission("P10", "V10")
@pytest.mark.fault("F6")
def test_interrupted_runs_run_again_after_a_crash_and_a_second_recovery_adds_nothing(
    service: SteppedService,
):
    service.add(every="1h")
    service.add("paused", every="1h")
    service.add("overdue", every="90m")
    service.change(2, rules.pause, by="ada")
    service.work = lambda call: service.sleep(HOUR)
    service.run_until("09:00")
    service.restart()  # the task is gone with its process
    service.work = lambda call: None
    service.suspend_until("09:30")

    recovered = service.run(recover(service.store, Limits(), at("09:30")))
    again = service.run(recover(service.store, Limits(), at("09:30")))
    service.run_until("09:30")

    assert (recovered, again) == (2, 0)
    assert service.states(1) == ["succeeded"]
    assert [call.attempt for _, call in service.calls if call.schedule_id == 1] == [1, 2]
    assert {call.run_id for _, call in service.calls if call.schedule_id == 1} == {"1-0"}
    assert service.states(2) == []
    assert service.states(3) == ["succeeded"]


@pytest.mark.mission("V10")
@pytest.mark.fault("F10")
def test_a_hundred_crashes_lose_and_repeat_no_slot(service: SteppedService):
    service.add(every="1m", catch_up="run_all", if_running="queue")
    service.work = lambda call: service.sleep(7 * SECOND)
    for minute in range(100):
        service.run_until(at("08:00") + minute * MINUTE + 3 * SECOND)
        service.restart(f"w{minute}")
    service.work = lambda call: None
    service.run_until("12:00")

    assert service.slots() == [at("08:00") + n * MINUTE for n in range(1, 241)]
    assert set(service.states()) == {"succeeded"}
