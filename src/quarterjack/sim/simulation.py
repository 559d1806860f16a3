"""A simulation: hosts with their nodes, users, faults and one database, all decided by one seed.

The engine, control, the rules and the store are those of production; time, work, randomness and
faults are simulated. A run has two phases: first faults are injected, then everything is healed and
must recover.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine
from functools import cache, lru_cache, partial
from inspect import signature
from random import Random
from typing import Any

from quarterjack.rules import ServiceSettings
from quarterjack.sim.clock import SimulatedClock
from quarterjack.sim.database import Database, MemoryDatabase
from quarterjack.sim.event_loop import Actor, SimulatedEventLoop
from quarterjack.sim.faults import Faults
from quarterjack.sim.faulty_store import FaultyStore, InjectedFault
from quarterjack.sim.host import Host, NodeLife
from quarterjack.sim.process_loop import CLOCK_NOTICED_WITHIN, READS_OTHERS, SimulatedProcessLoop
from quarterjack.sim.profile import Profile
from quarterjack.sim.record import Disturbance, Record, StoreCall, WorkEvent
from quarterjack.sim.scripted_target import End, Script, script_of
from quarterjack.sim.users import Users
from quarterjack.store.specifications import parse
from quarterjack.store.statements import sql
from quarterjack.store.transactions.metadata import SERVICE_SETTINGS
from quarterjack.store.transactions.nodes import NODE_TIMEOUT
from quarterjack.store.types import Claimed, NodeInfo, Planned, Rescued, Settled
from quarterjack.targets.call import Call
from quarterjack.targets.kinds import KINDS
from quarterjack.times.instants import DAY, MILLISECOND, MINUTE, SECOND

_IDLE_CALLS_MAX = 1000
"""More calls than this that find nothing, in one minute of one node, are a busy loop."""


class Simulation:
    def __init__(self, profile: Profile, database: Database | None = None) -> None:
        self.profile = profile
        self.skip_idle_polls = profile.skip_idle_polls
        self.maintenance_interval = min(10 * DAY, profile.duration // 50)
        """Pruning and maintenance run at most this often; nothing waits for them."""
        self.random = Random(f"{profile.seed}/world")
        self.loop = SimulatedEventLoop(profile.start)
        self.clock = SimulatedClock(self.loop)
        """The database's."""
        self.database = database or MemoryDatabase(profile.start)
        self.record = Record()
        self.user_actor = Actor("people")
        self.users = Users(self, Random(f"{profile.seed}/people"))
        self.faults = Faults(self, Random(f"{profile.seed}/faults"), profile.fault_interval)
        self.hosts = [
            Host(self, number, self.clock if profile.is_one_host else SimulatedClock(self.loop))
            for number in range(1, profile.hosts + 1)
        ]
        self.node_lives: dict[str, NodeLife] = {}
        """By the name of the node."""
        self.schedule_ids: list[int] = []
        self.process_loops: dict[tuple[Actor, str], SimulatedProcessLoop] = {}
        """The sleeping ones."""
        self.is_healed = False
        self._hints: dict[Actor, Callable[[], None]] = {}
        self._hinted: set[Actor] = set()
        self._due_times: dict[str, int | None] | None = None
        self._idle_calls: Counter[str] = Counter()
        self._idle_minute = 0

    def run(self) -> None:
        self.start()
        self.run_until(self.profile.until)
        self.heal()
        self.run_until(self.profile.until + self.profile.recovery)

    def start(self) -> None:
        """Creates schedules, then starts nodes, faults and users."""
        self.run_now(self._create_schedules())
        for host in self.hosts:  # at different instants
            delay = int(self.random.uniform(1, 50) * SECOND)
            self.loop.at(self.loop.instant + delay, host.start)
        self.faults.start()
        self.users.start()

    def run_until(self, until: int) -> None:
        self.loop.run(until)

    def run_now(self, request: Coroutine[Any, Any, None]) -> None:
        """A request of a user, without advancing time."""
        task = self.loop.start(request, self.user_actor)
        self.loop.run(self.loop.instant)
        task.result()

    async def _create_schedules(self) -> None:
        store = self.store_for(self.user_actor)
        settings = ServiceSettings(limits=self.profile.limits)
        await store.put_metadata(SERVICE_SETTINGS, settings.to_text())
        for _ in range(self.profile.schedules):
            await self.users.create(self.users.draw_definition())

    def heal(self) -> None:
        """Ends all faults and requests, and keeps some of the nodes running."""
        self.is_healed = True
        self.faults.stop()
        self.users.stop()
        now, ahead = self.loop.instant, abs(self.clock.ahead)
        self.record.disturbances.append(Disturbance(now, now + ahead, "healed", "all"))
        self.set_clock(0)
        kept = self.random.sample(self.hosts, self.random.randint(1, len(self.hosts)))
        if self.profile.separate_roles:  # one of each role is needed
            kept += self.hosts[:2]
        for host in self.hosts:
            self.loop.resume(host.actor)
            self.loop.unblock(host.actor)
            if host in kept:
                host.start()
            elif host.is_up:
                host.stop()

    def close(self) -> None:
        self.loop.close()
        self.database.close()

    def kill(self, actor: Actor) -> None:
        for host in self.hosts:
            if host.actor is actor:
                host.kill()

    def remove_actor(self, actor: Actor) -> None:
        """Its processes no longer wake or receive hints."""
        self._hints.pop(actor, None)
        for key in [each for each in self.process_loops if each[0] in actor.parts]:
            self.process_loops.pop(key).cancel_timer()

    def set_clock(self, ahead: int) -> None:
        """Sets the database's clock, which sleeping processes notice a little later."""
        self.clock.ahead = ahead
        for process_loop in self.process_loops.values():
            delay = int(CLOCK_NOTICED_WITHIN * self.random.random())
            self.loop.at(self.loop.instant + delay, process_loop.hinted.set)

    def script(self, call: Call) -> Script:
        if self.is_healed:
            return Script(SECOND, End.SUCCEEDS)
        return script_of(self.profile.seed, self.profile.lease, call)

    def record_work(self, actor: Actor, event: str, call: Call) -> None:
        at, now, run_id, attempt = self.loop.instant, self.clock.now(), call.run_id, call.attempt
        work = WorkEvent(at, now, event, run_id, call.schedule_id, call.slot, attempt, actor.name)
        self.record.work.append(work)
        if event == "started":
            self.users.work_started(call.schedule_id)
            self.faults.work_started(actor)

    # What the stores of the actors use.

    def store_for(self, actor: Actor) -> FaultyStore:
        real = self.database.store(self.clock)
        # All nodes read the same specifications; each is parsed once.
        real._specifications.parse = _parsed
        return FaultyStore(real, actor, self)

    def is_alive(self, actor: Actor, node: NodeInfo) -> bool:
        """Whether the actor takes this node for alive: by its process on the same host, else by its
        last heartbeat."""
        life = self.node_lives[node.name]
        if life.ended_at is not None:
            silent_since = life.ended_at
        elif life.actor.is_stopped:
            silent_since = life.actor.parts[-1].paused_at  # heartbeats go on while it is blocked
        else:
            return True
        if self.profile.is_one_host or life.host == actor.name.partition(".")[0]:
            return life.ended_at is None
        return silent_since > self.loop.instant - NODE_TIMEOUT

    def fault_for(self, actor: Actor, transaction: str) -> InjectedFault | None:
        fault = self.faults.fault_for(actor, transaction)
        if fault is None and self.profile.latency and actor is not self.user_actor:
            return InjectedFault(delay=int(self.profile.latency * self.random.random() ** 3))
        return fault

    def before_call(self, transaction: Callable[..., Any]) -> None:
        """A transaction that reads the planners' last poll must find the skipped ones, too."""
        if transaction.__name__ in _READS_LAST_POLL:
            for process_loop in self.process_loops.values():
                if (poll := process_loop.last_skipped_poll) is not None:
                    self.record_skipped_poll(poll)

    def after_call(
        self, actor: Actor, transaction: Callable[..., Any], values: Any, result: Any
    ) -> int:
        """Records the call and returns its index; what others can see of it, they poll or are
        hinted for."""
        name, index_of_now = transaction.__name__, _index_of_now(transaction)
        now = values[index_of_now] if index_of_now is not None else None
        if name == "register":
            now = values[0].seen_at
        call = StoreCall(self.loop.instant, self.clock.now(), now, actor.name, name)
        self.record.calls.append(call)
        if name == "add_schedules":
            self.schedule_ids += [schedule.id for schedule in result]
        self._due_times = None
        if _is_visible(name, result):
            self.loop.before_time_advances = self._reconsider_polls
            self._hint_others(actor)
        elif name in ("plan_due", "rescue_runs"):
            self._detect_busy_loop(actor, name)
        return len(self.record.calls) - 1

    def _detect_busy_loop(self, actor: Actor, transaction: str) -> None:
        """A process that polls again and again and finds nothing."""
        minute = self.loop.instant // MINUTE
        if minute != self._idle_minute:
            self._idle_minute = minute
            self._idle_calls.clear()
        self._idle_calls[actor.name] += 1
        if self._idle_calls[actor.name] > _IDLE_CALLS_MAX:
            self.loop.livelock = f"busy loop: {actor.name} calls {transaction} and finds nothing"

    # Polls and hints.

    def due_times(self) -> dict[str, int | None]:
        """When there is something to do for each kind of process; None is never."""
        if self._due_times is None:
            (row,) = self.database.query(sql("next_dues", self.database.dialect))
            self._due_times = dict(zip(READS_OTHERS, row, strict=True))
        return self._due_times

    def record_skipped_poll(self, instant: int) -> None:
        """Stores the time of a planner's poll: a long time between two of them is an outage."""
        database = self.database
        ((last_step, *_),) = database.query(sql("planner_state", database.dialect))
        if last_step is not None and last_step < instant:
            database.query(sql("put_planner_step", database.dialect), instant)

    def _reconsider_polls(self) -> None:
        for process_loop in self.process_loops.values():
            process_loop.reconsider()

    def watch(self, actor: Actor, hint: Callable[[], None]) -> None:
        self._hints[actor] = hint

    def wake_others(self, actor: Actor) -> None:
        for other, hint in list(self._hints.items()):
            if other is not actor and not other.is_paused:
                hint()

    def _hint_others(self, actor: Actor) -> None:
        """Each other node is hinted a little later, once; or, by a fault, never or twice."""
        faults, probability = self.faults, self.profile.hint_delivery
        for other in self._hints:
            if other is actor or other in self._hinted:
                continue
            is_lost = self.random.random() >= probability
            if not (is_lost or self.loop.instant < faults.hints_lost_until):
                self._hinted.add(other)
                self._hint_later(other)
                if self.loop.instant < faults.hints_repeated_until:
                    self._hint_later(other)

    def _hint_later(self, actor: Actor) -> None:
        delay = int((20 + 60 * self.random.random()) * MILLISECOND)
        self.loop.at(self.loop.instant + delay, self._hint, actor)

    def _hint(self, actor: Actor) -> None:
        self._hinted.discard(actor)
        if (hint := self._hints.get(actor)) is not None:
            hint()


_parsed = lru_cache(maxsize=1000)(partial(parse, KINDS))


@cache
def _index_of_now(transaction: Callable[..., Any]) -> int | None:
    names = list(signature(transaction).parameters)
    return names.index("now") if "now" in names else None


def _is_visible(transaction: str, result: Any) -> bool:
    """Whether the polls of other processes can find it."""
    field = _FOUND.get(type(result))
    return transaction in _VISIBLE if field is None else bool(getattr(result, field))


_FOUND = {Planned: "due_count", Claimed: "claims", Settled: "settled", Rescued: "lost"}
"""The field of a result that says whether something was found."""
_USER_CHANGES = frozenset({"change_schedules", "edit_schedule", "change_run"})
_READS_LAST_POLL = _USER_CHANGES | {"plan_due", "register"}
_VISIBLE = _USER_CHANGES | {"add_schedules", "renew_leases", "renew_claims", "record_zone_data"}
