"""Recorder: what running attempts put out is stored once a second, or sooner if it is much, so
that people can read along."""

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
        waiting = [each for each in self._worker.running.values() if each.output.waiting_bytes]
        if not waiting:
            self._next = 0
            return None
        self._next = min(self._next or now + SECOND, now + SECOND)  # the clock may be set back
        much = any(each.output.waiting_bytes >= CHUNK_BYTES for each in waiting)
        if now < self._next and not much:
            return self._next
        chunks = [each.output.unstored(now) for each in waiting]
        await self._store.add_output([chunk for some in chunks for chunk in some])
        for each, some in zip(waiting, chunks, strict=True):
            each.output.stored(some)
        self._next = 0
        return None
