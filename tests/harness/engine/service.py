"""A service stepped under a clock set by hand: the real store and processes, driven by their own
wakes through a day that takes milliseconds."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from harness.rules.values import at
from harness.store.server import server
from harness.store.stored_world import ManualClock, memory_store
from harness.store.stores import new, put_limits
from harness.targets.calls import current_call, tasks_here
from quarterjack import rules
from quarterjack.control import create_one
from quarterjack.engine.background import BackgroundThread
from quarterjack.engine.clock_watch import ClockGuard
from quarterjack.engine.leases import LeaseRenewer, LeaseRescuer
from quarterjack.engine.loop import Hint, Process, wakes_by
from quarterjack.engine.notifier import Notifier
from quarterjack.engine.planner import Planner
from quarterjack.engine.pruner import Pruner
from quarterjack.engine.recorder import Recorder
from quarterjack.engine.worker import Worker, WorkerConfig
from quarterjack.rules import Limits, Retention, Run, Schedule, SlotsNotRun
from quarterjack.store.address import Address, address_of
from quarterjack.store.postgres.store import PostgresStore
from quarterjack.store.rows import run_of, schedule_of, slots_not_run_of
from quarterjack.store.sqlite.file import open_database
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.store.store import Store
from quarterjack.store.types import Caller, NodeInfo
from quarterjack.targets.call import Call
from quarterjack.targets.kinds import KINDS
from quarterjack.times.instants import SECOND
from quarterjack.times.zones import zone_data_version

T = TypeVar("T")
WORKER = WorkerConfig("w1", ("default",), concurrency=16, lease=10 * SECOND)


class PostgresWithManualClock(PostgresStore):
    def now(self) -> int:
        return int(self._database_clock._host_clock.now())

    async def read_clock(self) -> int:
        return self.now()


def _new_address() -> Address:
    return address_of(f"{server().url}?schema=s{uuid4().hex[:12]}")


class Failed(Exception):
    """Raised by tasks."""


class OneLoop(BackgroundThread):
    """No background: everything is stepped on one event loop, which is not blocked unless a test
    says so."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.blocked_at: int | None = None

    def call(self, callback: Callable[..., object], *args: Any) -> None:
        callback(*args)

    def stalled_for(self) -> int:
        return 0 if self.blocked_at is None else self._clock.instant - self.blocked_at


