"""The floors: rows of the same size as Quarterjack's, in the same batches and commits, without any
logic. On SQLite with apsw, on PostgreSQL with asyncpg, with arrays as parameters."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import apsw
import asyncpg

from bench.databases import Database

BATCH = 1000
SCHEDULE, RUN = "x" * 900, "x" * 150
TABLES = (
    "create table schedules (id bigint primary key, body text, wake_at bigint)",
    "create table runs (id bigint primary key, state bigint, body text)",
)


def batches(count: int) -> list[range]:
    return [range(start, min(start + BATCH, count)) for start in range(0, count, BATCH)]


class Sqlite:
    def __init__(self, database: Database) -> None:
        self._database = apsw.Connection(str(database.path))
        self._database.pragma("journal_mode", "wal")
        self._database.pragma("synchronous", "full")
        for table in TABLES:
            self._database.execute(table)

    async def add_schedules(self, count: int) -> None:
        with self._database:
            rows = ((number, SCHEDULE, 0) for number in range(count))
            self._database.executemany("insert into schedules values (?, ?, ?)", rows)

    async def add_runs(self, numbers: Sequence[int], *, of_schedules: bool) -> None:
        with self._database:
            runs = ((number, 0, RUN) for number in numbers)
            self._database.executemany("insert into runs values (?, ?, ?)", runs)
            if of_schedules:
                self._put("update schedules set wake_at = ? where id = ?", 1, numbers)

    async def put_states(self, state: int, numbers: Sequence[int]) -> None:
        with self._database:
            self._put("update runs set state = ? where id = ?", state, numbers)

    def _put(self, text: str, value: int, numbers: Iterable[int]) -> None:
        self._database.executemany(text, ((value, number) for number in numbers))


class Postgres:
    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def add_schedules(self, count: int) -> None:
        await self._connection.execute(
            "insert into schedules select *, 0 from unnest($1::bigint[], $2::text[])",
            range(count),
            [SCHEDULE] * count,
        )

    async def add_runs(self, numbers: Sequence[int], *, of_schedules: bool) -> None:
        async with self._connection.transaction():
            await self._connection.execute(
                "insert into runs select id, 0, body from unnest($1::bigint[], $2::text[])"
                " as each (id, body)",
                numbers,
                [RUN] * len(numbers),
            )
            if of_schedules:
                await self._connection.execute(
                    "update schedules set wake_at = 1 from unnest($1::bigint[]) as each (number)"
                    " where id = number",
                    numbers,
                )

    async def put_states(self, state: int, numbers: Sequence[int]) -> None:
        await self._connection.execute(
            "update runs set state = $1 from unnest($2::bigint[]) as each (number)"
            " where id = number",
            state,
            numbers,
        )


Floor = Sqlite | Postgres


async def opened(database: Database) -> Floor:
    """Its connection is closed when the process of the measurement ends."""
    if not database.is_postgres:
        return Sqlite(database)
    connection = await asyncpg.connect(database.url)
    for table in TABLES:
        await connection.execute(table)
    return Postgres(connection)


async def added(database: Database, count: int) -> tuple[float]:
    floor = await opened(database)
    started = time.perf_counter()
    await floor.add_schedules(count)
    return (time.perf_counter() - started,)


async def due(database: Database, count: int) -> tuple[float]:
    floor = await opened(database)
    await floor.add_schedules(count)
    started = time.perf_counter()
    await _written(floor, count, of_schedules=True)
    return (time.perf_counter() - started,)


async def queue(database: Database, count: int) -> tuple[float]:
    """Runs per second."""
    floor = await opened(database)
    started = time.perf_counter()
    await _written(floor, count, of_schedules=False)
    return (count / (time.perf_counter() - started),)


async def _written(floor: Floor, count: int, *, of_schedules: bool) -> None:
    """Planned, claimed and finished, each in a transaction of its own."""
    for numbers in batches(count):
        await floor.add_runs(numbers, of_schedules=of_schedules)
        await floor.put_states(1, numbers)
        await floor.put_states(2, numbers)
