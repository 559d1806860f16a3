"""The executor: errors of every kind, deadlines, and tasks that ignore their cancellation."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from harness.engine.service import Failed, SteppedService
from harness.rules.values import at, specification
from harness.targets.calls import tasks_here
from quarterjack.clock import SystemClock
from quarterjack.engine.executor import Cause, Executor, RunningAttempt
from quarterjack.rules import Kind, Outcome, Run
from quarterjack.store.types import Claim
from quarterjack.targets.context import Context
from quarterjack.targets.results import Err, Ok, Skip
from quarterjack.times.instants import MINUTE, SECOND, from_datetime


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError


class NotAnException(BaseException):
    pass


@pytest.mark.parametrize(
    "error",
    [ValueError("\udcff"), Unprintable(), NotAnException()],
    ids=["surrogate", "unprintable", "base"],
)
def test_an_attempt_fails_whatever_the_task_raises_and_others_go_on(
    sqlite_service: SteppedService, error: BaseException
):
    def work(call: Any) -> None:
        if call.key == "bad":
            raise error

    sqlite_service.add("bad", every="1h")
    sqlite_service.add("good", every="1h")
    sqlite_service.work = work
    sqlite_service.run_until("09:00")

    assert (sqlite_service.states(1), sqlite_service.states(2)) == (["failed"], ["succeeded"])


@pytest.mark.fault("F13")
def test_an_error_is_stored_with_its_type_and_traceback_up_to_a_limit(service: SteppedService):
    errors = [SystemExit(3), KeyboardInterrupt(), Failed("x" * 10_000)]

    def work(call: Any) -> None:
        raise errors[call.schedule_id - 1]

    for key in "abc":
        service.add(key, every="1h")
    service.work = work
    service.run_until("09:00")

    assert [service.states(identity) for identity in (1, 2, 3)] == [["failed"]] * 3
    assert service.runs(1)[0].error == "SystemExit: 3"
    assert len(service.runs(3)[0].error or "") == 4000
    assert b"Traceback" in service.table("output")[0][5]


def new_executor(
    task: Callable[[], Any],
    on_end: Callable[[RunningAttempt, Outcome], None] = lambda *_: None,
    on_output: Callable[[], None] = lambda: None,
) -> Executor:
    clock, targets = SystemClock(), {"task": tasks_here({"work": task})}
    return Executor(targets, clock, clock.now, on_end, on_output)


def claim(number: int = 1, attempt: int = 1, key: str = "k", **fields: Any) -> Claim:
    run = Run(number, 0, Kind.SLOT, 0, 0, 0, str(number), attempt=attempt)
    return Claim(run, specification(every="1h", **fields), key, None, None)


def test_each_attempt_times_out_at_its_own_deadline():
    async def forever() -> None:
        await asyncio.Event().wait()

    async def run(*timeouts: str) -> list[tuple[str, str]]:
        ended: list[tuple[str, str]] = []
        executor = new_executor(
            forever, lambda attempt, outcome: ended.append((attempt.claim.key, outcome.ending))
        )
        for number, timeout in enumerate(timeouts, 1):
            executor.start(claim(number, key=timeout, timeout=timeout))
            await asyncio.sleep(0)
        async with asyncio.timeout(10):
            while len(ended) < len(timeouts):
                await asyncio.sleep(0.01)
        return ended

    ended = asyncio.run(run("300ms", "100ms", "200ms"))

    assert ended == [("100ms", "timed_out"), ("200ms", "timed_out"), ("300ms", "timed_out")]


def test_an_attempt_waits_only_so_long_for_an_earlier_one_that_ignores_its_cancellation(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("quarterjack.engine.executor.ABANDON_SECONDS", 0.1)

    async def run() -> list[int]:
        started: list[int] = []

        async def stubborn() -> None:
            started.append(Context.current().attempt)
            while len(started) < 2:
                try:
                    await asyncio.sleep(5)
                except asyncio.CancelledError:
                    continue

        executor = new_executor(stubborn)
        first = executor.start(claim())
        await asyncio.sleep(0)
        executor.stop(first, Cause.TIMEOUT)
        executor.start(claim(attempt=2), [first.task])
        for _ in range(200):
            if len(started) == 2:
                break
            await asyncio.sleep(0.01)
        seen = list(started)
        started += [0, 0]  # now the task accepts its cancellation
        first.task.cancel()
        return seen

    assert asyncio.run(run()) == [1, 2]


def wait_until(condition: Callable[[], bool]) -> None:
    """In a thread."""
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("waited 30 seconds")


class Attempts:
    """One function as the task of attempts of a real executor, until they have ended."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.outcomes: list[Outcome] = []
        self.executor = new_executor(function, lambda _, outcome: self.outcomes.append(outcome))

    async def run(self, **fields: Any) -> tuple[RunningAttempt, Outcome]:
        attempt = self.executor.start(claim(**fields))
        await self.wait(attempt)
        return attempt, self.outcomes[0]

    async def wait(self, attempt: RunningAttempt) -> None:
        async with asyncio.timeout(30):
            await asyncio.wait([attempt.task])


def test_an_attempt_without_a_timeout_has_no_deadline_and_one_with_a_timeout_has():
    seen: list[tuple[Any, int]] = []

    async def work() -> None:
        seen.append((Context.current().deadline, SystemClock().now()))

    async def run(**fields: Any) -> None:
        await Attempts(work).run(**fields)

    asyncio.run(run(timeout="none"))
    asyncio.run(run(timeout="10m"))

    (none, _), (deadline, now) = seen
    assert none is None
    assert abs(from_datetime(deadline) - (now + 10 * MINUTE)) < 30 * SECOND


