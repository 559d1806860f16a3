"""Timekeeper: notices that the clock was set, or that the host slept. Then everybody looks at the
store at once, and the catch-up policies say what becomes of the slots between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from quarterjack.telemetry.logs import log, told
from quarterjack.times.instants import MILLISECOND, SECOND

EVERY = 2 * SECOND
JUMP = 500 * MILLISECOND


class Clock(Protocol):
    def now(self) -> int: ...
    def monotonic(self) -> int: ...


class Timekeeper:
    name = "timekeeper"

    def __init__(self, clock: Clock, on_jump: Callable[[], None]) -> None:
        self._clock = clock
        self._on_jump = on_jump
        self._offset = clock.now() - clock.monotonic()

    async def step(self, now: int) -> int:
        offset = self._clock.now() - self._clock.monotonic()
        jumped, self._offset = offset - self._offset, offset
        if abs(jumped) > JUMP:
            log.warning("the clock jumped %s", told(seconds=f"{jumped / SECOND:+.1f}"))
            self._on_jump()
        return now + EVERY
