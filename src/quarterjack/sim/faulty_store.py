"""A real store behind injected faults.

A transaction can be slow, so that other nodes act in between; it can fail before it is carried out,
or after the commit without the caller knowing; and the calling node can be killed at either moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

from quarterjack.errors import StoreUnavailable
from quarterjack.rules import Plans
from quarterjack.sim.event_loop import Actor
from quarterjack.store.statements import Statements
from quarterjack.store.store import Store
from quarterjack.store.types import NodeInfo
from quarterjack.targets.kinds import KINDS
from quarterjack.times.instants import SECOND

if TYPE_CHECKING:
    from quarterjack.sim.simulation import Simulation

P = ParamSpec("P")
T = TypeVar("T")


class InjectedFault(NamedTuple):
    """What goes wrong in one transaction."""

    delay: int = 0
    others_run: bool = False
    """All other nodes poll while it is delayed."""
    fails: bool = False
    kills: bool = False
    after_commit: bool = False
    """It is carried out before it fails, or before the node is killed."""


class FaultyStore(Store):
    """Carries out its transactions in the order of the calls, however slow each is."""

    def __init__(self, real: Store, actor: Actor, simulation: Simulation) -> None:
        super().__init__(KINDS)
        self._real = real
        self._specifications = real._specifications
        self._actor = actor
        self._simulation = simulation
        self._lock = asyncio.Lock()
        self.last_change: tuple[int | None, tuple[int | str, ...]] = (None, ())
        """The index of the last store call for a user, and the ids of what it created."""

    def now(self) -> int:
        return self._simulation.clock.now()

    async def read_clock(self) -> int:
        return self._simulation.clock.now()

    def for_leases(self) -> FaultyStore:
        """Its calls are in the same order among themselves only."""
        return FaultyStore(self._real, self._actor, self._simulation)

    def is_alive(self, node: NodeInfo) -> bool:
        return self._simulation.is_alive(self._actor, node)

    async def watch(self, hint: Callable[[], None]) -> None:
        self._simulation.watch(self._actor, hint)
        await _forever()

    async def vacuum(self) -> bool:
        return await self._real.vacuum()

    async def close(self) -> None:
        """The database stays open for the other stores."""

    async def _transact(
        self, transaction: Callable[P, Statements[T]], *values: P.args, **named: P.kwargs
    ) -> T:
        async with self._lock:
            fault = self._simulation.fault_for(self._actor, transaction.__name__)
            if fault is None:
                return await self._call(transaction, *values, **named)
            if fault.others_run:
                self._simulation.wake_others(self._actor)
            if fault.delay:
                await asyncio.sleep(fault.delay / SECOND)
            if not fault.after_commit:
                await self._apply(fault)
            result = await self._call(transaction, *values, **named)
        await self._apply(fault)
        return result

    async def _call(
        self, transaction: Callable[P, Statements[T]], *values: P.args, **named: P.kwargs
    ) -> T:
        self._simulation.before_call(transaction)
        result = await self._real._transact(transaction, *values, **named)
        call = self._simulation.after_call(self._actor, transaction, values, result)
        if transaction.__name__ in _USER_TRANSACTIONS:
            self.last_change = call, _created_ids(result)
        return result

    async def _apply(self, fault: InjectedFault) -> None:
        if fault.kills:
            self._simulation.kill(self._actor)
            await _forever()
        if fault.fails:
            raise StoreUnavailable("the connection is lost; it is tried again")


async def _forever() -> None:
    await asyncio.get_running_loop().create_future()


_USER_TRANSACTIONS = frozenset({"add_schedules", "change_schedules", "edit_schedule", "change_run"})


def _created_ids(result: Any) -> tuple[int | str, ...]:
    """Of new schedules, or of new runs."""
    if isinstance(result, Plans):
        result = [result]
    if result and isinstance(result[0], Plans):
        return tuple(run.id for plans in result for plan in plans.plans for run in plan.added)
    return tuple(schedule.id for schedule in result)
