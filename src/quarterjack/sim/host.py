"""Host: a machine on which a node lives, dies, and starts again."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from quarterjack.control import recover
from quarterjack.engine.node import Node, NodeConfig
from quarterjack.engine.worker import WorkerConfig
from quarterjack.errors import StoreAway
from quarterjack.rules import Retention
from quarterjack.sim.clock import SimulatedClock
from quarterjack.sim.loop import Place
from quarterjack.sim.record import Disturbance
from quarterjack.sim.sleep import Sleeper
from quarterjack.sim.store import FaultyStore
from quarterjack.sim.work import ScriptedTarget
from quarterjack.store.types import NodeInfo
from quarterjack.times.instants import DAY, HOUR, MINUTE, SECOND

if TYPE_CHECKING:
    from quarterjack.sim.world import World

KINDS = ("task", "command", "plugin", "http", "prompt", "workflow")
"""The kinds of targets that nodes of a world know."""


@dataclass
class Life:
    """One life of a node, in the world's own time."""

    host: str
    place: Place
    plans: bool
    began_at: int
    ended_at: int | None = None


class Host:
    """What starts a node again whenever it has ended, after a while."""

    def __init__(self, world: World, number: int, clock: SimulatedClock) -> None:
        self.name = f"n{number}"
        self.clock = clock
        self.zone_data = "2026a"
        self.place = Place(self.name)
        self.works = number % 2 == 1 or not world.profile.is_apart
        self.plans = number % 2 == 0 or not world.profile.is_apart
        self.is_up = False
        self.node: Node | None = None
        self._world = world
        self._lives = 0
        self._down_since = world.loop.instant
        self._kept: list[asyncio.Task[None]] = []
        """Its lives: one that was killed must not do what programs do when they are thrown away."""

    def start(self) -> None:
        """Another life of its node."""
        if self.is_up:
            return
        self._lives += 1
        self.is_up = True
        self._world.record.note(
            Disturbance(self._down_since, self._world.loop.instant, "down", self.name)
        )
        self.place = Place(f"{self.name}.{self._lives}")
        life = Life(self.name, self.place, self.plans, self._world.loop.instant)
        self._world.lives[self.place.name] = life
        self._kept.append(self._world.loop.start(self._live(self.place), self.place))

    def stop(self) -> None:
        """Its node is told to stop, and gets its grace."""
        if self.node is not None:
            self.node.stop()

    def kill(self) -> None:
        """Its node is gone without a word."""
        self._world.loop.end_place(self.place)
        self._is_down()

    async def _live(self, place: Place) -> None:
        world = self._world
        store = world.store_of(place)
        await self._registered(store)
        await self._recovered(store)
        acting = ScriptedTarget(world.script, partial(world.note_work, place), self._die)
        node_config = NodeConfig(
            WorkerConfig(place.name, count=world.profile.seats, lease=world.profile.lease),
            world.profile.limits,
            Retention(run_age=60 * DAY, run_count=500, event_age=DAY, output_age=DAY),
            zone_data=self.zone_data,
            plans=self.plans,
            works=self.works,
        )
        sleeper = partial(Sleeper, world, place)
        self.node = Node(store, dict.fromkeys(KINDS, acting), self.clock, node_config, sleeper)
        world.watched_by(place, self.node.hint_all)
        await self.node.run()
        with suppress(StoreAway):
            await store.unregister(place.name)
        self._is_down()

    async def _registered(self, store: FaultyStore) -> None:
        """First of all, as every start does."""
        name, started_at = self.place.name, store.now()
        kind = self.plans, self.works, "", self.zone_data, "", ""
        while True:
            try:
                await store.register(
                    NodeInfo(name, self.name, self._lives, *kind, started_at, store.now())
                )
            except StoreAway:
                await asyncio.sleep(1)
            else:
                return

    async def _recovered(self, store: FaultyStore) -> None:
        """As every start does; while the store is away, it is asked again."""
        while True:
            try:
                await recover(store, self._world.profile.limits, store.now())
            except StoreAway:
                await asyncio.sleep(1)
            else:
                return

    def _die(self) -> None:
        self._world.kill(self.place)

    def _is_down(self) -> None:
        self.is_up, self.node = False, None
        world = self._world
        self._down_since = world.loop.instant
        world.lives[self.place.name].ended_at = world.loop.instant
        world.forget_place(self.place)
        (away,) = world.chance.choices(
            [SECOND, 10 * SECOND, MINUTE, 30 * MINUTE, 8 * HOUR], [4, 4, 4, 4, 1]
        )
        world.loop.at(world.loop.instant + int(away * world.chance.random()) + SECOND, self.start)
