"""How the processes of a simulated node sleep, and which of their polls are skipped.

Each process polls the store although no hint came, because hints can be lost. That is millions of
polls in a year, nearly all of which find nothing. So the database is queried first for when there
will be something to do, and the process sleeps until the first poll that can find it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from quarterjack.engine.loop import Loop, Process
from quarterjack.sim.event_loop import Actor, Handle
from quarterjack.store.store import Store
from quarterjack.times.instants import SECOND

if TYPE_CHECKING:
    from quarterjack.sim.simulation import Simulation


class SimulatedProcessLoop(Loop):
    """The engine's loop of one process, in simulated time."""

    def __init__(
        self, simulation: Simulation, actor: Actor, process: Process, store: Store, interval: int
    ) -> None:
        super().__init__(process, store, interval)
        self.actor = actor
        self._key = actor, process.name
        self._simulation = simulation
        self._polled_at = 0
        """By its own clock, as is every instant but `_polled_at_simulated`."""
        self._polled_at_simulated = 0
        self._requested_wake: int | None = None
        self._timer: Handle | None = None
        self.is_skipping = False
        """Its polls are skipped; `_polled_at` is the last one that would have happened."""

    async def sleep(self, started_at: int, wake: int | None) -> None:
        simulation = self._simulation
        self._polled_at, self._requested_wake = started_at, wake
        self._polled_at_simulated = simulation.loop.instant - (simulation.clock.now() - started_at)
        poll_at = started_at + self.poll_interval
        self.wake = poll_at if wake is None else min(wake, poll_at)
        self.is_skipping = simulation.skip_idle_polls and self.process.name in _NEVER_POLL
        if not self.is_skipping:
            self._set_timer(self.wake)
        simulation.process_loops[self._key] = self
        await self.hinted.wait()
        simulation.process_loops.pop(self._key, None)
        if (poll := self.last_skipped_poll) is not None:
            simulation.record_skipped_poll(poll)
        self.is_skipping, self.wake = False, None
        self.cancel_timer()

    def hint(self, by: int | None = None) -> None:
        if self.is_skipping:
            self.wake = self._wakes_at()
            due = self._due() if self.process.name == "lease renewer" else None
            if due is not None:
                self._set_timer_by(due)
        super().hint(by)

    def _set_timer(self, instant: int) -> None:
        self.cancel_timer()
        clock, loop = self._simulation.clock, self._simulation.loop
        self._timer = loop.at(max(clock.simulated_time_at(instant), loop.instant), self._on_timer)

    def _set_timer_by(self, instant: int) -> None:
        clock, timer = self._simulation.clock, self._timer
        if timer is None or clock.simulated_time_at(instant) < timer.at:
            self._set_timer(instant)

    def cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _on_timer(self) -> None:
        self._timer = None
        now, due = self._simulation.clock.now(), self._due()
        if self._can_skip() and (due is None or due > now):
            # Later polls are counted from this one; a timer between two polls was not a poll.
            polls = (now - self._polled_at) // self.poll_interval
            since = self._polled_at + polls * self.poll_interval if self.is_skipping else now
            self._polled_at_simulated += since - self._polled_at
            self._polled_at, self.is_skipping = since, True
            if due is not None:
                self._set_timer(due)
        elif self._was_hinted_by_planner():
            self.is_skipping = True
            self._set_timer(self._next_poll())
        else:
            self.hinted.set()

    @property
    def last_skipped_poll(self) -> int | None:
        """Of a planner. While it is paused it does not poll, nor at the instant it is resumed."""
        if not self.is_skipping or self.process.name != "planner":
            return None
        actor, until = self.actor, self._simulation.loop.instant
        if actor.is_paused or actor.resumed_at == until:
            until = actor.paused_at
        polls = max(until - self._polled_at_simulated, 0) // self.poll_interval
        return self._polled_at + polls * self.poll_interval

    def _can_skip(self) -> bool:
        simulation, name = self._simulation, self.process.name
        if not simulation.skip_idle_polls:
            return False
        if name == "planner":
            # A poll of the planner also hints its worker, so runs must not be ready.
            ready_at = simulation.due_times()["worker"]
            return ready_at is None or ready_at > simulation.clock.now()
        if name == "lease rescuer":
            return self._expects_next_lease()
        return self.is_skipping or self.wake == self._polled_at + self.poll_interval

    def _was_hinted_by_planner(self) -> bool:
        """A worker that a skipped poll of its planner would have hinted since it fell asleep: it
        polls together with the next poll of the planner, not now."""
        planner = self._simulation.process_loops.get((self.actor, "planner"))
        if planner is None or not planner.is_skipping:
            return False
        if self.process.name != "worker" or self.is_skipping:
            return False
        hinted_at = planner._next_poll() - self.poll_interval
        now = self._simulation.clock.now()
        return self.wake != self._requested_wake and self._polled_at < hinted_at <= now

    def _expects_next_lease(self) -> bool:
        """A rescuer remembers when the next lease ends: if that is still right, a poll changes
        nothing."""
        expected = self.process.expected  # type: ignore[attr-defined]
        return bool(expected == self._simulation.due_times()["lease rescuer"])

    def _due(self) -> int | None:
        """The first instant at which it may find something to do, as things are now."""
        name = self.process.name
        return self._simulation.due_times()[name] if name in READS_OTHERS else _DUE[name](self)

    def reconsider(self) -> None:
        """After a write of another process: it may have to wake sooner, at its next poll."""
        name = self.process.name
        if name not in READS_OTHERS or not (self.is_skipping or name == "worker"):
            return
        poll, due = self._next_poll(), self._due()
        if self.is_skipping and self._wakes_at() < poll:
            # Something is due before its next poll, so it wakes then.
            self.wake, self.is_skipping = self._wakes_at(), False
        elif name == "lease rescuer" and not self._expects_next_lease():
            self._set_timer_by(poll)
        elif due is not None:
            self._set_timer_by(max(due, poll))

    def _wakes_at(self) -> int:
        poll = self._next_poll()
        if self._timer is None:
            return poll
        return min(poll, self._timer.at + self._simulation.clock.ahead)

    def _next_poll(self) -> int:
        # A poll of the planner hints its worker, so both poll together.
        planner = self._simulation.process_loops.get((self.actor, "planner"))
        if self.process.name == "worker" and planner is not None:
            return planner._next_poll()
        if not self.is_skipping and self.wake is not None:
            return self.wake
        polls = -((self._polled_at - self._simulation.clock.now()) // self.poll_interval)
        return self._polled_at + polls * self.poll_interval

    def _maintenance_due(self) -> int | None:
        """The requested wake, but at most once per maintenance interval."""
        if self._requested_wake is None:
            return None
        return max(self._requested_wake, self._polled_at + self._simulation.maintenance_interval)


_DUE: dict[str, Callable[[SimulatedProcessLoop], int | None]] = {
    "lease renewer": lambda loop: loop.process.due,  # type: ignore[attr-defined]
    "recorder": lambda loop: loop._requested_wake,
    "clock watch": lambda _: None,
    "pruner": SimulatedProcessLoop._maintenance_due,
    "storage maintenance": SimulatedProcessLoop._maintenance_due,
}
"""For processes that do not read what other nodes write."""
READS_OTHERS = ("planner", "worker", "lease rescuer", "notifier")
"""Processes that can find what other nodes have written, in the order of `next_dues.sql`."""
_NEVER_POLL = frozenset({"clock watch"})
"""Woken whenever a clock is set, and nothing else concerns it."""

CLOCK_NOTICED_WITHIN = 2 * SECOND
"""A sleeping process notices within this time that its clock was set."""
