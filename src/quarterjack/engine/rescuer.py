"""Rescuer: an attempt whose lease has lapsed lost its worker; it is settled as lost, by the same
rule as any other outcome."""

from __future__ import annotations

from collections.abc import Callable

from quarterjack import rules
from quarterjack.store.contract import Store
from quarterjack.telemetry.logs import log, told
from quarterjack.times.instants import SECOND

BATCH = 500
_LATE = SECOND


class Rescuer:
    name = "rescuer"

    def __init__(self, store: Store, renewed_every: int, hint: Callable[[str], None]) -> None:
        self._store = store
        self._renewed_every = renewed_every
        self._hint = hint
        self._expected: int | None = None

    async def step(self, now: int) -> int | None:
        if self._expected is not None and now > self._expected + _LATE:
            # We slept longer than we meant to, and so perhaps did those whose leases have lapsed
            # meanwhile. They get the time to renew them.
            self._expected = now + self._renewed_every
            return self._expected
        rescued = await self._store.rescue_runs(now, BATCH, rules.settle)
        for run in rescued.lost:
            log.warning("worker lost %s", told(run=run.id, worker=run.worker, state=run.state))
        if rescued.lost:
            for name in ("planner", "worker", "notifier"):
                self._hint(name)
        self._expected = now if len(rescued.lost) == BATCH else rescued.next_lease_end
        return self._expected
