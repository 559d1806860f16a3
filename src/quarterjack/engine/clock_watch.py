"""Clock watch: notices that the clock was set, or that the host was suspended.

Then every process steps at once, and the catch-up policies decide about the slots in between. A
jump by more than a week is refused: planning would decide its slots for good, and pruning would
delete what seems expired.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from quarterjack.errors import ClockJumped
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import DAY, MILLISECOND, SECOND, to_text

INTERVAL = 2 * SECOND
JUMP_MIN = 500 * MILLISECOND
JUMP_MAX = 7 * DAY
"""How far the clock may jump forward while a node runs. A suspended host's clock does not jump."""


class Clock(Protocol):
    def monotonic(self) -> int: ...
    def since_boot(self) -> int: ...


class ClockGuard:
    """Refuses a clock that jumped too far forward. Decided slots stay decided: after planning by a
    clock that is years ahead, nothing would run for years. A start accepts any clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset: int | None = None

    def check(self, now: int) -> None:
        offset = now - self._clock.since_boot()
        jumped = 0 if self._offset is None else offset - self._offset
        if jumped > JUMP_MAX:
            what = f"the clock jumped by {jumped / DAY:+,.1f} days to {to_text(now)}"
            remedy = "set the clock; or, if it is right, restart this program"
            raise ClockJumped(f"{what}; planning and pruning are suspended; {remedy}")
        # After a jump far back, setting the clock right must not be refused.
        if jumped >= -JUMP_MAX:
            self._offset = offset


class ClockWatch:
    name = "clock watch"

    def __init__(self, clock: Clock, on_jump: Callable[[], None]) -> None:
        self._clock = clock
        self._on_jump = on_jump
        self._offset: int | None = None

    async def step(self, now: int) -> int:
        offset = now - self._clock.monotonic()
        jumped = 0 if self._offset is None else offset - self._offset
        self._offset = offset
        if abs(jumped) > JUMP_MIN:
            log.warning("the clock jumped %s", log_fields(seconds=f"{jumped / SECOND:+.1f}"))
            self._on_jump()
        return now + INTERVAL
