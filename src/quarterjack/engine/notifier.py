"""Notifier: what people should hear of was written with the decision; it is told at least once,
and marked afterwards. Today it is told to the log."""

from __future__ import annotations

from quarterjack.failpoint import failpoint
from quarterjack.store.contract import Store
from quarterjack.telemetry.logs import log, told

BATCH = 200


class Notifier:
    name = "notifier"

    def __init__(self, store: Store) -> None:
        self._store = store

    async def step(self, now: int) -> int | None:
        notices = await self._store.take_notices(BATCH)
        for notice in notices:
            about = ",".join(notice.about)
            log.warning(
                "%s %s", notice.kind, told(about=about, notice=notice.id, why=notice.detail)
            )
        if notices:
            failpoint("notices.told")
            await self._store.mark_sent(notices, now)
        return now if len(notices) == BATCH else None
