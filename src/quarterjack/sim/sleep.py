"""Sleep: how the processes of a node wait in a world, and which of their wakes are skipped.

Each process looks at the store again after a while though nobody hinted at it, for hints may be
lost. In a year these are millions of looks, and nearly all of them see nothing new. Whether one
could is asked of the database first; if not, the process sleeps on until the first look that can.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from quarterjack.engine.loop import Loop, Process
from quarterjack.sim.clock import SimulatedClock
from quarterjack.sim.loop import Place, SimulatedLoop, Turn
from quarterjack.store.store import Store
from quarterjack.times.instants import SECOND


class Dues(NamedTuple):
    """The instants at which there is something to do for each kind of process; None is never."""

    planner: int | None
    worker: int | None
    rescuer: int | None
    notifier: int | None


class Bedroom(Protocol):
    """What those who sleep need of the world that they are in."""

    loop: SimulatedLoop
    clock: SimulatedClock
    skips: bool
    """May looks be skipped?"""
    tidies_every: int
    """Those who tidy up do so this often at most; nobody waits for them."""
    sleepers: dict[tuple[Place, str], Sleeper]

    def dues(self) -> Dues: ...

    def looked(self, instant: int) -> None:
        """A look for what is due was skipped: it is noted all the same, for the time between two
        of them may be an outage."""


class Sleeper(Loop):
    """A loop whose time is that of a world."""

    def __init__(
        self, world: Bedroom, place: Place, process: Process, store: Store, latest_look: int
    ) -> None:
        super().__init__(process, store, latest_look)
        self.place = place
        self._bed = place, process.name
        self._world = world
        self._begun = 0
        self._begun_at = 0
        """In the world's own time."""
        self._wish: int | None = None
        self._alarm: Turn | None = None
        self.is_dormant = False
        """Its looks are skipped, and go on in thought: `_begun` is when the last of them was."""

    async def rest(self, begun: int, wake: int | None) -> None:
        self._begun, self._wish = begun, wake
        self._begun_at = self._world.loop.instant - (self._world.clock.now() - begun)
        latest = begun + self.latest_look
        self.wake = latest if wake is None else min(wake, latest)
        self.is_dormant = self._world.skips and self.process.name in _TOLD
        if not self.is_dormant:
            self._set_alarm(self.wake)
        self._world.sleepers[self._bed] = self
        await self.hinted.wait()
        self._world.sleepers.pop(self._bed, None)
        if (look := self.last_skipped_look) is not None:
            self._world.looked(look)
        self.is_dormant, self.wake = False, None
        if self._alarm is not None:
            self._alarm.cancel()

    def hint(self, by: int | None = None) -> None:
        if self.is_dormant:
            self.wake = self._awake_by()
            due = self._due() if self.process.name == "renewer" else None
            if due is not None:
                self._ring_by(due)
        super().hint(by)

    def _set_alarm(self, instant: int) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        world = self._world
        at = max(world.clock.shows(instant), world.loop.instant)
        self._alarm = world.loop.at(at, self._ring)

    def never_wake(self) -> None:
        """Its node is gone."""
        if self._alarm is not None:
            self._alarm.cancel()

    def _ring(self) -> None:
        self._alarm = None
        now, due = self._world.clock.now(), self._due()
        if self._may_skip() and (due is None or due > now):
            # Looks go on as if this one had been taken; an alarm in between was none.
            looks = (now - self._begun) // self.latest_look
            since = self._begun + looks * self.latest_look if self.is_dormant else now
            self._begun_at += since - self._begun
            self._begun, self.is_dormant = since, True
            if due is not None:
                self._set_alarm(due)
        elif self._was_sent_to_look():
            self.is_dormant = True
            self._set_alarm(self._next_look())
        else:
            self.hinted.set()

    @property
    def last_skipped_look(self) -> int | None:
        """Of a planner whose looks are skipped: the last of them. While it is stopped it takes
        none, nor before the moment in which it goes on."""
        if not self.is_dormant or self.process.name != "planner":
            return None
        place, until = self.place, self._world.loop.instant
        if place.is_stopped or place.went_on_at == until:
            until = place.stopped_at
        looks = max(until - self._begun_at, 0) // self.latest_look
        return self._begun + looks * self.latest_look

    def _may_skip(self) -> bool:
        world, name = self._world, self.process.name
        if not world.skips:
            return False
        if name == "planner":
            # Whatever it woke for, it finds out by looking; and it sends its worker to look.
            ready_at = world.dues().worker
            return ready_at is None or ready_at > world.clock.now()
        if name == "rescuer":
            return self._expects_what_is()
        return self.is_dormant or self.wake == self._begun + self.latest_look

    def _was_sent_to_look(self) -> bool:
        """Since it fell asleep, by a planner whose looks are skipped: then it looks with that one,
        and not now."""
        planner = self._world.sleepers.get((self.place, "planner"))
        if planner is None or not planner.is_dormant:
            return False
        if self.process.name != "worker" or self.is_dormant:
            return False
        sent_at = planner._next_look() - self.latest_look
        return self.wake != self._wish and self._begun < sent_at <= self._world.clock.now()

    def _expects_what_is(self) -> bool:
        """A rescuer remembers when the next lease ends: if that is so, looking changes nothing."""
        return bool(self.process.expected == self._world.dues().rescuer)  # type: ignore[attr-defined]

    def _due(self) -> int | None:
        """The first instant at which it may find something to do, as things stand."""
        return _DUE[self.process.name](self, self._world)

    def reconsider(self) -> None:
        """Somebody wrote: it may have to look sooner, but not before its next look."""
        name = self.process.name
        if name not in _LOOKING or not (self.is_dormant or name == "worker"):
            return
        look, due = self._next_look(), self._due()
        if self.is_dormant and self._awake_by() < look:
            # It knows of something that was due before its next look, and so will look then.
            self.wake, self.is_dormant = self._awake_by(), False
        elif name == "rescuer" and not self._expects_what_is():
            self._ring_by(look)
        elif due is not None:
            self._ring_by(max(due, look))

    def _ring_by(self, instant: int) -> None:
        """Then, if not sooner."""
        if self._alarm is None or self._world.clock.shows(instant) < self._alarm.at:
            self._set_alarm(instant)

    def _awake_by(self) -> int:
        """When it will look, though it be for nothing."""
        look = self._next_look()
        return look if self._alarm is None else min(look, self._alarm.at + self._world.clock.ahead)

    def _next_look(self) -> int:
        """Though nobody hints at it."""
        # A planner that looks sends its worker to look, and so they come to look together.
        planner = self._world.sleepers.get((self.place, "planner"))
        if self.process.name == "worker" and planner is not None:
            return planner._next_look()
        if not self.is_dormant and self.wake is not None:
            return self.wake
        looks = -((self._begun - self._world.clock.now()) // self.latest_look)
        return self._begun + looks * self.latest_look

    @property
    def wished(self) -> int | None:
        return self._wish

    def tidies_at(self) -> int | None:
        """For those who tidy up: when they wished to, but not too often."""
        if self._wish is None:
            return None
        return max(self._wish, self._begun + self._world.tidies_every)


_DUE: dict[str, Callable[[Sleeper, Bedroom], int | None]] = {
    "planner": lambda _, world: world.dues().planner,
    "worker": lambda _, world: world.dues().worker,
    "rescuer": lambda _, world: world.dues().rescuer,
    "notifier": lambda _, world: world.dues().notifier,
    # They are told when they have something to do, by their own node.
    "renewer": lambda self, _: self.process.due,  # type: ignore[attr-defined]
    "recorder": lambda self, _: self.wished,
    "timekeeper": lambda *_: None,
    "pruner": lambda self, _: self.tidies_at(),
    "caretaker": lambda self, _: self.tidies_at(),
}

_LOOKING = frozenset({"planner", "worker", "rescuer", "notifier"})
"""Those who may see what others wrote."""
_TOLD = frozenset({"timekeeper"})
"""Woken whenever a clock is set: it would find nothing else, whenever it woke."""

LOOKS_AT_CLOCK_WITHIN = 2 * SECOND
"""A clock that was set is noticed so soon by whoever sleeps."""
