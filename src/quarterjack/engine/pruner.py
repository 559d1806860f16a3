"""Pruner: deletes rows past their retention in small batches, with a longer pause after each, so
that no claim waits for it for long."""

from __future__ import annotations

from quarterjack.engine.clock_watch import ClockGuard
from quarterjack.rules import Retention
from quarterjack.rules.policies.retention import horizons
from quarterjack.store.store import Store
from quarterjack.store.transactions.retention import PruneProgress
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import DAY, MILLISECOND, MINUTE, SECOND

INTERVAL = 10 * MINUTE
FIRST_DELAY = 2 * SECOND
PAUSE_FACTOR = 9
"""The pause after a batch is this many times what the batch took, waiting for locks included."""
PAUSE_MIN, PAUSE_MAX = 5 * MILLISECOND, SECOND
RESCAN_INTERVAL = DAY
"""How often runs that were kept are examined again: a schedule may have referred to them."""


class Pruner:
    name = "pruner"

    def __init__(self, store: Store, retention: Retention, guard: ClockGuard | None = None) -> None:
        """Without a guard any clock is accepted, as for a command of a person."""
        self._store = store
        self._guard = guard
        self._retention = retention
        self._progress = PruneProgress()
        self._due: int | None = None
        self._rescan_at = 0
        self.pruned = 0
        """Rows deleted in the current pass."""

    async def step(self, now: int) -> int:
        if self._due is None:
            self._due, self._rescan_at = now + FIRST_DELAY, now + RESCAN_INTERVAL
        if now < self._due <= now + INTERVAL:  # otherwise the clock was set back
            return self._due
        if self._guard is not None:
            self._guard.check(now)
        if (pause := await self.prune_batch(now)) is not None:
            return self._store.now() + pause
        if self.pruned:
            log.info("pruned expired rows %s", log_fields(rows=self.pruned))
        self._due, self.pruned = now + INTERVAL, 0
        self._progress = PruneProgress(old=self._progress.old)
        if now >= self._rescan_at:
            self._progress, self._rescan_at = PruneProgress(), now + RESCAN_INTERVAL
        return self._due

    async def prune_batch(self, now: int) -> int | None:
        """How long to pause after it, or None at the end of the pass."""
        due = horizons(self._retention, now)
        count, self._progress = await self._store.prune(due, self._retention, self._progress, now)
        self.pruned += count
        if self._progress.is_complete:
            return None
        took = max(self._store.now() - now, 0)
        return min(max(PAUSE_FACTOR * took, PAUSE_MIN), PAUSE_MAX)
