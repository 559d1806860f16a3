"""Heartbeat: on a database that several machines share, reads its clock at a fixed interval, and
with it what there is to do, because hints from other nodes may be lost."""

from __future__ import annotations

from quarterjack.engine.background import Background
from quarterjack.engine.loop import Hint
from quarterjack.store.store import Store
from quarterjack.store.transactions.nodes import CLOCK_SKEW_MAX
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import SECOND


class Heartbeat:
    """It steps in the background: a node whose event loop is blocked does not look dead."""

    name = "heartbeat"

    def __init__(self, store: Store, interval: int, hint: Hint, background: Background) -> None:
        self._store = store
        self._interval = interval
        self._hint = hint
        self._background = background
        self._logged_difference = 0

    async def step(self, now: int) -> int:
        heartbeat = await self._store.heartbeat()
        self._log_clock_difference(heartbeat.ahead)
        if heartbeat.next_wake is not None:
            self._background.call(self._hint, "planner", heartbeat.next_wake)
        if heartbeat.has_queued_runs:
            self._background.call(self._hint, "worker")
        if heartbeat.next_lease_end is not None:
            self._background.call(self._hint, "lease rescuer", heartbeat.next_lease_end)
        return now + self._interval

    def _log_clock_difference(self, ahead: int) -> None:
        """Only when it changes. The database's clock decides, but log lines carry the host's."""
        if abs(ahead - self._logged_difference) <= CLOCK_SKEW_MAX:
            return
        self._logged_difference = ahead
        if abs(ahead) <= CLOCK_SKEW_MAX:
            log.info("the host clock matches the database clock again")
            return
        facts = log_fields(seconds=f"{ahead / SECOND:+.1f}")
        log.warning("the host clock differs from the database clock %s", facts)
