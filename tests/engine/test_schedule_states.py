"""The states of a schedule on the running engine: paused, done, dead."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from harness.engine.service import SteppedService, failing
from harness.rules.values import at
from quarterjack import rules
from quarterjack.errors import WrongState
from quarterjack.rules import Status
from quarterjack.times.instants import HOUR, MINUTE


@pytest.mark.mission("P3")
def test_a_transition_that_does_not_exist_is_refused(service: SteppedService):
    service.add(every="1h")
    with pytest.raises(WrongState):
        service.change(1, rules.resume)
    service.change(1, rules.pause, by="ada")
    with pytest.raises(WrongState):
        service.change(1, rules.pause, by="ada")
    service.change(1, rules.resume)
    assert service.schedule().status is Status.ACTIVE


@pytest.mark.mission("P4")
def test_a_pause_clears_the_next_run_and_skips_what_is_queued(
    make_service: Callable[..., SteppedService],
):
    service = make_service(concurrency=1)
    service.add("busy", every="1h")
    service.add("waits", every="1h")
    service.work = lambda call: service.sleep(2 * HOUR)
    service.run_until("09:00")
    assert service.states(2) == ["queued"]

    service.change(2, rules.pause, by="ada")
    service.run_until("12:00")

    assert service.states(2) == ["skipped: paused"]
    assert service.schedule(2).next_slot is None
    service.change(2, rules.resume)
    service.run_until("12:30")
    assert service.schedule(2).next_slot == at("13:00"), "one interval from the resume"


@pytest.mark.mission("P5", "V11")
def test_a_slot_is_skipped_while_an_earlier_run_is_open(service: SteppedService):
    service.add("slow", every="10m")
    service.add("other", every="10m")
    service.work = lambda call: service.sleep(25 * MINUTE) if call.key == "slow" else None
    service.run_until("08:40")

    assert service.slots(1) == [at("08:10"), at("08:40")]
    assert service.not_run(1) == [(2, "overlap")]
    assert len(service.slots(2)) == 4, "other schedules are not affected"


@pytest.mark.mission("P6")
def test_successes_and_failures_are_counted_until_it_is_dead(service: SteppedService):
    service.add(every="10m", max_retries=3, on_exhausted="dead", retry_delay="1m", total_repeats=0)
    service.run_until("08:10")
    service.work = failing
    service.run_until("09:00")
    schedule = service.schedule()

    assert (schedule.run_count, schedule.current_repeat) == (1, 1)
    assert (schedule.status, schedule.error_count) == (Status.DEAD, 4)
    assert schedule.last_error == "Failed: boom"
    assert service.runs()[1].attempt == 4, "three retries are four attempts"


@pytest.mark.mission("P6")
def test_it_is_done_after_its_repeats(service: SteppedService):
    service.add(every="10m", total_repeats=2)
    service.run_until("09:00")

    assert (service.schedule().status, service.states()) == (Status.DONE, ["succeeded"] * 2)


@pytest.mark.mission("P9")
def test_each_retry_waits_twice_as_long_up_to_ten_intervals(service: SteppedService):
    service.add(every="1h", max_retries=6, retry_delay="1m", if_running="skip")
    service.work = failing
    service.run_until("09:59")

    instants = [when for when, _ in service.calls]
    waits = [(later - sooner) // MINUTE for sooner, later in pairwise(instants)]
    assert waits == [1, 2, 4, 8, 10, 10]
