"""Clocks of a world: each can be set; how long things take is told by one that cannot."""

from __future__ import annotations

from quarterjack.sim.loop import SimulatedLoop


class SimulatedClock:
    """A host's, or the database's."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self.ahead = 0
        """By how much it shows more than the world's own time."""

    def now(self) -> int:
        return self._loop.instant + self.ahead

    def monotonic(self) -> int:
        return self._loop.instant

    def since_boot(self) -> int:
        return self._loop.instant

    def shows(self, instant: int) -> int:
        """When it shows this instant, in the world's own time, if nobody sets it meanwhile."""
        return instant - self.ahead
