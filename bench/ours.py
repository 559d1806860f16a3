"""What Quarterjack costs, each measure on the database that it is given."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from bench.databases import RunCursor, answer, noted_statements, noting_statements
from bench.measuring import (
    Delays,
    Idle,
    cpu_seconds_of,
    cpu_seconds_of_server,
    delays,
    resident_mb_of,
)
from harness.store import dead_rows
from quarterjack.clock import SystemClock
from quarterjack.control import Control
from quarterjack.engine.clock_watch import ClockGuard
from quarterjack.engine.node import Node, NodeConfig
from quarterjack.engine.planner import Planner
from quarterjack.engine.worker import WorkerConfig
from quarterjack.rules import Limits, Retention, Schedule, create, read_specification
from quarterjack.service import open_store
from quarterjack.store.postgres.connection import address_of
from quarterjack.store.postgres.store import PostgresStore
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.store.store import Store
from quarterjack.store.types import NewSchedule
from quarterjack.targets.task import TaskTarget, current_call
from quarterjack.times.instants import HOUR, MINUTE, SECOND, to_text
from quarterjack.times.zones import zone_data_version

CLOCK = SystemClock()
SEATS = 1000
KEEP_ALL = Retention(run_count=None)
"""Else of the many runs of one schedule most would be forgotten while they are counted."""
WARM_UP_SECONDS = 4
"""After this, whatever a node looks at when it starts has been looked at."""

Fields = Mapping[str, Any]
Work = Callable[[], Awaitable[None]]


@asynccontextmanager
async def opened(place: RunCursor) -> AsyncIterator[SqliteStore | PostgresStore]:
    store = await open_store(place.url, CLOCK)
    assert isinstance(store, SqliteStore | PostgresStore)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def running(
    store: Store, work: Work, retention: Retention = KEEP_ALL, *, plans: bool = True
) -> AsyncIterator[Node]:
    """A node; at the end it has settled all that it had begun."""
    seats = WorkerConfig(f"worker-{os.getpid()}", count=SEATS)
    node_config = NodeConfig(seats, retention=retention, plans=plans)
    node = Node(store, {"task": TaskTarget({"work": work})}, CLOCK, node_config)
    freeze()
    task = asyncio.create_task(node.run())
    try:
        yield node
    finally:
        node.stop()
        await task


def planner(store: Store) -> Planner:
    """One that steps when it is told to, and tells nobody. With another edition of the zones than
    was noted, it would wake all that rest."""
    zones = zone_data_version()
    return Planner(store, Limits(), lambda *_: None, lambda: None, zones, ClockGuard(CLOCK))


def freeze() -> None:
    """What was made before is kept out of the garbage collector's rounds, as `up` does."""
    gc.collect()
    gc.freeze()


class Countdown:
    """The no-op; it knows when it was done often enough."""

    def __init__(self, count: int) -> None:
        self._left = count
        self.over = asyncio.Event()

    async def __call__(self) -> None:
        self._left -= 1
        if not self._left:
            self.over.set()


class Stopwatch:
    """Seconds since it was made: of the wall, and of the processor, in all threads of this process
    and in all processes of the server."""

    def __init__(self, place: RunCursor) -> None:
        self._server = place.server
        self._begun = self._now()

    def read(self) -> tuple[float, float, float]:
        wall, cpu, server = (now - then for now, then in zip(self._now(), self._begun, strict=True))
        return wall, cpu, server

    def _now(self) -> tuple[float, float, float]:
        server = cpu_seconds_of_server(self._server)
        return time.perf_counter(), time.process_time(), server


def new_schedules(fields: Sequence[Fields], now: int, first: int = 0) -> list[NewSchedule]:
    """One for each of these, read and judged, as the store's verb takes them."""
    return [_new(f"schedule-{number}", each, now) for number, each in enumerate(fields, first)]


def _new(key: str, fields: Fields, now: int) -> NewSchedule:
    specification = read_specification({"task": "work", **fields}, key=key, now=now)
    assert specification.text  # written once, when it was validated
    return NewSchedule(key, specification, None, "bench")


async def add(store: Store, new: Sequence[NewSchedule], now: int) -> Sequence[Schedule]:
    def decide(identity: int, each: NewSchedule, active: int) -> Schedule:
        return create(identity, each.key, each.specification, now, active=active, limits=Limits())

    return await store.add_schedules(new, decide, now)


def refuse_unless_settled(place: RunCursor, count: int) -> None:
    succeeded = answer(place, "select count(*) from runs where state = 'succeeded'")
    assert succeeded == count, f"{succeeded} of {count} are settled"


async def added_by_verb(place: RunCursor, count: int) -> tuple[float]:
    """Seconds to add schedules that were read before."""
    now = CLOCK.now()
    new = new_schedules([{"every": "1h"}] * count, now)
    async with opened(place) as store:
        freeze()
        begun = time.perf_counter()
        await add(store, new, now)
        return (time.perf_counter() - begun,)


async def added_through_control(place: RunCursor, count: int) -> tuple[float]:
    """Seconds to add schedules from what a person wrote: read, judged, stored and audited."""
    wanted = [
        {"key": f"nightly-{number}", "task": "work", "every": "1h"} for number in range(count)
    ]
    async with opened(place) as store:
        freeze()
        begun = time.perf_counter()
        await Control(store, by="bench", origin="bench").create(*wanted)
        return (time.perf_counter() - begun,)


async def due_at_once(place: RunCursor, count: int) -> tuple[float, float, int, float]:
    """Seconds until all are planned, executed and settled, and how much processor and how many
    statements that took, and how much processor of the server."""
    created = CLOCK.now() - HOUR
    async with opened(place) as store:
        await add(store, new_schedules([{"every": "1h"}] * count, created), created)
        work, before = Countdown(count), store.statements
        async with running(store, work):
            watch = Stopwatch(place)
            await work.over.wait()
        (seconds, cpu, server), statements = watch.read(), store.statements - before
    await asyncio.to_thread(refuse_unless_settled, place, count)
    return seconds, cpu, statements, server


