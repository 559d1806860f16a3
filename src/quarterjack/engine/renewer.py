"""Renewer: a worker's leases are renewed in good time, and the answer says which of its attempts
should stop, and which are not its own any more."""

from __future__ import annotations

from quarterjack.engine.executor import Cause
from quarterjack.engine.worker import Seats, Worker
from quarterjack.store.contract import Store
from quarterjack.telemetry.logs import log, told


class Renewer:
    name = "renewer"

    def __init__(self, store: Store, worker: Worker, seats: Seats) -> None:
        self._store = store
        self._worker = worker
        self._seats = seats
        self._every = seats.lease * 3 // 10
        self._next = 0
        self.asks_at_once = False
        """Somebody wants an attempt to stop."""

    async def step(self, now: int) -> int | None:
        held = self._worker.held
        if not held:
            self._next = 0
            return None
        if not self._next:
            self._next = now + self._every
        if now < self._next and not self.asks_at_once:
            return self._next
        self.asks_at_once = False
        runs = [attempting.run for attempting in held]
        kept = await self._store.renew_leases(self._seats.worker, runs, now + self._seats.lease)
        for attempting in held:
            run = attempting.run
            if run.id not in kept:
                if not attempting.has_ended:
                    log.warning("lease lost, stopped %s", told(run=run.id, attempt=run.attempt))
                    self._worker.stop(attempting, Cause.FENCED)
            elif (reason := kept[run.id]) is not None:
                log.info("stopping %s", told(run=run.id, because=reason.meaning))
                self._worker.stop(attempting, Cause.CANCEL)
        self._next = now + self._every
        return self._next
