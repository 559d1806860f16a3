"""The house with its lights on: the real store, planner, worker, renewer, rescuer and notifier,
driven by their own wakes through a day that takes milliseconds. Only the clock is set by hand."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from harness.rules.world import at
from harness.store.server import server
from harness.store.stored_world import SetClock, memory_store
from harness.store.stores import new
from quarterjack import rules
from quarterjack.engine.clock_watch import ClockGuard
from quarterjack.engine.loop import Hint, Process, wakes_by
from quarterjack.engine.notifier import Notifier
from quarterjack.engine.planner import Planner
from quarterjack.engine.pruner import Pruner
from quarterjack.engine.recorder import Recorder
from quarterjack.engine.renewer import LeaseRenewer
from quarterjack.engine.rescuer import LeaseRescuer
from quarterjack.engine.worker import Worker, WorkerConfig
from quarterjack.rules import Limits, Retention, Run, Schedule, SlotsNotRun
from quarterjack.store.postgres.connection import Address, address_of
from quarterjack.store.postgres.store import PostgresStore
from quarterjack.store.rows import run_of, schedule_of, slots_not_run_of
from quarterjack.store.sqlite.file import open_database
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.store.store import Store
from quarterjack.store.types import Caller, NodeInfo
from quarterjack.targets.call import Call
from quarterjack.targets.task import TaskTarget, current_call
from quarterjack.times.zones import zone_data_version

T = TypeVar("T")


class SetPostgres(PostgresStore):
    """One whose clock is set by hand."""

    def now(self) -> int:
        return int(self._clock.now())

    async def read_clock(self) -> int:
        return self.now()


def _new_address() -> Address:
    return address_of(f"{server().url}?schema=s{uuid4().hex[:12]}")


class Failed(Exception):
    """The work says no."""


class House:
    """Schedules that are really planned, run and settled."""

    def __init__(
        self,
        now: str = "08:00",
        *,
        limits: Limits = Limits(),  # noqa: B008
        seats: int = 16,
        workers: Iterable[str] = ("w1",),
        folder: Path | None = None,
        on: str = "SQLite",
    ) -> None:
        """With a folder, each worker is a node of its own, and all are on one database in it, or on
        one of PostgreSQL."""
        self.loop = asyncio.new_event_loop()
        self.clock = SetClock(at(now))
        self.folder = folder
        self.address = _new_address() if on == "PostgreSQL" else None
        self.stores: list[Store] = []
        self.store: Any = self.run(self._opened())
        self.limits = limits
        self.seats = seats
        self.calls: list[tuple[int, Call]] = []
        """What was really called, and when."""
        self.work: Callable[[Call], Any] = lambda call: None
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self.processes: dict[str, Process] = {}
        self.wakes: dict[str, int | None] = {}
        self.hinted: set[str] = set()
        self.workers: dict[str, Worker] = {}
        self._lives = 0
        self._alive: set[str] = set()
        self.planned_by: list[str] = []
        """Which nodes have made something ready, in turn."""
        self.run(self._start(list(workers)))

    async def _opened(self) -> Store:
        store: Store
        if self.address is not None:
            store = await SetPostgres(self.address, self.clock, "house").open(create=True)
        elif self.folder is None:
            store = memory_store(self.clock)
        else:
            path = self.folder / "quarterjack.db"
            connection = open_database(path, now=self.clock.now(), create=True)
            store = SqliteStore(connection, path, self.clock, inline=True)
        self.stores.append(store)
        return store

    def close(self) -> None:
        for store in self.stores:
            self.run(store.close())
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()

    def run(self, doing: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(doing)

    async def _start(self, names: list[str]) -> None:
        self.processes.clear()
        for name in names:
            shares = name == names[0] or self.folder is None
            store = self.store if shares else await self._opened()
            await self._register(name, store)
            self._start_worker(name, store)
        self.add_process("notifier", Notifier(self.store))
        self.add_process("pruner", Pruner(self.store, Retention()))

    async def _register(self, name: str, store: Store) -> None:
        """As each process does when it starts; whoever registered before a restart is dead."""
        self._lives += 1
        now, life = self.clock.instant, f"{name}, life {self._lives}"
        store.is_alive = lambda node: node.name in self._alive  # type: ignore[method-assign]
        await store.register(
            NodeInfo(life, "here", self._lives, True, True, "0", "", "", "", now, now)
        )
        self._alive.add(life)

    def _start_worker(self, name: str, store: Store) -> None:
        """With a planner and a rescuer, if it is the first on its store."""
        seats = WorkerConfig(name, count=self.seats)
        targets = {"task": TaskTarget({"work": self._work})}
        worker = Worker(store, targets, self.clock, seats, self.hinting(name))
        if not self.workers or store is not self.store:
            zones = zone_data_version()
            trust = ClockGuard(self.clock)
            planner = Planner(store, self.limits, self.noting(name), self.ask_leases, zones, trust)
            self.add_process(f"planner {name}", planner)
            self.add_process(f"rescuer {name}", LeaseRescuer(store, worker, seats, self.hint))
        self.workers[name] = worker
        self.add_process(f"worker {name}", worker)
        self.add_process(f"renewer {name}", LeaseRenewer(store, worker, seats))
        self.add_process(f"recorder {name}", Recorder(store, worker))

    def add_process(self, name: str, process: Process) -> None:
        self.processes[name] = process
        self.hinted.add(name)

    def hint(self, name: str, by: int | None = None) -> None:
        """Who wakes by then anyway sleeps on."""
        for each in self.processes:
            if name in (each, each.split()[0]) and not wakes_by(self.wakes.get(each), by):
                self.hinted.add(each)

    def hinting(self, worker: str) -> Hint:
        def hint(name: str, by: int | None = None) -> None:
            own = f"{name} {worker}"
            self.hint(own if own in self.processes else name, by)

        return hint

    def noting(self, planner: str) -> Hint:
        def hint(name: str, by: int | None = None) -> None:
            self.planned_by += [planner] if name == "worker" else []
            self.hint(name, by)

        return hint

    def ask_leases(self) -> None:
        for process in self.processes.values():
            if isinstance(process, LeaseRenewer):
                process.asks_at_once = True
        self.hint("renewer")

    async def _work(self) -> Any:
        call = current_call.get()
        self.calls.append((self.clock.instant, call))
        answer = self.work(call)
        return await answer if asyncio.iscoroutine(answer) else answer

    async def sleep(self, span: int) -> None:
        """Work that lasts so long, by the clock of this house."""
        woken: asyncio.Future[None] = self.loop.create_future()
        number = len(self._sleepers) + len(self.calls)
        heapq.heappush(self._sleepers, (self.clock.instant + span, number, woken))
        await woken

    # What people do.

    def add(self, key: str = "nightly", **fields: Any) -> int:
        now = self.clock.instant
        (made,) = self.run(
            self.store.add_schedules(
                [new(key, now, **fields)],
                lambda identity, each, active: rules.create(
                    identity, key, each.specification, now, active=active, limits=self.limits
                ),
                now,
                Caller("ada", "test", "create", limits=self.limits),
            )
        )
        self.hint("planner")
        return int(made.id)

    def ask(self, identity: int, operation: Callable[..., Any], *values: Any, **words: Any) -> Any:
        """`ask(1, rules.pause, by="ada")`"""

        def decide(facts: Any, now: int) -> Any:
            if operation is rules.edit:
                return operation(facts, *values, now, **words)
            if operation is rules.cancel_run:
                return operation(facts, *values, now)
            return operation(facts, now, *values, **words)

        caller = Caller("ada", "test", "ask", limits=self.limits)
        plans = self.run(self.store.change_schedule(identity, decide, self.clock.instant, caller))
        self.hint("planner")
        self.hint("worker")
        self.ask_leases()
        return plans

    # What time does.

    def go(self, until: str | int) -> None:
        """Live until then."""
        self.run(self._go(at(until) if isinstance(until, str) else until))

    def sleep_until(self, until: str) -> None:
        """Nobody is awake until then, as if the power were off."""
        self.clock.instant = at(until)

    def restart(self, *names: str) -> None:
        """Every process is gone without a word, and starts anew on what is stored."""
        self._alive.clear()
        self.workers.clear()
        self.wakes.clear()
        self.hinted.clear()
        self.run(self._start(list(names) or ["w2"]))

    async def _go(self, until: int) -> None:
        await self._quiet()
        for _ in range(100_000):
            wakes = [wake for wake in self.wakes.values() if wake is not None]
            wakes += [wake for wake, *_ in self._sleepers]
            following = min(
                (wake for wake in wakes if wake > self.clock.instant), default=until + 1
            )
            if following > until:
                break
            self.clock.instant = following
            await self._quiet()
        self.clock.instant = until
        await self._quiet()

    async def _quiet(self) -> None:
        """All that is due or hinted at is stepped, until nothing is."""
        now = self.clock.instant
        for _ in range(10_000):
            while self._sleepers and self._sleepers[0][0] <= now:
                woken = heapq.heappop(self._sleepers)[2]
                if not woken.done():
                    woken.set_result(None)
            for _ in range(8):
                await asyncio.sleep(0)
            due = {name for name, wake in self.wakes.items() if wake is not None and wake <= now}
            ready = [name for name in self.processes if name in due | self.hinted]
            if not ready:
                return
            for name in ready:
                self.hinted.discard(name)
                self.wakes[name] = await self.processes[name].step(now)
        raise AssertionError("the house comes to rest")

    # What is seen.

    def table(self, name: str) -> list[Any]:
        return self.meddle(f"select * from {name} order by 1, 2")

    def meddle(self, statement: str) -> list[Any]:
        """As somebody with a database browser would."""
        if self.address is None:
            return list(self.store._walker._connection.execute(statement).fetchall())
        return self.run(self._asked(statement))

    async def _asked(self, statement: str) -> list[Any]:
        assert self.address is not None
        connection = await self.store._main.link.connection()
        await connection.execute(f"set search_path = {self.address.schema}")
        return [tuple(row) for row in await connection.fetch(statement)]

    def runs(self, identity: int = 1) -> list[Run]:
        return [run for run in map(run_of, self.table("runs")) if run.schedule_id == identity]

    def states(self, identity: int = 1) -> list[str]:
        return [f"{r.state}: {r.reason}" if r.reason else str(r.state) for r in self.runs(identity)]

    def slots(self, identity: int = 1) -> list[int]:
        return [run.slot for run in self.runs(identity)]

    def schedule(self, identity: int = 1) -> Schedule:
        (row,) = [row for row in self.table("schedules") if row[0] == identity]
        known = self.run(self.store._do(self.store._known.read, {(row[0], row[5]): row[1]}))
        return schedule_of(row, known[row[0], row[5]])

    def not_run(self, identity: int = 1) -> list[tuple[int, str]]:
        """(how many, why) of the slots that did not run."""
        rows: list[SlotsNotRun] = [
            slots_not_run_of(list(row[1:]))
            for row in self.table("slots_not_run")
            if row[0] == identity
        ]
        return [(row.count, str(row.reason)) for row in rows]

    def started(self) -> list[str]:
        return [call.run_id for _, call in self.calls]


def failing(call: Call) -> None:
    raise Failed("boom")
