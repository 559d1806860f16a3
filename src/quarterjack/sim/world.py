"""A world: hosts with their nodes, people, faults, one database, and one seed that decides it all.

The engine, control, the rules and the store are those of production. Time, work, chance and what
goes wrong are the world's. First anything may happen; then the world is healed, and what has to
happen must.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine
from functools import cache, lru_cache
from inspect import signature
from random import Random
from typing import Any

from quarterjack.control import SERVICE_SETTINGS
from quarterjack.rules import ServiceSettings
from quarterjack.sim.clock import SimulatedClock
from quarterjack.sim.database import Database, MemoryDatabase
from quarterjack.sim.faults import Faults
from quarterjack.sim.host import Host, Life
from quarterjack.sim.loop import Place, SimulatedLoop
from quarterjack.sim.people import People
from quarterjack.sim.profile import Profile
from quarterjack.sim.record import Disturbance, Line, Moment, Record
from quarterjack.sim.sleep import LOOKS_AT_CLOCK_WITHIN, Dues, Sleeper
from quarterjack.sim.store import FaultyStore, Mishap
from quarterjack.sim.work import End, Script, script_of
from quarterjack.store.specifications import parse
from quarterjack.store.statements import sql
from quarterjack.store.transactions.nodes import LIVES_FOR
from quarterjack.store.types import Claimed, NodeInfo, Planned, Rescued, Settled
from quarterjack.targets.call import Call
from quarterjack.times.instants import DAY, MILLISECOND, MINUTE, SECOND

_IDLE_MAX = 1000
"""So many looks that find nothing, in one minute of one node, are a busy loop."""


class World:
    """One database, and all that is done to it."""

    def __init__(self, profile: Profile, database: Database | None = None) -> None:
        self.profile = profile
        self.skips, self.is_one_host = profile.skips, profile.is_one_host
        self.tidies_every = min(10 * DAY, profile.lasts // 50)
        seed = profile.seed
        self.chance = Random(f"{seed}/world")
        self.loop = SimulatedLoop(profile.start)
        self.clock = SimulatedClock(self.loop)
        self.database = database or MemoryDatabase(profile.start)
        self.record = Record()
        self.people = Place("people")
        self.asking = People(
            self,
            Random(f"{seed}/people"),
            profile.people_every,
            profile.a_day / max(profile.schedules, 1),
        )
        self.faults = Faults(self, Random(f"{seed}/faults"), profile.faults_every)
        self.hosts = [
            Host(self, number, self.clock if self.is_one_host else SimulatedClock(self.loop))
            for number in range(1, profile.hosts + 1)
        ]
        self.lives: dict[str, Life] = {}
        """Those of all nodes, by their names."""
        self.schedule_ids: list[int] = []
        self.sleepers: dict[tuple[Place, str], Sleeper] = {}
        self.is_healed = False
        self._watching: dict[Place, Callable[[], None]] = {}
        self._hinted: set[Place] = set()
        self._dues: Dues | None = None
        self._idle: Counter[str] = Counter()
        self._idle_minute = 0

    # Its course.

    def live(self) -> None:
        """All of it: a beginning without faults, the time in which anything may happen, and the
        time after it was healed."""
        self.begin()
        self.go(self.profile.until)
        self.heal()
        self.go(self.profile.until + self.profile.heals_for)

    def begin(self) -> None:
        self.do(self._create_some())
        for host in self.hosts:  # not all at the same instant, nor at that of much else
            after = int(self.chance.uniform(1, 50) * SECOND)
            self.loop.at(self.loop.instant + after, host.start)
        self.faults.begin()
        self.asking.begin()

    def go(self, until: int) -> None:
        """Live until then, in the world's own time."""
        self.loop.run(until)

    def do(self, asking: Coroutine[Any, Any, None]) -> None:
        """What a person does at once."""
        task = self.loop.start(asking, self.people)
        self.loop.run(self.loop.instant)
        task.result()

    async def _create_some(self) -> None:
        store = self.store_of(self.people)
        rules = ServiceSettings(limits=self.profile.limits)
        await store.put_metadata(SERVICE_SETTINGS, rules.to_text())
        for _ in range(self.profile.schedules):
            await self.asking.create(self.asking.draw())

    def heal(self) -> None:
        """From now on nothing goes wrong any more, and some of the nodes are there."""
        self.is_healed = True
        self.faults.end()
        self.asking.end()
        now, wrong = self.loop.instant, abs(self.clock.ahead)
        self.record.note(Disturbance(now, now + wrong, "healed", "all"))
        self.set_clock(0)
        staying = self.chance.sample(self.hosts, self.chance.randint(1, len(self.hosts)))
        if self.profile.is_apart:  # then one of each kind is needed
            staying += self.hosts[:2]
        for host in self.hosts:
            self.loop.let_go_on(host.place)
            if host in staying:
                host.start()
            elif host.is_up:
                host.stop()

    def close(self) -> None:
        self.loop.close()
        self.database.close()

    # What happens in it.

    def store_of(self, place: Place) -> FaultyStore:
        """A way of its own to the one database."""
        real = self.database.store(self.clock)
        # Every life of a node reads what is stored; what that means need not be worked out anew.
        real._known.parse = _parsed
        return FaultyStore(real, place, self)

    def clock_of_all(self) -> int:
        return self.clock.now()

    def mishap(self, place: Place, verb: str) -> Mishap | None:
        found = self.faults.mishap(place, verb)
        if found is None and self.profile.latency and place is not self.people:
            return Mishap(delay=int(self.profile.latency * self.chance.random() ** 3))
        return found

    def carried_out(self, place: Place, verb: Callable[..., Any], values: Any, result: Any) -> int:
        """Noted; and whoever can see it may have to look."""
        place_of_now = _place_of_now(verb)
        now = values[place_of_now] if place_of_now is not None else None
        if verb.__name__ == "register":
            now = values[0].seen_at
        number = len(self.record.moments)
        self.record.note(
            Moment(self.loop.instant, self.clock.now(), now, place.name, verb.__name__)
        )
        if verb.__name__ == "add_schedules":
            self.schedule_ids += [schedule.id for schedule in result]
        self._dues = None
        self._refuse_busy_loops(place, verb.__name__, result)
        if _is_visible(verb.__name__, result):
            self.loop.before_time_passes = self._reconsider
            self._hint_others(place)
        return number

    def _reconsider(self) -> None:
        for sleeper in self.sleepers.values():
            sleeper.reconsider()

    def _refuse_busy_loops(self, place: Place, verb: str, result: Any) -> None:
        """Who looks again and again and finds nothing is busy for ever, though time passes."""
        if verb not in ("plan_due", "rescue_runs") or _is_visible(verb, result):
            return
        minute = self.loop.instant // MINUTE
        if minute != self._idle_minute:
            self._idle_minute = minute
            self._idle.clear()
        self._idle[place.name] += 1
        if self._idle[place.name] > _IDLE_MAX:
            self.loop.restless = f"{place.name} asks {verb} again and again, and finds nothing"

    def carries_out(self, verb: Callable[..., Any]) -> None:
        """Who is about to ask when planners looked must find the looks that were skipped."""
        if verb.__name__ in _READS_LAST_LOOK:
            for sleeper in self.sleepers.values():
                if (look := sleeper.last_skipped_look) is not None:
                    self.looked(look)

    def looked(self, instant: int) -> None:
        database = self.database
        ((last_look, *_),) = database.ask(sql("planner_state", database.dialect))
        if last_look is not None and last_look < instant:
            database.ask(sql("note_planner_step", database.dialect), instant)

    def is_alive(self, place: Place, node: NodeInfo) -> bool:
        """Does a node on that place take this one for alive? It can ask its own host; others must
        have been heard of lately."""
        life = self.lives[node.name]
        if life.ended_at is not None:
            silent_since = life.ended_at
        elif life.place.is_stopped:
            silent_since = life.place.stopped_at
        else:
            return True
        is_here = self.is_one_host or life.host == place.name.partition(".")[0]
        if is_here:
            return life.ended_at is None
        return silent_since > self.loop.instant - LIVES_FOR

    def dues(self) -> Dues:
        if self._dues is None:
            (row,) = self.database.ask(sql("next_dues", self.database.dialect))
            self._dues = Dues(*row)
        return self._dues

    def watched_by(self, place: Place, hint: Callable[[], None]) -> None:
        self._watching[place] = hint

    def forget_place(self, place: Place) -> None:
        """Nothing of it wakes or is hinted at any more."""
        self._watching.pop(place, None)
        for bed in [each for each in self.sleepers if each[0] is place]:
            self.sleepers.pop(bed).never_wake()

    def meanwhile(self, place: Place) -> None:
        """Somebody is slow: all others look now."""
        for other, hint in list(self._watching.items()):
            if other is not place and not other.is_stopped:
                hint()

    def _hint_others(self, place: Place) -> None:
        """What was written is noticed a little later, once; or not, or twice."""
        faults, kept = self.faults, self.profile.hints_kept
        for other in self._watching:
            if other is place or other in self._hinted:
                continue
            is_lost = self.chance.random() >= kept or self.loop.instant < faults.hints_lost_until
            if not is_lost:
                self._hinted.add(other)
                self._hint_later(other)
                if self.loop.instant < faults.hints_repeated_until:
                    self._hint_later(other)

    def _hint_later(self, place: Place) -> None:
        span = int((20 + 60 * self.chance.random()) * MILLISECOND)
        self.loop.at(self.loop.instant + span, self._hint, place)

    def _hint(self, place: Place) -> None:
        self._hinted.discard(place)
        if (hint := self._watching.get(place)) is not None:
            hint()

    def set_clock(self, ahead: int) -> None:
        """The clock that all agree on; whoever sleeps notices soon."""
        self.clock.ahead = ahead
        for sleeper in self.sleepers.values():
            within = int(LOOKS_AT_CLOCK_WITHIN * self.chance.random())
            self.loop.at(self.loop.instant + within, sleeper.hinted.set)

    def kill(self, place: Place) -> None:
        for host in self.hosts:
            if host.place is place:
                host.kill()

    def script(self, call: Call) -> Script:
        if self.is_healed:
            return Script(SECOND, End.SUCCEEDS)
        return script_of(self.profile.seed, self.profile.lease, call)

    def note_work(self, place: Place, what: str, call: Call) -> None:
        self.record.note(
            Line(
                self.loop.instant,
                self.clock.now(),
                what,
                call.run_id,
                call.schedule_id,
                call.slot,
                call.attempt,
                place.name,
            )
        )
        if what == "started":
            self.asking.work_began(call.schedule_id)


_parsed = lru_cache(maxsize=1000)(parse)


@cache
def _place_of_now(verb: Callable[..., Any]) -> int | None:
    names = list(signature(verb).parameters)
    return names.index("now") if "now" in names else None


def _is_visible(verb: str, result: Any) -> bool:
    """Can a look of somebody else see it?"""
    if isinstance(result, Planned):
        return result.looked_at > 0
    if isinstance(result, Claimed):
        return bool(result.claims)
    if isinstance(result, Settled):
        return bool(result.settled)
    if isinstance(result, Rescued):
        return bool(result.lost)
    return verb in _VISIBLE


_READS_LAST_LOOK = frozenset(
    {"plan_due", "register", "change_schedules", "edit_schedule", "change_run"}
)

_VISIBLE = frozenset(
    {
        "add_schedules",
        "change_schedules",
        "edit_schedule",
        "change_run",
        "renew_leases",
        "note_zone_data",
    }
)
