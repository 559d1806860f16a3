"""Attempts as a worker executes them: with a deadline, a cancellation and output."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from harness.rules.values import specification
from quarterjack.clock import SystemClock
from quarterjack.engine.executor import Cause, Executor, RunningAttempt
from quarterjack.rules import Kind, Outcome, Run
from quarterjack.store.types import Claim
from quarterjack.targets.task import TaskTarget

SECONDS = 20
"""A test fails when an attempt takes longer."""


class Ended(NamedTuple):
    outcome: Outcome
    output: str
    attempt: RunningAttempt


def execute(
    *functions: Callable[..., Any], cancel_when: Callable[[], bool] | None = None, **fields: Any
) -> list[Ended]:
    """One attempt of each at the same time; `fields` are those of their schedules."""
    return asyncio.run(_execute(functions, cancel_when, fields))


async def _execute(
    functions: tuple[Callable[..., Any], ...],
    cancel_when: Callable[[], bool] | None,
    fields: dict[str, Any],
) -> list[Ended]:
    ended: dict[RunningAttempt, Outcome] = {}
    clock = SystemClock()
    names = {str(number): function for number, function in enumerate(functions)}
    target = TaskTarget(names)
    executor = Executor({"task": target}, clock, clock.now, ended.__setitem__, lambda: None)
    attempts = []
    for number in names:
        run = Run(int(number) + 1, 0, Kind.SLOT, 0, 0, 0, number, attempt=1)
        wanted = specification(every="1h", task=number, **fields)
        attempts.append(executor.start(Claim(run, wanted, "nightly", None, None)))
    async with asyncio.timeout(SECONDS):
        while len(ended) < len(attempts):
            await asyncio.sleep(0.005)
            if cancel_when is not None and cancel_when():
                for attempt in attempts:
                    executor.stop(attempt, Cause.CANCEL)
    await target.close()
    return [Ended(ended[each], _output(each), each) for each in attempts]


def _output(attempt: RunningAttempt) -> str:
    return b"".join(chunk.data for chunk in attempt.output.unstored(0, at_end=True)).decode()
