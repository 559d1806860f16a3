"""Pruner: what is past its retention is forgotten, a small batch at a time, so that no claim ever
waits for it."""

from __future__ import annotations

from quarterjack.rules import Retention, horizons
from quarterjack.store.contract import Store
from quarterjack.store.forgetting import BATCH
from quarterjack.store.values import Place
from quarterjack.telemetry.logs import log, told
from quarterjack.times.instants import HOUR, MILLISECOND, SECOND

EVERY = HOUR
FIRST_AFTER = 2 * SECOND
BETWEEN_BATCHES = 50 * MILLISECOND


class Pruner:
    name = "pruner"

    def __init__(self, store: Store, retention: Retention) -> None:
        self._store = store
        self._retention = retention
        self._old: Place | None = None
        self._surplus: Place | None = None
        self._begins_at: int | None = None
        self._forgotten = 0

    async def step(self, now: int) -> int:
        if self._begins_at is None:
            self._begins_at = now + FIRST_AFTER
        if now < self._begins_at:
            return self._begins_at
        done = await self._store.forget(
            horizons(self._retention, now),
            self._retention,
            self._old or Place(),
            self._surplus or Place(),
            now,
        )
        self._old, self._surplus = done.old, done.surplus
        self._forgotten += done.count
        if done.old or done.surplus or done.count >= BATCH:
            return now + BETWEEN_BATCHES
        if self._forgotten:
            log.info("forgot what is past its retention %s", told(rows=self._forgotten))
        self._begins_at, self._forgotten = now + EVERY, 0
        return self._begins_at
