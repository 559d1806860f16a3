"""Recorder: stores the output and progress of running attempts once a second, or sooner if there is
much, so that people can follow it."""

from __future__ import annotations

from quarterjack.engine.output import combined
from quarterjack.engine.worker import Worker
from quarterjack.store.store import Store
from quarterjack.times.instants import SECOND


class Recorder:
    name = "recorder"

    def __init__(self, store: Store, worker: Worker) -> None:
        self._store = store
        self._worker = worker
        self._next: int | None = None

    async def step(self, now: int) -> int | None:
        outputs = [each.output for each in self._worker.running.values() if each.output.is_waiting]
        if not outputs:
            self._next = None
            return None
        due = now + SECOND
        self._next = due if self._next is None else min(self._next, due)  # it may be set back
        if now < self._next and not any(output.has_full_chunk for output in outputs):
            return self._next
        reports = [(output, output.unstored()) for output in outputs]
        await self._store.add_output(*combined(each for _, each in reports))
        for output, stored in reports:
            output.stored(stored)
        # What was written meanwhile has hinted at nothing, because something was waiting already.
        waiting = [output for output in outputs if output.is_waiting]
        self._next = due if waiting else None
        return now if any(output.has_full_chunk for output in waiting) else self._next
