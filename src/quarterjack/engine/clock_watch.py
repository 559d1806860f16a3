"""Timekeeper: notices that the clock was set, or that the host slept. Then everybody looks at the
store at once, and the catch-up policies say what becomes of the slots between. But a clock that
jumps by more than days is not believed: what it makes due would be decided for good, and what it
makes old forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from quarterjack.errors import ClockAstray
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import DAY, MILLISECOND, SECOND, to_text

EVERY = 2 * SECOND
JUMP = 500 * MILLISECOND


JUMP_MAX = 7 * DAY
"""How far it may jump forward while a node runs. A host that slept longer has not jumped."""


class Clock(Protocol):
    def monotonic(self) -> int: ...
    def since_boot(self) -> int: ...


class ClockGuard:
    """Is the clock that all nodes agree on to be believed? A start believes it as it is. Slots that
    were decided stay decided: had a clock been ahead by years, nothing would run for years after
    it was set right."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset: int | None = None

    def refuse_if_astray(self, now: int) -> None:
        offset = now - self._clock.since_boot()
        jumped = 0 if self._offset is None else offset - self._offset
        if jumped > JUMP_MAX:
            what = f"the clock jumped by {jumped / DAY:+,.1f} days to {to_text(now)}"
            remedy = "set it right; or, if it is right, start this program again"
            raise ClockAstray(f"{what}, so nothing is planned or forgotten; {remedy}")
        if jumped >= -JUMP_MAX:  # one that is far behind will be set right, too
            self._offset = offset


class ClockWatch:
    name = "timekeeper"

    def __init__(self, clock: Clock, on_jump: Callable[[], None]) -> None:
        self._clock = clock
        self._on_jump = on_jump
        self._offset: int | None = None

    async def step(self, now: int) -> int:
        offset = now - self._clock.monotonic()
        jumped = 0 if self._offset is None else offset - self._offset
        self._offset = offset
        if abs(jumped) > JUMP:
            log.warning("the clock jumped %s", log_fields(seconds=f"{jumped / SECOND:+.1f}"))
            self._on_jump()
        return now + EVERY
