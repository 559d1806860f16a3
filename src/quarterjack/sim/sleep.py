"""Sleep: how the processes of a node wait in a world, and which of their wakes are skipped.

Each process looks at the store again after a while though nobody hinted at it, for hints may be
lost. In a year these are millions of looks, and nearly all of them see nothing new. Whether one
could is asked of the database first; if not, the process sleeps on until the first look that can.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from quarterjack.engine.loop import Loop, Process, wakes_by
from quarterjack.sim.clock import SimulatedClock
from quarterjack.sim.loop import Place, SimulatedLoop, Turn
from quarterjack.store.contract import Store
from quarterjack.times.instants import DAY, SECOND


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
    is_rationed: bool
    """Where something is rationed, even a look at nothing counts: it tells that nobody was away."""
    is_long: bool
    """In a long life those who tidy up do so once a day; nobody waits for them."""
    sleepers: dict[Sleeper, None]

    def dues(self) -> Dues: ...


class Sleeper(Loop):
    """A loop whose time is that of a world."""

    def __init__(
        self, world: Bedroom, place: Place, process: Process, store: Store, latest_look: int
    ) -> None:
        super().__init__(process, store, latest_look)
        self.place = place
        self._world = world
        self._begun = 0
        self._wish: int | None = None
        self._alarm: Turn | None = None
        self._must_look = False
        self.is_dormant = False

    async def rest(self, begun: int, wake: int | None) -> None:
        self._begun, self._wish = begun, wake
        latest = begun + self.latest_look
        self.wake = latest if wake is None else min(wake, latest)
        self.is_dormant = self._world.skips and self.process.name in _TOLD
        if not self.is_dormant:
            self._set_alarm(self.wake)
        self._world.sleepers[self] = None
        await self.hinted.wait()
        self._world.sleepers.pop(self, None)
        self.is_dormant, self._must_look, self.wake = False, False, None
        if self._alarm is not None:
            self._alarm.cancel()

    def hint(self, by: int | None = None) -> None:
        """One that would look in time anyway does so: that look can see what was hinted at."""
        if self.is_dormant:
            self.wake = self._next_look()
        if wakes_by(self.wake, by):
            self._must_look = True
            if self.is_dormant:
                self.is_dormant = False
                self._ring_by(self.wake or 0)
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
            self._begun = self._begun + looks * self.latest_look if self.is_dormant else now
            self.is_dormant = True
            if due is not None:
                self._set_alarm(due)
        else:
            self.hinted.set()

    def _may_skip(self) -> bool:
        if self._must_look or not self._world.skips:
            return False
        if self.is_dormant or self.wake == self._begun + self.latest_look:
            return True
        # Whatever a planner woke for, it finds out by looking; and it sends its worker to look.
        ready_at = self._world.dues().worker
        is_ready = ready_at is not None and ready_at <= self._world.clock.now()
        return self.process.name == "planner" and not is_ready

    def _due(self) -> int | None:
        """The first instant at which it may find something to do, as things stand."""
        return _DUE[self.process.name](self, self._world)

    def reconsider(self) -> None:
        """Somebody wrote: it may have to look sooner, but not before its next look."""
        due = self._due() if self.is_dormant and self.process.name in _LOOKING else None
        if due is None:
            return
        self._ring_by(max(due, self._next_look()))

    def _ring_by(self, instant: int) -> None:
        """Then, if not sooner."""
        if self._alarm is None or self._world.clock.shows(instant) < self._alarm.at:
            self._set_alarm(instant)

    def _next_look(self) -> int:
        looks = -((self._begun - self._world.clock.now()) // self.latest_look)
        return self._begun + looks * self.latest_look

    @property
    def wished(self) -> int | None:
        return self._wish

    def next_day(self) -> int | None:
        """For those who tidy up: what they wished for, but not within the same day."""
        if self._wish is None or not self._world.is_long:
            return self._wish
        return max(self._wish, self._begun + DAY)


_DUE: dict[str, Callable[[Sleeper, Bedroom], int | None]] = {
    "planner": lambda _, world: world.clock.now() if world.is_rationed else world.dues().planner,
    "worker": lambda _, world: world.dues().worker,
    "rescuer": lambda _, world: world.dues().rescuer,
    "notifier": lambda _, world: world.dues().notifier,
    # They are told when they have something to do, by their own node.
    "renewer": lambda self, _: self.wished if self.process.is_busy else None,  # type: ignore[attr-defined]
    "recorder": lambda self, _: self.wished,
    "timekeeper": lambda *_: None,
    "pruner": lambda self, _: self.next_day(),
    "caretaker": lambda self, _: self.next_day(),
}

_LOOKING = frozenset({"planner", "worker", "rescuer", "notifier"})
"""Those who may see what others wrote."""
_TOLD = frozenset({"timekeeper"})
"""Woken whenever a clock is set: it would find nothing else, whenever it woke."""

LOOKS_AT_CLOCK_WITHIN = 2 * SECOND
"""A clock that was set is noticed so soon by whoever sleeps."""
