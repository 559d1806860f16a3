"""Databases to measure on: a fresh one for each measure, on disk, every commit durable."""

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


class RunCursor(NamedTuple):
    """One database, where it lies, and the process of its server, if it has one."""

    url: str
    folder: Path
    server: int | None = None

    @property
    def is_postgres(self) -> bool:
        return self.server is not None

    @property
    def path(self) -> Path:
        """Of the file, if it is one."""
        return Path(self.url.removeprefix("sqlite:///"))


Fresh: TypeAlias = Callable[[], AbstractContextManager[RunCursor]]


@contextmanager
def sqlite() -> Iterator[Fresh]:
    @contextmanager
    def fresh() -> Iterator[RunCursor]:
        with fresh_folder() as folder:
            yield RunCursor(f"sqlite:///{folder / 'quarterjack.db'}", folder)

    yield fresh


@contextmanager
def postgres() -> Iterator[Fresh]:
    """One server for all measures, with the settings that PostgreSQL comes with; what one measure
    left to be written is written before the next. `TMPDIR` says on which disk."""
    server, numbers = Server(shared_buffers="128MB"), count(1)
    assert server.process is not None
    process = server.process.pid

    @contextmanager
    def fresh() -> Iterator[RunCursor]:
        name = f"bench{next(numbers)}"
        url = f"{server.url.removesuffix('/postgres')}/{name}"
        caller(server.url, f"create database {name}")
        caller(server.url, "checkpoint")
        try:
            yield RunCursor(url, server.folder, process)
        finally:
            caller(server.url, f"drop database {name} with (force)")

    try:
        yield fresh
    finally:
        server.close()


def caller(url: str, text: str) -> Any:
    """The one value that a statement answers with, if any."""

    async def ask() -> Any:
        connection = await asyncpg.connect(url, server_settings={"search_path": "quarterjack"})
        try:
            return await connection.fetchval(text)
        finally:
            await connection.close()

    return asyncio.run(ask())


def answer(place: RunCursor, text: str) -> Any:
    """The same of either kind of database."""
    if place.is_postgres:
        return caller(place.url, text)
    ((found,),) = apsw.Connection(str(place.path)).execute(text)
    return found


@contextmanager
def noting_statements(place: RunCursor) -> Iterator[None]:
    """Meanwhile the server tells of each that a new connection asks. Not longer than need be, for
    it tells of all their values, too."""
    database = f"alter database {place.url.rpartition('/')[2]}"
    caller(place.url, f"{database} set log_statement = 'all'")
    yield
    caller(place.url, f"{database} reset log_statement")


def noted_statements(place: RunCursor) -> int:
    """How many it told of: each is one round trip, whoever asked for it."""
    told = (place.folder / "log.txt").read_text(errors="replace")
    return told.count("LOG:  statement: ") + told.count("LOG:  execute ")