async def backfilled(place: RunCursor, count: int) -> tuple[float, float, float]:
    """Runs per second, from the request for so many slots until all are settled; CPU seconds, ours
    and the server's."""
    now = CLOCK.now()
    fields = {"every": "1m", "if_running": "allow"}
    async with opened(place) as store:
        (schedule,) = await add(store, new_schedules([fields], now), now)
        until, work = schedule.anchor_at, Countdown(count)
        control = Control(store, by="bench", origin="bench")
        async with running(store, work) as node:
            watch = Stopwatch(place)
            await control.backfill(schedule.id, until - (count - 1) * MINUTE, until)
            node.hint("planner")
            await work.over.wait()
        seconds, cpu, server = watch.read()
    await asyncio.to_thread(refuse_unless_settled, place, count)
    return count / seconds, cpu, server


async def start_delays(place: RunCursor, count: int, seconds: int, *, spread: bool) -> Delays:
    """Of schedules that fire once a second, evenly apart within it or all at one instant."""
    begin = CLOCK.now() + 2 * SECOND
    end = begin + seconds * SECOND
    lateness = Lateness()
    async with opened(place) as store:
        await add(store, each_second(count, begin, spread=spread), CLOCK.now())
        async with running(store, lateness):
            await asyncio.sleep((end - CLOCK.now()) / SECOND + 1)
    return lateness.within(begin, end)


def each_second(count: int, begin: int, *, spread: bool) -> list[NewSchedule]:
    apart = SECOND // count if spread else 0
    starts = [to_text(begin + number * apart) for number in range(count)]
    fields = [{"every": "1s", "start_at": start} for start in starts]
    return [
        _new(f"each-second-{number}", each, begin - SECOND) for number, each in enumerate(fields)
    ]


class Lateness:
    """Work that notes how long after its slot it starts."""

    def __init__(self) -> None:
        self._noted: list[tuple[int, float]] = []

    async def __call__(self) -> None:
        now, slot = CLOCK.now(), current_call.get().slot
        self._noted.append((slot, (now - slot) / SECOND))

    def within(self, begin: int, end: int) -> Delays:
        """Of the slots in [begin, end)."""
        return delays(late for slot, late in self._noted if begin <= slot < end)


async def claims_beside_dead_rows(place: RunCursor, dead: int) -> tuple[float, float]:
    """The median and the 99th of a hundred claims of one run, in ms."""
    created = CLOCK.now() - HOUR
    async with opened(place) as store:
        assert isinstance(store, PostgresStore)
        await add(store, new_schedules([{"every": "1h"}] * SEATS, created), created)
        await planner(store).step(store.now())
        return await dead_rows.claims_beside_dead_rows(store, address_of(place.url), SEATS, dead)


async def store_resting(place: RunCursor, count: int, batch: int = 10_000) -> None:
    """So many schedules that are not due for a year."""
    now = CLOCK.now()
    async with opened(place) as store:
        for first in range(0, count, batch):
            fields = [{"every": "365d"}] * min(batch, count - first)
            await add(store, new_schedules(fields, now, first), now)


def idle(place: RunCursor, seconds: float) -> Idle:
    """Of this process, with a node on the database."""
    with noting_statements(place) if place.is_postgres else nullcontext():
        return asyncio.run(_idle(place, seconds))


async def _idle(place: RunCursor, seconds: float) -> Idle:
    async with opened(place) as store, running(store, Countdown(0)):
        await asyncio.sleep(WARM_UP_SECONDS)
        statements, begun = statements_asked(store, place), time.process_time()
        await asyncio.sleep(seconds)
        spent, caller = time.process_time() - begun, statements_asked(store, place) - statements
        return Idle(spent, caller, resident_mb_of(os.getpid()))


def statements_asked(store: SqliteStore | PostgresStore, place: RunCursor) -> int:
    """So far: a server tells of all of them, of the clock's and of the hints' as well."""
    return noted_statements(place) if place.is_postgres else store.statements


@contextmanager
def program(place: RunCursor, command: str) -> Iterator[tuple[int, float]]:
    """`quarterjack up`, for instance, on a database: its process, and after how many seconds it
    was ready."""
    declared = place.folder / "quarterjack.yaml"
    declared.write_text("name: bench\n")
    port = _free_port()
    named = str(Path(sys.executable).with_name("quarterjack"))
    caller = [named, command, str(declared), "--database", place.url, "--port", str(port)]
    begun = time.perf_counter()
    with subprocess.Popen(caller, stderr=subprocess.DEVNULL) as process:
        try:
            while not _is_ready(port):
                assert process.poll() is None, f"`quarterjack {command}` has ended"
                time.sleep(0.002)
            yield process.pid, time.perf_counter() - begun
        finally:
            process.send_signal(signal.SIGTERM)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _is_ready(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port)) as asking:
            asking.sendall(b"GET /readyz HTTP/1.1\r\n\r\n")
            return asking.recv(1000).startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


def cold_start(place: RunCursor, command: str) -> tuple[float]:
    """Seconds from the start of the program until it is ready."""
    with program(place, command) as (_, seconds):
        return (seconds,)


def idle_up(place: RunCursor, seconds: float) -> float:
    """CPU seconds of the whole program."""
    with program(place, "up") as (process, _):
        time.sleep(WARM_UP_SECONDS)
        begun = cpu_seconds_of(process)
        time.sleep(seconds)
        return cpu_seconds_of(process) - begun
