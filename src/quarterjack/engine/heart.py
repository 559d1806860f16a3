"""Heart: where many machines share a database, its clock is read again and again, and with it what
there is to do: hints of others may be lost."""

from __future__ import annotations

from quarterjack.engine.loop import Hint
from quarterjack.store.contract import Store


class Heart:
    name = "heart"

    def __init__(self, store: Store, every: int, hint: Hint) -> None:
        self._store = store
        self._every = every
        self._hint = hint

    async def step(self, now: int) -> int:
        beat = await self._store.beat()
        if beat.next_wake is not None:
            self._hint("planner", beat.next_wake)
        if beat.waits:
            self._hint("worker")
        if beat.next_lease_end is not None:
            self._hint("rescuer", beat.next_lease_end)
        return now + self._every
