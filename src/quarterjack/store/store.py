"""The store: what the engine and the control requests need from a database.

Each method is one transaction, with its parameters and result. Those that decide take the rule as
an argument, and call it inside the transaction with the current facts. A method that raises has
changed nothing. After `StoreUnavailable` it may be called again, even if the first call was
committed: every slot, attempt and chunk of output has an identity, and is written once. Calls are
executed in order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from quarterjack.rules import Plans
from quarterjack.rules.definition.target import TargetKinds
from quarterjack.store.specifications import Specifications
from quarterjack.store.statements import Statements
from quarterjack.store.transactions import (
    attempts,
    changes,
    claim,
    declare,
    facts,
    metadata,
    nodes,
    outbox,
    plan,
    retention,
    settle,
)
from quarterjack.store.transactions.requests import NodeContext
from quarterjack.store.types import Caller, DecidePlans, HeartbeatResult, NodeInfo, ScheduleRef

P = ParamSpec("P")
T = TypeVar("T")
Method: TypeAlias = Callable[Concatenate["Store", P], Coroutine[Any, Any, T]]


def _transaction(transaction: Callable[P, Statements[T]]) -> Method[P, T]:
    """A method of the store, with the parameters and the result of this transaction."""

    async def execute(store: Store, /, *values: P.args, **named: P.kwargs) -> T:
        return await store._transact(transaction, *values, **named)

    return execute


def _with_cache(
    transaction: Callable[Concatenate[Specifications, P], Statements[T]],
) -> Method[P, T]:
    """The same, for a transaction that uses the cache of specifications."""

    async def execute(store: Store, /, *values: P.args, **named: P.kwargs) -> T:
        return await store._transact(transaction, store._specifications, *values, **named)

    return execute


def _request(transaction: Callable[Concatenate[NodeContext, P], Statements[T]]) -> Method[P, T]:
    """The same, for a control request."""

    async def execute(store: Store, /, *values: P.args, **named: P.kwargs) -> T:
        context = NodeContext(store._specifications, store.is_alive)
        return await store._transact(transaction, context, *values, **named)

    return execute


class Store(ABC):
    """A database adds how to execute a transaction, its clock, and how to watch for the writes of
    other processes."""

    heartbeat_interval: int | None = None
    """None if the database has no clock of its own."""

    def __init__(self, kinds: TargetKinds) -> None:
        self._specifications = Specifications(kinds)

    @abstractmethod
    async def _transact(
        self, transaction: Callable[P, Statements[T]], *values: P.args, **named: P.kwargs
    ) -> T: ...

    @abstractmethod
    def now(self) -> int:
        """The time on the clock that all nodes share, as last read; without a query."""

    @abstractmethod
    async def read_clock(self) -> int:
        """The same, read from the database if that has a clock of its own."""

    def for_leases(self) -> Store:
        """For a thread of its own, in which leases are renewed: another store if this one belongs
        to its event loop. Then the thread closes it."""
        return self

    async def heartbeat(self) -> HeartbeatResult:
        """Read the clock, and poll for work that no notification has announced."""
        return HeartbeatResult(None, has_queued_runs=False, next_lease_end=None)

    def is_alive(self, node: NodeInfo) -> bool:
        """Is the process of this registered node alive?"""
        return bool(nodes.runs_on_this_host(node))

    @abstractmethod
    async def watch(self, hint: Callable[[], None]) -> None:
        """Call `hint` after other processes have written, until cancelled."""

    @abstractmethod
    async def close(self) -> None: ...

    async def checkpoint(self) -> int:
        """Move a long write-ahead log into the database file. Returns its remaining bytes. Does not
        block other calls."""
        return 0

    async def vacuum(self) -> bool:
        """Give some unused pages back to the file system. Are there more?"""
        return False

    plan_due = _with_cache(plan.plan_due)
    """Plan the schedules that are due. Planners that use a budget of `limits`, which they all
    share, wait for each other."""
    due_ids = _transaction(plan.due_ids)
    """The ids of schedules that are due, the highest priority first."""
    claim_runs = _with_cache(claim.claim_runs)
    """Start attempts of runs that are ready, the highest priority first. No other worker gets
    them before the lease ends."""
    renew_leases = _transaction(attempts.renew_leases)
    """Extend the leases that this worker holds. The result says which attempts are to stop."""
    renew_claims = _transaction(attempts.renew_claims)
    """The same for all attempts that this worker claimed at an instant, without a result."""
    read_leases = _transaction(attempts.read_leases)
    """The same result, without writing."""
    settle_runs = _with_cache(settle.settle_runs)
    """Settle attempts. One that is already settled, or that another worker has taken over,
    changes nothing and is returned as fenced."""
    rescue_runs = _with_cache(settle.rescue_runs)
    """Settle as lost the attempts whose lease has expired, except those that are known to be
    `alive`, by run and number."""
    add_output = _transaction(attempts.add_output)
    """Store output. A chunk that is stored already is left as it is."""
    add_schedules = _request(changes.add_schedules)
    """Add all of them, or none if one is refused or a key is taken."""

    async def change_schedule(
        self, which: ScheduleRef, decide: DecidePlans, now: int, caller: Caller | None = None
    ) -> Plans:
        """Apply an operation to one schedule, and audit the request."""
        (plans,) = await self.change_schedules([which], decide, now, caller)
        return plans

    change_schedules = _request(changes.change_schedules)
    """Apply an operation to all of these schedules, or to none; an error has all refusals."""
    edit_schedule = _request(changes.edit_schedule)
    """Replace the definition of a schedule by one that `patch` makes from the current one."""
    change_run = _request(changes.change_run)
    """Apply an operation to one run, and audit the request."""
    read_run = _transaction(facts.read_run)
    declare_schedules = _request(declare.declare_schedules)
    """Make the schedules of an owner equal to a declaration, all or nothing. Declarations of
    the same owner wait for each other."""
    count_owned = _transaction(changes.count_owned)
    done_slots = _transaction(facts.read_done_slots)
    """The slots in a range that a backfill leaves out, because a run of another request has
    succeeded or is open. Their number is limited."""

    async def register(self, node: NodeInfo) -> None:
        """Add this node, and remove those that are not alive. A name in use is refused, because
        settlements are fenced by it. If no other planner is alive, a node that plans ends an
        outage: slots that came due before were missed."""
        await self._transact(nodes.register, node, self.is_alive)

    unregister = _transaction(nodes.unregister)
    unsent_notifications = _transaction(outbox.unsent_notifications)
    """The notifications that have not been sent, oldest first."""
    mark_sent = _transaction(outbox.mark_sent)
    """To be called after sending. A crash in between sends them again."""
    prune = _transaction(retention.prune)
    """Delete a small batch of expired rows. Runs are counted in the daily statistics before."""
    read_metadata = _transaction(metadata.read_metadata)
    put_metadata = _transaction(metadata.put_metadata)
    record_zone_data = _transaction(metadata.record_zone_data)
    """Has the version of the zone data changed? If so, all active schedules become due."""
