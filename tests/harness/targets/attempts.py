"""Attempts as a worker executes them: with a deadline, a cancellation and output."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from harness.rules.values import specification
from harness.targets.calls import tasks_here
from quarterjack.clock import SystemClock
from quarterjack.engine.executor import Cause, Executor, RunningAttempt, Targets
from quarterjack.rules import Kind, Outcome, Run
from quarterjack.store.types import Claim

SECONDS = 20
"""A test fails when an attempt takes longer."""
Wanted = Mapping[str, Any]
"""The target of one attempt, and other fields of its schedule."""


class Ended(NamedTuple):
    outcome: Outcome
    output: str
    attempt: RunningAttempt


def execute(
    *functions: Callable[..., Any], cancel_when: Callable[[], bool] | None = None, **fields: Any
) -> list[Ended]:
    """One attempt of each in this process at the same time; `fields` are those of their
    schedules."""
    names = {str(number): function for number, function in enumerate(functions)}
    wanted = [{"task": name, **fields} for name in names]

    async def run() -> list[Ended]:
        targets: Targets = {"task": tasks_here(names)}
        return await execute_on(targets, wanted, cancel_when)

    return asyncio.run(run())


async def execute_on(
    targets: Targets,
    wanted: Sequence[Wanted],
    cancel_when: Callable[[], bool] | None = None,
    cause: Cause = Cause.CANCEL,
) -> list[Ended]:
    """One attempt of each at the same time."""
    ended: dict[RunningAttempt, Outcome] = {}
    clock = SystemClock()
    executor = Executor(targets, clock, clock.now, ended.__setitem__, lambda: None)
    attempts = []
    for number, fields in enumerate(wanted):
        run = Run(number + 1, 0, Kind.SLOT, 0, 0, 0, str(number), attempt=1)
        specified = specification(every="1h", **fields)
        attempts.append(executor.start(Claim(run, specified, "nightly", None, None)))
    async with asyncio.timeout(SECONDS):
        while len(ended) < len(attempts):
            await asyncio.sleep(0.005)
            if cancel_when is not None and cancel_when():
                for attempt in attempts:
                    executor.stop(attempt, cause)
    return [Ended(ended[each], output_of(each), each) for each in attempts]


def output_of(attempt: RunningAttempt) -> str:
    return b"".join(chunk.data for chunk in attempt.output.unstored(at_end=True).chunks).decode()
