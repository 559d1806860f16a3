"""The store on PostgreSQL: verbs have one connection; leases, the clock and hints have another, so
that no long batch delays a renewal."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any, ParamSpec, Protocol, TypeVar

import asyncpg

from quarterjack.store.migrations import Migration
from quarterjack.store.postgres.connection import Address, ManagedConnection, advised, refusal
from quarterjack.store.postgres.group_commit import (
    ALONE,
    STATEMENT_SECONDS,
    Executor,
    GroupCommit,
    settings,
)
from quarterjack.store.postgres.schema import UPGRADE_SECONDS, bring_up_to_date
from quarterjack.store.specifications import Specifications
from quarterjack.store.statements import Operation, Statements, sql
from quarterjack.store.store import Store
from quarterjack.store.transactions.nodes import is_seen, runs_here
from quarterjack.store.types import HeartbeatResult, NodeInfo, Planned, Rescued, Settled
from quarterjack.times.instants import MILLISECOND, SECOND

P = ParamSpec("P")
T = TypeVar("T")

HEART_SECONDS = 3
"""For what must not wait: leases and the clock."""
SLOW_READING = 100 * MILLISECOND
"""A reading of the clock that took longer is believed only if there is no better one."""
HINTS_APART_SECONDS = 0.05
_SAID_BY_A_BEAT = [field for field in NodeInfo._fields if field != "seen_at"]
"""The database itself says when."""

_UNSEEN = frozenset(
    {
        "claim_runs", "renew_leases", "look_at_leases", "take_notifications", "mark_sent",
        "add_output", "prune", "register", "unregister", "read_metadata", "read_run", "due_ids",
        "count_owned",
        "read_done_slots",
    }
)  # fmt: skip
"""After them nobody else has more to do than before."""


class Clock(Protocol):
    def now(self) -> int: ...
    def since_boot(self) -> int: ...
    def chance(self) -> float: ...


class PostgresStore(Store):
    """One database, and any number of nodes on it."""

    heartbeat_interval = 5 * SECOND

    def __init__(self, address: Address, clock: Clock, name: str, durability: str = "full") -> None:
        super().__init__()
        self._address = address
        self._clock = clock
        self._name = name
        self._channel = f"quarterjack_{address.schema}"
        link = partial(
            ManagedConnection,
            address,
            name,
            chance=clock.chance,
            settings=settings(address, durability),
        )
        self._main = Executor(link(seconds=STATEMENT_SECONDS + 5), address, self._known)
        self._doing = GroupCommit(self._main)
        self._heart = link(seconds=HEART_SECONDS, on_made=[self._prepare])
        heart = Executor(self._heart, address, Specifications())
        self._beating = GroupCommit(heart)
        self._hint: Callable[[], None] = lambda: None
        self._offset: int | None = None
        self._read_in = 0
        self._read_at = 0
        self._telling: asyncio.Task[None] | None = None
        self._node: NodeInfo | None = None
        """Who beats, once it is registered."""

    async def open(
        self, *, create: bool, steps: Sequence[Migration] | None = None
    ) -> PostgresStore:
        """Ready to be used, at the schema of this program."""
        # What holds for verbs is not for migrations: they may take long, and may read whole tables.
        link = ManagedConnection(self._address, self._name, UPGRADE_SECONDS, self._clock.chance)
        try:
            connection = await link.connection()
            await bring_up_to_date(connection, self._address, allowed=create, steps=steps)
            await self.read_clock()
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
            await self.close()
            raise refusal(error, self._address) from error
        except BaseException:
            await self.close()
            raise
        finally:
            await link.close()
        return self

    @property
    def statements(self) -> int:
        """How many were asked for so far; a batch counts as one."""
        return self._main.statements

    def now(self) -> int:
        return self._instant()

    def _instant(self) -> int:
        assert self._offset is not None, "a store is opened before it is used"
        return self._clock.since_boot() + self._offset

    async def read_clock(self) -> int:
        await self._timed("read_clock")
        return self._instant()

    async def heartbeat(self) -> HeartbeatResult:
        ahead = self._clock.now() - self._instant()
        said = [None] * len(_SAID_BY_A_BEAT)
        if self._node is not None:
            node = self._node._replace(ahead=ahead)
            said = [getattr(node, field) for field in _SAID_BY_A_BEAT]
        row = await self._timed("heartbeat", *said)
        return HeartbeatResult._make((*row[1:], ahead))

    async def register(self, node: NodeInfo) -> None:
        await super().register(node)
        self._node = node

    def is_alive(self, node: NodeInfo) -> bool:
        runs = runs_here(node)
        return is_seen(node, self.now()) if runs is None else runs

    async def _timed(self, statement: str, *values: Any) -> Sequence[Any]:
        """One that reads the clock, first of all."""
        try:
            async with self._heart.lock:
                connection = await self._heart.connection()
                async with self._in_our_schema(connection):
                    asked_at = self._clock.since_boot()
                    row = await connection.fetchrow(sql(statement, "postgres"), *values)
                    assert row is not None
                    self._set_clock(row[0], asked_at)
        except Exception as error:
            self._heart.drop()
            raise advised(error, self._address) from error
        return tuple(row)

    @contextlib.asynccontextmanager
    async def _in_our_schema(self, connection: asyncpg.Connection) -> AsyncIterator[None]:
        """A connection of our own is, since it was made."""
        if self._heart.is_pooled:
            await connection.execute(f"begin; set local search_path = {self._address.schema}")
        yield
        if self._heart.is_pooled:
            await connection.execute("commit")

    def _set_clock(self, instant: int, asked_at: int) -> None:
        """It was in the middle of the round trip; a slow one is not believed for a while."""
        took = self._clock.since_boot() - asked_at
        is_better = took <= max(self._read_in, SLOW_READING)
        if self._offset is None or is_better or asked_at > self._read_at + 60 * SECOND:
            self._offset = instant - asked_at - took // 2
            self._read_in, self._read_at = took, asked_at

    async def watch(self, hint: Callable[[], None]) -> None:
        """Hints of others arrive at any time; where they do not, looking suffices."""
        self._hint = hint
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._hint = lambda: None

    async def _prepare(self, connection: asyncpg.Connection) -> None:
        """It hears hints, and its first renewal takes no longer than the others."""
        if not self._heart.is_pooled:
            await connection.add_listener(self._channel, self._heard)
            # A courtesy, which decides nothing: somebody may have locked the table for long.
            with contextlib.suppress(asyncpg.PostgresError):
                async with connection.transaction():
                    await connection.execute("set local lock_timeout = '100ms'")
                    await connection.fetch(sql("renew_leases", "postgres"), 0, "", [], [], [])

    def _heard(self, connection: Any, pid: int, *_: object) -> None:
        if pid != connection.get_server_pid():
            self._hint()

    def _tell_others(self) -> None:
        """Not for each commit, and in no transaction of ours: a crowd of them would queue up."""
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        await asyncio.sleep(HINTS_APART_SECONDS)
        with contextlib.suppress(Exception):  # who is not told looks by himself
            async with self._heart.lock:
                connection = await self._heart.connection()
                await connection.execute(f"notify {self._channel}")

    async def close(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
        await self._doing.close()
        await self._beating.close()

    async def _do(self, verb: Callable[P, Statements[T]], *values: P.args, **named: P.kwargs) -> T:
        operation = Operation(verb.__name__, partial(verb, *values, **named))
        turns = self._beating if verb.__name__ in ALONE else self._doing
        result: T = await turns.run(operation)
        if _is_news(verb.__name__, result):
            self._tell_others()
        return result


def _is_news(verb: str, result: Any) -> bool:
    """Is there something to do for others?"""
    if isinstance(result, Planned):
        return result.added > 0 or result.stops
    if isinstance(result, Settled):
        is_open = any(run.finished_at is None for run in result.settled)  # it is tried again
        return result.next_wake is not None or is_open
    if isinstance(result, Rescued):
        return bool(result.lost)
    return verb not in _UNSEEN
