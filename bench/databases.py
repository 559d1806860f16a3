"""Databases for the benchmarks: a new one for each measurement, on disk, with durable commits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import apsw
import asyncpg

from bench.measuring import fresh_folder
from harness.store.server import Server


class Database(NamedTuple):
    """A database, its folder, and the process id of its server, if it has one."""

    url: str
    folder: Path
    server: int | None = None

    @property
    def is_postgres(self) -> bool:
        return self.server is not None

    @property
    def path(self) -> Path:
        """Of the SQLite file."""
        return Path(self.url.removeprefix("sqlite:///"))


Fresh: TypeAlias = Callable[[], AbstractContextManager[Database]]


@contextmanager
def sqlite() -> Iterator[Fresh]:
    @contextmanager
    def fresh() -> Iterator[Database]:
        with fresh_folder() as folder:
            yield Database(f"sqlite:///{folder / 'quarterjack.db'}", folder)

    yield fresh


@contextmanager
def postgres() -> Iterator[Fresh]:
    """One server for all measurements, with PostgreSQL's default settings; a checkpoint before each
    one writes what the previous has left. `TMPDIR` names the disk."""
    server, numbers = Server(shared_buffers="128MB"), count(1)
    assert server.process is not None
    process = server.process.pid

    @contextmanager
    def fresh() -> Iterator[Database]:
        name = f"bench{next(numbers)}"
        url = f"{server.url.removesuffix('/postgres')}/{name}"
        fetch_value(server.url, f"create database {name}")
        fetch_value(server.url, "checkpoint")
        try:
            yield Database(url, server.folder, process)
        finally:
            fetch_value(server.url, f"drop database {name} with (force)")

    try:
        yield fresh
    finally:
        server.close()


def fetch_value(url: str, text: str) -> Any:
    """The first column of the first row, if any."""

    async def fetch() -> Any:
        connection = await asyncpg.connect(url, server_settings={"search_path": "quarterjack"})
        try:
            return await connection.fetchval(text)
        finally:
            await connection.close()

    return asyncio.run(fetch())


def query_value(database: Database, text: str) -> Any:
    """The same, on either kind of database."""
    if database.is_postgres:
        return fetch_value(database.url, text)
    ((found,),) = apsw.Connection(str(database.path)).execute(text)
    return found


@contextmanager
def logged_statements(database: Database) -> Iterator[None]:
    """Log every statement of new connections meanwhile. It costs time, because their parameters are
    logged, too."""
    alter = f"alter database {database.url.rpartition('/')[2]}"
    fetch_value(database.url, f"{alter} set log_statement = 'all'")
    yield
    fetch_value(database.url, f"{alter} reset log_statement")


def count_logged_statements(database: Database) -> int:
    """How many were logged, from all connections; each is one round trip."""
    log = (database.folder / "log.txt").read_text(errors="replace")
    return log.count("LOG:  statement: ") + log.count("LOG:  execute ")
