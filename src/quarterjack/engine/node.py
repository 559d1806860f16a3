"""Node: all processes of one program, kept stepping until it is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from quarterjack.engine.background import Background, BackgroundThread
from quarterjack.engine.clock_watch import Clock, ClockGuard, ClockWatch
from quarterjack.engine.executor import Targets
from quarterjack.engine.heartbeat import Heartbeat
from quarterjack.engine.leases import LeaseRenewer, LeaseRescuer
from quarterjack.engine.loop import RETRY_SECONDS_MAX, Loop, Process, completes_within
from quarterjack.engine.notifier import Notifier
from quarterjack.engine.planner import Planner
from quarterjack.engine.pruner import Pruner
from quarterjack.engine.recorder import Recorder
from quarterjack.engine.storage import StorageMaintenance
from quarterjack.engine.worker import Worker, WorkerConfig
from quarterjack.errors import StoreError
from quarterjack.rules import Limits, Retention
from quarterjack.store.store import Store
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import MILLISECOND
from quarterjack.times.zones import zone_data_version

CANCEL_SECONDS = 10.0
"""How long cancelled attempts may take to end and be settled, after the grace period."""
_POLLING = ("planner", "worker", "lease rescuer", "notifier")
"""Processes that may have something to do when another program has written."""
_PLANNING = {"planner", "notifier", "pruner", "storage maintenance"}
_WORKING = {"worker", "lease renewer", "recorder"}
"""All processes in neither set belong to every node."""
_BACKGROUND = {"lease renewer", "heartbeat"}
"""Processes that a blocked event loop must not delay."""
_UNTIL_SETTLED = {"worker", "recorder", "notifier", "background"}
"""Needed until the last run is settled."""


NewLoop = Callable[[Process, Store, int], Loop]


class NodeConfig(NamedTuple):
    worker: WorkerConfig
    grace_seconds: float
    """How long attempts may go on after the node was stopped."""
    limits: Limits = Limits()
    retention: Retention = Retention()
    zone_data: str = zone_data_version()
    """The version of the time zone data that it computes slots with."""
    plans: bool = True
    works: bool = True
    """A node does at least one of both."""


class Node:
    def __init__(
        self,
        store: Store,
        targets: Targets,
        clock: Clock,
        config: NodeConfig,
        loop: NewLoop = Loop,
        background: Background | None = None,
    ) -> None:
        self._store = store
        self._targets = targets
        self._grace_seconds = config.grace_seconds
        self._worker = Worker(store, targets, clock, config.worker, self.hint)
        self._leases = leases = store.for_leases()
        self._background = background or BackgroundThread(
            clock, leases, store, lambda: self._worker.held
        )
        self._renewer = LeaseRenewer(leases, self._worker, clock, config.worker, self._background)
        self._poll_interval = config.limits.timer_clamp_ms * MILLISECOND
        self._loop = loop
        self._loops: dict[str, Loop] = {}
        omitted = (set() if config.works else _WORKING) | (set() if config.plans else _PLANNING)
        for process in self._processes(clock, config):
            if process.name not in omitted:
                self.add(process)
        self._stop_requested = asyncio.Event()
        self._is_running = False
        self._is_hinting_all = False

    def _processes(self, clock: Clock, config: NodeConfig) -> Iterator[Process]:
        store, leases = self._store, self._leases
        guard, limits, zones = ClockGuard(clock), config.limits, config.zone_data
        yield self._renewer
        yield Planner(store, limits, self.hint, self.check_leases, zones, guard)
        yield self._worker
        yield Recorder(store, self._worker)
        yield LeaseRescuer(store, self._worker, config.worker, self.hint)
        yield Notifier(store)
        yield Pruner(store, config.retention, guard)
        yield StorageMaintenance(store)
        yield ClockWatch(clock, self.hint_all)
        if store.heartbeat_interval is not None:
            yield Heartbeat(leases, store.heartbeat_interval, self.hint, self._background)

    def add(self, process: Process) -> None:
        new_loop = self._background.loop if process.name in _BACKGROUND else self._loop
        self._loops[process.name] = new_loop(process, self._store, self._poll_interval)

    def hint(self, name: str, by: int | None = None) -> None:
        if (loop := self._loops.get(name)) is not None:  # otherwise another node runs it
            loop.hint(by)

    def check_leases(self) -> None:
        """Some attempt may have been cancelled: the answer to a renewal says so."""
        self._renewer.check_requested = True
        self.hint(self._renewer.name)

    def hint_all(self) -> None:
        """Another program has written, or the clock jumped."""
        self._is_hinting_all = False
        self.check_leases()
        for name in _POLLING:
            self.hint(name)

    def stop(self) -> None:
        """Finish the running attempts within the grace period; a second call stops them at once."""
        if self._stop_requested.is_set():
            self._worker.stop_all()
        self._stop_requested.set()

    def problems(self) -> list[str]:
        """Why it is not ready; empty if it is."""
        if self._stop_requested.is_set():
            return ["stopping"]
        if not self._is_running:
            return ["starting"]
        return [f"{name}: {loop.problem}" for name, loop in self._loops.items() if loop.problem]

    async def run(self) -> list[str]:
        """Run until it is stopped and its attempts have ended. Returns the runs that could not be
        settled because the store was away. An unusable store also ends it: the attempts get the
        same grace period, and then that error is raised."""
        self._is_running = True
        loops = {name: loop for name, loop in self._loops.items() if name not in _BACKGROUND}
        tasks = {name: asyncio.create_task(loop.run()) for name, loop in loops.items()}
        tasks["background"] = asyncio.create_task(self._run_background())
        try:
            await self._until_stopped(tasks.values())
            log.info("stopping %s", log_fields(running=len(self._worker.running)))
            await self._wind_down(tasks)
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)
            await asyncio.gather(*(target.close() for target in self._targets.values()))
        unsettled = [attempt.run.id for attempt in self._worker.held]
        if unsettled:
            log.error("unsettled runs at shutdown %s", log_fields(runs=unsettled))
        if (error := _failure(tasks.values())) is not None:
            raise error
        return unsettled

    async def _until_stopped(self, tasks: Iterable[asyncio.Task[None]]) -> None:
        """Or until a loop has ended, which means that the store is unusable."""
        stopped = asyncio.create_task(self._stop_requested.wait())
        await asyncio.wait([stopped, *tasks], return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if (error := _failure(tasks)) is not None:
            log.error("store unusable: %s", error)

    async def _run_background(self) -> None:
        loops = [loop for name, loop in self._loops.items() if name in _BACKGROUND]
        await self._background.run(loops, self._watch())

    async def _watch(self) -> None:
        """Steps the processes when another program writes. While the store is away there is
        nothing to watch, so they are polled."""
        while True:
            try:
                await self._leases.watch(self._hint_all_on_loop)
            except StoreError:
                await asyncio.sleep(RETRY_SECONDS_MAX)
                self._hint_all_on_loop()

    def _hint_all_on_loop(self) -> None:
        """Once, however many writes there are until a blocked event loop answers."""
        if not self._is_hinting_all:
            self._is_hinting_all = True
            self._background.call(self.hint_all)

    async def _wind_down(self, tasks: Mapping[str, asyncio.Task[None]]) -> None:
        """Claim nothing more; cancel attempts that outlast the grace period. With an unusable store
        nothing can be settled, so it is enough that the attempts have ended."""
        is_unusable = _failure(tasks.values()) is not None
        done = self._worker.wait_until_ended if is_unusable else self._worker.wait_until_settled
        self._worker.drain()
        ending = [name for name in tasks if name not in _UNTIL_SETTLED]
        for name in ending:
            self._loops[name].stop()
        await asyncio.wait([tasks[name] for name in ending], timeout=self._grace_seconds)
        if not await completes_within(self._grace_seconds, done):
            self._worker.stop_all()
            await completes_within(CANCEL_SECONDS, done)


def _failure(tasks: Iterable[asyncio.Task[None]]) -> BaseException | None:
    """The error of the first task that failed."""
    ended = [task.exception() for task in tasks if task.done() and not task.cancelled()]
    return next((error for error in ended if error is not None), None)
