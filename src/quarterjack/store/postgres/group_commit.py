"""Whose turn it is on PostgreSQL: verbs are carried out in the order in which they are asked.

Each verb is one transaction, but for those behind it that never wait for anybody: they share its
commit. No lock is ever held while we wait for another verb's, or two nodes would stand in each
other's way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import asyncpg

from quarterjack.errors import StoreAway
from quarterjack.failpoint import failpoint
from quarterjack.store.postgres.connection import (
    Address,
    ManagedConnection,
    advised,
    is_collision,
    is_lost,
)
from quarterjack.store.postgres.executor import walk
from quarterjack.store.specifications import Specifications
from quarterjack.store.statements import Operation

LOCK_SECONDS = 5
STATEMENT_SECONDS = 30
STANDSTILL_SECONDS = 3
"""A program that is frozen in the middle of a transaction loses it after so long."""
COLLISIONS_MAX = 8
FIRST_PAUSE_SECONDS = 0.005
"""Twice as long, before what collided is tried again; then four times, and so on."""
ALONE = frozenset({"renew_leases", "look_at_leases"})
"""They have the connection that beats, and are one statement, which is a transaction by itself: on
a slow network they must not take three times as long."""
ROWS_PER_PLAN, USES_PER_PLAN = 1000, 100
"""For so long a plan is kept: rows that this node wrote or found, or transactions, for what others
write makes a table grow, too."""
NEVER_WAIT = frozenset(
    {
        "claim_runs",
        "add_output",
        "look_at_leases",
        "take_notifications",
        "read_metadata",
        "read_run",
    }
)
"""They take what nobody holds, add what nobody else has, or only look."""
PLANNED_ONCE = frozenset({"plan_due", "claim_runs", "settle_runs", "add_output"})
"""They are asked all the time, and planning their statements would take as long as they do."""


class Executor:
    """Walks operations on one link; a group is one transaction."""

    def __init__(self, link: ManagedConnection, address: Address, known: Specifications) -> None:
        self.link = link
        self._address = address
        self._known = known
        link.on_made.append(self._forget)
        self._rows = self._uses = 0
        """Written or found, and transactions, since plans were made."""
        self.statements = 0

    async def _forget(self, _: asyncpg.Connection) -> None:
        self._known.prune(is_pooled=self.link.is_pooled)

    async def run(self, group: Sequence[Operation]) -> None:
        """Each operation gets its result or its error; what fails has changed nothing."""
        error = None
        for collisions in range(COLLISIONS_MAX):
            if collisions:
                await asyncio.sleep(FIRST_PAUSE_SECONDS * (1 << collisions))
            async with self.link.lock:
                error = await self._tried(group)
            if error is None or not is_collision(error):
                break
        if error is None:
            return
        if len(group) > 1 and not is_lost(error):  # whose fault it is, is told one by one
            for operation in group:
                await self.run([operation])
            return
        for operation in group:
            operation.error = advised(error, self._address)

    async def _tried(self, group: Sequence[Operation]) -> Exception | None:
        try:
            connection = await self.link.connection()
        except Exception as error:
            self.link.drop()
            return error
        news = []
        try:
            if begin := self._begin(group):
                await connection.execute(begin)
            for operation in group:
                walked = await walk(connection, operation.begin())
                operation.result = walked.value
                self.statements += walked.statements
                self._rows += walked.rows
                news.append(self._known.taken())
            for operation in group:
                failpoint(f"{operation.name}.committing")
            if begin and await connection.execute("commit") != "COMMIT":
                return StoreAway(f"database {self._address}: what was written is undone")
            for operation in group:
                failpoint(f"{operation.name}.committed")
        except Exception as error:
            self._known.taken()  # it is undone, and must not be remembered
            await self._undo(error)
            return error
        self._known.keep(news)
        return None

    def _begin(self, group: Sequence[Operation]) -> str | None:
        """None if it needs no beginning, nor an end. Plans are kept for what is asked all the time,
        but not for long: one that was made while a table was empty may read all of it."""
        if self.link.is_pooled:
            return self.link.begin
        if len(group) == 1 and group[0].name in ALONE:
            return None
        if any(each.name not in PLANNED_ONCE for each in group):
            return self.link.begin
        self._uses, anew = self._uses + 1, ""
        if self._rows >= ROWS_PER_PLAN or self._uses > USES_PER_PLAN:
            self._rows, self._uses, anew = 0, 1, "discard plans; "
        return f"{anew}{self.link.begin}; set local plan_cache_mode = force_generic_plan"

    async def _undo(self, error: Exception) -> None:
        if is_lost(error):
            self.link.drop()
            return
        try:
            await (await self.link.connection()).execute("rollback")
        except Exception:
            self.link.drop()


def settings(address: Address, durability: str = "full") -> dict[str, str]:
    """What holds in our transactions. Everything that we ask is found by an index, in its order, so
    that nothing is read whole, whatever is believed of how long it is."""
    ours = {
        "search_path": address.schema,
        "statement_timeout": f"'{STATEMENT_SECONDS}s'",
        "lock_timeout": f"'{LOCK_SECONDS}s'",
        "idle_in_transaction_session_timeout": f"'{STANDSTILL_SECONDS}s'",
        "plan_cache_mode": "force_custom_plan",
        "enable_hashjoin": "off",
        "enable_mergejoin": "off",
        "enable_seqscan": "off",
        "enable_bitmapscan": "off",
        "jit": "off",
    }
    if durability == "normal":
        ours["synchronous_commit"] = "off"
    return ours


class GroupCommit:
    """Operations wait for their turn, and are carried out in groups."""

    def __init__(self, walker: Executor) -> None:
        self._walker = walker
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
                await self._walker.run([operation for operation, _ in group])
            except BaseException as error:  # whatever happens, those who wait are told
                for operation, _ in group:
                    operation.error = operation.error or error
            for _, done in group:
                if not done.done():
                    done.set_result(None)

    def _next_group(self) -> list[tuple[Operation, asyncio.Future[None]]]:
        """With one at most that may have to wait for a lock."""
        waiting = [operation.name not in NEVER_WAIT for operation, _ in self._waiting]
        end = next((i for i in range(1, len(waiting)) if sum(waiting[: i + 1]) > 1), len(waiting))
        group, self._waiting = self._waiting[:end], self._waiting[end:]
        return group

    async def close(self) -> None:
        """After what is under way."""
        if self._working is not None:
            await asyncio.wait([self._working])
        await self._walker.link.close()
