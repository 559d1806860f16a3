"""Pruner: what is past its retention is forgotten, a small batch at a time, with a rest after each
that is longer than the batch was, so that no claim waits for it for long."""

from __future__ import annotations

from quarterjack.engine.clock_watch import ClockGuard
from quarterjack.rules import Retention, horizons
from quarterjack.store.store import Store
from quarterjack.store.transactions.retention import PruneProgress
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import DAY, MILLISECOND, MINUTE, SECOND

EVERY = 10 * MINUTE
FIRST_AFTER = 2 * SECOND
RESTS = 9
"""So many times as long as the batch took, waiting for others included."""
LEAST_REST, LONGEST_REST = 5 * MILLISECOND, SECOND
ANEW_EVERY = DAY
"""How often all old runs are looked at again: what a schedule pointed at may be free to go."""


class Pruner:
    name = "pruner"

    def __init__(self, store: Store, retention: Retention, trust: ClockGuard | None = None) -> None:
        """A person who asks for it believes the clock."""
        self._store = store
        self._trust = trust
        self._retention = retention
        self._sweep = PruneProgress()
        self._begins_at: int | None = None
        self._anew_at = 0
        self.pruned = 0
        """How many rows, in this sweep."""

    async def step(self, now: int) -> int:
        if self._begins_at is None:
            self._begins_at, self._anew_at = now + FIRST_AFTER, now + ANEW_EVERY
        if now < self._begins_at <= now + EVERY:  # else the clock was set back
            return self._begins_at
        if self._trust is not None:
            self._trust.refuse_if_astray(now)
        if (rest := await self.forget_some(now)) is not None:
            return self._store.now() + rest
        if self.pruned:
            log.info("forgot what is past its retention %s", log_fields(rows=self.pruned))
        self._begin_anew(now)
        return self._begins_at

    async def forget_some(self, now: int) -> int | None:
        """One batch; how long to rest after it, or None at the end of the sweep."""
        due = horizons(self._retention, now)
        count, self._sweep = await self._store.prune(due, self._retention, self._sweep, now)
        self.pruned += count
        if self._sweep.is_over:
            return None
        took = max(self._store.now() - now, 0)
        return min(max(RESTS * took, LEAST_REST), LONGEST_REST)

    def _begin_anew(self, now: int) -> None:
        self._begins_at, self.pruned = now + EVERY, 0
        self._sweep = PruneProgress(old=self._sweep.old)
        if now >= self._anew_at:
            self._sweep, self._anew_at = PruneProgress(), now + ANEW_EVERY
