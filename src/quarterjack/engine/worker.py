"""Worker: claims runs, executes them as attempts, and settles their outcomes.

One step settles what has ended, claims as much as there is room for, and starts it. Both go to the
store together, so that a busy worker waits for one commit only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any, NamedTuple

from quarterjack import rules
from quarterjack.engine.clock_watch import Clock
from quarterjack.engine.executor import Cause, Executor, RunningAttempt, Targets
from quarterjack.engine.loop import Hint
from quarterjack.engine.output import combined
from quarterjack.errors import StoreError, StoreFull
from quarterjack.failpoint import failpoint
from quarterjack.rules import Ending, Outcome
from quarterjack.store.store import Store
from quarterjack.store.types import Claim, Claimed
from quarterjack.telemetry.logs import log, log_fields

BATCH = 1000


class WorkerConfig(NamedTuple):
    worker: str
    """Its name."""
    queues: Sequence[str]
    concurrency: int
    """How many attempts it runs at once."""
    lease: int

    @property
    def renewal_interval(self) -> int:
        return self.lease * 3 // 10


class Worker:
    name = "worker"

    def __init__(
        self, store: Store, targets: Targets, clock: Clock, config: WorkerConfig, hint: Hint
    ) -> None:
        self._store = store
        self._config = config
        self._hint = hint
        on_output = partial(hint, "recorder")
        self._executor = Executor(targets, clock, store.now, self._on_end, on_output)
        self.running: dict[tuple[str, int], RunningAttempt] = {}
        """By run and attempt: one attempt may still be ending when the next is claimed."""
        self._unsettled: list[tuple[RunningAttempt, Outcome]] = []
        self._settling: list[tuple[RunningAttempt, Outcome]] = []
        self.claiming_since: int | None = None
        """The instant of a claim whose answer has not been received."""
        self._is_draining = False
        self._is_stepping = False
        self._settles_singly = False
        self._changed = asyncio.Event()

    async def step(self, now: int) -> int | None:
        self._is_stepping = True
        try:
            return await self._step(now)
        finally:
            self.claiming_since = None
            self._is_stepping = False
            self._changed.set()

    async def _step(self, now: int) -> int | None:
        if self._unsettled:
            claimed = await self._settle_and_claim(now)
        else:
            claimed = await self._claim(now)
            self._start_all(await self._still_leased(claimed.claims, now), now)
        return now if self._unsettled else claimed.next_ready

    async def _settle_and_claim(self, now: int) -> Claimed:
        # They reach the store in this order, and so the claim sees what was settled.
        calls: list[Coroutine[Any, Any, Any]] = [*self._settlement_calls(now), self._claim(now)]
        *errors, last = await asyncio.gather(*calls, return_exceptions=True)
        claimed: Claimed | BaseException = last
        if isinstance(claimed, Claimed):
            self._start_all(await self._still_leased(claimed.claims, now), now)
        failed = [each for each in (*errors, claimed) if isinstance(each, BaseException)]
        if any(isinstance(error, StoreFull) for error in errors):
            errors = await self._settle_without_output(now)
        self._keep_unsettled(errors, now)
        if failed or not isinstance(claimed, Claimed):
            raise failed[0]
        return claimed

    @property
    def held(self) -> list[RunningAttempt]:
        """All attempts this worker has a lease for: running, or not settled yet. Another thread may
        read them: in the order in which they move on, so that it rather sees one twice than not."""
        running = list(self.running.values())
        ended = [attempt for attempt, _ in (*self._unsettled, *self._settling)]
        return [*running, *ended]

    def stop(self, attempt: RunningAttempt, cause: Cause) -> None:
        self._executor.stop(attempt, cause)

    def drain(self) -> None:
        """Claim nothing more."""
        self._is_draining = True

    async def wait_until_settled(self) -> None:
        """Until it holds no attempt, and no claim is under way."""
        while self.held or self._is_stepping:
            self._changed.clear()
            await self._changed.wait()

    async def wait_until_ended(self) -> None:
        """Until no attempt is running, settled or not."""
        while self.running:
            self._changed.clear()
            await self._changed.wait()

    def stop_all(self) -> None:
        """Stop every attempt; the runs may be claimed by another worker."""
        for attempt in list(self.running.values()):
            log.info("stopping attempt %s", log_fields(run=attempt.run.id, reason=Cause.SHUTDOWN))
            self._executor.stop(attempt, Cause.SHUTDOWN)

    def _settlement_calls(self, now: int) -> list[Coroutine[Any, Any, Any]]:
        """The calls of the store that write the reports and outcomes of one batch."""
        count = 1 if self._settles_singly else BATCH
        self._settling, self._unsettled = self._unsettled[:count], self._unsettled[count:]
        outputs = [each.output for each, _ in self._settling if each.output.is_waiting]
        reports = combined(output.unstored(at_end=True) for output in outputs)
        calls = [self._store.add_output(*reports)] if any(reports) else []
        return [*calls, self._settle(now)]

    async def _settle(self, now: int) -> None:
        outcomes = [(attempt.run, outcome) for attempt, outcome in self._settling]
        worker = self._config.worker
        settled = await self._store.settle_runs(worker, outcomes, rules.settle, now)
        for run in settled.fenced:
            log.warning("stale settlement ignored %s", log_fields(run=run.id))
        if settled.next_wake is not None:
            self._hint("planner", settled.next_wake)
        if settled.has_notifications:
            self._hint("notifier")

    async def _settle_without_output(self, now: int) -> list[BaseException | None]:
        """The disk is full: there may be room for the outcomes, with a short mark in place of the
        output. If not, nothing is lost: both stay in memory, and the retry begins with both."""
        marks = [mark for attempt, _ in self._settling for mark in attempt.output.mark()]
        calls = [self._store.add_output(marks), self._settle(now)]
        errors = await asyncio.gather(*calls, return_exceptions=True)
        if marks and not any(errors):
            runs = [attempt.run.id for attempt, _ in self._settling]
            log.warning("disk full; output discarded %s", log_fields(runs=runs))
        return errors

    def _keep_unsettled(self, errors: Sequence[BaseException | None], now: int) -> None:
        """After an error the batch is settled again; twice does no harm. If the store refused it,
        attempts are settled one by one, and the refused one without its result."""
        failed = [error for error in errors if error is not None]
        refused = [error for error in failed if not isinstance(error, StoreError)]
        if refused and len(self._settling) == 1:
            self._settling = _without_result(*self._settling[0], refused[0], now)
        self._settles_singly = bool(failed) and (bool(refused) or self._settles_singly)
        if failed:
            self._unsettled = [*self._settling, *self._unsettled]
        self._settling = []

    async def _claim(self, now: int) -> Claimed:
        config = self._config
        count = min(config.concurrency - len(self.running), BATCH)
        if not count or self._is_draining:
            return Claimed((), None)
        lease_until, self.claiming_since = now + config.lease, now
        return await self._store.claim_runs(config.worker, config.queues, count, lease_until, now)

    async def _still_leased(self, claims: Sequence[Claim], now: int) -> Sequence[Claim]:
        """Those of a claim that may be started. If its answer came after the end of its leases,
        because the event loop was blocked, another worker may have taken some of them."""
        if not claims or self._store.now() < now + self._config.lease:
            return claims
        worker, runs = self._config.worker, [claim.run for claim in claims]
        try:
            leases = await self._store.read_leases(worker, runs)
        except StoreError:  # nobody knows; they are settled as lost, and perhaps claimed again
            return []
        lost = [claim.run.id for claim in claims if (claim.run.id, claim.run.attempt) not in leases]
        if lost:
            log.warning("leases lost before the start %s", log_fields(runs=lost))
        return [claim for claim in claims if (claim.run.id, claim.run.attempt) in leases]

    def _start_all(self, claims: Sequence[Claim], now: int) -> None:
        self._drop_stale_outcomes(claims)
        for claim in claims:
            self._start(claim)
        if claims:
            self._hint("lease renewer", now + self._config.renewal_interval)
            self._hint("lease rescuer", now + self._config.lease)

    def _drop_stale_outcomes(self, claims: Sequence[Claim]) -> None:
        """An attempt that was just claimed cannot have an outcome yet. One that has, ended before a
        database failover that lost its claim, and would settle the new attempt of that number."""
        claimed = {(claim.run.id, claim.run.attempt) for claim in claims}
        for outcomes in (self._settling, self._unsettled):
            for each in [each for each in outcomes if each[0].key in claimed]:
                outcomes.remove(each)
                run, number = each[0].key
                log.warning("stale outcome dropped %s", log_fields(run=run, attempt=number))

    def _start(self, claim: Claim) -> None:
        run, number = claim.run.id, claim.run.attempt
        earlier: list[RunningAttempt] = []
        # A failover that lost transactions can make the store issue the same number again.
        if number > 1 or (run, number) in self.running:
            earlier = [each for each in self.running.values() if each.run.id == run]
        for each in earlier:  # their lease is lost, though no renewal has shown it yet
            self._executor.stop(each, Cause.FENCED)
        attempt = self._executor.start(claim, [each.task for each in earlier])
        self.running[attempt.key] = attempt
        failpoint("launch.after")
        if log.isEnabledFor(logging.INFO):
            log.info("attempt started %s", log_fields(run=run, schedule=claim.key, attempt=number))

    def _on_end(self, attempt: RunningAttempt, outcome: Outcome) -> None:
        if self.running.get(attempt.key) is attempt:
            del self.running[attempt.key]
        if attempt.cause is not Cause.FENCED:
            self._unsettled.append((attempt, outcome))
        if log.isEnabledFor(logging.INFO):
            run, number = attempt.key
            facts = log_fields(
                run=run, schedule=attempt.claim.key, attempt=number, error=outcome.error
            )
            ending = "interrupted" if outcome.handed_back else outcome.ending.replace("_", " ")
            log.info("attempt %s %s", ending, facts)
        self._changed.set()
        if len(self._unsettled) < 2:  # otherwise it was hinted at already
            self._hint("worker")


def _without_result(
    attempt: RunningAttempt, outcome: Outcome, error: BaseException, now: int
) -> list[tuple[RunningAttempt, Outcome]]:
    """The same attempt as failed, without output and result; nothing, if even that was refused."""
    facts = log_fields(run=attempt.run.id, error=error)
    log.error("outcome cannot be stored %s", facts, exc_info=error)
    why = f"its outcome could not be stored: {type(error).__name__}"
    if outcome.error == why:
        return []
    attempt.output.discard()
    return [(attempt, Outcome(Ending.FAILED, now, why, retryable=outcome.retryable))]
