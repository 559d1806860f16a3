"""The executor: errors of every kind, deadlines, and tasks that ignore their cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from harness.engine.service import Failed, SteppedService
from harness.rules.values import specification
from quarterjack.clock import SystemClock
from quarterjack.engine.executor import Cause, Executor, RunningAttempt
from quarterjack.rules import Kind, Outcome, Run
from quarterjack.store.types import Claim
from quarterjack.targets.task import TaskTarget, current_call


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
    task: Callable[[], Awaitable[None]],
    on_end: Callable[[RunningAttempt, Outcome], None] = lambda *_: None,
) -> Executor:
    clock, targets = SystemClock(), {"task": TaskTarget({"work": task})}
    return Executor(targets, clock, clock.now, on_end, lambda: None)


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
            started.append(current_call.get().attempt)
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
