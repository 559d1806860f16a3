"""Reconciler: recreates declared schedules whose rows were removed from outside, and applies a
declaration that was refused at the start, once no node with a later one is alive."""

from __future__ import annotations

from quarterjack.declare.apply import apply
from quarterjack.declare.declaration import Declaration
from quarterjack.rules.policies.service_limits import next_step_at
from quarterjack.store.store import Store
from quarterjack.telemetry.logs import log, log_fields


class Reconciler:
    name = "reconciler"

    def __init__(self, store: Store, declaration: Declaration, *, is_older: bool = False) -> None:
        self._store = store
        self._declaration = declaration
        self._is_older = is_older
        """A node with a later one was alive, so it is not applied yet."""
        self._expected: int | None = None

    async def step(self, now: int) -> int:
        if self._is_older:
            self._is_older = (await apply(self._store, self._declaration, now)).is_refused
        owner = self._declaration.name
        count = await self._store.count_owned(owner)
        if count != self._expected:
            # Add what is missing, and no more: another node may run a later revision.
            changes = await apply(self._store, self._declaration, now, only_missing=True)
            if changes.added:
                log.warning("recreated missing schedules %s", log_fields(count=len(changes.added)))
            self._expected = await self._store.count_owned(owner)
        return next_step_at(now, None, self._declaration.limits)
