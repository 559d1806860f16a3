"""The clock watch: a clock that jumps is noticed."""

from __future__ import annotations

import asyncio

import pytest

from harness.rules.values import at
from harness.store.stored_world import ManualClock
from quarterjack.engine.clock_watch import ClockWatch
from quarterjack.times.instants import HOUR, MINUTE


class JumpingClock(ManualClock):
    jumped = 0

    def monotonic(self) -> int:
        return self.instant - self.jumped


@pytest.mark.parametrize("jump", [-HOUR, HOUR])
def test_a_clock_that_jumps_makes_every_process_step(jump: int):
    clock, jumps = JumpingClock(at("09:00")), []
    watch = ClockWatch(clock, lambda: jumps.append(1))
    clock.instant += MINUTE
    asyncio.run(watch.step(clock.instant))
    assert jumps == []

    clock.instant, clock.jumped = clock.instant + jump, jump
    asyncio.run(watch.step(clock.instant))

    assert jumps == [1]
