"""Caretaker: what grows beside the data is kept small: the log of the database, and the room that
forgotten rows leave in its file. A little at a time, so that no claim ever waits for it."""

from __future__ import annotations

from quarterjack.store.sqlite.wal import ALARM_BYTES
from quarterjack.store.store import Store
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import HOUR, MILLISECOND, MINUTE

LOOKS_EVERY = MINUTE
GIVES_BACK_EVERY = HOUR
BETWEEN_BITS = 50 * MILLISECOND


class StorageMaintenance:
    name = "caretaker"

    def __init__(self, store: Store) -> None:
        self._store = store
        self._looks_at: int | None = None
        self._gives_back_at = 0
        self._tells_above = ALARM_BYTES
        """What it told is told again when it has doubled."""

    async def step(self, now: int) -> int:
        if self._looks_at is None:  # nothing of this is urgent at a start
            self._looks_at = self._gives_back_at = now + LOOKS_EVERY
        if now >= self._looks_at:
            await self._shorten_log()
            self._looks_at = now + LOOKS_EVERY
        if now >= self._gives_back_at:
            is_more = await self._store.give_back_space()
            self._gives_back_at = now + (BETWEEN_BITS if is_more else GIVES_BACK_EVERY)
        return min(self._looks_at, self._gives_back_at)

    async def _shorten_log(self) -> None:
        left = await self._store.shorten_log()
        if left <= ALARM_BYTES:
            self._tells_above = ALARM_BYTES
        if left > self._tells_above:
            remedy = "some program reads the database at an old moment; find it and end it"
            log.warning("the log of the database grows %s", log_fields(bytes=left, remedy=remedy))
            self._tells_above = 2 * left
