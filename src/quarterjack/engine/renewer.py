"""Renewer: a worker's leases are renewed in good time, and the answer says which of its attempts
should stop, and which are not its own any more."""

from __future__ import annotations

from quarterjack.engine.executor import Cause, RunningAttempt
from quarterjack.engine.worker import Worker, WorkerConfig
from quarterjack.store.store import Store
from quarterjack.store.types import Leases
from quarterjack.telemetry.logs import log, log_fields


class LeaseRenewer:
    name = "renewer"

    def __init__(self, store: Store, worker: Worker, seats: WorkerConfig) -> None:
        self._store = store
        self._worker = worker
        self._seats = seats
        self.asks_at_once = False
        """Somebody may want an attempt to stop."""

    @property
    def due(self) -> int | None:
        """When the oldest lease is to be renewed, and all others with it."""
        leased = [attempting.leased_at for attempting in self._worker.held]
        return min(leased) + self._seats.renewed_every if leased else None

    async def step(self, now: int) -> int | None:
        held, due = self._worker.held, self.due
        if due is None:
            return None
        runs = [attempting.run for attempting in held]
        worker, asks, self.asks_at_once = self._seats.worker, self.asks_at_once, False
        if now >= due or now < due - self._seats.renewed_every:  # the clock was set back
            until = now + self._seats.lease
            self._heed(held, await self._store.renew_leases(worker, runs, until))
            for attempting in held:
                attempting.leased_at = now
        elif asks:
            # Only looked at: a write would be noticed by other processes, which would look in turn.
            self._heed(held, await self._store.look_at_leases(worker, runs))
        return self.due

    def _heed(self, held: list[RunningAttempt], leases: Leases) -> None:
        for attempting in held:
            run = attempting.run
            if attempting.has_ended:
                continue
            if (run.id, run.attempt) not in leases:
                if attempting.cause is not Cause.FENCED:
                    log.warning(
                        "lease lost, stopped %s", log_fields(run=run.id, attempt=run.attempt)
                    )
                self._worker.stop(attempting, Cause.FENCED)
            elif (reason := leases[run.id, run.attempt]) is not None:
                if attempting.cause is None:
                    log.info("stopping %s", log_fields(run=run.id, because=reason.meaning))
                self._worker.stop(attempting, Cause.CANCEL)
