"""Renewer: a worker's leases are renewed in good time, and the answer says which of its attempts
should stop, and which are not its own any more."""

from __future__ import annotations

from quarterjack.engine.executor import Attempting, Cause
from quarterjack.engine.worker import Seats, Worker
from quarterjack.store.contract import Store
from quarterjack.store.values import Leases
from quarterjack.telemetry.logs import log, told


class Renewer:
    name = "renewer"

    def __init__(self, store: Store, worker: Worker, seats: Seats) -> None:
        self._store = store
        self._worker = worker
        self._seats = seats
        self._next = 0
        self.asks_at_once = False
        """Somebody may want an attempt to stop."""

    @property
    def is_busy(self) -> bool:
        """Is there a lease to renew?"""
        return bool(self._worker.held)

    async def step(self, now: int) -> int | None:
        held = self._worker.held
        if not held:
            self._next = 0
            return None
        # Never later than that: the clock may have been set back.
        latest = now + self._seats.renewed_every
        self._next = min(self._next or latest, latest)
        runs = [attempting.run for attempting in held]
        worker, asks, self.asks_at_once = self._seats.worker, self.asks_at_once, False
        if now >= self._next:
            until = now + self._seats.lease
            self._heed(held, await self._store.renew_leases(worker, runs, until))
            self._next = now + self._seats.renewed_every
        elif asks:
            # Only looked at: a write would be noticed by other processes, which would look in turn.
            self._heed(held, await self._store.look_at_leases(worker, runs))
        return self._next

    def _heed(self, held: list[Attempting], leases: Leases) -> None:
        for attempting in held:
            run = attempting.run
            if attempting.has_ended:
                continue
            if (run.id, run.attempt) not in leases:
                if attempting.cause is not Cause.FENCED:
                    log.warning("lease lost, stopped %s", told(run=run.id, attempt=run.attempt))
                self._worker.stop(attempting, Cause.FENCED)
            elif (reason := leases[run.id, run.attempt]) is not None:
                if attempting.cause is None:
                    log.info("stopping %s", told(run=run.id, because=reason.meaning))
                self._worker.stop(attempting, Cause.CANCEL)
