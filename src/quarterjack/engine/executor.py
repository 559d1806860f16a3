"""Executor: one attempt after another is acted on by its target, and ends in an outcome, however
it ends: by itself, by its timeout, because it is cancelled, or because the worker stops."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from quarterjack.engine.output import CHUNK_BYTES, Output
from quarterjack.failpoint import failpoint
from quarterjack.rules import Ending, Outcome
from quarterjack.rules.text_enum import TextEnum
from quarterjack.store.types import Claim
from quarterjack.targets.call import Answer, Call, Target
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import SECOND

GIVE_UP_SECONDS = 15
"""After this, work that does not end when it is told to is left to itself."""
_ERROR_MAX = 4000


class Ticking(Protocol):
    def monotonic(self) -> int: ...


class Cause(TextEnum):
    """Why an attempt is told to stop."""

    TIMEOUT = "timeout"
    CANCEL = "cancel"
    HAND_BACK = "hand back"
    FENCED = "fenced"


class RunningAttempt:
    """An attempt under way."""

    __slots__ = (
        "cause", "claim", "gives_up", "has_begun", "has_ended", "key", "leased_at", "outcome",
        "output", "run", "task",
    )  # fmt: skip

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.run = claim.run
        self.key = (claim.run.id, claim.run.attempt)
        self.leased_at = claim.run.started_at or 0
        """When it was claimed, or its lease was last renewed."""
        self.output = Output(claim.run)
        self.cause: Cause | None = None
        self.task: asyncio.Task[None]
        self.outcome: Outcome | None = None
        self.gives_up: asyncio.TimerHandle | None = None
        self.has_begun = False
        self.has_ended = False


class Executor:
    """Starts attempts and stops them; whoever started one is told how it ended, once. When it ended
    is told by the clock that all nodes agree on, and how long it may take by the host's own."""

    def __init__(
        self,
        targets: Mapping[str, Target],
        clock: Ticking,
        now: Callable[[], int],
        on_end: Callable[[RunningAttempt, Outcome], None],
        on_output: Callable[[], None],
    ) -> None:
        self._targets = targets
        self._clock = clock
        self._now = now
        self._on_end = on_end
        self._on_output = on_output
        self._loop = asyncio.get_running_loop()
        self._deadlines: dict[RunningAttempt, int] = {}
        """Until when each may run, by the monotonic clock."""
        self._alarm: asyncio.TimerHandle | None = None
        """One for all of them: for the earliest, or one that has ended since."""
        self._alarm_at = 0

    def start(self, claim: Claim, after: Sequence[asyncio.Task[None]] = ()) -> RunningAttempt:
        """Begin an attempt; after others of the same run, if they are still ending."""
        attempting = RunningAttempt(claim)
        attempting.task = self._loop.create_task(self._act(attempting, after))
        return attempting

    def stop(self, attempting: RunningAttempt, cause: Cause) -> None:
        """Ask it to end. The first cause counts, unless the attempt is not ours any more."""
        if attempting.has_ended or attempting.cause is cause:
            return
        if attempting.cause is None or cause is Cause.FENCED:
            attempting.cause = cause
            attempting.task.cancel()
            if attempting.has_begun:
                self._cancel_timers(attempting)
                give_up = self._loop.call_later(GIVE_UP_SECONDS, self._give_up, attempting)
                attempting.gives_up = give_up
            else:  # it never will
                self._end(attempting)

    async def _act(self, attempting: RunningAttempt, after: Sequence[asyncio.Task[None]]) -> None:
        attempting.has_begun = True
        try:
            if after:
                await asyncio.wait(after, timeout=GIVE_UP_SECONDS)
            answer = await self._answer(attempting)
            failpoint("attempt.ended")
        except asyncio.CancelledError:
            attempting.outcome = self._stopped(attempting)
        except BaseException as error:
            # What the work raises is its answer, whatever it is, and must not end the worker.
            attempting.output.write(_safely(traceback.format_exc).encode())
            attempting.outcome = Outcome(Ending.FAILED, self._now(), _told(error))
        else:
            ending = Ending.SUCCEEDED if answer.error is None else Ending.FAILED
            attempting.outcome = Outcome(
                ending, self._now(), answer.error, answer.result, answer.retryable
            )
        self._end(attempting)

    async def _answer(self, attempting: RunningAttempt) -> Answer:
        specification = attempting.claim.specification
        kind, timeout = specification.target.kind, specification.timeout
        target = self._targets.get(kind)
        if target is None:
            return Answer(f"targets of kind {kind} are not known to this worker")
        if timeout is not None:
            self._set_deadline(attempting, timeout)
        failpoint("launch.before")
        return await target.act(self._call(attempting))

    def _call(self, attempting: RunningAttempt) -> Call:
        run, specification, key, last_success_at, owner = attempting.claim
        return Call(
            attempting.key[0],
            run.schedule_id,
            key,
            specification.name,
            run.slot,
            run.attempt,
            run.repeat,
            specification.payload,
            last_success_at,
            owner,
            specification.target.fields,
            self._writer(attempting.output),
        )

    def _writer(self, output: Output) -> Callable[[bytes], None]:
        def write(data: bytes) -> None:
            before = output.waiting_bytes
            output.write(data)
            after = output.waiting_bytes
            if (after and not before) or before < CHUNK_BYTES <= after:
                self._on_output()

        return write

    def _stopped(self, attempting: RunningAttempt) -> Outcome:
        now, cause, run = self._now(), attempting.cause, attempting.run
        if cause is Cause.TIMEOUT:
            seconds = (attempting.claim.specification.timeout or 0) / SECOND
            return Outcome(Ending.TIMED_OUT, now, f"it took longer than its {seconds:g} s")
        if cause is Cause.CANCEL:
            return Outcome(Ending.CANCELLED, now)
        if cause is Cause.HAND_BACK:
            why = f"worker {run.worker} was stopped"
            return Outcome(Ending.LOST, now, why, handed_back=True)
        if cause is Cause.FENCED:
            return Outcome(Ending.LOST, now, "its lease was lost")
        return Outcome(Ending.FAILED, now, "the work cancelled itself")

    def _set_deadline(self, attempting: RunningAttempt, timeout: int) -> None:
        now = self._clock.monotonic()
        self._deadlines[attempting] = now + timeout
        if self._alarm is None or now + timeout < self._alarm_at:
            self._set_alarm(now + timeout, now)

    def _set_alarm(self, deadline: int, now: int) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = deadline
        self._alarm = self._loop.call_later((deadline - now) / SECOND, self._time_out)

    def _time_out(self) -> None:
        """Whoever has run for too long is stopped; the next alarm is for whoever comes next."""
        now, self._alarm = self._clock.monotonic(), None
        for attempting in [each for each, until in self._deadlines.items() if until <= now]:
            self.stop(attempting, Cause.TIMEOUT)
        if self._deadlines:
            self._set_alarm(min(self._deadlines.values()), now)

    def _give_up(self, attempting: RunningAttempt) -> None:
        """It does not end though it was told to. Its seat is free; what it goes on doing is its
        own, and changes no row."""
        log.warning("work does not end when told to %s", log_fields(run=attempting.run.id))
        self._end(attempting)

    def _end(self, attempting: RunningAttempt) -> None:
        """However it came to that: the first end counts."""
        self._cancel_timers(attempting)
        if not attempting.has_ended:
            attempting.has_ended = True
            self._on_end(attempting, attempting.outcome or self._stopped(attempting))

    def _cancel_timers(self, attempting: RunningAttempt) -> None:
        self._deadlines.pop(attempting, None)
        if attempting.gives_up is not None:
            attempting.gives_up.cancel()


def _told(error: BaseException) -> str:
    """As text that every database takes, and that is not too long."""
    text = _safely(lambda: f"{type(error).__name__}: {error}")
    return text[:_ERROR_MAX]


def _safely(text: Callable[[], str]) -> str:
    try:
        return text().encode(errors="replace").decode()
    except Exception:  # its own way of being shown fails, too
        return "an error that cannot be shown"
