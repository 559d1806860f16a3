"""Executor: passes attempts to their targets, and turns every end into one outcome: by itself, by
timeout, by cancellation, or because the worker stops."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quarterjack.engine.clock_watch import Clock
from quarterjack.engine.output import Output
from quarterjack.failpoint import failpoint
from quarterjack.rules import Ending, Outcome
from quarterjack.rules.text_enum import TextEnum
from quarterjack.store.types import Claim
from quarterjack.targets.call import Answer, Call, Target, WriteOutput
from quarterjack.targets.results import ERROR_MAX, error_text, safe_text, traceback_text
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import SECOND

ABANDON_SECONDS = 15
"""How long a cancelled task may take to end. After that its place is given to other work."""
_PROGRESS_MAX = 1000


Targets = Mapping[str, Target]
"""By the kind of target."""


class Cause(TextEnum):
    """Why an attempt is cancelled."""

    TIMEOUT = "timeout"
    CANCEL = "cancel"
    SHUTDOWN = "shutdown"
    FENCED = "fenced"


class RunningAttempt:
    __slots__ = (
        "abandon_timer", "cause", "claim", "deadline", "has_ended", "has_started", "key",
        "leased_at", "outcome", "output", "run", "task", "timeout",
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
        self.abandon_timer: asyncio.TimerHandle | None = None
        self.has_started = False
        self.has_ended = False
        self.timeout = claim.specification.timeout
        """The last one that was set."""
        self.deadline: int | None = None
        """When it times out, by the monotonic clock; None if it never does, or has not begun."""


class Executor:
    """Starts and stops attempts, and calls `on_end` exactly once for each. Instants come from the
    clock that all nodes share, timeouts from the host's monotonic one."""

    def __init__(
        self,
        targets: Targets,
        clock: Clock,
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
        self._thread = threading.get_ident()
        self._deadlines: dict[RunningAttempt, int] = {}
        """By the monotonic clock."""
        self._timer: asyncio.TimerHandle | None = None
        """One for all deadlines: set for the earliest, or for one that has ended since."""
        self._timer_at = 0

    def start(self, claim: Claim, after: Sequence[asyncio.Task[None]] = ()) -> RunningAttempt:
        """Start an attempt, after earlier ones of the same run that are still ending."""
        attempt = RunningAttempt(claim)
        attempt.task = self._loop.create_task(self._execute(attempt, after))
        return attempt

    def stop(self, attempt: RunningAttempt, cause: Cause) -> None:
        """Cancel it. The first cause counts, unless a later one says that it was fenced."""
        if attempt.has_ended or attempt.cause is cause:
            return
        if attempt.cause is None or cause is Cause.FENCED:
            attempt.cause = cause
            attempt.task.cancel()
            if attempt.has_started:
                self._cancel_timers(attempt)
                timer = self._loop.call_later(ABANDON_SECONDS, self._abandon, attempt)
                attempt.abandon_timer = timer
            else:  # a task cancelled before its first step never runs
                self._end(attempt)

    async def _execute(self, attempt: RunningAttempt, after: Sequence[asyncio.Task[None]]) -> None:
        attempt.has_started = True
        try:
            if after:
                await asyncio.wait(after, timeout=ABANDON_SECONDS)
            answer = await self._call_target(attempt)
            failpoint("attempt.ended")
        except asyncio.CancelledError:
            attempt.outcome = self._cancelled(attempt)
        except BaseException as error:
            # Whatever the target raises is its answer, and must not end the worker.
            text, now = traceback_text(error), self._now()
            attempt.output.write(text.encode(), logging.ERROR, now)
            attempt.outcome = Outcome(Ending.FAILED, now, error_text(error))
        else:
            attempt.outcome = _outcome(answer, self._now())
        self._end(attempt)

    async def _call_target(self, attempt: RunningAttempt) -> Answer:
        run, specification, key, last_success_at, owner = attempt.claim
        kind, fields = specification.target.kind, specification.target.fields
        target = self._targets.get(kind)
        if target is None:
            return Answer(f"this worker has no target of kind {kind}")
        if attempt.timeout is not None:
            self._set_deadline(attempt, attempt.timeout)
        failpoint("launch.before")
        call = Call(
            attempt.key[0], run.schedule_id, key, specification.name, run.slot, run.attempt,
            run.repeat, specification.payload, last_success_at, owner, fields,
            self._writer(attempt.output), _Control(self, attempt),
        )  # fmt: skip
        return await target.act(call)

    def _writer(self, output: Output) -> WriteOutput:
        def write(data: bytes, level: int = 0) -> None:
            take(data, level, self._now())

        def take(data: bytes, level: int, at: int) -> None:
            if not self.is_own_thread():
                self._loop.call_soon_threadsafe(take, data, level, at)
            elif output.write(data, level, at):
                self._on_output()

        return write

    def is_own_thread(self) -> bool:
        """Whether the caller is on the event loop, and may change attempts at once."""
        return threading.get_ident() == self._thread

    def deadline(self, attempt: RunningAttempt) -> int | None:
        """When it times out, by the clock that all nodes share."""
        deadline = self._deadlines.get(attempt)
        return None if deadline is None else self._now() + deadline - self._clock.monotonic()

    def extend(self, attempt: RunningAttempt, timeout: int) -> None:
        """It may run for so long from now; ignored once it has ended or is being cancelled."""
        if not attempt.has_ended and attempt.cause is None:
            attempt.timeout = timeout
            self._set_deadline(attempt, timeout)
            if attempt.output.extend(self.deadline(attempt), self._now()):
                self._on_output()

    def report(self, attempt: RunningAttempt, fraction: float, text: str) -> None:
        """Its progress; ignored once it has ended."""
        text = safe_text(lambda: text)[:_PROGRESS_MAX]
        if not attempt.has_ended and attempt.output.report(float(fraction), text, self._now()):
            self._on_output()

    def _cancelled(self, attempt: RunningAttempt) -> Outcome:
        now, cause = self._now(), attempt.cause
        if cause is Cause.TIMEOUT:
            seconds = (attempt.timeout or 0) / SECOND
            return Outcome(Ending.TIMED_OUT, now, f"timed out after {seconds:g} s")
        if cause is Cause.CANCEL:
            return Outcome(Ending.CANCELLED, now)
        if cause is Cause.SHUTDOWN:
            why = f"worker {attempt.run.worker} stopped"
            return Outcome(Ending.LOST, now, why, handed_back=True)
        if cause is Cause.FENCED:
            return Outcome(Ending.LOST, now, "lease lost")
        return Outcome(Ending.FAILED, now, "the task cancelled itself")

    def _set_deadline(self, attempt: RunningAttempt, timeout: int) -> None:
        now = self._clock.monotonic()
        self._deadlines[attempt] = attempt.deadline = now + timeout
        if self._timer is None or now + timeout < self._timer_at:
            self._set_timer(now + timeout, now)

    def _set_timer(self, deadline: int, now: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._loop.call_later((deadline - now) / SECOND, self._time_out)

    def _time_out(self) -> None:
        now, self._timer = self._clock.monotonic(), None
        for attempt in [each for each, deadline in self._deadlines.items() if deadline <= now]:
            self.stop(attempt, Cause.TIMEOUT)
        if self._deadlines:
            self._set_timer(min(self._deadlines.values()), now)

    def _abandon(self, attempt: RunningAttempt) -> None:
        """Whatever the task still does changes no row."""
        log.warning("task ignores its cancellation; abandoned %s", log_fields(run=attempt.run.id))
        self._end(attempt)

    def _end(self, attempt: RunningAttempt) -> None:
        self._cancel_timers(attempt)
        if not attempt.has_ended:
            attempt.has_ended = True
            self._on_end(attempt, attempt.outcome or self._cancelled(attempt))

    def _cancel_timers(self, attempt: RunningAttempt) -> None:
        self._deadlines.pop(attempt, None)
        if attempt.abandon_timer is not None:
            attempt.abandon_timer.cancel()


class _Control:
    """The executor as a target sees it. Targets may call it from other threads."""

    def __init__(self, executor: Executor, attempt: RunningAttempt) -> None:
        self._executor = executor
        self._attempt = attempt
        self._loop = asyncio.get_running_loop()

    def deadline(self) -> int | None:
        return self._executor.deadline(self._attempt)

    def is_cancelled(self) -> bool:
        return self._attempt.cause is not None

    def extend(self, timeout: int) -> None:
        self._call(self._executor.extend, self._attempt, timeout)

    def report(self, fraction: float, text: str) -> None:
        self._call(self._executor.report, self._attempt, fraction, text)

    def _call(self, function: Callable[..., None], *values: Any) -> None:
        """On the event loop."""
        if self._executor.is_own_thread():
            function(*values)
        else:
            self._loop.call_soon_threadsafe(function, *values)


def _outcome(answer: Answer, now: int) -> Outcome:
    error, result, retryable, code, retry_after, skipped = answer
    if skipped is not None:
        return Outcome(Ending.SKIPPED, now, skipped)
    if error is None:
        return Outcome(Ending.SUCCEEDED, now, result=result)
    text = safe_text(lambda: error)[:ERROR_MAX]
    return Outcome(Ending.FAILED, now, text, result, retryable, code=code, retry_after=retry_after)
