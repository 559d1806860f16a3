"""Faults: what is done to a world, each at an instant that its seed has chosen.

Some befall the next verbs of a node, so that they always hit while something happens; others last:
a node that is stopped, a store that is away, a disk that is full, a clock that is wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from quarterjack.rules.text_enum import TextEnum
from quarterjack.sim.loop import Place
from quarterjack.sim.record import Disturbance
from quarterjack.sim.store import Mishap
from quarterjack.times.instants import DAY, HOUR, MILLISECOND, MINUTE, SECOND

if TYPE_CHECKING:
    from quarterjack.sim.host import Host
    from quarterjack.sim.world import World


class Fault(TextEnum):
    KILLED = "killed between two verbs"
    KILLED_UNTOLD = "killed after a commit"
    FAILED = "store error before the commit"
    FAILED_UNTOLD = "store error after the commit"
    SLOW = "others step between two verbs"
    STOPPED = "stopped, perhaps past the lease"
    AWAY = "store away"
    PARTLY = "some verbs fail, others not"
    FULL = "disk full"
    CLOCK = "clock of all set"
    STROBE = "clock of all strobes"
    SKEW = "clock of a host set"
    LEAVES = "told to stop"
    DEAF = "hints lost"
    ECHO = "hints repeated"
    ZONES = "other zone data"


_WEIGHTS = {
    Fault.KILLED: 12,
    Fault.KILLED_UNTOLD: 12,
    Fault.FAILED: 10,
    Fault.FAILED_UNTOLD: 12,
    Fault.SLOW: 30,
    Fault.STOPPED: 12,
    Fault.AWAY: 8,
    Fault.PARTLY: 8,
    Fault.FULL: 4,
    Fault.CLOCK: 3,
    Fault.STROBE: 1,
    Fault.SKEW: 5,
    Fault.LEAVES: 8,
    Fault.DEAF: 5,
    Fault.ECHO: 3,
    Fault.ZONES: 1,
}

_APART = (
    ("renew_leases", "look_at_leases"), ("settle_runs",), ("claim_runs",), ("plan_due",),
    ("rescue_runs",), ("add_output",), ("take_notifications", "mark_sent"),
)  # fmt: skip
"""Verbs that may fail while others do not: they wait for different locks, on different
connections."""

_STEPS = (
    -1, 1, -5, 5, -60, 60, -300, 300, -3600, 3600, 86400, -86400
)  # fmt: skip
"""By how many seconds a clock is set."""


class Cut(NamedTuple):
    """Verbs of one node that fail for a while."""

    verbs: frozenset[str]
    lasts: int
    until: int | None = None
    """Unless it has not begun."""


class Faults:
    """They come until the world is healed."""

    def __init__(self, world: World, random: Random, every: int) -> None:
        self._world = world
        self._random = random
        self._every = every
        self._armed: dict[Place, list[tuple[int, Mishap, Fault]]] = {}
        self._away: dict[Place | None, int] = {}
        self._cuts: dict[Place, Cut] = {}
        self._is_over = False
        self._weights = dict(_WEIGHTS)
        if not world.profile.disk_fills:
            self._weights[Fault.FULL] = 0
        self.hints_lost_until = 0
        self.hints_repeated_until = 0
        self.counts: Counter[Fault] = Counter()
        """How often each of them struck."""

    def begin(self) -> None:
        if self._every:
            self._wait(self._random.expovariate(1 / self._every))

    def end(self) -> None:
        """The world is healed: nothing befalls it any more."""
        self._is_over = True
        self._armed.clear()
        self._away.clear()
        self._cuts.clear()
        self.hints_lost_until = self.hints_repeated_until = 0
        self._world.database.free_disk()

    def mishap(self, place: Place, verb: str) -> Mishap | None:
        """What befalls this verb."""
        if self._is_over:
            return None
        now = self._world.loop.instant
        for each in (place, None):
            if self._away and self._away.get(each, 0) > now:
                return Mishap(fails=True)
        if (cut := self._cuts.get(place)) is not None and self._is_cut(cut, place, verb):
            return Mishap(fails=True)
        armed = self._armed.get(place)
        if not armed:
            return None
        for number, (skips, mishap, fault) in enumerate(armed):
            if skips <= 0:
                del armed[number]
                self._struck(fault, place.name, mishap.delay)
                return mishap
        armed[:] = [(skips - 1, mishap, fault) for skips, mishap, fault in armed]
        return None

    def _wait(self, span: float) -> None:
        self._world.loop.at(self._world.loop.instant + int(span), self._come)

    def _come(self) -> None:
        if self._is_over:
            return
        fault = self._random.choices(list(self._weights), list(self._weights.values()))[0]
        _DO[fault](self, fault)
        # They come in bursts: one seldom comes alone.
        soon = self._random.random() < 0.35
        self._wait(self._random.expovariate(1 / (5 * SECOND if soon else self._every)))

    def _struck(self, fault: Fault, place: str, lasts: int) -> None:
        since = self._world.loop.instant
        self.counts[fault] += 1
        self._world.record.note(Disturbance(since, since + lasts, str(fault), place))

    def _host(self) -> Host | None:
        alive = [host for host in self._world.hosts if host.is_up]
        return self._random.choice(alive) if alive else None

    def _span(self, low: int, high: int) -> int:
        return int(low * (high / low) ** self._random.random())

    def _arm(self, fault: Fault) -> None:
        """One of the next verbs of a node."""
        host, random = self._host(), self._random
        skips = random.choice([0, 0, 1, 2, 3, 5, 8])
        delay = 0
        if fault is Fault.SLOW or random.random() < 0.3:
            delay = self._span(MILLISECOND, 30 * SECOND)
        mishap = Mishap(
            delay,
            others_step=delay > 0,
            fails=fault in (Fault.FAILED, Fault.FAILED_UNTOLD),
            kills=fault in (Fault.KILLED, Fault.KILLED_UNTOLD),
            is_after=fault in (Fault.FAILED_UNTOLD, Fault.KILLED_UNTOLD),
        )
        place = self._world.people if random.random() < 0.05 and not mishap.kills else None
        if place is None and host is not None:
            place = host.place
        if place is not None:
            self._armed.setdefault(place, []).append((skips, mishap, fault))

    def _stop(self, fault: Fault) -> None:
        host = self._host()
        if host is None:
            return
        place, lasts = host.place, self._span(SECOND, 5 * self._world.profile.lease)
        loop = self._world.loop
        loop.stop_place(place)
        loop.at(loop.instant + lasts, loop.let_go_on, place)
        self._struck(fault, place.name, lasts)

    def _go_away(self, fault: Fault) -> None:
        host, lasts = self._host(), self._span(100 * MILLISECOND, 2 * MINUTE)
        if self._random.random() < 0.03:
            lasts = HOUR
        whose = host.place if host is not None and self._random.random() < 0.5 else None
        self._away[whose] = self._world.loop.instant + lasts
        self._struck(fault, whose.name if whose else "all", lasts)

    def _fail_partly(self, _fault: Fault) -> None:
        """From the first of these verbs on they fail for a while; all others are carried out."""
        host = self._host()
        if host is not None:
            lease = self._world.profile.lease
            chosen = [verbs for verbs in _APART if self._random.random() < 0.5]
            verbs = frozenset(verb for verbs in chosen for verb in verbs)
            self._cuts[host.place] = Cut(verbs, self._span(lease, 2 * lease))

    def _is_cut(self, cut: Cut, place: Place, verb: str) -> bool:
        now = self._world.loop.instant
        if verb not in cut.verbs:
            return False
        if cut.until is None:
            self._cuts[place] = cut = cut._replace(until=now + cut.lasts)
            self._struck(Fault.PARTLY, place.name, cut.lasts)
        return now < (cut.until or now)

    def _fill_disk(self, fault: Fault) -> None:
        lasts = self._span(SECOND, MINUTE)
        loop, database = self._world.loop, self._world.database
        database.fill_disk()
        loop.at(loop.instant + lasts, database.free_disk)
        self._struck(fault, "all", lasts)

    def _set_clock(self, fault: Fault) -> None:
        step = self._random.choice(_STEPS) * SECOND
        if abs(step) >= HOUR and self._random.random() < 0.7:
            step //= 60
        # What is set wrong is set right again.
        correcting = self._world.clock.ahead
        if correcting and self._random.random() < 0.7:
            step = -correcting
        self._struck(fault, "all", 2 * abs(step) + 5 * SECOND)
        self._world.set_clock(self._world.clock.ahead + step)

    def _strobe(self, fault: Fault) -> None:
        lasts, ahead = 32 * SECOND, self._world.clock.ahead
        loop, at, most = self._world.loop, self._world.loop.instant, 0
        end = at + lasts
        while at < end:
            step = self._span(4 * MILLISECOND, 262 * SECOND) * self._random.choice([-1, 1])
            most = max(most, abs(step))
            loop.at(at, self._world.set_clock, ahead + step)
            at += self._span(MILLISECOND, SECOND) * 2
        loop.at(end, self._world.set_clock, ahead)
        self._struck(fault, "all", lasts + 2 * most)

    def _skew(self, fault: Fault) -> None:
        host = self._host()
        if host is not None and not self._world.is_one_host:
            host.clock.ahead = self._random.choice(_STEPS) * SECOND
            self._struck(fault, host.name, 0)

    def _leave(self, fault: Fault) -> None:
        host = self._host()
        if host is not None:
            self._struck(fault, host.name, 30 * SECOND)
            host.stop()

    def _lose_hints(self, fault: Fault) -> None:
        lasts = self._span(MINUTE, DAY)
        self.hints_lost_until = self._world.loop.instant + lasts
        self._struck(fault, "all", lasts)

    def _repeat_hints(self, fault: Fault) -> None:
        lasts = self._span(MINUTE, HOUR)
        self.hints_repeated_until = self._world.loop.instant + lasts
        self._struck(fault, "all", 0)

    def _exchange_zones(self, fault: Fault) -> None:
        host = self._host()
        if host is not None:
            host.zone_data = self._random.choice(["2026a", "2026b"])
            self._struck(fault, host.name, 30 * SECOND)
            host.stop()


_DO: dict[Fault, Callable[[Faults, Fault], None]] = {
    Fault.KILLED: Faults._arm,
    Fault.KILLED_UNTOLD: Faults._arm,
    Fault.FAILED: Faults._arm,
    Fault.FAILED_UNTOLD: Faults._arm,
    Fault.SLOW: Faults._arm,
    Fault.STOPPED: Faults._stop,
    Fault.AWAY: Faults._go_away,
    Fault.PARTLY: Faults._fail_partly,
    Fault.FULL: Faults._fill_disk,
    Fault.CLOCK: Faults._set_clock,
    Fault.STROBE: Faults._strobe,
    Fault.SKEW: Faults._skew,
    Fault.LEAVES: Faults._leave,
    Fault.DEAF: Faults._lose_hints,
    Fault.ECHO: Faults._repeat_hints,
    Fault.ZONES: Faults._exchange_zones,
}
