"""Worker: runs that are ready become attempts, and what becomes of them is settled.

One step settles what has ended, claims what there are seats for, and starts it. Both are handed
to the store together, so that a busy worker waits for one commit only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, NamedTuple

from quarterjack import rules
from quarterjack.engine.executor import Cause, Executor, RunningAttempt, Ticking
from quarterjack.engine.loop import Hint
from quarterjack.errors import StoreError, StoreFull
from quarterjack.failpoint import failpoint
from quarterjack.rules import Ending, Outcome, Run
from quarterjack.store.store import Store
from quarterjack.store.types import Claim, Claimed
from quarterjack.targets.call import Target
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import SECOND

BATCH = 1000


class WorkerConfig(NamedTuple):
    """How much a worker takes on, of what, and for how long it is believed."""

    worker: str
    queues: Sequence[str] = ("default",)
    count: int = 16  # type: ignore[assignment]  # not the method of a tuple
    lease: int = 10 * SECOND

    @property
    def renewed_every(self) -> int:
        return self.lease * 3 // 10


class Worker:
    name = "worker"

    def __init__(
        self,
        store: Store,
        targets: Mapping[str, Target],
        clock: Ticking,
        seats: WorkerConfig,
        hint: Hint,
    ) -> None:
        self._store = store
        self._seats = seats
        self._hint = hint
        self._executor = Executor(
            targets, clock, store.now, on_end=self._on_end, on_output=lambda: hint("recorder")
        )
        self.running: dict[tuple[str, int], RunningAttempt] = {}
        """By run and attempt: the last one may still be ending when the next one is claimed."""
        self.ended: list[tuple[RunningAttempt, Outcome]] = []
        """Not settled yet."""
        self._settling: list[tuple[RunningAttempt, Outcome]] = []
        self._is_draining = False
        self._is_asking = False
        self._one_by_one = False
        self._changed = asyncio.Event()

    async def step(self, now: int) -> int | None:
        self._is_asking = True
        try:
            return await self._step(now)
        finally:
            self._is_asking = False
            self._changed.set()

    async def _step(self, now: int) -> int | None:
        if self.ended:
            claimed = await self._settle_and_claim(now)
        else:
            claimed = await self._claimed(now)
            self._start_all(claimed.claims, now)
        return now if self.ended else claimed.next_ready

    async def _settle_and_claim(self, now: int) -> Claimed:
        # In this order they reach the store, and so the claim sees what was settled.
        *errors, last = await asyncio.gather(
            *self._settlements(now), self._claimed(now), return_exceptions=True
        )
        claimed: Claimed | BaseException = last
        if isinstance(claimed, Claimed):
            self._start_all(claimed.claims, now)
        failed = [each for each in (*errors, claimed) if isinstance(each, BaseException)]
        if any(isinstance(error, StoreFull) for error in errors):
            errors = await self._settle_with_marks(now)
        self._note_settlements(errors, now)
        if failed or not isinstance(claimed, Claimed):
            raise failed[0]
        return claimed

    @property
    def held(self) -> list[RunningAttempt]:
        """All that this worker answers for: what runs, and what is not settled yet."""
        unsettled = [attempting for attempting, _ in (*self._settling, *self.ended)]
        return [*self.running.values(), *unsettled]

    def stop(self, attempting: RunningAttempt, cause: Cause) -> None:
        self._executor.stop(attempting, cause)

    def drain(self) -> None:
        """Take on nothing new."""
        self._is_draining = True

    async def has_settled(self) -> None:
        """Until nothing is left that this worker answers for, and no claim is on its way."""
        while self.held or self._is_asking:
            self._changed.clear()
            await self._changed.wait()

    async def has_ended(self) -> None:
        """Until no work runs any more, settled or not."""
        while self.running:
            self._changed.clear()
            await self._changed.wait()

    def hand_back(self) -> None:
        """Whatever still runs is stopped, and given to another worker."""
        for attempting in list(self.running.values()):
            log.info("handed back %s", log_fields(run=attempting.run.id))
            self._executor.stop(attempting, Cause.HAND_BACK)

    def _free(self) -> int:
        if self._is_draining:
            return 0
        return min(self._seats.count - len(self.running), BATCH)

    def _settlements(self, now: int) -> list[Coroutine[Any, Any, Any]]:
        """What is asked of the store for attempts that have ended: their output, their end."""
        count = 1 if self._one_by_one else BATCH
        self._settling, self.ended = self.ended[:count], self.ended[count:]
        chunks = [
            chunk
            for attempting, _ in self._settling
            for chunk in attempting.output.unstored(now, at_end=True)
        ]
        output = [self._store.add_output(chunks)] if chunks else []
        return [*output, self._settle(now)]

    async def _settle(self, now: int) -> None:
        outcomes = [(attempting.run, outcome) for attempting, outcome in self._settling]
        worker = self._seats.worker
        settled = await self._store.settle_runs(worker, outcomes, rules.settle, now)
        for run in settled.fenced:
            log.warning("settled elsewhere, nothing written %s", log_fields(run=run.id))
        if settled.next_wake is not None:
            self._hint("planner", settled.next_wake)
        if settled.is_notable:
            self._hint("notifier")

    async def _settle_with_marks(self, now: int) -> list[BaseException | None]:
        """There is no room for all of it; perhaps for their ends, and marks where output was. If
        not, nothing is lost: it is kept here, and tried whole first when it is tried again."""
        marks = [mark for attempting, _ in self._settling for mark in attempting.output.mark()]
        caller = [self._store.add_output(marks), self._settle(now)]
        errors = await asyncio.gather(*caller, return_exceptions=True)
        if marks and not any(errors):
            runs = [attempting.run.id for attempting, _ in self._settling]
            log.warning("the disk is full, output is not kept %s", log_fields(runs=runs))
        return errors

    def _note_settlements(self, errors: Sequence[BaseException | None], now: int) -> None:
        """If the store was away, they are asked for again; twice does no harm. If one of them
        cannot be stored, they are settled one by one, and that one as plainly as can be."""
        failed = [error for error in errors if error is not None]
        refused = [error for error in failed if not isinstance(error, StoreError)]
        if refused and len(self._settling) == 1:
            self._settling = _plainly(self._settling[0], refused[0], now)
        self._one_by_one = bool(failed) and (bool(refused) or self._one_by_one)
        if failed:
            self.ended = [*self._settling, *self.ended]
        self._settling = []

    async def _claimed(self, now: int) -> Claimed:
        seats = self._free()
        if not seats:
            return Claimed((), None)
        worker, queues, _, lease = self._seats
        return await self._store.claim_runs(worker, queues, seats, now + lease, now)

    def _start_all(self, claims: Sequence[Claim], now: int) -> None:
        self._drop_ends_of(claims)
        for claim in claims:
            self._start(claim)
        if claims:
            self._hint("renewer", now + self._seats.renewed_every)
            self._hint("rescuer", now + self._seats.lease)

    def _drop_ends_of(self, claims: Sequence[Claim]) -> None:
        """What has just been claimed has not ended. An end of it that is not settled is that of an
        attempt which a failover has lost, and it would settle the one that has its number now."""
        claimed = {(claim.run.id, claim.run.attempt) for claim in claims}
        for unsettled in (self._settling, self.ended):
            for each in [each for each in unsettled if each[0].key in claimed]:
                unsettled.remove(each)
                run, attempt = each[0].key
                log.warning("stale settlement ignored %s", log_fields(run=run, attempt=attempt))

    def _start(self, claim: Claim) -> None:
        attempt, key = claim.run.attempt, (claim.run.id, claim.run.attempt)
        # After a failover that lost the last transactions, even this very number is given again.
        older = self._older(claim.run) if attempt > 1 or key in self.running else []
        for each in older:  # they were lost, and no renewal has told so yet
            self._executor.stop(each, Cause.FENCED)
        attempting = self._executor.start(claim, [each.task for each in older])
        self.running[attempting.key] = attempting
        failpoint("launch.after")
        if log.isEnabledFor(logging.INFO):
            facts = log_fields(run=attempting.key[0], schedule=claim.key, attempt=attempt)
            log.info("started %s", facts)

    def _older(self, run: Run) -> list[RunningAttempt]:
        """Attempts of the same run that still run here."""
        return [each for (run_id, _), each in self.running.items() if run_id == run.id]

    def _on_end(self, attempting: RunningAttempt, outcome: Outcome) -> None:
        if self.running.get(attempting.key) is attempting:
            del self.running[attempting.key]
        if attempting.cause is not Cause.FENCED:
            self.ended.append((attempting, outcome))
        if log.isEnabledFor(logging.INFO):
            run, key = attempting.run.id, attempting.claim.key
            log.info(
                "%s %s", outcome.ending, log_fields(run=run, schedule=key, error=outcome.error)
            )
        self._changed.set()
        if len(self.ended) < 2:  # else it was hinted at already
            self._hint("worker")


def _plainly(
    settling: tuple[RunningAttempt, Outcome], error: BaseException, now: int
) -> list[tuple[RunningAttempt, Outcome]]:
    """The same end without what could not be stored; nothing, if even that failed."""
    attempting, outcome = settling
    run = attempting.run.id
    log.error("its outcome cannot be stored %s", log_fields(run=run, because=error), exc_info=error)
    why = f"its outcome could not be stored: {type(error).__name__}"
    if outcome.error == why:
        return []
    attempting.output.prune()
    return [(attempting, Outcome(Ending.FAILED, now, why, retryable=outcome.retryable))]
