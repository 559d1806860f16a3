"""Measurements of Quarterjack, each on the database it is given."""

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

from bench.databases import Database, count_logged_statements, logged_statements, query_value
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
from quarterjack.store.address import address_of
from quarterjack.store.postgres.store import PostgresStore
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.store.store import Store
from quarterjack.store.types import NewSchedule
from quarterjack.targets.context import Context
from quarterjack.targets.functions import Functions
from quarterjack.targets.kinds import KINDS
from quarterjack.targets.task import TaskTarget
from quarterjack.times.instants import HOUR, MINUTE, SECOND, to_text
from quarterjack.times.zones import zone_data_version

CLOCK = SystemClock()
CONCURRENCY = 1000
LEASE, GRACE_SECONDS = 10 * SECOND, 10
KEEP_ALL = Retention(run_count=None)
"""Otherwise most of the many runs of one schedule would be pruned while they are counted."""
WARM_UP_SECONDS = 4
"""After this, a node has done the work of its start."""

Fields = Mapping[str, Any]
Work = Callable[[], Awaitable[None]]


@asynccontextmanager
async def opened(database: Database) -> AsyncIterator[SqliteStore | PostgresStore]:
    store = await open_store(database.url, CLOCK)
    assert isinstance(store, SqliteStore | PostgresStore)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def running(
    store: Store, work: Work, retention: Retention = KEEP_ALL, *, plans: bool = True
) -> AsyncIterator[Node]:
    """A node. At the end it has settled all runs that it has started."""
    worker = WorkerConfig(f"worker-{os.getpid()}", ("default",), CONCURRENCY, LEASE)
    node_config = NodeConfig(worker, GRACE_SECONDS, retention=retention, plans=plans)
    node = Node(
        store, {"task": TaskTarget({"work": work}, Functions(None, None))}, CLOCK, node_config
    )
    freeze()
    task = asyncio.create_task(node.run())
    try:
        yield node
    finally:
        node.stop()
        await task


def planner(store: Store) -> Planner:
    """A planner without a node, with the recorded zone data: with any other it would wake every
    schedule."""
    zones = zone_data_version()
    return Planner(store, Limits(), lambda *_: None, lambda: None, zones, ClockGuard(CLOCK))


def freeze() -> None:
    """Exempts existing objects from garbage collection, as `up` does."""
    gc.collect()
    gc.freeze()


class Countdown:
    """A no-op task. `over` is set when it was called `count` times."""

    def __init__(self, count: int) -> None:
        self._left = count
        self.over = asyncio.Event()

    async def run(self) -> None:
        self._left -= 1
        if not self._left:
            self.over.set()


class Stopwatch:
    """Seconds since its creation: elapsed, and of CPU in this process and in the server."""

    def __init__(self, database: Database) -> None:
        self._server = database.server
        self._started = self._now()

    def read(self) -> tuple[float, float, float]:
        wall, cpu, server = (
            now - then for now, then in zip(self._now(), self._started, strict=True)
        )
        return wall, cpu, server

    def _now(self) -> tuple[float, float, float]:
        server = cpu_seconds_of_server(self._server)
        return time.perf_counter(), time.process_time(), server


def new_schedules(fields: Sequence[Fields], now: int, first: int = 0) -> list[NewSchedule]:
    """Validated, as the store takes them."""
    return [_new(f"schedule-{number}", each, now) for number, each in enumerate(fields, first)]


def _new(key: str, fields: Fields, now: int) -> NewSchedule:
    specification = read_specification({"task": "work", **fields}, kinds=KINDS, key=key, now=now)
    assert specification.text  # written once, when it was validated
    return NewSchedule(key, specification, None, "bench")


async def add(store: Store, new: Sequence[NewSchedule], now: int) -> Sequence[Schedule]:
    def decide(identity: int, each: NewSchedule, active: int) -> Schedule:
        return create(identity, each.key, each.specification, now, active=active, limits=Limits())

    return await store.add_schedules(lambda _: (new, decide), now)


def succeeded(database: Database) -> int:
    return int(query_value(database, "select count(*) from runs where state = 'succeeded'"))


def refuse_unless_settled(database: Database, count: int) -> None:
    settled = succeeded(database)
    assert settled == count, f"{settled} of {count} are settled"


async def added_to_store(database: Database, count: int) -> tuple[float]:
    """Seconds to add schedules that are validated already."""
    now = CLOCK.now()
    new = new_schedules([{"every": "1h"}] * count, now)
    async with opened(database) as store:
        freeze()
        started = time.perf_counter()
        await add(store, new, now)
        return (time.perf_counter() - started,)


async def added_through_control(database: Database, count: int) -> tuple[float]:
    """Seconds to validate, store and audit schedules."""
    wanted = [
        {"key": f"nightly-{number}", "task": "work", "every": "1h"} for number in range(count)
    ]
    async with opened(database) as store:
        freeze()
        started = time.perf_counter()
        await Control(store, by="bench", origin="bench").create(*wanted)
        return (time.perf_counter() - started,)


