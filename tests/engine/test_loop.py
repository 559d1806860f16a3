"""The loop of a process: retries, wakes, hints, and a clock that is set."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from harness.rules.values import at
from harness.store.stored_world import ManualClock, memory_store
from quarterjack.engine.loop import Loop
from quarterjack.errors import StoreUnavailable, StoreUnusable
from quarterjack.times.instants import HOUR, SECOND


class ScriptedProcess:
    """Its steps return or raise these, one after the other; the last one stops the loop."""

    name = "scripted"

    def __init__(self, *results: Any) -> None:
        self.results = list(results)
        self.instants: list[int] = []
        self.loop: Loop

    async def step(self, now: int) -> int | None:
        self.instants.append(now)
        result = self.results.pop(0)
        if not self.results:
            self.loop.stop()
        if isinstance(result, Exception):
            raise result
        return int(result) if result is not None else None


def run_loop(clock: Any, *results: Any) -> tuple[ScriptedProcess, list[str | None]]:
    """The process, and the problems that its loop reported meanwhile."""
    problems: list[str | None] = []

    async def run() -> ScriptedProcess:
        process = ScriptedProcess(*results)
        process.loop = Loop(process, clock, 5 * SECOND)
        running = asyncio.ensure_future(process.loop.run())
        for _ in range(200):
            await asyncio.sleep(0.01)
            problems.append(process.loop.problem)
            if running.done():
                break
        await asyncio.wait_for(running, 10)
        return process

    return asyncio.run(run()), problems


def test_a_step_that_fails_is_reported_and_retried(caplog: pytest.LogCaptureFixture):
    process, problems = run_loop(
        ManualClock(5), StoreUnavailable("locked"), ZeroDivisionError("odd"), None
    )

    assert len(process.instants) == 3
    assert {"locked", "odd"} <= set(problems)
    assert "scripted: store unavailable: locked" in caplog.text
    assert "scripted failed; retrying" in caplog.text


@pytest.mark.fault("F33")
def test_an_unusable_store_ends_the_loop():
    with pytest.raises(StoreUnusable, match="damaged"):
        run_loop(ManualClock(5), StoreUnavailable("locked"), StoreUnusable("damaged"), None)


@pytest.mark.mission("E8")
def test_without_a_wake_or_a_hint_it_steps_again_after_the_poll_interval():
    class AdvancingClock(ManualClock):
        """Advances by five seconds at each reading."""

        def now(self) -> int:
            self.instant += 5 * SECOND
            return self.instant

    process, _ = run_loop(AdvancingClock(0), None, None)

    assert process.instants == [5 * SECOND, 15 * SECOND]


def test_a_clock_that_was_set_back_ends_the_sleep():
    class ClockSetBack(ManualClock):
        """Set back by an hour after the first reading."""

        def now(self) -> int:
            shown, self.instant = self.instant, at("08:00")
            return shown

    process, _ = run_loop(ClockSetBack(at("09:00")), at("09:00") + SECOND, None)

    assert process.instants == [at("09:00"), at("08:00")]


def steps_after_a_hint(by: int | None) -> int:
    """The steps of a process that was asleep until 09:00 when it was hinted at."""

    class Sleeper:
        name = "sleeper"
        steps = 0

        async def step(self, now: int) -> int:
            self.steps += 1
            return at("09:00")

    async def run() -> int:
        store, sleeper = memory_store(ManualClock(at("08:00"))), Sleeper()
        loop = Loop(sleeper, store, 2 * HOUR)
        running = asyncio.create_task(loop.run())
        while not sleeper.steps:
            await asyncio.sleep(0)
        for _ in range(10):  # until it is asleep
            await asyncio.sleep(0)
        loop.hint(by)
        for _ in range(10):
            await asyncio.sleep(0)
        steps = sleeper.steps
        loop.stop()
        await running
        return steps

    return asyncio.run(run())


def test_a_hint_wakes_a_process_that_would_wake_too_late():
    assert steps_after_a_hint(None) == 2
    assert steps_after_a_hint(at("08:59")) == 2


def test_a_hint_lets_a_process_sleep_that_wakes_in_time():
    assert steps_after_a_hint(at("09:00")) == 1
    assert steps_after_a_hint(at("10:00")) == 1
