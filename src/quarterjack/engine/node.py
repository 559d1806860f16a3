"""Node: the processes of one program, kept stepping together until it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple

from quarterjack.engine.clock_watch import Clock, ClockGuard, ClockWatch
from quarterjack.engine.heartbeat import Heartbeat
from quarterjack.engine.loop import LONGEST_PAUSE_SECONDS, Loop, Process
from quarterjack.engine.notifier import Notifier
from quarterjack.engine.planner import Planner
from quarterjack.engine.pruner import Pruner
from quarterjack.engine.recorder import Recorder
from quarterjack.engine.renewer import LeaseRenewer
from quarterjack.engine.rescuer import LeaseRescuer
from quarterjack.engine.storage import StorageMaintenance
from quarterjack.engine.worker import Worker, WorkerConfig
from quarterjack.errors import StoreError
from quarterjack.rules import Limits, Retention
from quarterjack.store.store import Store
from quarterjack.targets.call import Target
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import MILLISECOND
from quarterjack.times.zones import zone_data_version

GRACE_SECONDS = 10.0
"""How long work may go on after the program was told to stop."""
HANDING_BACK_SECONDS = 10.0
_LOOKING = ("planner", "worker", "rescuer", "notifier")
"""Those who may find something to do when another process has written."""
_PLANNING = {"planner", "notifier", "pruner", "caretaker"}
_WORKING = {"worker", "renewer", "recorder"}
"""All others belong to every node."""
_TO_THE_END = {"worker", "renewer", "recorder", "notifier", "heart"}
"""Needed until the last run is settled."""


class NodeConfig(NamedTuple):
    """How a node works."""

    seats: WorkerConfig
    limits: Limits = Limits()
    retention: Retention = Retention()
    grace_seconds: float = GRACE_SECONDS
    zone_data: str = zone_data_version()
    """Which edition of the zones it finds slots by."""
    plans: bool = True
    works: bool = True
    """Where these are apart, each node has at least one of them."""


class Node:
    def __init__(
        self,
        store: Store,
        targets: Mapping[str, Target],
        clock: Clock,
        node_config: NodeConfig,
        loop: Callable[[Process, Store, int], Loop] = Loop,
    ) -> None:
        seats = node_config.seats
        self._store = store
        self._targets = targets
        self._grace_seconds = node_config.grace_seconds
        self._worker = Worker(store, targets, clock, seats, self.hint)
        self._renewer = LeaseRenewer(store, self._worker, seats)
        trust = ClockGuard(clock)
        processes: list[Process] = [
            self._renewer,
            Planner(
                store, node_config.limits, self.hint, self.ask_leases, node_config.zone_data, trust
            ),
            self._worker,
            Recorder(store, self._worker),
            LeaseRescuer(store, self._worker, seats, self.hint),
            Notifier(store),
            Pruner(store, node_config.retention, trust),
            StorageMaintenance(store),
            ClockWatch(clock, self.hint_all),
        ]
        if store.heartbeat_interval is not None:
            processes.append(Heartbeat(store, store.heartbeat_interval, self.hint))
        self._latest_look = node_config.limits.timer_clamp_ms * MILLISECOND
        self._loop = loop
        self._loops: dict[str, Loop] = {}
        left_out = (_WORKING if not node_config.works else set()) | (
            _PLANNING if not node_config.plans else set()
        )
        for process in processes:
            if process.name not in left_out:
                self.add(process)
        self._told_to_stop = asyncio.Event()
        self._is_running = False

    def add(self, process: Process) -> None:
        """One more that is kept stepping with the others."""
        self._loops[process.name] = self._loop(process, self._store, self._latest_look)

    def hint(self, name: str, by: int | None = None) -> None:
        if (loop := self._loops.get(name)) is not None:  # else another node has it
            loop.hint(by)

    def ask_leases(self) -> None:
        """An attempt may be asked to stop: the answer to a renewal tells."""
        self._renewer.asks_at_once = True
        self.hint("renewer")

    def hint_all(self) -> None:
        """Somebody else wrote, or the clock jumped: everybody looks."""
        self.ask_leases()
        for name in _LOOKING:
            self.hint(name)

    def stop(self) -> None:
        """Finish what is under way. Told twice, hand it back at once."""
        if self._told_to_stop.is_set():
            self._worker.hand_back()
        self._told_to_stop.set()

    def problems(self) -> list[str]:
        """Why it is not ready; nothing, if it is."""
        if self._told_to_stop.is_set():
            return ["it is stopping"]
        if not self._is_running:
            return ["it is starting"]
        return [f"{name}: {loop.problem}" for name, loop in self._loops.items() if loop.problem]

    async def run(self) -> list[str]:
        """Until it is told to stop, and then until its work has ended or is handed back. The runs
        that could not be settled, because the store was away, are named. A store that must not be
        used ends it as well: its work gets the same grace, and then that error is raised."""
        self._is_running = True
        tasks = {name: asyncio.create_task(loop.run()) for name, loop in self._loops.items()}
        watching = asyncio.create_task(self._watch())
        try:
            await self._until_told_to_stop(tasks.values())
            log.info("stopping %s", log_fields(running=len(self._worker.running)))
            await self._wind_down(tasks)
        finally:
            for task in (watching, *tasks.values()):
                task.cancel()
            await asyncio.gather(watching, *tasks.values(), return_exceptions=True)
            closing = [target.close() for target in self._targets.values()]
            await asyncio.gather(*closing)
        unsettled = [attempting.run.id for attempting in self._worker.held]
        if unsettled:
            log.error("not settled, left to the next start %s", log_fields(runs=unsettled))
        if (error := _unusable(tasks.values())) is not None:
            raise error
        return unsettled

    async def _until_told_to_stop(self, tasks: Iterable[asyncio.Task[None]]) -> None:
        """Or until one of them has ended, which is because the store must not be used."""
        telling = asyncio.create_task(self._told_to_stop.wait())
        await asyncio.wait([telling, *tasks], return_when=asyncio.FIRST_COMPLETED)
        telling.cancel()
        if (error := _unusable(tasks)) is not None:
            log.error("the store cannot be used: %s", error)

    async def _watch(self) -> None:
        """What others write is looked at; if the store is away, so is the watch, for a while."""
        while True:
            try:
                await self._store.watch(self.hint_all)
            except StoreError:
                await asyncio.sleep(LONGEST_PAUSE_SECONDS)
                self.hint_all()

    async def _wind_down(self, tasks: Mapping[str, asyncio.Task[None]]) -> None:
        """No new claims; work gets its grace, and is handed back after it. If the store must not
        be used, nothing can be settled any more: then it is enough that the work has ended."""
        is_done = self._worker.has_settled
        if _unusable(tasks.values()) is not None:
            is_done = self._worker.has_ended
        self._worker.drain()
        ending = [name for name in tasks if name not in _TO_THE_END]
        for name in ending:
            self._loops[name].stop()
        await asyncio.wait([tasks[name] for name in ending], timeout=self._grace_seconds)
        if not await _is_within(self._grace_seconds, is_done):
            self._worker.hand_back()
            await _is_within(HANDING_BACK_SECONDS, is_done)


async def _is_within(seconds: float, done: Callable[[], Awaitable[None]]) -> bool:
    """Was it done within that time?"""
    try:
        async with asyncio.timeout(seconds):
            await done()
    except TimeoutError:
        return False
    return True


def _unusable(tasks: Iterable[asyncio.Task[None]]) -> BaseException | None:
    """Why those that have ended by themselves did."""
    ended = [task.exception() for task in tasks if task.done() and not task.cancelled()]
    return next((error for error in ended if error is not None), None)
