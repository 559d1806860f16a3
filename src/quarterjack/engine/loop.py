"""The loop of one process: steps it at its next wake or on a hint.

It never ends silently: an error is logged and the step retried with backoff. Only an unusable
store ends the loop, and with it the program.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from quarterjack.errors import StoreError, StoreUnusable
from quarterjack.store.store import Store
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import SECOND

RETRY_SECONDS_MIN, RETRY_SECONDS_MAX = 0.1, 1.0
SLEEP_SECONDS_MAX = 2.0
"""After this long the clock is read again, because it may have been set."""


class Hint(Protocol):
    """Wakes the process of this name, now or by some instant: there may be something to do."""

    def __call__(self, name: str, by: int | None = None) -> None: ...


class Process(Protocol):
    name: str

    async def step(self, now: int) -> int | None:
        """Do what is due. Returns the instant of the next wake, or None to wait for a hint."""


class Loop:
    def __init__(self, process: Process, store: Store, poll_interval: int) -> None:
        self.process = process
        self.store = store
        self.poll_interval = poll_interval
        """The longest sleep: hints may be lost, and polling covers that."""
        self.hinted = asyncio.Event()
        self._stopping = asyncio.Event()
        self._failures = 0
        self.wake: int | None = None
        """The end of the current sleep; None while it is not asleep."""
        self.problem: str | None = None
        """Why the last step failed."""

    def hint(self, by: int | None = None) -> None:
        """Wakes the process, unless it will wake in time by itself."""
        if not wakes_by(self.wake, by):
            self.hinted.set()

    def stop(self) -> None:
        """After the current step."""
        self._stopping.set()
        self.hinted.set()

    async def run(self) -> None:
        while not self._stopping.is_set():
            self.hinted.clear()
            started_at, wake, retry_seconds = await self._step()
            if retry_seconds:
                await completes_within(retry_seconds, self._stopping.wait)
            elif not self._stopping.is_set():
                await self.sleep(started_at, wake)

    async def _step(self) -> tuple[int, int | None, float]:
        """When it stepped, its next wake, and after a failure the seconds until the retry."""
        try:
            now = self.store.now()
            wake = await self.process.step(now)
        except StoreUnusable as error:
            self.problem = str(error)
            raise
        except Exception as error:
            return 0, None, self._failed(error)
        if self._failures:
            log.info("%s recovered %s", self.process.name, log_fields(failures=self._failures))
            self._failures, self.problem = 0, None
        return now, wake, 0

    def _failed(self, error: Exception) -> float:
        is_new = str(error) != self.problem
        retry_seconds = min(RETRY_SECONDS_MIN * (1 << min(self._failures, 16)), RETRY_SECONDS_MAX)
        self.problem = str(error)
        self._failures += 1
        if not isinstance(error, StoreError):
            log.error("%s failed; retrying", self.process.name, exc_info=error)
        elif is_new:
            log.warning("%s: store unavailable: %s", self.process.name, error)
        return retry_seconds

    async def sleep(self, started_at: int, wake: int | None) -> None:
        """Until the wake, a hint, or the end of the poll interval. A clock that was set back ends
        it too, because the wake was computed from the old time."""
        poll_at = started_at + self.poll_interval
        self.wake = wake = poll_at if wake is None else min(wake, poll_at)
        while not self.hinted.is_set():
            now = self.store.now()
            if now < started_at or now >= wake:
                break
            seconds = min((wake - now) / SECOND, SLEEP_SECONDS_MAX)
            await completes_within(seconds, self.hinted.wait)
        self.wake = None


def wakes_by(wake: int | None, by: int | None) -> bool:
    return wake is not None and by is not None and wake <= by


async def completes_within(seconds: float, wait: Callable[[], Awaitable[object]]) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await wait()
    except TimeoutError:
        return False
    return True
