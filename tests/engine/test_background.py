"""The background: loops beside a blocked event loop, the end of their thread, and the watch that
names what blocks the event loop, and nothing else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from harness.crash.kills import wait_for
from harness.store.stored_world import ManualClock, memory_store
from quarterjack.engine.background import BackgroundThread, LoopWatch
from quarterjack.errors import StoreUnusable
from quarterjack.times.instants import HOUR, MILLISECOND, SECOND


class Steps:
    name = "steps"

    def __init__(self, error: Exception | None = None) -> None:
        self.stepped = threading.Event()
        self.threads: list[str] = []
        self._error = error

    async def step(self, now: int) -> int | None:
        self.threads.append(threading.current_thread().name)
        self.stepped.set()
        if self._error is not None:
            raise self._error
        return None


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


def background(store: Any) -> BackgroundThread:
    return BackgroundThread(ManualClock(), store, store, list)


def is_running() -> bool:
    return any(thread.name == "quarterjack-leases" for thread in threading.enumerate())


def test_a_hint_steps_a_process_while_the_event_loop_is_blocked_and_the_thread_ends():
    async def run() -> list[str]:
        store, process = memory_store(ManualClock()), Steps()
        thread = background(store)
        loop = thread.loop(process, store, HOUR)
        running = asyncio.create_task(thread.run([loop], forever()))
        await asyncio.sleep(0)
        assert process.stepped.wait(10)  # blocks
        wait_for(lambda: loop.wake, 10, "it sleeps")
        process.stepped.clear()
        loop.hint()
        assert process.stepped.wait(10)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await store.close()
        return process.threads

    assert asyncio.run(run()) == ["quarterjack-leases", "quarterjack-leases"]
    assert not is_running()


def test_a_hint_for_later_than_the_next_wake_does_not_call_the_thread():
    async def run() -> int:
        store, process = memory_store(ManualClock()), Steps()
        calls: list[Any] = []
        thread = background(store)
        thread.call_there = calls.append  # type: ignore[method-assign, assignment]
        loop = thread.loop(process, store, HOUR)
        loop.wake = 5
        loop.hint(5)
        loop.hint(4)
        await store.close()
        return len(calls)

    assert asyncio.run(run()) == 1


def test_an_unusable_store_ends_it_with_the_error():
    async def run() -> None:
        store = memory_store(ManualClock())
        thread = background(store)
        loop = thread.loop(Steps(StoreUnusable("gone")), store, HOUR)
        try:
            await thread.run([loop], forever())
        finally:
            await store.close()

    with pytest.raises(StoreUnusable, match="gone"):
        asyncio.run(run())
    assert not is_running()


class Watched:
    """A loop watch whose steps a test does in another thread, as the background does; the event
    loop is blocked meanwhile. The answers are called when the test wants them."""

    def __init__(self, attempt: Any = None) -> None:
        self.clock = ManualClock(100 * SECOND)
        self.asked: list[Callable[[], None]] = []
        held = [] if attempt is None else [attempt]
        self.watch = LoopWatch(self.clock, lambda: held, self.asked.append)

    def block(self, seconds: int) -> None:
        """Steps once a second."""
        for _ in range(seconds):
            self.clock.instant += SECOND
            self.step()

    def step(self) -> None:
        stepping = threading.Thread(target=lambda: asyncio.run(self.watch.step(0)))
        stepping.start()
        stepping.join()

    def answer(self) -> None:
        self.asked.pop()()


def attempt_of(task: asyncio.Task[Any] | None) -> Any:
    """As much of a running attempt as the log needs."""
    target = SimpleNamespace(fields={"task": "report"})
    claim = SimpleNamespace(key="nightly", specification=SimpleNamespace(target=target))
    return SimpleNamespace(task=task, run=SimpleNamespace(id="7-3"), claim=claim)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_a_task_that_blocks_is_named_at_growing_intervals_and_at_the_end(
    caplog: pytest.LogCaptureFixture,
):
    async def task() -> None:
        watched = Watched(attempt_of(asyncio.current_task()))
        watched.step()
        watched.block(20)
        watched.answer()

    asyncio.run(task())

    found = lines(caplog)
    assert [line.rpartition(" ")[2] for line in found] == [
        "blocked=1.0s", "blocked=4.0s", "blocked=16.0s", "blocked=20.0s",
    ]  # fmt: skip
    advice = "event loop blocked; make it a sync task (def), or await instead of blocking"
    where = "run=7-3 schedule=nightly task=report at="
    assert found[0].startswith(f"{advice} {where}")
    assert "test_background.py:" in found[0]
    assert found[-1].startswith(f"event loop answers again {where}")


def test_code_that_belongs_to_no_attempt_is_named_by_its_line(caplog: pytest.LogCaptureFixture):
    async def task() -> None:
        watched = Watched()
        watched.step()
        watched.block(2)

    asyncio.run(task())

    (line,) = lines(caplog)
    assert line.startswith("event loop blocked; await instead of blocking at=")
    assert "test_background.py:" in line


def test_a_loop_that_answers_is_not_reported(caplog: pytest.LogCaptureFixture):
    async def task() -> None:
        watched = Watched(attempt_of(asyncio.current_task()))
        for _ in range(5):
            watched.block(1)
            watched.clock.instant += 900 * MILLISECOND
            assert watched.watch.stalled_for() == 0
            watched.answer()

    asyncio.run(task())

    assert lines(caplog) == []


def test_a_process_that_was_suspended_blocked_nothing(caplog: pytest.LogCaptureFixture):
    async def task() -> None:
        watched = Watched(attempt_of(asyncio.current_task()))
        watched.step()
        watched.clock.instant += 60 * SECOND
        watched.step()
        assert watched.watch.stalled_for() == 0
        watched.answer()

    asyncio.run(task())

    assert lines(caplog) == []


def test_it_knows_for_how_long_the_loop_has_not_answered():
    async def task() -> list[int]:
        watched = Watched()
        watched.step()
        found = []
        for _ in range(3):
            watched.block(1)
            found.append(watched.watch.stalled_for())
        watched.answer()
        return [*found, watched.watch.stalled_for()]

    assert asyncio.run(task()) == [SECOND, 2 * SECOND, 3 * SECOND, 0]