class SteppedService:
    def __init__(
        self,
        now: str = "08:00",
        *,
        limits: Limits = Limits(),  # noqa: B008
        concurrency: int = WORKER.concurrency,
        workers: Iterable[str] = ("w1",),
        folder: Path | None = None,
        on: str = "SQLite",
    ) -> None:
        """With a folder, each worker is a node with its own connection to one shared database."""
        self.loop = asyncio.new_event_loop()
        self.clock = ManualClock(at(now))
        self.folder = folder
        self.address = _new_address() if on == "PostgreSQL" else None
        self.stores: list[Store] = []
        self.store: Any = self.run(self._opened())
        self.limits = limits
        self.run(put_limits(self.store, limits))
        self.config = WORKER._replace(concurrency=concurrency)
        self.calls: list[tuple[int, Call]] = []
        """When the task was called, and for which attempt."""
        self.work: Callable[[Call], Any] = lambda call: None
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self.processes: dict[str, Process] = {}
        self.wakes: dict[str, int | None] = {}
        self.hinted: set[str] = set()
        self.workers: dict[str, Worker] = {}
        self._starts = 0
        self._alive: set[str] = set()
        self.planned_by: list[str] = []
        """The nodes that planned something, in order."""
        self.run(self._start(list(workers)))

    async def _opened(self) -> Store:
        store: Store
        if self.address is not None:
            store = await PostgresWithManualClock(self.address, self.clock, "test", KINDS).open(
                create=True
            )
        elif self.folder is None:
            store = memory_store(self.clock)
        else:
            path = self.folder / "quarterjack.db"
            connection = open_database(path, now=self.clock.now(), create=True)
            store = SqliteStore(connection, path, self.clock, KINDS, inline=True)
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
        self.add_process(Notifier(self.store))
        self.add_process(Pruner(self.store, Retention()))

    async def _register(self, name: str, store: Store) -> None:
        """As each node does when it starts; those from before a restart are dead."""
        self._starts += 1
        now, started = self.clock.instant, f"{name}, start {self._starts}"
        store.is_alive = lambda node: node.name in self._alive  # type: ignore[method-assign]
        await store.register(
            NodeInfo(started, "here", self._starts, True, True, "0", "", "", "", now, now)
        )
        self._alive.add(started)

    def _start_worker(self, name: str, store: Store) -> None:
        """With a planner and a lease rescuer, if it is the first on its store."""
        config = self.config._replace(worker=name)
        targets = {"task": tasks_here({"work": self._work})}
        worker = Worker(store, targets, self.clock, config, self.hint_own(name))
        if not self.workers or store is not self.store:
            zones, guard = zone_data_version(), ClockGuard(self.clock)
            hint, check = self.hint_and_note(name), self.check_leases
            self.add_process(Planner(store, self.limits, hint, check, zones, guard), name)
            self.add_process(LeaseRescuer(store, worker, config, self.hint), name)
        self.workers[name] = worker
        renewer = LeaseRenewer(store, worker, self.clock, config, OneLoop(self.clock))
        for process in (worker, renewer, Recorder(store, worker)):
            self.add_process(process, name)

    def add_process(self, process: Process, worker: str = "") -> None:
        name = f"{process.name} {worker}".strip()
        self.processes[name] = process
        self.hinted.add(name)

    def hint(self, name: str, by: int | None = None) -> None:
        """All processes of this name, or the one of a worker."""
        for each, process in self.processes.items():
            if name in (each, process.name) and not wakes_by(self.wakes.get(each), by):
                self.hinted.add(each)

    def hint_own(self, worker: str) -> Hint:
        def hint(name: str, by: int | None = None) -> None:
            own = f"{name} {worker}"
            self.hint(own if own in self.processes else name, by)

        return hint

    def hint_and_note(self, planner: str) -> Hint:
        def hint(name: str, by: int | None = None) -> None:
            self.planned_by += [planner] if name == "worker" else []
            self.hint(name, by)

        return hint

    def check_leases(self) -> None:
        for process in self.processes.values():
            if isinstance(process, LeaseRenewer):
                process.check_requested = True
        self.hint(LeaseRenewer.name)

    async def _work(self) -> Any:
        call = current_call()
        self.calls.append((self.clock.instant, call))
        answer = self.work(call)
        return await answer if asyncio.iscoroutine(answer) else answer

    async def sleep(self, span: int) -> None:
        """A task that lasts so long, by the clock of this service."""
        woken: asyncio.Future[None] = self.loop.create_future()
        number = len(self._sleepers) + len(self.calls)
        heapq.heappush(self._sleepers, (self.clock.instant + span, number, woken))
        await woken

    def add(self, key: str = "nightly", **fields: Any) -> int:
        now = self.clock.instant
        (made,) = self.run(
            self.store.add_schedules(
                lambda settings: ([new(key, now, **fields)], partial(create_one, settings, now)),
                now,
                Caller("ada", "test", "create"),
            )
        )
        self.hint("planner")
        return int(made.id)

    def change(
        self, identity: int, operation: Callable[..., Any], *values: Any, **words: Any
    ) -> Any:
        """`change(1, rules.pause, by="ada")`"""

        def decide(facts: Any, now: int) -> Any:
            if operation is rules.edit:
                return operation(facts, *values, now, **words)
            if operation is rules.cancel_run:
                return operation(facts, *values, now)
            return operation(facts, now, *values, **words)

        caller = Caller("ada", "test", "change")
        plans = self.run(self.store.change_schedule(identity, decide, self.clock.instant, caller))
        self.hint("planner")
        self.hint("worker")
        self.check_leases()
        return plans

    def run_until(self, until: str | int) -> None:
        self.run(self._run_until(at(until) if isinstance(until, str) else until))

    def suspend_until(self, until: str) -> None:
        """No process steps until then."""
        self.clock.instant = at(until)

    def restart(self, *names: str) -> None:
        """As after a crash: new processes start on the same database."""
        self._alive.clear()
        self.workers.clear()
        self.wakes.clear()
        self.hinted.clear()
        self.run(self._start(list(names) or ["w2"]))

    def restart_after_outage(self, until: str) -> None:
        """No node is alive until then; afterwards there are two."""
        self.suspend_until(until)
        self.restart("w3", "w4")
        self.planned_by.clear()
        self.run_until(until)

    def seconds_since(self, start: str) -> list[int]:
        """Of each call."""
        return [(when - at(start)) // SECOND for when, _ in self.calls]

    async def _run_until(self, until: int) -> None:
        await self._step_all()
        for _ in range(100_000):
            wakes = [wake for wake in self.wakes.values() if wake is not None]
            wakes += [wake for wake, *_ in self._sleepers]
            following = min(
                (wake for wake in wakes if wake > self.clock.instant), default=until + 1
            )
            if following > until:
                break
            self.clock.instant = following
            await self._step_all()
        self.clock.instant = until
        await self._step_all()

    async def _step_all(self) -> None:
        """Steps what is due or hinted at, until nothing is."""
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
        raise AssertionError("the processes hint at each other without end")

    def table(self, name: str) -> list[Any]:
        return self.execute(f"select * from {name} order by 1, 2")

    def execute(self, statement: str) -> list[Any]:
        """On the database itself, past the store."""
        if self.address is None:
            return list(self.store._executor._connection.execute(statement).fetchall())
        return self.run(self._execute(statement))

    async def _execute(self, statement: str) -> list[Any]:
        assert self.address is not None
        link = self.store._executor.connection
        async with link.lock:
            connection = await link.get()
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
        known = self.run(
            self.store._transact(self.store._specifications.read, {(row[0], row[5]): row[1]})
        )
        return schedule_of(row, known[row[0], row[5]])

    def not_run(self, identity: int = 1) -> list[tuple[int, str]]:
        """The count and reason of the slots that did not run."""
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
