"""Loop: keeps one process stepping, at its next wake or when it is hinted at, and never ends
silently. An error is told, and the step is tried again, ever later, up to some seconds."""

from __future__ import annotations

import asyncio
from typing import Protocol

from quarterjack.errors import StoreError
from quarterjack.store.contract import Store
from quarterjack.telemetry.logs import log, told
from quarterjack.times.instants import SECOND

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 5.0


class Process(Protocol):
    name: str

    async def step(self, now: int) -> int | None:
        """Do what is due; the instant of the next wake, or None to wait for a hint."""
        ...


class Loop:
    def __init__(self, process: Process, store: Store) -> None:
        self._process = process
        self._store = store
        self._hinted = asyncio.Event()
        self._stopping = False
        self._failures = 0
        self.problem: str | None = None
        """Why the last step failed."""

    def hint(self) -> None:
        """There may be something to do before the next wake."""
        self._hinted.set()

    def stop(self) -> None:
        """After the step that is under way."""
        self._stopping = True
        self._hinted.set()

    async def run(self) -> None:
        while not self._stopping:
            self._hinted.clear()
            wake, pause = await self._step()
            if not self._stopping:
                await self._sleep(wake, pause)

    async def _step(self) -> tuple[int | None, float]:
        """When to step again: at an instant, or after a pause in seconds."""
        try:
            now = await self._store.read_clock()
            wake = await self._process.step(now)
        except Exception as error:
            return None, self._failed(error)
        if self._failures:
            log.info("%s works again %s", self._process.name, told(failures=self._failures))
            self._failures, self.problem = 0, None
        return wake, 0

    def _failed(self, error: Exception) -> float:
        is_new = str(error) != self.problem
        self.problem, failures = str(error), self._failures
        self._failures += 1
        pause = min(FIRST_PAUSE_SECONDS * (1 << min(failures, 16)), LONGEST_PAUSE_SECONDS)
        if isinstance(error, StoreError):
            if is_new:
                log.warning("%s waits: %s", self._process.name, error)
        else:
            log.error("%s failed, and tries again", self._process.name, exc_info=error)
        return pause

    async def _sleep(self, wake: int | None, pause: float) -> None:
        """Until the wake, or a hint. After a failure nobody's hint shortens the pause."""
        if pause:
            await self._wait(pause)
        elif wake is None:
            await self._hinted.wait()
        else:
            while not self._hinted.is_set():
                left = wake - await self._store.read_clock()
                if left <= 0:
                    return
                await self._wait(left / SECOND)

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._hinted.wait()
        except TimeoutError:
            pass
