"""What a no-op task costs: by the engine alone, through the Python API, and by other libraries.

The engine alone is the figure of `bench.engine`: as many schedules due at once, planned, executed
and settled, with a bare function as the task. The Python API runs the same schedules through a
service, as a program does that has registered its task with `@app.task`. All take turns in each
round, in alternating order, each in a process and with a database of its own. A figure is the
median of the rounds, with the minimum and the maximum; ratios are those within one round. Prints a
table in Markdown, and the progress to standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple, TypeAlias

from bench import databases, ours, peers, queues, sync_tasks
from bench.databases import Database, Fresh
from bench.measuring import apart, print_table, shown, sync_ms
from quarterjack import Context, Depends, Quarterjack
from quarterjack.service import Service
from quarterjack.store.store import Store
from quarterjack.times.instants import HOUR

COUNT, FEWER = 10_000, 2000
"""The smaller number is for those that would take long."""
ENGINE = "the engine alone"

Spent: TypeAlias = tuple[float, float, float]
"""Tasks per second, and CPU seconds of this process and of the server."""
Measure: TypeAlias = Callable[[Database, int], Awaitable[Spent]]


class Row(NamedTuple):
    """One contestant on one kind of database."""

    kind: str
    name: str
    measure: Measure
    tasks: int = COUNT


class Result(NamedTuple):
    per_second: float
    microseconds: float
    """Of CPU for each task, with the server's share."""
    server_microseconds: float
    sync_ms: float


async def engine(database: Database, count: int) -> Spent:
    seconds, cpu, _, server = await ours.due_at_once(database, count)
    return count / seconds, cpu, server


async def registered(database: Database, count: int) -> Spent:
    app, countdown = new_app(database), ours.Countdown(count)

    @app.task
    async def work() -> None:
        await countdown.run()

    return await run_app(app, countdown, database, count)


async def injected(database: Database, count: int) -> Spent:
    app, countdown = new_app(database), ours.Countdown(count)

    async def connection() -> AsyncIterator[object]:
        yield object()

    @app.task
    async def work(_context: Context, _connection: object = Depends(connection)) -> None:
        await countdown.run()

    return await run_app(app, countdown, database, count)


def new_app(database: Database) -> Quarterjack:
    """With the concurrency and the retention of the engine alone."""
    keep_all = {"run_count": "none"}
    return Quarterjack(database.url, name="bench", workers=ours.CONCURRENCY, retention=keep_all)


async def run_app(
    app: Quarterjack, countdown: ours.Countdown, database: Database, count: int
) -> Spent:
    """As `app.run()` does, from the moment that it is ready until the last task has ended."""
    service = MeasuredService(
        ours.CLOCK, app.declaration(), database.url, None, app.source.registry
    )
    watches: list[ours.Stopwatch] = []

    # Not earlier: a start plans what is due, and that would not be measured. Nor through another
    # store: the service would have to parse all definitions, which the engine alone has cached.
    @app.on_worker_start
    async def add_due() -> None:
        created = ours.CLOCK.now() - HOUR
        new = ours.new_schedules([{"every": "1h"}] * count, created)
        await ours.add(service.store, new, created)

    def begin() -> None:
        ours.freeze()
        watches.append(ours.Stopwatch(database))

    async with asyncio.TaskGroup() as group:
        group.create_task(service.run(begin))
        await countdown.over.wait()
        seconds, cpu, server = watches[0].read()
        service.stop()
    await asyncio.to_thread(ours.refuse_unless_settled, database, count)
    return count / seconds, cpu, server


class MeasuredService(Service):
    """Keeps the store that it works with."""

    store: Store

    async def _run_node(self, store: Store, on_ready: Callable[[], None]) -> bool:
        self.store = store
        return await super()._run_node(store, on_ready)


async def apscheduler(database: Database, count: int) -> Spent:
    seconds, cpu, server = await peers.apscheduler_spent(database, count)
    return count / seconds, cpu, server


def async_tasks(kind: str) -> list[Row]:
    """On this kind of database. Docket, which uses neither, stands beside SQLite: both execute
    everything in one process."""
    ours_and_peers = [
        Row(kind, ENGINE, engine),
        Row(kind, "`@app.task`", registered),
        Row(kind, "`@app.task` with a `Context` and a `Depends`", injected),
        Row(kind, "APScheduler 3", apscheduler, FEWER),
    ]
    if kind == "postgres":
        return [*ours_and_peers, Row(kind, "procrastinate", queues.procrastinate, FEWER)]
    in_memory = "Docket, in memory (`memory://`)"
    return [*ours_and_peers, Row(kind, in_memory, queues.docket, FEWER)]


def take_turns(
    rows: Sequence[Row], fresh: Mapping[str, Fresh], rounds: int
) -> list[dict[Row, Result]]:
    taken: list[dict[Row, Result]] = []
    for number in range(rounds):
        taken.append({})
        for row in rows[:: -1 if number % 2 else 1]:
            taken[-1][row] = result = take(row, fresh[row.kind])
            figures = ", ".join(f"{each:.4g}" for each in result)
            print(f"{number + 1} {row.kind} {row.name}: {figures}", file=sys.stderr)
    return taken


def take(row: Row, fresh: Fresh) -> Result:
    with fresh() as database:
        sync = sync_ms(database.folder)
        per_second, cpu, server = apart(row.measure, database, row.tasks)
    a_task = 1e6 / row.tasks
    return Result(per_second, (cpu + server) * a_task, server * a_task, sync)


def cells(row: Row, taken: Sequence[Mapping[Row, Result]]) -> list[str]:
    results = [each[row] for each in taken]
    engines = [next(each[other] for other in each if is_engine_of(row, other)) for each in taken]
    ratios = [
        own.microseconds / beside.microseconds for own, beside in zip(results, engines, strict=True)
    ]
    return [
        f"{row.kind}: {row.name}",
        shown([each.per_second for each in results], 0),
        shown([each.microseconds for each in results], 1),
        f"{statistics.median(each.server_microseconds for each in results):.0f}",
        shown(ratios, 2),
        shown([each.sync_ms for each in results], 2),
    ]


def is_engine_of(row: Row, other: Row) -> bool:
    return other.kind == row.kind and other.name == ENGINE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = ["sqlite", "postgres"]
    parser.add_argument("--on", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--without-peers", action="store_true", help="measure Quarterjack only")
    parser.add_argument("--only", choices=["async", "sync"])
    options = parser.parse_args()
    own = (engine, registered, injected)
    rows = [
        row
        for kind in options.on
        for row in async_tasks(kind)
        if row.measure in own or not options.without_peers
    ]
    with ExitStack() as stack:
        opened = {kind: stack.enter_context(getattr(databases, kind)()) for kind in options.on}
        if options.only != "sync":
            taken = take_turns(rows, opened, options.rounds)
            head = ["async no-op", "tasks/s", "CPU us a task", "the server's", "times the engine"]
            print_table([*head, "fdatasync, ms"], [cells(row, taken) for row in rows])
        if options.only != "async":
            sync_tasks.print_sync_tasks(opened, options.rounds)


if __name__ == "__main__":
    main()
