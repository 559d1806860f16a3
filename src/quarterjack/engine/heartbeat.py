"""Heart: where many machines share a database, its clock is read again and again, and with it what
there is to do: hints of others may be lost."""

from __future__ import annotations

from quarterjack.engine.loop import Hint
from quarterjack.store.store import Store
from quarterjack.store.transactions.nodes import CLOCKS_APART
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import SECOND


class Heartbeat:
    name = "heart"

    def __init__(self, store: Store, every: int, hint: Hint) -> None:
        self._store = store
        self._every = every
        self._hint = hint
        self._told = 0

    async def step(self, now: int) -> int:
        heartbeat = await self._store.heartbeat()
        self._tell_skew(heartbeat.ahead)
        if heartbeat.next_wake is not None:
            self._hint("planner", heartbeat.next_wake)
        if heartbeat.waits:
            self._hint("worker")
        if heartbeat.next_lease_end is not None:
            self._hint("rescuer", heartbeat.next_lease_end)
        return now + self._every

    def _tell_skew(self, ahead: int) -> None:
        """Once, and again if it changes: the clock of the database decides, but logs and people go
        by that of the host."""
        if abs(ahead - self._told) > CLOCKS_APART:
            self._told = ahead
            if abs(ahead) <= CLOCKS_APART:
                log.info("the clock of this host is the database's again")
                return
            seconds = f"{ahead / SECOND:+.1f}"
            log.warning(
                "the clock of this host is not the database's %s", log_fields(seconds=seconds)
            )
