"""Leases: renewed while their attempts run, and settled as lost after they expired. Their length is
the setting `lease`, with its default in `config`."""

from __future__ import annotations

from collections.abc import Sequence

from quarterjack import rules
from quarterjack.engine.background import Background
from quarterjack.engine.clock_watch import Clock
from quarterjack.engine.executor import Cause, RunningAttempt
from quarterjack.engine.loop import Hint
from quarterjack.engine.worker import Worker, WorkerConfig
from quarterjack.store.store import Store
from quarterjack.store.types import Leases
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import MINUTE, SECOND

BATCH = 500
_LATE = SECOND
STOPPING = 5 * SECOND
"""How long after its timeout an attempt may take to end."""
STALLED_MAX = 10 * MINUTE
"""How long an event loop may be blocked by a task without a timeout, until its work is given to
others."""


class LeaseRenewer:
    """Renews the leases of one worker. The answer says which attempts should stop, and which the
    worker no longer owns.

    It steps in the background, where a task that blocks the event loop does not delay it, and reads
    what the worker holds while the event loop changes that. Copying the values of a dict or a list
    is atomic under the interpreter lock; an attempt that is missed between two of these copies is
    renewed by the next step, seconds later. Attempts are stopped on the event loop only.
    """

    name = "lease renewer"

    def __init__(
        self,
        store: Store,
        worker: Worker,
        clock: Clock,
        config: WorkerConfig,
        background: Background,
    ) -> None:
        self._store = store
        self._worker = worker
        self._clock = clock
        self._config = config
        self._background = background
        self.check_requested = False
        """Set when some attempt may have been cancelled: the next step reads the leases at once."""

    @property
    def due(self) -> int | None:
        """When the oldest lease is to be renewed, and all others with it."""
        return self._due(self._worker.held)

    def _due(self, held: Sequence[RunningAttempt]) -> int | None:
        leased = [attempt.leased_at for attempt in held]
        return min(leased) + self._config.renewal_interval if leased else None

    async def step(self, now: int) -> int | None:
        held = self._worker.held
        due = self._due(held)
        if due is None:
            return None
        check_requested = self.check_requested
        if check_requested:  # not reset otherwise: it may be set just now
            self.check_requested = False
        if now >= due or now < due - self._config.renewal_interval:  # the clock was set back
            await self._renew(held, now)
        elif check_requested:
            # Read only: a write would wake the other processes on this database, which would check
            # their leases and wake this one again.
            runs = [attempt.run for attempt in held]
            self._stop_attempts(held, await self._store.read_leases(self._config.worker, runs))
        return self.due

    async def _renew(self, held: Sequence[RunningAttempt], now: int) -> None:
        worker, until = self._config.worker, now + self._config.lease
        stalled_for, monotonic = self._background.stalled_for(), self._clock.monotonic()
        renewed = [each for each in held if may_go_on(each, stalled_for, monotonic)]
        if renewed:
            runs = [attempt.run for attempt in renewed]
            self._stop_attempts(renewed, await self._store.renew_leases(worker, runs, until))
        for attempt in held:  # the others too: they are considered again after the same time
            attempt.leased_at = now
        claimed_at = self._worker.claiming_since
        if claimed_at is not None and 0 < stalled_for < STALLED_MAX:
            # Perhaps it is committed, and the blocked event loop has not received the answer.
            await self._store.renew_claims(worker, claimed_at, until)

    def _stop_attempts(self, held: Sequence[RunningAttempt], leases: Leases) -> None:
        stopped = [each for each in held if each.key not in leases or leases[each.key] is not None]
        if any(not attempt.has_ended for attempt in stopped):
            self._background.call(self._stop_on_loop, stopped, leases)

    def _stop_on_loop(self, attempts: Sequence[RunningAttempt], leases: Leases) -> None:
        for attempt in attempts:
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


def may_go_on(attempt: RunningAttempt, stalled_for: int, monotonic: int) -> bool:
    """Whether its lease is renewed. A blocked event loop cannot stop an attempt that has timed out:
    its lease expires, and the run goes on elsewhere."""
    if not stalled_for:
        return True
    if attempt.deadline is None or attempt.has_ended:
        return stalled_for < STALLED_MAX
    return monotonic < attempt.deadline + STOPPING


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