async def due_at_once(database: Database, count: int) -> tuple[float, float, int, float]:
    """Seconds until all are planned, executed and settled; CPU seconds, statements, and CPU seconds
    of the server."""
    created = CLOCK.now() - HOUR
    async with opened(database) as store:
        await add(store, new_schedules([{"every": "1h"}] * count, created), created)
        work, before = Countdown(count), store.statements
        async with running(store, work.run):
            watch = Stopwatch(database)
            await work.over.wait()
        (seconds, cpu, server), statements = watch.read(), store.statements - before
    await asyncio.to_thread(refuse_unless_settled, database, count)
    return seconds, cpu, statements, server


async def backfilled(database: Database, count: int) -> tuple[float, float, float]:
    """Runs per second, from the request for so many slots until all are settled; CPU seconds of
    this process and of the server."""
    now = CLOCK.now()
    fields = {"every": "1m", "if_running": "allow"}
    async with opened(database) as store:
        (schedule,) = await add(store, new_schedules([fields], now), now)
        until, work = schedule.anchor_at, Countdown(count)
        control = Control(store, by="bench", origin="bench")
        async with running(store, work.run) as node:
            watch = Stopwatch(database)
            await control.backfill(schedule.id, until - (count - 1) * MINUTE, until)
            node.hint("planner")
            await work.over.wait()
        seconds, cpu, server = watch.read()
    await asyncio.to_thread(refuse_unless_settled, database, count)
    return count / seconds, cpu, server


async def start_delays(database: Database, count: int, seconds: int, *, spread: bool) -> Delays:
    """Of schedules that fire once a second, evenly spread over it or all at one instant."""
    begin = CLOCK.now() + 2 * SECOND
    end = begin + seconds * SECOND
    lateness = Lateness()
    async with opened(database) as store:
        await add(store, each_second(count, begin, spread=spread), CLOCK.now())
        async with running(store, lateness.run):
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
    """A task that records how long after its slot it starts."""

    def __init__(self) -> None:
        self._noted: list[tuple[int, float]] = []

    async def run(self) -> None:
        now, slot = CLOCK.now(), Context.current()._call.slot
        self._noted.append((slot, (now - slot) / SECOND))

    def within(self, begin: int, end: int) -> Delays:
        """Of the slots in [begin, end)."""
        return delays(late for slot, late in self._noted if begin <= slot < end)


async def claims_beside_dead_rows(database: Database, dead: int) -> tuple[float, float]:
    """The median and the 99th of a hundred claims of one run, in ms."""
    created = CLOCK.now() - HOUR
    async with opened(database) as store:
        assert isinstance(store, PostgresStore)
        await add(store, new_schedules([{"every": "1h"}] * CONCURRENCY, created), created)
        await planner(store).step(store.now())
        return await dead_rows.claims_beside_dead_rows(
            store, address_of(database.url), CONCURRENCY, dead
        )


async def store_idle(database: Database, count: int, batch: int = 10_000) -> None:
    """Schedules that are not due for a year."""
    now = CLOCK.now()
    async with opened(database) as store:
        for first in range(0, count, batch):
            fields = [{"every": "365d"}] * min(batch, count - first)
            await add(store, new_schedules(fields, now, first), now)


def idle(database: Database, seconds: float) -> Idle:
    """Of this process, with a node on the database."""
    with logged_statements(database) if database.is_postgres else nullcontext():
        return asyncio.run(_idle(database, seconds))


async def _idle(database: Database, seconds: float) -> Idle:
    async with opened(database) as store, running(store, Countdown(0).run):
        await asyncio.sleep(WARM_UP_SECONDS)
        statements, started = statement_count(store, database), time.process_time()
        await asyncio.sleep(seconds)
        spent = time.process_time() - started
        statements = statement_count(store, database) - statements
        return Idle(spent, statements, resident_mb_of(os.getpid()))


def statement_count(store: SqliteStore | PostgresStore, database: Database) -> int:
    """So far. A server counts all of them, those for the clock and for notifications as well."""
    return count_logged_statements(database) if database.is_postgres else store.statements


@contextmanager
def program(database: Database, command: str) -> Iterator[tuple[int, float]]:
    """`quarterjack up`, for instance: its pid, and the seconds until it was ready."""
    declaration = database.folder / "quarterjack.yaml"
    declaration.write_text("name: bench\n")
    port = _free_port()
    named = str(Path(sys.executable).with_name("quarterjack"))
    arguments = [named, command, str(declaration), "--database", database.url, "--port", str(port)]
    started = time.perf_counter()
    with subprocess.Popen(arguments, stderr=subprocess.DEVNULL) as process:
        try:
            while not _is_ready(port):
                assert process.poll() is None, f"`quarterjack {command}` has ended"
                time.sleep(0.002)
            yield process.pid, time.perf_counter() - started
        finally:
            process.send_signal(signal.SIGTERM)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _is_ready(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"GET /readyz HTTP/1.1\r\n\r\n")
            return connection.recv(1000).startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


def cold_start(database: Database, command: str) -> tuple[float]:
    """Seconds from the start of the program until it was ready."""
    with program(database, command) as (_, seconds):
        return (seconds,)


def idle_up(database: Database, seconds: float) -> float:
    """CPU seconds of the whole program."""
    with program(database, "up") as (process, _):
        time.sleep(WARM_UP_SECONDS)
        started = cpu_seconds_of(process)
        time.sleep(seconds)
        return cpu_seconds_of(process) - started
