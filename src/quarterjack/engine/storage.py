"""Storage maintenance: keeps the write-ahead log short, and returns the space of pruned rows to the
file system, in small steps so that no claim waits for it."""

from __future__ import annotations

from quarterjack.store.sqlite.wal import WAL_BYTES_ALARM
from quarterjack.store.store import Store
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import HOUR, MILLISECOND, MINUTE

CHECKPOINT_INTERVAL = MINUTE
VACUUM_INTERVAL = HOUR
VACUUM_STEP_INTERVAL = 50 * MILLISECOND


class StorageMaintenance:
    name = "storage maintenance"

    def __init__(self, store: Store) -> None:
        self._store = store
        self._checkpoint_due: int | None = None
        self._vacuum_due = 0
        self._warn_above = WAL_BYTES_ALARM
        """Doubled by each warning."""

    async def step(self, now: int) -> int:
        if self._checkpoint_due is None:  # nothing of this is urgent at a start
            self._checkpoint_due = self._vacuum_due = now + CHECKPOINT_INTERVAL
        if now >= self._checkpoint_due:
            await self._checkpoint()
            self._checkpoint_due = now + CHECKPOINT_INTERVAL
        if now >= self._vacuum_due:
            is_more = await self._store.vacuum()
            self._vacuum_due = now + (VACUUM_STEP_INTERVAL if is_more else VACUUM_INTERVAL)
        return min(self._checkpoint_due, self._vacuum_due)

    async def _checkpoint(self) -> None:
        left = await self._store.checkpoint()
        if left <= WAL_BYTES_ALARM:
            self._warn_above = WAL_BYTES_ALARM
        if left > self._warn_above:
            remedy = "a program holds an old read transaction open; find it and end it"
            facts = log_fields(bytes=left, remedy=remedy)
            log.warning("the write-ahead log of the database keeps growing %s", facts)
            self._warn_above = 2 * left
