"""The store of one place: a real one, behind everything that can go wrong on the way to it.

A verb may be slow, so that whole steps of others happen in between; it may fail before it is
carried out, or after, when nobody is told that it was done; and whoever asked may be killed at
either moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

from quarterjack.errors import StoreAway
from quarterjack.rules import Plans
from quarterjack.sim.loop import Place
from quarterjack.store.statements import Statements
from quarterjack.store.store import Store
from quarterjack.store.types import NodeInfo
from quarterjack.times.instants import SECOND

P = ParamSpec("P")
T = TypeVar("T")


class Mishap(NamedTuple):
    """What befalls one verb."""

    delay: int = 0
    others_step: bool = False
    """While it is delayed, all others look whether there is something to do."""
    fails: bool = False
    kills: bool = False
    is_after: bool = False
    """It is carried out before it fails, or before whoever asked is killed."""


class Surroundings(Protocol):
    """What a store needs of the world that it is in."""

    def clock_of_all(self) -> int: ...
    def mishap(self, place: Place, verb: str) -> Mishap | None: ...
    def meanwhile(self, place: Place) -> None: ...
    def carries_out(self, verb: Callable[..., Any]) -> None: ...
    def kill(self, place: Place) -> None: ...
    def carried_out(
        self, place: Place, verb: Callable[..., Any], values: Any, result: Any
    ) -> int: ...
    def is_alive(self, place: Place, node: NodeInfo) -> bool: ...
    def watched_by(self, place: Place, hint: Callable[[], None]) -> None: ...


class FaultyStore(Store):
    """Verbs are carried out in the order in which they are asked, however slow each is."""

    def __init__(self, real: Store, place: Place, world: Surroundings) -> None:
        super().__init__()
        self._real = real
        self._known = real._known
        self._place = place
        self._world = world
        self._in_order = asyncio.Lock()
        self.asked_for: tuple[int | None, tuple[int | str, ...]] = (None, ())
        """At which moment the last thing that a person may ask for was carried out, and the ids of
        what it made."""

    def now(self) -> int:
        return self._world.clock_of_all()

    async def read_clock(self) -> int:
        return self._world.clock_of_all()

    def is_alive(self, node: NodeInfo) -> bool:
        return self._world.is_alive(self._place, node)

    async def watch(self, hint: Callable[[], None]) -> None:
        self._world.watched_by(self._place, hint)
        await _for_ever()

    async def give_back_space(self) -> bool:
        return await self._real.give_back_space()

    async def close(self) -> None:
        """The database stays, for others are on it."""

    async def _do(self, verb: Callable[P, Statements[T]], *values: P.args, **named: P.kwargs) -> T:
        async with self._in_order:
            mishap = self._world.mishap(self._place, verb.__name__)
            if mishap is None:
                return await self._carried_out(verb, *values, **named)
            if mishap.others_step:
                self._world.meanwhile(self._place)
            if mishap.delay:
                await asyncio.sleep(mishap.delay / SECOND)
            if not mishap.is_after:
                await self._befall(mishap)
            result = await self._carried_out(verb, *values, **named)
        await self._befall(mishap)
        return result

    async def _carried_out(
        self, verb: Callable[P, Statements[T]], *values: P.args, **named: P.kwargs
    ) -> T:
        self._world.carries_out(verb)
        result = await self._real._do(verb, *values, **named)
        moment = self._world.carried_out(self._place, verb, values, result)
        if verb.__name__ in _ASKED:
            self.asked_for = moment, _made(result)
        return result

    async def _befall(self, mishap: Mishap) -> None:
        if mishap.kills:
            self._world.kill(self._place)
            await _for_ever()
        if mishap.fails:
            raise StoreAway("the connection is lost; it is tried again")


async def _for_ever() -> None:
    await asyncio.get_running_loop().create_future()


_ASKED = frozenset({"add_schedules", "change_schedules", "edit_schedule", "change_run"})


def _made(result: Any) -> tuple[int | str, ...]:
    """The ids of new schedules, or of new runs."""
    if isinstance(result, Plans):
        result = [result]
    if result and isinstance(result[0], Plans):
        return tuple(run.id for plans in result for plan in plans.plans for run in plan.added)
    return tuple(schedule.id for schedule in result)
