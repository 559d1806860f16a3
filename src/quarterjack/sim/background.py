"""What a simulated node does beside its event loop: the fault "event loop blocked" does not delay
it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from quarterjack.engine.background import STALLED_MIN
from quarterjack.engine.loop import Loop, Process
from quarterjack.sim.event_loop import Actor
from quarterjack.sim.process_loop import SimulatedProcessLoop
from quarterjack.store.store import Store

if TYPE_CHECKING:
    from quarterjack.sim.simulation import Simulation


class SimulatedBackground:
    """Made by the actor of the node; everything but its methods is done by its background actor."""

    def __init__(self, simulation: Simulation, actor: Actor) -> None:
        self._simulation = simulation
        self._actor = actor
        self._context = copy_context()

    def loop(self, process: Process, store: Store, poll_interval: int) -> Loop:
        actor = self._background_actor()
        return SimulatedProcessLoop(self._simulation, actor, process, store, poll_interval)

    def _background_actor(self) -> Actor:
        assert self._actor.background is not None
        return self._actor.background

    def call(self, callback: Callable[..., object], *args: Any) -> None:
        self._simulation.loop.call_soon(callback, *args, context=self._context)

    def stalled_for(self) -> int:
        actor, now = self._actor, self._simulation.loop.instant
        waited = now - actor.paused_at if actor.is_paused else 0
        return waited if waited >= STALLED_MIN else 0

    async def run(self, loops: Sequence[Loop], watch: Coroutine[Any, Any, None]) -> None:
        start, actor = self._simulation.loop.start, self._background_actor()
        tasks = [start(work, actor) for work in (*(loop.run() for loop in loops), watch)]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException) and not isinstance(end, asyncio.CancelledError):
                raise end
