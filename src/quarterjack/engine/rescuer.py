"""Rescuer: an attempt whose lease has lapsed lost its worker; it is settled as lost, by the same
rule as any other outcome. What its own process works on is not lost, whatever its lease says."""

from __future__ import annotations

from quarterjack import rules
from quarterjack.engine.loop import Hint
from quarterjack.engine.worker import Worker, WorkerConfig
from quarterjack.store.store import Store
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import SECOND

BATCH = 500
_LATE = SECOND


class LeaseRescuer:
    name = "rescuer"

    def __init__(self, store: Store, worker: Worker, seats: WorkerConfig, hint: Hint) -> None:
        self._store = store
        self._worker = worker
        self._lease = seats.lease
        self._hint = hint
        self.expected: int | None = None

    async def step(self, now: int) -> int | None:
        if self.expected is not None and now > self.expected + _LATE:
            # We slept longer than we meant to, or the store was away; and so perhaps it was for
            # those whose leases have lapsed meanwhile. They get the time to renew them.
            self.expected = now + self._lease
            return self.expected
        own = {(each.run.id, each.run.attempt) for each in self._worker.held}
        rescued = await self._store.rescue_runs(now, BATCH, rules.settle, own)
        for run in rescued.lost:
            log.warning("worker lost %s", log_fields(run=run.id, state=run.state, error=run.error))
        if rescued.lost:
            for name in ("planner", "worker", "notifier"):
                self._hint(name)
        self.expected = now if len(rescued.lost) == BATCH else rescued.next_lease_end
        return self.expected
