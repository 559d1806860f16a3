"""The database of a world, and what a world needs of one: SQLite in memory, unless it is given
another."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from quarterjack.sim.clock import SimulatedClock
from quarterjack.store.sqlite.file import memory_database
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.store.statements import Row
from quarterjack.store.store import Store


class Database(Protocol):
    """One for all nodes of a world. Whatever it is asked is answered before any time passes."""

    @property
    def dialect(self) -> str: ...

    def store(self, clock: SimulatedClock) -> Store:
        """A way of its own to it, for one life of a node or one request of a person."""

    def ask(self, text: str, *values: Any) -> list[Row]:
        """One statement, beside all verbs."""

    def fill_disk(self) -> None:
        """From now on nothing can be written that needs more room."""

    def free_disk(self) -> None: ...

    def close(self) -> None: ...


class MemoryDatabase:
    """SQLite in memory."""

    dialect = "sqlite"

    def __init__(self, now: int) -> None:
        self.connection = memory_database(now)

    def store(self, clock: SimulatedClock) -> Store:
        store = SqliteStore(self.connection, Path("memory"), clock, inline=True)
        # Each store on a connection would watch over the statements of all others; and no time
        # passes while one is carried out.
        self.connection.set_progress_handler(None)
        return store

    def ask(self, text: str, *values: Any) -> list[Row]:
        return list(self.connection.execute(text, values))

    def fill_disk(self) -> None:
        self.connection.pragma("max_page_count", self.connection.pragma("page_count"))

    def free_disk(self) -> None:
        self.connection.pragma("max_page_count", 2**30)

    def close(self) -> None:
        self.connection.close()
