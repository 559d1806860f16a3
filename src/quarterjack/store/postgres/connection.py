"""Links: connections to PostgreSQL that come back by themselves, and its errors in our words."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

from quarterjack.errors import (
    Collision,
    QuarterjackError,
    StoreAway,
    StoreError,
    StoreFull,
    StoreUnusable,
    Violation,
)
from quarterjack.store.address import without_secrets

CONNECT_SECONDS = 5
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 5.0
STATEMENTS_KEPT = 500
DEFAULT_SCHEMA = "quarterjack"


class Address(NamedTuple):
    """Where the database is, and in which of its schemas our tables are."""

    url: str
    schema: str = DEFAULT_SCHEMA

    def __str__(self) -> str:
        """As it may be shown: who signs in, and with what, is left out."""
        place = without_secrets(self.url)
        return place if self.schema == DEFAULT_SCHEMA else f"{place}?schema={self.schema}"


def address_of(url: str) -> Address:
    """`postgresql://user@host/database`, with `?schema=` for other tables in the same database."""
    parts = urlsplit(url)
    said = parse_qsl(parts.query)
    schema = dict(said).get("schema", DEFAULT_SCHEMA)
    if not schema.isidentifier() or not schema.isascii() or schema != schema.lower():
        remedy = "use lower-case letters, digits and _"
        raise StoreUnusable(f"database {Address(url)}: schema {schema!r} is no name; {remedy}")
    left = urlencode([each for each in said if each[0] != "schema"])
    return Address(urlunsplit(parts._replace(query=left)), schema)


class ManagedConnection:
    """One connection, made when it is needed and anew when it was lost, but not in a hurry."""

    def __init__(
        self,
        address: Address,
        name: str,
        seconds: float,
        chance: Callable[[], float],
        settings: Mapping[str, str] | None = None,
        on_made: Sequence[Callable[[asyncpg.Connection], Awaitable[None]]] = (),
    ) -> None:
        self._address = address
        self._name = name
        self._seconds = seconds
        self._chance = chance
        self._settings = settings or {}
        self.on_made = list(on_made)
        """Each is awaited with every new connection, before it is used."""
        self._made: asyncpg.Connection | None = None
        self._failures = 0
        self.lock = asyncio.Lock()
        """Held by whoever asks: one at a time."""
        self.is_pooled = False
        """Somebody stands between us and the database, who gives us now this connection to it and
        now that."""

    @property
    def begin(self) -> str:
        """What a transaction begins with. A connection of our own knows what holds on it since it
        was made; behind a pooler the next transaction may be on another one."""
        return f"begin; {self._said('set local')}" if self.is_pooled else "begin"

    def _said(self, verb: str) -> str:
        return "; ".join(f"{verb} {name} = {value}" for name, value in self._settings.items())

    async def connection(self) -> asyncpg.Connection:
        if self._made is not None and not self._made.is_closed():
            return self._made
        if self._failures:
            await asyncio.sleep(self._pause())
        self._failures += 1
        self._made = await self._ready()
        self._failures = 0
        return self._made

    async def _ready(self) -> asyncpg.Connection:
        """Whole, or not at all: nobody may find one that was not told all it has to know."""
        made = await self._connected(STATEMENTS_KEPT)
        try:
            # Asked without preparing anything: what another has prepared before us, on a connection
            # that we share, may have the same name. The answer is how many rows there are.
            pid = made.get_server_pid()
            found = await made.execute(f"select where pg_backend_pid() = {pid}")
            self.is_pooled = found != "SELECT 1"
            if self.is_pooled:  # what one connection has prepared, another does not know
                await made.close()
                made = await self._connected(0)
            elif self._settings:
                await made.execute(self._said("set"))
            for prepare in self.on_made:
                await prepare(made)
        except BaseException:
            made.terminate()
            raise
        return made

    async def _connected(self, kept: int) -> asyncpg.Connection:
        return await asyncpg.connect(
            self._address.url,
            timeout=CONNECT_SECONDS,
            command_timeout=self._seconds,
            statement_cache_size=kept,
            max_cached_statement_lifetime=0,
            server_settings={"application_name": self._name},
        )

    def _pause(self) -> float:
        """Ever longer, and not at the same moment as everybody else."""
        longest = min(FIRST_PAUSE_SECONDS * (1 << min(self._failures, 16)), LONGEST_PAUSE_SECONDS)
        return longest * (0.5 + self._chance() / 2)

    def drop(self) -> None:
        """It may be broken: the next one who needs it makes another."""
        if self._made is not None:
            self._made.terminate()
            self._made = None

    async def close(self) -> None:
        made, self._made = self._made, None
        if made is None:
            return
        try:
            await made.close(timeout=2)
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            made.terminate()


_AGAIN = ("40001", "40P01")
"""Two transactions stood in each other's way: one of them simply begins anew."""
_AWAY = {
    "08": ("the connection is lost", "work goes on when it is back"),
    "53": ("it has no room for more", "look at its connections, memory and disk"),
    "55P03": ("another transaction holds a lock for too long", "end that transaction"),
    "57014": ("a statement took too long", "look for other load on it"),
    "57P": ("it is being stopped or started", "work goes on when it is back"),
    "25P0": ("a transaction stood still for too long", "look for other load on this machine"),
    "25006": ("it can only be read", "work goes on when it is the primary again"),
}
_UNUSABLE = {
    "28": ("it does not let us in", "look at user, password and pg_hba.conf"),
    "3D000": ("there is no such database", "make it with createdb, or name another"),
    "3F000": ("there is no such schema", "start `quarterjack up` once, or name another"),
    "42501": ("this user may not do that", "give it the rights that docs/postgresql.md lists"),
    "42P01": ("its tables are gone", "restore a backup"),
}


