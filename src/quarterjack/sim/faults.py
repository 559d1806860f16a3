"""Fault injection, at instants that the seed chooses.

Some faults hit one of the next transactions of a node, so that they always hit in the middle of
something; others last for a while: a node is paused, the store is unavailable, the disk is full, a
clock is wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from quarterjack.rules.text_enum import TextEnum
from quarterjack.sim.event_loop import Actor
from quarterjack.sim.faulty_store import InjectedFault
from quarterjack.sim.record import Disturbance
from quarterjack.times.instants import DAY, HOUR, MILLISECOND, MINUTE, SECOND

if TYPE_CHECKING:
    from quarterjack.sim.host import Host
    from quarterjack.sim.simulation import Simulation


class Fault(TextEnum):
    KILLED = "node killed between two transactions"
    KILLED_AFTER_COMMIT = "node killed after a commit"
    FAILED = "store error before the commit"
    FAILED_AFTER_COMMIT = "store error after the commit"
    SLOW = "slow transaction"
    PAUSED = "node paused"
    BLOCKED = "event loop blocked"
    UNAVAILABLE = "store unavailable"
    PARTIAL = "some transactions fail"
    DISK_FULL = "disk full"
    CLOCK_STEP = "database clock set"
    CLOCK_STROBE = "database clock set many times"
    CLOCK_SKEW = "host clock set"
    SHUTDOWN = "node shut down"
    HINTS_LOST = "hints lost"
    HINTS_REPEATED = "hints repeated"
    ZONE_DATA = "other zone data"


_INDEPENDENT_TRANSACTIONS = (
    ("renew_leases", "renew_claims", "read_leases"), ("settle_runs",), ("claim_runs",),
    ("plan_due",), ("rescue_runs",), ("add_output",), ("unsent_notifications", "mark_sent"),
)  # fmt: skip
"""Groups that can fail alone: they wait for different locks, on different connections."""

_CLOCK_STEPS = (-1, 1, -5, 5, -60, 60, -300, 300, -3600, 3600, 86400, -86400)
"""Seconds."""


class PartialOutage(NamedTuple):
    """Some transactions of one node fail for a while, from the first of them on."""

    transactions: frozenset[str]
    duration: int
    until: int | None = None
    """None before it has begun."""


class Faults:
    """Injects faults from `start` to `stop`."""

    def __init__(self, simulation: Simulation, random: Random, interval: int) -> None:
        self._simulation = simulation
        self._random = random
        self._interval = interval
        self._armed: dict[Actor, list[tuple[int, InjectedFault, Fault]]] = {}
        """For each actor: after how many more transactions, and what."""
        self._unavailable_until: dict[Actor | None, int] = {}
        """The key None stands for all actors."""
        self._partial_outages: dict[Actor, PartialOutage] = {}
        self._blocks: dict[Actor, int] = {}
        """How long the next work of an actor blocks its event loop."""
        self._is_stopped = False
        self._weights = {fault: weight for fault, (weight, _) in _FAULTS.items()}
        if not simulation.profile.disk_can_fill:
            self._weights[Fault.DISK_FULL] = 0
        self.hints_lost_until = 0
        self.hints_repeated_until = 0
        self.counts: Counter[Fault] = Counter()

    def start(self) -> None:
        if self._interval:
            self._schedule_next(self._random.expovariate(1 / self._interval))

    def stop(self) -> None:
        """Ends the faults that last, too."""
        self._is_stopped = True
        self._armed.clear()
        self._unavailable_until.clear()
        self._partial_outages.clear()
        self._blocks.clear()
        self.hints_lost_until = self.hints_repeated_until = 0
        self._simulation.database.free_disk()

    def fault_for(self, actor: Actor, transaction: str) -> InjectedFault | None:
        """What goes wrong in this transaction."""
        if self._is_stopped:
            return None
        until = max(self._unavailable_until.get(each, 0) for each in (actor, None))
        is_unavailable = until > self._simulation.loop.instant
        if is_unavailable or self._is_in_partial_outage(actor, transaction):
            return InjectedFault(fails=True)
        armed = self._armed.get(actor)
        if not armed:
            return None
        for index, (skips, injected, fault) in enumerate(armed):
            if skips <= 0:
                del armed[index]
                self.record(fault, actor.name, injected.delay)
                return injected
        armed[:] = [(skips - 1, injected, fault) for skips, injected, fault in armed]
        return None

    def record(self, fault: Fault, actor: str, duration: int) -> None:
        since = self._simulation.loop.instant
        self.counts[fault] += 1
        disturbance = Disturbance(since, since + duration, str(fault), actor)
        self._simulation.record.disturbances.append(disturbance)

    def _schedule_next(self, delay: float) -> None:
        self._simulation.loop.at(self._simulation.loop.instant + int(delay), self._inject_next)

    def _inject_next(self) -> None:
        if self._is_stopped:
            return
        fault = self._random.choices(list(self._weights), list(self._weights.values()))[0]
        _FAULTS[fault][1](self, fault)
        # In bursts: faults are seldom alone.
        is_burst = self._random.random() < 0.35
        interval = 5 * SECOND if is_burst else self._interval
        self._schedule_next(self._random.expovariate(1 / interval))

    def _random_host(self) -> Host | None:
        running = [host for host in self._simulation.hosts if host.is_up]
        return self._random.choice(running) if running else None

    def _random_duration(self, low: int, high: int) -> int:
        return int(low * (high / low) ** self._random.random())

    def _arm(self, fault: Fault) -> None:
        """For one of the next transactions of a node, or seldom of a user."""
        host, random = self._random_host(), self._random
        skips = random.choice([0, 0, 1, 2, 3, 5, 8])
        delay = 0
        if fault is Fault.SLOW or random.random() < 0.3:
            delay = self._random_duration(MILLISECOND, 30 * SECOND)
        injected = InjectedFault(
            delay,
            others_run=delay > 0,
            fails=fault in (Fault.FAILED, Fault.FAILED_AFTER_COMMIT),
            kills=fault in (Fault.KILLED, Fault.KILLED_AFTER_COMMIT),
            after_commit=fault in (Fault.FAILED_AFTER_COMMIT, Fault.KILLED_AFTER_COMMIT),
        )
        by_user = random.random() < 0.05 and not injected.kills
        actor = self._simulation.user_actor if by_user else None
        if actor is None and host is not None:
            actor = host.actor
        if actor is not None:
            self._armed.setdefault(actor, []).append((skips, injected, fault))

    def _pause_node(self, fault: Fault) -> None:
        host = self._random_host()
        if host is None:
            return
        loop, actor = self._simulation.loop, host.actor
        duration = self._random_duration(SECOND, 5 * self._simulation.profile.lease)
        loop.pause(actor)
        loop.at(loop.instant + duration, loop.resume, actor)
        self.record(fault, actor.name, duration)

    def _prepare_block(self, _fault: Fault) -> None:
        """By the next work that starts; recorded when it begins."""
        host, lease = self._random_host(), self._simulation.profile.lease
        if host is not None:
            self._blocks[host.actor] = self._random_duration(lease // 5, 5 * lease)

    def work_started(self, actor: Actor) -> None:
        """It may block the event loop of its node."""
        duration = self._blocks.pop(actor, None)
        if duration is not None:
            loop = self._simulation.loop
            loop.block(actor)
            loop.at(loop.instant + duration, loop.unblock, actor)
            self.record(Fault.BLOCKED, actor.name, duration)

    def _make_store_unavailable(self, fault: Fault) -> None:
        host, duration = self._random_host(), self._random_duration(100 * MILLISECOND, 2 * MINUTE)
        if self._random.random() < 0.03:
            duration = HOUR
        actor = host.actor if host is not None and self._random.random() < 0.5 else None
        self._unavailable_until[actor] = self._simulation.loop.instant + duration
        self.record(fault, actor.name if actor else "all", duration)

    def _prepare_partial_outage(self, _fault: Fault) -> None:
        """Recorded when it begins."""
        host = self._random_host()
        if host is not None:
            lease = self._simulation.profile.lease
            chosen = [each for each in _INDEPENDENT_TRANSACTIONS if self._random.random() < 0.5]
            names = frozenset(name for group in chosen for name in group)
            duration = self._random_duration(lease, 2 * lease)
            self._partial_outages[host.actor] = PartialOutage(names, duration)

    def _is_in_partial_outage(self, actor: Actor, transaction: str) -> bool:
        outage = self._partial_outages.get(actor)
        if outage is None or transaction not in outage.transactions:
            return False
        now = self._simulation.loop.instant
        until = outage.until
        if until is None:
            until = now + outage.duration
            self._partial_outages[actor] = outage._replace(until=until)
            self.record(Fault.PARTIAL, actor.name, outage.duration)
        return now < until

    def _fill_disk(self, fault: Fault) -> None:
        duration = self._random_duration(SECOND, MINUTE)
        loop, database = self._simulation.loop, self._simulation.database
        database.fill_disk()
        loop.at(loop.instant + duration, database.free_disk)
        self.record(fault, "all", duration)

    def _set_clock(self, fault: Fault) -> None:
        step = self._random.choice(_CLOCK_STEPS) * SECOND
        if abs(step) >= HOUR and self._random.random() < 0.7:
            step //= 60
        ahead = self._simulation.clock.ahead
        if ahead and self._random.random() < 0.7:  # a wrong clock is usually corrected
            step = -ahead
        self.record(fault, "all", 2 * abs(step) + 5 * SECOND)
        self._simulation.set_clock(ahead + step)

    def strobe_clock(self, fault: Fault) -> None:
        duration, ahead = 32 * SECOND, self._simulation.clock.ahead
        loop, at, largest = self._simulation.loop, self._simulation.loop.instant, 0
        end = at + duration
        while at < end:
            size = self._random_duration(4 * MILLISECOND, 262 * SECOND)
            step = size * self._random.choice([-1, 1])
            largest = max(largest, abs(step))
            loop.at(at, self._simulation.set_clock, ahead + step)
            at += self._random_duration(MILLISECOND, SECOND) * 2
        loop.at(end, self._simulation.set_clock, ahead)
        self.record(fault, "all", duration + 2 * largest)

    def _set_host_clock(self, fault: Fault) -> None:
        host = self._random_host()
        if host is not None and not self._simulation.profile.is_one_host:
            host.clock.ahead = self._random.choice(_CLOCK_STEPS) * SECOND
            self.record(fault, host.name, 0)

    def _shut_down(self, fault: Fault) -> None:
        host = self._random_host()
        if host is not None:
            self.record(fault, host.name, 30 * SECOND)
            host.stop()

    def _lose_hints(self, fault: Fault) -> None:
        duration = self._random_duration(MINUTE, DAY)
        self.hints_lost_until = self._simulation.loop.instant + duration
        self.record(fault, "all", duration)

    def _repeat_hints(self, fault: Fault) -> None:
        duration = self._random_duration(MINUTE, HOUR)
        self.hints_repeated_until = self._simulation.loop.instant + duration
        self.record(fault, "all", 0)

    def _change_zone_data(self, fault: Fault) -> None:
        host = self._random_host()
        if host is not None:
            host.zone_data = self._random.choice(["2026a", "2026b"])
            self.record(fault, host.name, 30 * SECOND)
            host.stop()


_FAULTS: dict[Fault, tuple[int, Callable[[Faults, Fault], None]]] = {
    Fault.KILLED: (12, Faults._arm),
    Fault.KILLED_AFTER_COMMIT: (12, Faults._arm),
    Fault.FAILED: (10, Faults._arm),
    Fault.FAILED_AFTER_COMMIT: (12, Faults._arm),
    Fault.SLOW: (30, Faults._arm),
    Fault.PAUSED: (12, Faults._pause_node),
    Fault.BLOCKED: (12, Faults._prepare_block),
    Fault.UNAVAILABLE: (8, Faults._make_store_unavailable),
    Fault.PARTIAL: (20, Faults._prepare_partial_outage),
    Fault.DISK_FULL: (4, Faults._fill_disk),
    Fault.CLOCK_STEP: (3, Faults._set_clock),
    Fault.CLOCK_STROBE: (1, Faults.strobe_clock),
    Fault.CLOCK_SKEW: (5, Faults._set_host_clock),
    Fault.SHUTDOWN: (8, Faults._shut_down),
    Fault.HINTS_LOST: (5, Faults._lose_hints),
    Fault.HINTS_REPEATED: (3, Faults._repeat_hints),
    Fault.ZONE_DATA: (1, Faults._change_zone_data),
}
"""The weight of each fault, and how it is injected."""
