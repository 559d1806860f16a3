"""Notifier: what people should hear of was written with the decision; it is told at least once,
and marked afterwards. Today it is told to the log."""

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
        notifications = await self._store.take_notifications(BATCH)
        for notification in notifications:
            about = ",".join(notification.about)
            log.warning(
                "%s %s",
                notification.kind,
                log_fields(about=about, notification=notification.id, why=notification.detail),
            )
        if notifications:
            failpoint("notices.told")
            await self._store.mark_sent(notifications, now)
        return now if len(notifications) == BATCH else None
