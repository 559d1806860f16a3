"""The database of a simulation: by default SQLite in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from quarterjack.sim.clock import SimulatedClock
from quarterjack.store.sqlite.file import memory_database
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.store.statements import Row
from quarterjack.store.store import Store
from quarterjack.targets.kinds import KINDS


class Database(Protocol):
    """Shared by all nodes of a simulation. No simulated time passes while it answers."""

    dialect: str

    def store(self, clock: SimulatedClock) -> Store:
        """A store of its own for each start of a node and each request of a user."""

    def query(self, text: str, *values: Any) -> list[Row]:
        """One statement in a transaction of its own."""

    def fill_disk(self) -> None:
        """Makes every write fail that needs more space."""

    def free_disk(self) -> None: ...

    def close(self) -> None: ...


class MemoryDatabase:
    """SQLite in memory."""

    dialect = "sqlite"

    def __init__(self, now: int) -> None:
        self.connection = memory_database(now)

    def store(self, clock: SimulatedClock) -> Store:
        store = SqliteStore(self.connection, Path("memory"), clock, KINDS, inline=True)
        # The stores share the connection: the statement timeout of one would apply to all others,
        # and no time passes during a statement anyway.
        self.connection.set_progress_handler(None)
        return store

    def query(self, text: str, *values: Any) -> list[Row]:
        return list(self.connection.execute(text, values))

    def fill_disk(self) -> None:
        self.connection.pragma("max_page_count", self.connection.pragma("page_count"))

    def free_disk(self) -> None:
        self.connection.pragma("max_page_count", 2**30)

    def close(self) -> None:
        self.connection.close()
