"""PostgreSQL as the database of a simulation. The simulated event loop does no input or output, so
a real loop in a thread runs each transaction while simulated time stands still."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from threading import Thread
from typing import Any, ParamSpec, TypeVar
from uuid import uuid4

from quarterjack.errors import StoreError
from quarterjack.sim.clock import SimulatedClock
from quarterjack.store.address import address_of
from quarterjack.store.postgres.connection import ManagedConnection
from quarterjack.store.postgres.group_commit import STATEMENT_SECONDS, Executor, settings
from quarterjack.store.postgres.schema import upgrade_if_old
from quarterjack.store.statements import Operation, Row, Statements
from quarterjack.store.store import Store
from quarterjack.targets.kinds import KINDS

P = ParamSpec("P")
T = TypeVar("T")


class ThreadedLoop:
    """A real event loop in a thread; callers block until the result is there."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="real event loop", daemon=True)
        self._thread.start()

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class PostgresDatabase:
    """A schema of its own on a server, dropped by `close`."""

    dialect = "postgres"
    CALL_INDEX = "current_setting('simulation.call_index')::bigint"
    """SQL for the index of the current store call."""

    def __init__(self, url: str) -> None:
        self.address = address_of(f"{url}?schema=simulation_{uuid4().hex[:12]}")
        self.call_index: Callable[[], int] = lambda: 0
        self.connection = ManagedConnection(
            self.address,
            "simulation",
            STATEMENT_SECONDS,
            chance=lambda: 0.0,
            settings=settings(self.address, "normal"),
        )
        self.errors: list[str] = []
        """Store errors that are not injected faults."""
        self._real_loop = ThreadedLoop()
        self._real_loop.wait_for(self._create_schema())

    def store(self, clock: SimulatedClock) -> Store:
        return BlockingStore(self, clock)

    def query(self, text: str, *values: Any) -> list[Row]:
        return self._real_loop.wait_for(self._query(text, *values))

    def execute(self, executor: Executor, operation: Operation) -> None:
        self._real_loop.wait_for(self._execute(executor, operation))
        if isinstance(operation.error, StoreError):
            self.errors.append(f"{operation.name}: {operation.error}")

    def fill_disk(self) -> None:
        raise AssertionError("the disk of PostgreSQL cannot be filled; set disk_can_fill=False")

    def free_disk(self) -> None:
        """Never full."""

    def close(self) -> None:
        self.query(f"drop schema {self.address.schema} cascade")
        self._real_loop.wait_for(self.connection.close())
        self._real_loop.close()

    async def _execute(self, executor: Executor, operation: Operation) -> None:
        connection = await self.connection.get()
        await connection.execute(f"set simulation.call_index = {self.call_index()}")
        await executor.run([operation])

    async def _create_schema(self) -> None:
        await upgrade_if_old(await self.connection.get(), self.address, allowed=True)

    async def _query(self, text: str, *values: Any) -> list[Row]:
        connection = await self.connection.get()
        return [tuple(row) for row in await connection.fetch(text, *values)]


class BlockingStore(Store):
    """The executor of production, with a database transaction for each call."""

    def __init__(self, database: PostgresDatabase, clock: SimulatedClock) -> None:
        super().__init__(KINDS)
        self._database = database
        self._clock = clock
        self._executor = Executor(database.connection, database.address, self._specifications)

    def now(self) -> int:
        return self._clock.now()

    async def read_clock(self) -> int:
        return self._clock.now()

    async def watch(self, hint: Callable[[], None]) -> None:
        """The simulation delivers hints."""

    async def close(self) -> None:
        """The database stays open for the other stores."""

    async def _transact(
        self, transaction: Callable[P, Statements[T]], *values: P.args, **named: P.kwargs
    ) -> T:
        operation = Operation(transaction.__name__, partial(transaction, *values, **named))
        self._database.execute(self._executor, operation)
        return operation.answer()  # type: ignore[no-any-return]
