"""Executes operations on one PostgreSQL connection, in the order of submission, with group commit.

Each operation is one transaction, but those behind it that never wait for a lock share its commit.
No lock is held while another operation waits for one: otherwise two nodes could deadlock.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

import asyncpg

from quarterjack.errors import StoreUnavailable
from quarterjack.failpoint import failpoint
from quarterjack.store.address import Address
from quarterjack.store.postgres.connection import ManagedConnection
from quarterjack.store.postgres.errors import as_store_error, is_connection_lost, is_retryable
from quarterjack.store.postgres.executor import execute
from quarterjack.store.specifications import Specifications
from quarterjack.store.statements import Operation

LOCK_SECONDS = 5
STATEMENT_SECONDS = 30
IDLE_IN_TRANSACTION_SECONDS = 3
"""A program that is frozen within a transaction loses it after this time."""
ATTEMPTS_MAX = 8
BACKOFF_SECONDS = 0.005
"""Doubled before each retry of a transaction conflict."""
SINGLE_STATEMENT = frozenset({"renew_leases", "renew_claims", "read_leases"})
"""They run without begin and commit: on a slow network these would triple the time of a
renewal."""
ROWS_PER_PLAN, TRANSACTIONS_PER_PLAN = 1000, 100
"""How long a generic plan is kept: rows that this node wrote or found, or transactions, because
other nodes make tables grow, too."""
NEVER_WAIT = frozenset(
    {"claim_runs", "add_output", "read_leases", "unsent_notifications", "read_metadata", "read_run"}
)
"""They skip locked rows, add rows of their own, or only read."""
GENERIC_PLAN = frozenset({"plan_due", "claim_runs", "settle_runs", "add_output"})
"""They run all the time, and planning their statements would take as long as executing them."""


class Executor:
    """Executes groups of operations, each group in one transaction."""

    def __init__(
        self, connection: ManagedConnection, address: Address, specifications: Specifications
    ) -> None:
        self.connection = connection
        self._address = address
        self._specifications = specifications
        connection.on_connect.append(self._reset_cache)
        self._rows = self._transactions = 0
        """Since the plans were discarded."""
        self.statements = 0

    async def _reset_cache(self, _: asyncpg.Connection) -> None:
        self._specifications.reset(is_pooled=self.connection.is_pooled)

    async def run(self, group: Sequence[Operation]) -> None:
        """Each operation gets its result or its error; one that fails has changed nothing."""
        error = None
        for attempt in range(ATTEMPTS_MAX):
            if attempt:
                await asyncio.sleep(BACKOFF_SECONDS * (1 << attempt))
            async with self.connection.lock:
                error = await self._try(group)
            if error is None or not is_retryable(error):
                break
        if error is None:
            return
        if len(group) > 1 and not is_connection_lost(error):
            for operation in group:  # one by one, to find the operation that fails
                await self.run([operation])
            return
        for operation in group:
            operation.error = as_store_error(error, self._address)

    async def read(self, operation: Operation) -> None:
        """One operation that only reads, in one snapshot."""
        try:
            connection = await self.connection.get()
            await connection.execute(
                "begin isolation level repeatable read, read only;"
                f" set local search_path = {self._address.schema}"
            )
            operation.result = (await execute(connection, operation.begin())).value
            self._specifications.keep([self._specifications.take_new()])
        except Exception as error:
            operation.error = as_store_error(error, self._address)
        with contextlib.suppress(Exception):  # the next read reconnects
            await (await self.connection.get()).execute("rollback")

    async def _try(self, group: Sequence[Operation]) -> Exception | None:
        try:
            connection = await self.connection.get()
        except Exception as error:
            self.connection.drop()
            return error
        news = []
        try:
            if begin := self._begin(group):
                await connection.execute(begin)
            for operation in group:
                executed = await execute(connection, operation.begin())
                operation.result = executed.value
                self.statements += executed.statements
                self._rows += executed.rows
                news.append(self._specifications.take_new())
            for operation in group:
                failpoint(f"{operation.name}.committing")
            if begin and await connection.execute("commit") != "COMMIT":
                return StoreUnavailable(f"database {self._address}: transaction rolled back")
            for operation in group:
                failpoint(f"{operation.name}.committed")
        except Exception as error:
            self._specifications.take_new()  # rolled back, so it must not be cached
            await self._roll_back(error)
            return error
        self._specifications.keep(news)
        return None

    def _begin(self, group: Sequence[Operation]) -> str | None:
        """None for a single statement, which needs no transaction. Frequent operations use generic
        plans, which are discarded regularly: one from when a table was empty may scan all of it."""
        if self.connection.is_pooled:
            return self.connection.begin
        if len(group) == 1 and group[0].name in SINGLE_STATEMENT:
            return None
        if any(each.name not in GENERIC_PLAN for each in group):
            return self.connection.begin
        self._transactions, discard = self._transactions + 1, ""
        if self._rows >= ROWS_PER_PLAN or self._transactions > TRANSACTIONS_PER_PLAN:
            self._rows, self._transactions, discard = 0, 1, "discard plans; "
        return f"{discard}{self.connection.begin}; set local plan_cache_mode = force_generic_plan"

    async def _roll_back(self, error: Exception) -> None:
        if is_connection_lost(error):
            self.connection.drop()
            return
        try:
            await (await self.connection.get()).execute("rollback")
        except Exception:
            self.connection.drop()


def settings(address: Address, durability: str = "full") -> dict[str, str]:
    """The settings of our transactions. Every statement can use an index in its order, so that the
    planner is kept from scanning a table, whatever its statistics say."""
    settings = {
        "search_path": address.schema,
        "statement_timeout": f"'{STATEMENT_SECONDS}s'",
        "lock_timeout": f"'{LOCK_SECONDS}s'",
        "idle_in_transaction_session_timeout": f"'{IDLE_IN_TRANSACTION_SECONDS}s'",
        "plan_cache_mode": "force_custom_plan",
        "enable_hashjoin": "off",
        "enable_mergejoin": "off",
        "enable_seqscan": "off",
        "enable_bitmapscan": "off",
        "jit": "off",
    }
    if durability == "normal":
        settings["synchronous_commit"] = "off"
    return settings


class GroupCommit:
    """A queue of operations, executed in groups."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._waiting: list[tuple[Operation, asyncio.Future[None]]] = []
        self._working: asyncio.Task[None] | None = None

    async def run(self, operation: Operation) -> Any:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((operation, done))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        await done
        return operation.answer()

    async def _work(self) -> None:
        while self._waiting:
            group = self._next_group()
            try:
                await self._executor.run([operation for operation, _ in group])
            except BaseException as error:  # whatever happens, every caller gets an answer
                for operation, _ in group:
                    operation.error = operation.error or error
            for _, done in group:
                if not done.done():
                    done.set_result(None)

    def _next_group(self) -> list[tuple[Operation, asyncio.Future[None]]]:
        """Contains at most one operation that may wait for a lock."""
        may_wait = [operation.name not in NEVER_WAIT for operation, _ in self._waiting]
        ends = (i for i in range(1, len(may_wait)) if sum(may_wait[: i + 1]) > 1)
        end = next(ends, len(may_wait))
        group, self._waiting = self._waiting[:end], self._waiting[end:]
        return group

    async def close(self) -> None:
        """Waits for the operations that were submitted before."""
        if self._working is not None and not self._working.done():
            await asyncio.wait([self._working])
        await self._executor.connection.close()
