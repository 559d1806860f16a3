"""A host on which a node starts, stops, is killed and starts again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from quarterjack.control import recover
from quarterjack.engine.node import Node, NodeConfig
from quarterjack.engine.worker import WorkerConfig
from quarterjack.errors import StoreUnavailable
from quarterjack.rules import Retention
from quarterjack.sim.background import SimulatedBackground
from quarterjack.sim.clock import SimulatedClock
from quarterjack.sim.event_loop import Actor
from quarterjack.sim.faulty_store import FaultyStore
from quarterjack.sim.process_loop import SimulatedProcessLoop
from quarterjack.sim.record import Disturbance
from quarterjack.sim.scripted_target import ScriptedTarget
from quarterjack.store.types import NodeInfo
from quarterjack.times.instants import DAY, HOUR, MINUTE, SECOND

if TYPE_CHECKING:
    from quarterjack.sim.simulation import Simulation

GRACE_SECONDS = 10
TARGET_KINDS = ("task", "command", "plugin", "http", "prompt", "workflow")
"""The kinds of targets that simulated nodes know."""


@dataclass
class NodeLife:
    """A node from its start to its end, in simulated time."""

    host: str
    actor: Actor
    plans: bool
    ended_at: int | None = None


class Host:
    """Starts its node again some time after it has ended."""

    def __init__(self, simulation: Simulation, number: int, clock: SimulatedClock) -> None:
        self.name = f"n{number}"
        self.clock = clock
        self.zone_data = "2026a"
        self.actor = Actor(self.name)
        self.works = number % 2 == 1 or not simulation.profile.separate_roles
        self.plans = number % 2 == 0 or not simulation.profile.separate_roles
        self.is_up = False
        self.node: Node | None = None
        self._simulation = simulation
        self._starts = 0
        self._down_since = simulation.loop.instant
        self._tasks: list[asyncio.Task[None]] = []
        """Kept because garbage collection would run the `finally` blocks of a killed node."""

    def start(self) -> None:
        if self.is_up:
            return
        self._starts += 1
        self.is_up = True
        simulation = self._simulation
        down = Disturbance(self._down_since, simulation.loop.instant, "down", self.name)
        simulation.record.disturbances.append(down)
        name = f"{self.name}.{self._starts}"
        self.actor = Actor(name, Actor(name))
        simulation.node_lives[self.actor.name] = NodeLife(self.name, self.actor, self.plans)
        self._tasks.append(simulation.loop.start(self._run_node(self.actor), self.actor))

    def stop(self) -> None:
        """A graceful shutdown."""
        if self.node is not None:
            self.node.stop()

    def kill(self) -> None:
        self._simulation.loop.kill(self.actor)
        self._node_ended()

    async def _run_node(self, actor: Actor) -> None:
        simulation, profile = self._simulation, self._simulation.profile
        store = simulation.store_for(actor)
        started_at = store.now()
        await _until_available(lambda: store.register(self._node_info(store, started_at)))
        await _until_available(lambda: recover(store, profile.limits, store.now()))
        record = partial(simulation.record_work, actor)
        target = ScriptedTarget(simulation.script, record, lambda: simulation.kill(self.actor))
        worker = WorkerConfig(actor.name, ("default",), profile.concurrency, profile.lease)
        retention = Retention(run_age=60 * DAY, run_count=500, event_age=DAY, output_age=DAY)
        node_config = NodeConfig(
            worker, GRACE_SECONDS, profile.limits, retention, self.zone_data, self.plans, self.works
        )
        process_loop = partial(SimulatedProcessLoop, simulation, actor)
        targets = dict.fromkeys(TARGET_KINDS, target)
        background = SimulatedBackground(simulation, actor)
        self.node = Node(store, targets, self.clock, node_config, process_loop, background)
        await self.node.run()
        with suppress(StoreUnavailable):
            await store.unregister(actor.name)
        self._node_ended()

    def _node_info(self, store: FaultyStore, started_at: int) -> NodeInfo:
        roles = self.plans, self.works, "", self.zone_data, "", ""
        return NodeInfo(self.actor.name, self.name, self._starts, *roles, started_at, store.now())

    def _node_ended(self) -> None:
        self.is_up, self.node = False, None
        simulation = self._simulation
        self._down_since = simulation.loop.instant
        simulation.node_lives[self.actor.name].ended_at = simulation.loop.instant
        simulation.remove_actor(self.actor)
        random = simulation.random
        durations = [SECOND, 10 * SECOND, MINUTE, 30 * MINUTE, 8 * HOUR]
        (longest,) = random.choices(durations, [4, 4, 4, 4, 1])
        delay = int(longest * random.random()) + SECOND
        simulation.loop.at(simulation.loop.instant + delay, self.start)


async def _until_available(call: Callable[[], Awaitable[object]]) -> None:
    while True:
        with suppress(StoreUnavailable):
            await call()
            return
        await asyncio.sleep(1)
