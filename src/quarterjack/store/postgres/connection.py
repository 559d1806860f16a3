"""Connections to PostgreSQL that reconnect by themselves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import asyncpg

from quarterjack.clock import SystemClock
from quarterjack.store.address import Address
from quarterjack.store.postgres.errors import DRIVER_ERRORS, as_startup_error

CONNECT_SECONDS = 5
BACKOFF_SECONDS_MIN, BACKOFF_SECONDS_MAX = 0.1, 5.0
CACHED_STATEMENTS = 500


class ManagedConnection:
    """One connection, opened when it is first needed and reopened, with backoff, when it was
    lost."""

    def __init__(
        self,
        address: Address,
        name: str,
        seconds: float,
        chance: Callable[[], float],
        settings: Mapping[str, str] = {},
    ) -> None:
        self._address = address
        self._name = name
        self._seconds = seconds
        self._chance = chance
        self._settings = settings
        self.on_connect: list[Callable[[asyncpg.Connection], Awaitable[None]]] = []
        """Each is awaited with every new connection, before it is used."""
        self._connection: asyncpg.Connection | None = None
        self._failures = 0
        self.lock = asyncio.Lock()
        """Held while the connection is in use."""
        self.is_pooled = False
        """Connected through a pooler, which may send each transaction to another server
        connection."""
        self.server_pid = 0
        """Of the server's process behind it, the last time it was opened."""

    @property
    def begin(self) -> str:
        """How a transaction begins. On a direct connection the settings hold since it was opened;
        behind a pooler each transaction needs them."""
        return f"begin; {self._set_commands('set local')}" if self.is_pooled else "begin"

    def _set_commands(self, command: str) -> str:
        return "; ".join(f"{command} {name} = {value}" for name, value in self._settings.items())

    async def get(self) -> asyncpg.Connection:
        if self._connection is not None and not self._connection.is_closed():
            return self._connection
        if self._failures:
            await asyncio.sleep(self._backoff())
        self._failures += 1
        self._connection = await self._open()
        self._failures = 0
        return self._connection

    async def _open(self) -> asyncpg.Connection:
        """Either fully configured or closed again: nobody may use one without its settings."""
        connection = await self._connect(CACHED_STATEMENTS)
        try:
            # Sent without preparing it: behind a pooler another client may have prepared a
            # statement of the same name on this connection. The status tells how many rows matched.
            self.server_pid = pid = connection.get_server_pid()
            query = f"select where pg_backend_pid() = {pid}"
            status = await connection.execute(query, timeout=CONNECT_SECONDS)
            self.is_pooled = status != "SELECT 1"
            if self.is_pooled:  # no prepared statements: the next transaction may not have them
                await connection.close()
                connection = await self._connect(0)
            elif self._settings:
                await connection.execute(self._set_commands("set"))
            for prepare in self.on_connect:
                await prepare(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def _connect(self, cached_statements: int) -> asyncpg.Connection:
        return await asyncpg.connect(
            self._address.url,
            timeout=CONNECT_SECONDS,
            command_timeout=self._seconds,
            statement_cache_size=cached_statements,
            max_cached_statement_lifetime=0,
            server_settings={"application_name": self._name},
        )

    def _backoff(self) -> float:
        """Exponential, with jitter so that not all nodes reconnect at the same moment."""
        longest = min(BACKOFF_SECONDS_MIN * (1 << min(self._failures, 16)), BACKOFF_SECONDS_MAX)
        return longest * (0.5 + self._chance() / 2)

    def drop(self) -> None:
        """Close it, as it may be broken; the next `get` opens another."""
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            await connection.close(timeout=2)
        except DRIVER_ERRORS:
            connection.terminate()


@asynccontextmanager
async def connected(
    address: Address, name: str, seconds: float
) -> AsyncIterator[asyncpg.Connection]:
    """A connection for one task, whose errors are reported as those of a start."""
    managed = ManagedConnection(address, name, seconds, SystemClock().chance)
    try:
        yield await managed.get()
    except DRIVER_ERRORS as error:
        raise as_startup_error(error, address) from error
    finally:
        await managed.close()
