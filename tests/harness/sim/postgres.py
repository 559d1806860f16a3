"""PostgreSQL as the database of a world. The loop of a world reaches nothing outside of it, so each
verb is carried out on a loop of its own beside it, and the world stands still meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from threading import Thread
from typing import Any, ParamSpec, TypeVar
from uuid import uuid4

from quarterjack.errors import StoreError
from quarterjack.sim.clock import SimulatedClock
from quarterjack.store.postgres.connection import ManagedConnection, address_of
from quarterjack.store.postgres.group_commit import STATEMENT_SECONDS, Executor, settings
from quarterjack.store.postgres.schema import bring_up_to_date
from quarterjack.store.statements import Operation, Row, Statements
from quarterjack.store.store import Store

P = ParamSpec("P")
T = TypeVar("T")


class Beside:
    """A real loop in a thread of its own; whoever asks waits for the answer."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="beside the world", daemon=True)
        self._thread.start()

    def wait_for(self, asking: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(asking, self._loop).result()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class PostgresDatabase:
    """A schema of its own on a server, gone when it is closed."""

    dialect = "postgres"
    MOMENT = "current_setting('world.moment')::bigint"
    """How SQL asks for the moment at which a verb is carried out."""

    def __init__(self, url: str) -> None:
        self.address = address_of(f"{url}?schema=world_{uuid4().hex[:12]}")
        self.moment: Callable[[], int] = lambda: 0
        self.link = ManagedConnection(
            self.address,
            "world",
            STATEMENT_SECONDS,
            chance=lambda: 0.0,
            settings=settings(self.address, "normal"),
        )
        self.troubles: list[str] = []
        """What went wrong that the world has not done to it."""
        self._beside = Beside()
        self._beside.wait_for(self._make())

    def tell_moment(self, moment: Callable[[], int]) -> None:
        """From now on each verb knows at which moment of the world it is."""
        self.moment = moment

    def store(self, clock: SimulatedClock) -> Store:
        return BlockingStore(self, clock)

    def ask(self, text: str, *values: Any) -> list[Row]:
        return self._beside.wait_for(self._ask(text, *values))

    def carry_out(self, walker: Executor, operation: Operation) -> None:
        self._beside.wait_for(self._walk(walker, operation))
        if isinstance(operation.error, StoreError):
            self.troubles.append(f"{operation.name}: {operation.error}")

    def fill_disk(self) -> None:
        raise AssertionError("only SQLite's disk is filled: its worlds say disk_fills")

    def free_disk(self) -> None:
        """It never was full."""

    def close(self) -> None:
        self.ask(f"drop schema {self.address.schema} cascade")
        self._beside.wait_for(self.link.close())
        self._beside.close()

    async def _walk(self, walker: Executor, operation: Operation) -> None:
        connection = await self.link.connection()
        await connection.execute(f"set world.moment = {self.moment()}")
        await walker.run([operation])

    async def _make(self) -> None:
        await bring_up_to_date(await self.link.connection(), self.address, allowed=True)

    async def _ask(self, text: str, *values: Any) -> list[Row]:
        connection = await self.link.connection()
        return [tuple(row) for row in await connection.fetch(text, *values)]


class BlockingStore(Store):
    """One way to it: the walker of production, with one transaction for each verb."""

    def __init__(self, database: PostgresDatabase, clock: SimulatedClock) -> None:
        super().__init__()
        self._database = database
        self._clock = clock
        self._walker = Executor(database.link, database.address, self._known)

    def now(self) -> int:
        return self._clock.now()

    async def read_clock(self) -> int:
        return self._clock.now()

    async def watch(self, hint: Callable[[], None]) -> None:
        """Who hints at whom is the world's."""

    async def close(self) -> None:
        """The database stays, for others are on it."""

    async def _do(self, verb: Callable[P, Statements[T]], *values: P.args, **named: P.kwargs) -> T:
        operation = Operation(verb.__name__, partial(verb, *values, **named))
        self._database.carry_out(self._walker, operation)
        return operation.answer()  # type: ignore[no-any-return]
