"""Keeper: a declared schedule whose row was removed from outside is made anew, from now on; and a
declaration that had to wait for nodes with a later one is applied when they are gone."""

from __future__ import annotations

from quarterjack.declare.apply import apply
from quarterjack.declare.declaration import Declaration
from quarterjack.rules import next_look
from quarterjack.store.store import Store
from quarterjack.telemetry.logs import log, log_fields


class Reconciler:
    name = "keeper"

    def __init__(self, store: Store, declaration: Declaration) -> None:
        self._store = store
        self._declaration = declaration
        self._expected: int | None = None
        self.waits = False
        """It was refused when we started, and not before others were."""

    async def step(self, now: int) -> int:
        if self.waits:
            self.waits = (await apply(self._store, self._declaration, now)).is_refused
        owner = self._declaration.settings.name
        count = await self._store.count_owned(owner)
        if count != self._expected:
            # Never more than that: another node may run a later declaration of the same name.
            changes = await apply(self._store, self._declaration, now, only_missing=True)
            if changes.added:
                log.warning(
                    "schedules were gone, made anew %s", log_fields(count=len(changes.added))
                )
            self._expected = await self._store.count_owned(owner)
        return next_look(now, None, self._declaration.limits)
