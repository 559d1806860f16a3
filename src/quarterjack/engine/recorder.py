"""Recorder: stores the output of running attempts once a second, or sooner if there is much, so
that people can follow it."""

from __future__ import annotations

from quarterjack.engine.output import CHUNK_BYTES
from quarterjack.engine.worker import Worker
from quarterjack.store.store import Store
from quarterjack.times.instants import SECOND


class Recorder:
    name = "recorder"

    def __init__(self, store: Store, worker: Worker) -> None:
        self._store = store
        self._worker = worker
        self._next = 0

    async def step(self, now: int) -> int | None:
        outputs = [each.output for each in self._worker.running.values()]
        outputs = [output for output in outputs if output.waiting_bytes]
        if not outputs:
            self._next = 0
            return None
        self._next = min(self._next or now + SECOND, now + SECOND)  # the clock may be set back
        has_full_chunk = any(output.waiting_bytes >= CHUNK_BYTES for output in outputs)
        if now < self._next and not has_full_chunk:
            return self._next
        unstored = [output.unstored(now) for output in outputs]
        await self._store.add_output([chunk for chunks in unstored for chunk in chunks])
        for output, chunks in zip(outputs, unstored, strict=True):
            output.stored(chunks)
        self._next = 0
        return None
