"""Notifier: delivers the notifications of the outbox at least once, and marks them sent afterwards.
For now it delivers them to the log."""

from __future__ import annotations

from quarterjack.failpoint import failpoint
from quarterjack.store.store import Store
from quarterjack.telemetry.logs import log, log_fields

BATCH = 200


class Notifier:
    name = "notifier"

    def __init__(self, store: Store) -> None:
        self._store = store

    async def step(self, now: int) -> int | None:
        notifications = await self._store.unsent_notifications(BATCH)
        for each in notifications:
            facts = log_fields(about=",".join(each.about), notification=each.id, why=each.detail)
            log.warning("%s %s", each.kind, facts)
        if notifications:
            failpoint("notifications.delivered")
            await self._store.mark_sent(notifications, now)
        return now if len(notifications) == BATCH else None
