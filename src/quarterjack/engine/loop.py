"""Loop: keeps one process stepping, at its next wake or when it is hinted at, and never ends
silently. An error is told, and the step is tried again, ever later, up to some seconds. Only a
store that must not be used ends it, and with it the program."""

from __future__ import annotations

import asyncio
from typing import Protocol

from quarterjack.errors import StoreError, StoreUnusable
from quarterjack.store.store import Store
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import SECOND

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 1.0
LONGEST_WAIT_SECONDS = 2.0


class Hint(Protocol):
    """Tells a process, by its name, that there may be something to do, now or by some instant."""

    def __call__(self, name: str, by: int | None = None) -> None: ...


class Process(Protocol):
    name: str

    async def step(self, now: int) -> int | None:
        """Do what is due; the instant of the next wake, or None to wait for a hint."""
        ...


class Loop:
    def __init__(self, process: Process, store: Store, latest_look: int) -> None:
        self.process = process
        self.store = store
        self.latest_look = latest_look
        self.hinted = asyncio.Event()
        self._stopping = asyncio.Event()
        self._failures = 0
        self.wake: int | None = None
        """Until when it sleeps, while it does."""
        self.problem: str | None = None
        """Why the last step failed."""

    def hint(self, by: int | None = None) -> None:
        """There may be something to do, now or by some instant; who wakes by then anyway sleeps
        on."""
        if not wakes_by(self.wake, by):
            self.hinted.set()

    def stop(self) -> None:
        """After the step that is under way."""
        self._stopping.set()
        self.hinted.set()

    async def run(self) -> None:
        while not self._stopping.is_set():
            self.hinted.clear()
            begun, wake, pause = await self._step()
            if pause:
                await _within(self._stopping, pause)
            elif not self._stopping.is_set():
                await self.rest(begun, wake)

    async def _step(self) -> tuple[int, int | None, float]:
        """When it stepped, and when to step again: at an instant, or after a pause in seconds."""
        try:
            now = self.store.now()
            wake = await self.process.step(now)
        except StoreUnusable as error:
            self.problem = str(error)
            raise
        except Exception as error:
            return 0, None, self._failed(error)
        if self._failures:
            log.info("%s works again %s", self.process.name, log_fields(failures=self._failures))
            self._failures, self.problem = 0, None
        return now, wake, 0

    def _failed(self, error: Exception) -> float:
        is_new = str(error) != self.problem
        self.problem, failures = str(error), self._failures
        self._failures += 1
        pause = min(FIRST_PAUSE_SECONDS * (1 << min(failures, 16)), LONGEST_PAUSE_SECONDS)
        if isinstance(error, StoreError):
            if is_new:
                log.warning("%s waits: %s", self.process.name, error)
        else:
            log.error("%s failed, and tries again", self.process.name, exc_info=error)
        return pause

    async def rest(self, begun: int, wake: int | None) -> None:
        """Until the wake or a hint, but not past the latest look: hints may be lost. The clock is
        read again and again, for it may be set meanwhile; if it was set back, all is worked out
        anew."""
        latest = begun + self.latest_look
        self.wake = wake = latest if wake is None else min(wake, latest)
        while not self.hinted.is_set():
            now = self.store.now()
            if now < begun or now >= wake:
                break
            await _within(self.hinted, min((wake - now) / SECOND, LONGEST_WAIT_SECONDS))
        self.wake = None


def wakes_by(wake: int | None, by: int | None) -> bool:
    """Does one who sleeps until then wake in time anyway?"""
    return wake is not None and by is not None and wake <= by


async def _within(event: asyncio.Event, seconds: float) -> None:
    """Until the event, for so long at most."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
