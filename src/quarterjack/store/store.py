"""The contract: what the engine asks of a store. Each verb is one transaction.

Verbs that decide take the rule as an argument and call it inside, with the facts as they are. A
verb that raises has changed nothing. One that raises `StoreAway` may be asked again: what it would
do twice, it does once, because every slot, attempt and chunk has an identity of its own. Verbs are
carried out in the order in which they are asked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Sequence
from typing import ParamSpec, TypeVar

from quarterjack.rules import DoneSlots, Horizons, Limits, Outcome, Plans, Retention, Run, Schedule
from quarterjack.store.specifications import Specifications
from quarterjack.store.statements import Statements
from quarterjack.store.transactions import changes as asking
from quarterjack.store.transactions import declare as declaring
from quarterjack.store.transactions import facts, nodes, verbs
from quarterjack.store.transactions import retention as forgetting
from quarterjack.store.transactions.retention import Pruned, PruneProgress
from quarterjack.store.types import (
    Caller,
    Chunk,
    Claimed,
    DecideDifference,
    DecideEdit,
    DecideNew,
    DecidePlans,
    DecideRun,
    DecideSettlements,
    DeclarationRules,
    Difference,
    HeartbeatResult,
    Leases,
    NewSchedule,
    NodeInfo,
    Notification,
    Patch,
    Planned,
    Rescued,
    Settled,
    Which,
)

P = ParamSpec("P")
T = TypeVar("T")
NO_LIMITS = Limits(0, 0, 0, 0)


class Store(ABC):
    """What remembers. A database says how steps are walked, what time it is, and when somebody
    else has written; all else is here."""

    heartbeat_interval: int | None = None
    """How often its clock has to be read, if it has one of its own."""

    def __init__(self) -> None:
        self._known = Specifications()

    @property
    def _context(self) -> asking.NodeContext:
        return asking.NodeContext(self._known, self.is_alive)

    @abstractmethod
    async def _do(
        self, verb: Callable[P, Statements[T]], *values: P.args, **named: P.kwargs
    ) -> T: ...

    @abstractmethod
    def now(self) -> int:
        """The instant that all nodes agree on, as far as it is known here; nobody is asked."""

    @abstractmethod
    async def read_clock(self) -> int:
        """The same, asked of the database, if that has a clock of its own."""

    async def heartbeat(self) -> HeartbeatResult:
        """Read the clock, and look whether there is something to do."""
        return HeartbeatResult(None, waits=False, next_lease_end=None)

    def is_alive(self, node: NodeInfo) -> bool:
        """Of those that are registered."""
        return bool(nodes.runs_here(node))

    @abstractmethod
    async def watch(self, hint: Callable[[], None]) -> None:
        """Call back whenever another process has written, until cancelled."""

    @abstractmethod
    async def close(self) -> None: ...

    async def shorten_log(self) -> int:
        """Write back what the database has noted beside itself, if that is much; how many bytes of
        it are left. Nobody waits for it."""
        return 0

    async def give_back_space(self) -> bool:
        """Make the file smaller by a little of what was forgotten; is there more to give?"""
        return False

    async def plan_due(
        self, now: int, limit: int, decide: DecidePlans, limits: Limits = NO_LIMITS
    ) -> Planned:
        """Plan what is due. Each slot is added once, in the transaction that moves the cursor. What
        these limits give out to all planners together is given out by one after the other."""
        return await self._do(verbs.plan_due, self._known, now, limit, decide, limits)

    async def due_ids(self, now: int, limit: int) -> Sequence[int]:
        """Which schedules are due."""
        return await self._do(verbs.due_ids, now, limit)

    async def claim_runs(
        self, worker: str, queues: Sequence[str], seats: int, lease_until: int, now: int
    ) -> Claimed:
        """Take runs that are ready, the most urgent first. Nobody else gets them meanwhile."""
        known = self._known
        return await self._do(verbs.claim_runs, known, worker, queues, seats, lease_until, now)

    async def renew_leases(self, worker: str, held: Sequence[Run], lease_until: int) -> Leases:
        """Prolong what is still this worker's, and say what is, and what of it should stop."""
        return await self._do(verbs.renew_leases, worker, held, lease_until)

    async def look_at_leases(self, worker: str, held: Sequence[Run]) -> Leases:
        """The same answer, without writing anything."""
        return await self._do(verbs.look_at_leases, worker, held)

    async def settle_runs(
        self,
        worker: str,
        outcomes: Sequence[tuple[Run, Outcome]],
        decide: DecideSettlements,
        now: int,
    ) -> Settled:
        """Settle attempts. One that was replaced, or is settled already, changes no row."""
        return await self._do(verbs.settle_runs, self._known, worker, outcomes, decide, now)

    async def rescue_runs(
        self,
        now: int,
        limit: int,
        decide: DecideSettlements,
        spared: Container[tuple[str, int]] = (),
    ) -> Rescued:
        """Settle attempts whose lease has lapsed as lost. An unexpired lease is never taken, nor
        are those spared: runs and attempts of which the caller knows that they live."""
        return await self._do(verbs.rescue_runs, self._known, now, limit, decide, spared)

    async def add_output(self, chunks: Sequence[Chunk]) -> None:
        """Keep output; a chunk that is there already stays as it is."""
        await self._do(verbs.add_output, chunks)

    async def add_schedules(
        self,
        new: Sequence[NewSchedule],
        decide: DecideNew,
        now: int,
        caller: Caller | None = None,
    ) -> Sequence[Schedule]:
        """All of them, or none if one is refused or a key is taken."""
        return await self._do(asking.add_schedules, self._known, new, decide, now, caller)

    async def change_schedule(
        self, which: Which, decide: DecidePlans, now: int, caller: Caller | None = None
    ) -> Plans:
        """Carry out what is decided for one schedule; who asked for it is noted."""
        (plans,) = await self.change_schedules([which], decide, now, caller)
        return plans

    async def change_schedules(
        self,
        which: Iterable[Which],
        decide: DecidePlans,
        now: int,
        caller: Caller | None = None,
        *,
        ignores_missing: bool = False,
    ) -> Sequence[Plans]:
        """The same for several, all or none; if one is refused, all refusals are told."""
        change = asking.change_schedules
        return await self._do(
            change, self._context, which, decide, now, caller, ignores_missing=ignores_missing
        )

    async def edit_schedule(
        self,
        which: Which,
        patch: Patch,
        decide: DecideEdit,
        now: int,
        caller: Caller | None = None,
    ) -> Plans:
        """Give a schedule another definition, made from the one that it has at that moment."""
        return await self._do(
            asking.edit_schedule, self._context, which, patch, decide, now, caller
        )

    async def change_run(
        self, run_id: str, decide: DecideRun, now: int, caller: Caller | None = None
    ) -> Plans:
        """Carry out what a person asks of one run."""
        return await self._do(asking.change_run, self._context, run_id, decide, now, caller)

    async def read_run(self, run_id: str) -> Run:
        return await self._do(facts.read_run, run_id)

    async def declare_schedules(
        self,
        owner: str,
        keys: Sequence[str],
        difference: DecideDifference,
        rules: DeclarationRules,
        now: int,
        caller: Caller | None = None,
    ) -> Difference:
        """Make the owner's schedules equal to a declaration, whole or not at all, and note facts
        with it. Of one owner's declarations one is looked at at a time."""
        declare = declaring.declare_schedules
        return await self._do(declare, self._context, owner, keys, difference, rules, now, caller)

    async def count_owned(self, owner: str) -> int:
        """How many schedules this owner has."""
        return await self._do(asking.count_owned, owner)

    async def done_slots(self, schedule_id: int, after: int, until: int, request: int) -> DoneSlots:
        """The slots of a schedule that the backfill of this request leaves out, up to some number
        of them."""
        return await self._do(facts.read_done_slots, schedule_id, after, until, request)

    async def register(self, node: NodeInfo) -> None:
        """Let others see this node, and forget those that are not alive. A name that is taken is
        refused: it is what settlements are fenced by. If it plans and no other planner is alive,
        what came due until now was missed."""
        await self._do(nodes.register, node, self.is_alive)

    async def unregister(self, name: str) -> None:
        """It leaves; nobody need wonder where it is."""
        await self._do(nodes.unregister, name)

    async def take_notifications(self, limit: int) -> Sequence[Notification]:
        """What people have not been told yet, oldest first."""
        return await self._do(verbs.take_notifications, limit)

    async def mark_sent(self, notifications: Sequence[Notification], now: int) -> None:
        """These were told. Whoever dies before this tells them again."""
        await self._do(verbs.mark_sent, notifications, now)

    async def prune(
        self, horizons: Horizons, retention: Retention, progress: PruneProgress, now: int
    ) -> Pruned:
        """Forget a small batch of what the rule allows to go, and count it before in what is kept
        of each day."""
        return await self._do(forgetting.prune, horizons, retention, progress, now)

    async def read_metadata(self, name: str) -> str | None:
        """What was noted under this name, if anything was."""
        return await self._do(facts.read_metadata, name)

    async def put_metadata(self, name: str, value: str) -> None:
        await self._do(verbs.put_metadata, name, value)

    async def note_zone_data(self, version: str, now: int) -> bool:
        """If it is another edition than before, every active schedule finds its slots anew."""
        return await self._do(verbs.note_zone_data, version, now)