@pytest.mark.parametrize("timeout", ["none", "1h"])
def test_an_extension_sets_the_timeout_of_a_running_attempt(timeout: str):
    """Shorter than the one it had, so that the test need not wait for the latter."""

    async def work() -> None:
        Context.current().extend("50ms")
        await asyncio.Event().wait()

    async def run() -> Outcome:
        return (await Attempts(work).run(timeout=timeout))[1]

    outcome = asyncio.run(run())

    assert (outcome.ending, outcome.error) == ("timed_out", "timed out after 0.05 s")


def test_an_extension_is_seen_at_once_and_counts_from_now():
    async def work() -> float:
        context = Context.current()
        before = context.deadline
        context.extend("1h")
        assert before is not None
        assert context.deadline is not None
        return (context.deadline - before).total_seconds()

    async def run() -> Outcome:
        return (await Attempts(work).run(timeout="10m"))[1]

    assert asyncio.run(run()).result == pytest.approx(50 * 60, abs=30)


def test_a_thread_extends_its_attempt_beyond_the_timeout():
    def work() -> str:
        context = Context.current()
        deadline = context.deadline
        assert deadline is not None
        context.extend("1h")
        wait_until(lambda: context.deadline is not None and context.deadline > deadline)
        wait_until(lambda: SystemClock().now() > from_datetime(deadline) + SECOND // 2)
        return "cancelled" if context.cancelled else "in time"

    async def run() -> Outcome:
        return (await Attempts(work).run(timeout="1s"))[1]

    outcome = asyncio.run(run())

    assert (outcome.ending, outcome.result) == ("succeeded", "in time")


@pytest.mark.parametrize("cause", [Cause.CANCEL, Cause.TIMEOUT, Cause.SHUTDOWN, Cause.FENCED])
def test_a_thread_sees_that_its_attempt_is_cancelled(cause: Cause):
    seen: list[bool] = []

    def work() -> None:
        context = Context.current()
        seen.append(context.cancelled)
        wait_until(lambda: context.cancelled)
        seen.append(context.cancelled)

    async def run() -> None:
        attempts = Attempts(work)
        attempt = attempts.executor.start(claim())
        async with asyncio.timeout(30):
            while not seen:
                await asyncio.sleep(0.01)
            attempts.executor.stop(attempt, cause)
            while len(seen) < 2:
                await asyncio.sleep(0.01)

    asyncio.run(run())

    assert seen == [False, True]


def test_an_extension_after_the_end_sets_no_deadline():
    contexts: list[Context] = []

    async def work() -> None:
        contexts.append(Context.current())

    async def run() -> bool:
        await Attempts(work).run(timeout="10m")
        contexts[0].extend("1h")
        await asyncio.sleep(0)
        return contexts[0].deadline is None

    assert asyncio.run(run())


def test_output_of_threads_is_complete_in_order_and_reported_on_the_event_loop():
    reported_by: set[int] = set()

    def work() -> None:
        for number in range(5000):
            Context.current()._call.write(b"%d\n" % number)

    async def run() -> bytes:
        executor = new_executor(work, on_output=lambda: reported_by.add(threading.get_ident()))
        attempt = executor.start(claim())
        async with asyncio.timeout(30):
            await asyncio.wait([attempt.task])
        return b"".join(chunk.data for chunk in attempt.output.unstored(at_end=True).chunks)

    assert asyncio.run(run()) == b"".join(b"%d\n" % number for number in range(5000))
    assert reported_by == {threading.get_ident()}


@pytest.mark.mission("H11")
@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (Ok({"rows": 3}), ("succeeded", None, {"rows": 3}, None, None, True)),
        ({"rows": 3}, ("succeeded", None, {"rows": 3}, None, None, True)),
        (Err("declined", "no funds"), ("failed", "no funds", None, "declined", None, True)),
        (Err("busy", retry_after=90), ("failed", "busy", None, "busy", 90 * SECOND, True)),
        (Err("gone", retry=False), ("failed", "gone", None, "gone", None, False)),
        (Skip("no orders"), ("skipped", "no orders", None, None, None, True)),
    ],
)
def test_what_a_task_returns_is_the_outcome(returned: Any, expected: tuple[Any, ...]):
    async def work() -> Any:
        return returned

    async def run() -> Outcome:
        return (await Attempts(work).run())[1]

    ending, _, error, result, retryable, _, code, retry_after = asyncio.run(run())

    assert (ending, error, result, code, retry_after, retryable) == expected


@pytest.mark.mission("H11")
def test_a_typed_error_and_a_skip_are_kept_with_the_run(service: SteppedService):
    answers = [Err("busy", "try later", retry_after=600), Ok({"rows": 3}), Skip("no orders")]
    service.work = lambda call: answers[len(service.calls) - 1]
    service.add(every="1h", max_retries=1, retry_delay="1m")

    service.run_until("09:05")
    (waiting,) = service.runs()
    service.run_until("10:00")

    done, skipped = service.runs()
    assert (waiting.error, waiting.code, waiting.ready_at) == ("try later", "busy", at("09:10"))
    assert (done.state, done.error, done.code, done.result) == (
        ("succeeded", None, None, {"rows": 3})
    )
    assert service.states() == ["succeeded", "skipped: by_task"]
    assert (skipped.error, service.schedule().run_count) == ("no orders", 1)
