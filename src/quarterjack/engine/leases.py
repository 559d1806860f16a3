"""Leases: renewed while their attempts run, and settled as lost after they expired. Their length is
the setting `lease`, with its default in `config`."""

from __future__ import annotations

from quarterjack import rules
from quarterjack.engine.executor import Cause, RunningAttempt
from quarterjack.engine.loop import Hint
from quarterjack.engine.worker import Worker, WorkerConfig
from quarterjack.store.store import Store
from quarterjack.store.types import Leases
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import SECOND

BATCH = 500
_LATE = SECOND


class LeaseRenewer:
    """Renews the leases of one worker. The answer says which attempts should stop, and which the
    worker no longer owns."""

    name = "lease renewer"

    def __init__(self, store: Store, worker: Worker, config: WorkerConfig) -> None:
        self._store = store
        self._worker = worker
        self._config = config
        self.check_requested = False
        """Set when some attempt may have been cancelled: the next step reads the leases at once."""

    @property
    def due(self) -> int | None:
        """When the oldest lease is to be renewed, and all others with it."""
        leased = [attempt.leased_at for attempt in self._worker.held]
        return min(leased) + self._config.renewal_interval if leased else None

    async def step(self, now: int) -> int | None:
        held, due = self._worker.held, self.due
        if due is None:
            return None
        runs, worker = [attempt.run for attempt in held], self._config.worker
        check_requested, self.check_requested = self.check_requested, False
        if now >= due or now < due - self._config.renewal_interval:  # the clock was set back
            until = now + self._config.lease
            self._stop_attempts(held, await self._store.renew_leases(worker, runs, until))
            for attempt in held:
                attempt.leased_at = now
        elif check_requested:
            # Read only: a write would wake the other processes on this database, which would check
            # their leases and wake this one again.
            self._stop_attempts(held, await self._store.read_leases(worker, runs))
        return self.due

    def _stop_attempts(self, held: list[RunningAttempt], leases: Leases) -> None:
        for attempt in held:
            if attempt.has_ended:
                continue
            run, number = attempt.key
            if attempt.key not in leases:
                if attempt.cause is not Cause.FENCED:
                    facts = log_fields(run=run, attempt=number)
                    log.warning("lease lost; attempt stopped %s", facts)
                self._worker.stop(attempt, Cause.FENCED)
            elif (reason := leases[attempt.key]) is not None:
                if attempt.cause is None:
                    log.info("stopping attempt %s", log_fields(run=run, reason=reason.meaning))
                self._worker.stop(attempt, Cause.CANCEL)


class LeaseRescuer:
    """Settles attempts whose lease has expired as lost, by the same rule as any other outcome. An
    attempt of its own process is never lost, whatever its lease says."""

    name = "lease rescuer"

    def __init__(self, store: Store, worker: Worker, config: WorkerConfig, hint: Hint) -> None:
        self._store = store
        self._worker = worker
        self._lease = config.lease
        self._hint = hint
        self.expected: int | None = None
        """The next end of a lease, as of the last step."""

    async def step(self, now: int) -> int | None:
        if self.expected is not None and now > self.expected + _LATE:
            # This process slept too long, or the store was away; perhaps the owners of the expired
            # leases could not reach it either. They get one lease more to renew them.
            self.expected = now + self._lease
            return self.expected
        own = {attempt.key for attempt in self._worker.held}
        rescued = await self._store.rescue_runs(now, BATCH, rules.settle, own)
        for run in rescued.lost:
            facts = log_fields(run=run.id, state=run.state, error=run.error)
            log.warning("lease expired; attempt lost %s", facts)
        if rescued.lost:
            for name in ("planner", "worker", "notifier"):
                self._hint(name)
        self.expected = now if len(rescued.lost) == BATCH else rescued.next_lease_end
        return self.expected
