"""A clock that can be set; only its wall time, for monotonic time cannot."""

from __future__ import annotations

from quarterjack.sim.event_loop import SimulatedEventLoop


class SimulatedClock:
    """The clock of a host or of the database."""

    def __init__(self, loop: SimulatedEventLoop) -> None:
        self._loop = loop
        self.ahead = 0
        """By how much it is ahead of simulated time."""

    def now(self) -> int:
        return self._loop.instant + self.ahead

    def monotonic(self) -> int:
        return self._loop.instant

    since_boot = monotonic

    def simulated_time_at(self, instant: int) -> int:
        """The simulated time at which it shows this instant, unless it is set before."""
        return instant - self.ahead