def is_collision(error: BaseException) -> bool:
    """Trying once more helps: another transaction was in the way, or a newer program has changed a
    table, and what was prepared before is prepared anew."""
    again = (asyncpg.InvalidCachedStatementError, asyncpg.OutdatedSchemaCacheError, Collision)
    if isinstance(error, again):
        return True
    return isinstance(error, asyncpg.PostgresError) and error.sqlstate in _AGAIN


def is_lost(error: BaseException) -> bool:
    """Nobody knows what became of what was asked."""
    if isinstance(error, asyncpg.PostgresError):
        return _is(error, "08") or _is(error, "57P") or _is(error, "25P0")
    if isinstance(error, asyncpg.InterfaceError):
        return not isinstance(error, ValueError)
    # What came as a farewell, and was not looked at yet, is met by the next statement.
    return isinstance(error, (OSError, TimeoutError, asyncpg.InternalClientError))


def _is(error: asyncpg.PostgresError, state: str) -> bool:
    """Errors without a state are of the connection."""
    return str(error.sqlstate or "08").startswith(state)


def advised(error: BaseException, address: Address) -> BaseException:
    """The same error in our words: what is wrong with which database, and what to do."""
    if isinstance(error, QuarterjackError):
        return error
    if not isinstance(error, asyncpg.PostgresError):
        if not is_lost(error):
            is_ours = isinstance(error, asyncpg.InterfaceError)
            return Violation(f"database {address}: {error}") if is_ours else error
        reason, remedy = _AWAY["08"]
        return StoreAway(f"database {address}: {reason} ({_told(error)}); {remedy}")
    if _is(error, "53100"):
        return StoreFull(f"database {address}: its disk is full ({error}); make room")
    for state, (reason, remedy) in _AWAY.items():
        if _is(error, state):
            return StoreAway(f"database {address}: {reason} ({error}); {remedy}")
    if is_collision(error):
        remedy = "it is tried again"
        return StoreAway(f"database {address}: transactions collide ({error}); {remedy}")
    for state, (reason, remedy) in _UNUSABLE.items():
        if _is(error, state):
            return StoreUnusable(f"database {address}: {reason} ({error}); {remedy}")
    return Violation(f"database {address}: {type(error).__name__}: {error}")


def refusal(error: BaseException, address: Address) -> StoreError:
    """The same at a start: whatever will not pass by itself is for a person to look at."""
    told = advised(error, address)
    return told if isinstance(told, StoreError) else StoreUnusable(_told(told))


def _told(error: BaseException) -> str:
    return str(error) or type(error).__name__
