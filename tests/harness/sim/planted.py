"""Planted bugs: each replaces one function of the engine and breaks one promise, which the checker
has to notice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from importlib import import_module
from typing import Any
from unittest.mock import patch

from quarterjack.engine.leases import LeaseRescuer
from quarterjack.rules import (
    DoneSlots,
    Ending,
    Kind,
    Limits,
    Outcome,
    Plan,
    Reason,
    Run,
    Schedule,
    State,
    operations,
)
from quarterjack.rules.draft import BatchState, Draft
from quarterjack.rules.model import SlotsNotRun
from quarterjack.rules.policies.catch_up import Due
from quarterjack.rules.policies.retry import Retry
from quarterjack.sim.background import SimulatedBackground
from quarterjack.store.rows import run_of
from quarterjack.store.sqlite import executor as sqlite_executor
from quarterjack.store.statements import Query, QueryMany, Statements, sql
from quarterjack.store.store import Store, _with_cache
from quarterjack.store.transactions import claim as claim_module
from quarterjack.store.transactions import facts, nodes
from quarterjack.store.transactions import plan as plan_module
from quarterjack.store.transactions import settle as settle_module
from quarterjack.store.types import Claimed, Rescued, Settled

drafts: Any = import_module("quarterjack.rules.draft")
planning: Any = import_module("quarterjack.rules.plan")
settling: Any = import_module("quarterjack.rules.settle")
"""The modules, which the functions of the same names hide in the package."""


def _named(name: str, function: Any) -> Any:
    """The simulator records transactions by the names of their functions."""
    function.__name__ = name
    return function


def settlement_not_fenced() -> Any:
    def settle(specifications: Any, worker: str, outcomes: Any, decide: Any, now: int) -> Any:
        ended = [run for run, _ in outcomes]
        locked = yield from settle_module._lock_for_settling(ended, specifications, now)
        settled = yield from settle_module._settle(locked, outcomes, decide, now)
        return Settled(settled[0], [], *settled[1:])

    return patch.object(Store, "settle_runs", _with_cache(_named("settle_runs", settle)))


def settlement_fenced_by_worker_only() -> Any:
    def settle(specifications: Any, worker: str, outcomes: Any, decide: Any, now: int) -> Any:
        ended = [run for run, _ in outcomes]
        locked = yield from settle_module._lock_for_settling(ended, specifications, now)
        wanted = [(run.schedule_id, run.number) for run, _ in outcomes]
        rows = yield Query("runs_by_ids", (wanted,))
        held = {run.id: run for run in map(run_of, rows) if run.worker == worker}
        mine = [
            (held[run.id], outcome)
            for run, outcome in outcomes
            if run.id in held and held[run.id].state is State.RUNNING
        ]
        fenced = [run for run, _ in outcomes if run.id not in {each.id for each, _ in mine}]
        settled = yield from settle_module._settle(locked, mine, decide, now)
        return Settled(settled[0], fenced, *settled[1:])

    return patch.object(Store, "settle_runs", _with_cache(_named("settle_runs", settle)))


_UNSAFE_CLAIM = {
    "read_ready": """
        select runs.*, key, last_success_at, owner
        from runs
        left join schedules on id = schedule_id
        where state = 'queued' and queue = $1 and ready_at <= $2
        limit $3
    """,
    "start_read": """
        update runs
        set state = 'running', attempt = $1, worker = $2, started_at = $3, lease_until = $4
        where schedule_id = $5 and number = $6
    """,
}
"""A claim that selects ready runs in one transaction and starts them in another."""


def claim_as_read_then_write() -> Any:
    def read(queues: Sequence[str], limit: int, now: int) -> Statements[list[Any]]:
        return (yield Query("read_ready", (*queues, now, limit)))

    def write(
        known: Any, worker: str, rows: Any, lease_until: int, now: int
    ) -> Statements[Claimed]:
        started = [(row[15] + 1, worker, now, lease_until, row[0], row[1]) for row in rows]
        if started:
            yield QueryMany("start_read", started)
        claims = yield from claim_module._claims(rows, known, now)
        return Claimed(
            [claim._replace(run=started_run(claim.run, worker)) for claim in claims], None
        )

    def started_run(run: Run, worker: str) -> Run:
        return run._replace(state=State.RUNNING, attempt=run.attempt + 1, worker=worker)

    async def claim(
        self: Any, worker: str, queues: Any, limit: int, lease_until: int, now: int
    ) -> Any:
        rows = await self._transact(read, queues, limit, now)
        return await self._transact(
            _named("claim_runs", write), self._specifications, worker, rows, lease_until, now
        )

    planted = ExitStack()
    planted.enter_context(patch.object(sqlite_executor, "sql", _unsafe_claim_sql))
    planted.enter_context(patch.object(Store, "claim_runs", claim))
    return planted


def _unsafe_claim_sql(statement: str, dialect: str) -> str:
    return _UNSAFE_CLAIM.get(statement) or sql(statement, dialect)


def overlap_that_ignores_queued_runs() -> Any:
    real = facts._runs

    def runs(statement: str, scopes: Any) -> Statements[list[Run]]:
        found = yield from real(statement, scopes)
        if statement == "open_runs":
            found = [run for run in found if run.state is not State.QUEUED]
        return found

    return patch.object(facts, "_runs", runs)


def retry_off_by_one() -> Any:
    def allows(self: Retry, failures: int) -> bool:
        return self.retries_max is None or failures <= self.retries_max + 1

    return patch.object(Retry, "allows", allows)


def retry_that_does_not_back_off() -> Any:
    return patch.object(Retry, "delay_after", lambda self, _: self.delay)


def no_rescuer() -> Any:
    async def rescue(*_: Any) -> Rescued:
        return Rescued([], None, None)

    return patch.object(Store, "rescue_runs", rescue)


def cursor_moved_in_a_transaction_of_its_own() -> Any:
    def without_runs(
        later: list[Any], known: Any, now: int, limit: int, decide: Any
    ) -> Statements[Any]:
        """All statements of planning but the one that adds runs."""
        steps = plan_module.plan_due(known, now, limit, decide)
        step = next(steps)
        while True:
            if isinstance(step, QueryMany) and step.statement == "add_runs":
                later += step.rows
                rows: list[Any] = []
            else:
                rows = yield step
            try:
                step = steps.send(rows)
            except StopIteration as end:
                return end.value

    def add(rows: Any) -> Statements[None]:
        yield QueryMany("add_runs", rows)

    async def in_two_transactions(self: Any, now: int, limit: int, decide: Any, **_: Any) -> Any:
        later: list[Any] = []
        planned = await self._transact(
            _named("plan_due", without_runs), later, self._specifications, now, limit, decide
        )
        if later:
            await self._transact(add, later)
        return planned

    return patch.object(Store, "plan_due", in_two_transactions)


def catch_up_that_counts_a_slot_twice() -> Any:
    real = Due.row

    def row(self: Due, low: int, high: int, reason: Reason) -> list[SlotsNotRun]:
        return [each._replace(count=each.count + 1) for each in real(self, low, high, reason)]

    return patch.object(Due, "row", row)


def two_half_open_probes() -> Any:
    def gate_after_pass(gate: Any, run: Run, now: int) -> Any:
        """Does not mark the run as the probe, so that the next run becomes one too."""
        return gate

    return patch.object(drafts, "gate_after_pass", gate_after_pass)


def held_run_never_released() -> Any:
    return patch.object(planning, "_release", lambda _: None)


def pause_that_lets_a_queued_run_start() -> Any:
    real = Draft.close_waiting

    def close_waiting(self: Draft, reason: Reason) -> None:
        if reason is not Reason.PAUSED:
            real(self, reason)

    return patch.object(Draft, "close_waiting", close_waiting)


def edit_that_drops_the_slots_before_it() -> Any:
    real = operations.edit

    def edit(given: Any, specification: Any, now: int) -> Any:
        def nothing(given: Any, now: int) -> tuple[BatchState, Plan]:
            return BatchState(given), Plan(given.schedules[0])

        with patch.object(operations, "_plan_up_to_now", nothing):
            return real(given, specification, now)

    return patch("quarterjack.rules.edit", edit)


def retry_after_its_schedule_was_deleted() -> Any:
    real = settling._why_stopped

    def why_stopped(schedule: Schedule, run: Run) -> Reason | None:
        return real(schedule._replace(deleted_at=None), run)  # type: ignore[no-any-return]

    return patch.object(settling, "_why_stopped", why_stopped)


def lease_judged_by_a_local_clock() -> Any:
    real = LeaseRescuer.step

    async def step(self: Any, _now: int) -> int | None:
        return await real(self, self._worker._executor._clock.now())

    return patch.object(LeaseRescuer, "step", step)


def start_that_records_no_outage() -> Any:
    def nothing(*_: Any) -> Statements[None]:
        yield from ()

    return patch.object(nodes, "_record_outage", nothing)


def agents_without_limits_of_their_own() -> Any:
    return patch.object(Limits, "among_agents", lambda self: self)


def backfill_of_slots_that_have_succeeded() -> Any:
    def nothing(*arguments: Any) -> Statements[DoneSlots]:
        yield from ()
        return DoneSlots(frozenset(), arguments[2])

    return patch.object(facts, "read_done_slots", _named("read_done_slots", nothing))


def manual_errors_of_agents_not_counted() -> Any:
    def counts(_: Schedule, run: Run) -> bool:
        return run.kind is Kind.SLOT

    return patch.object(settling, "_counts_as_error", counts)


def retry_that_ignores_retry_after() -> Any:
    real = settling._next_step

    def next_step(run: Run, specification: Any, outcome: Outcome) -> Any:
        return real(run, specification, outcome._replace(retry_after=None))

    return patch.object(settling, "_next_step", next_step)


def skip_that_counts_as_an_error() -> Any:
    real = settling._with_counters

    def with_counters(schedule: Schedule, run: Run, outcome: Outcome, *, continues: bool) -> Any:
        if outcome.ending is Ending.SKIPPED:
            outcome = outcome._replace(ending=Ending.FAILED)
        return real(schedule, run, outcome, continues=continues)

    return patch.object(settling, "_with_counters", with_counters)


def code_that_stays_after_a_success() -> Any:
    real = settling._closed

    def closed(run: Run, outcome: Outcome, next_step: Any) -> Run:
        return real(run, outcome, next_step)._replace(code=outcome.code or run.code)  # type: ignore[no-any-return]

    return patch.object(settling, "_closed", closed)


def leases_renewed_on_the_event_loop() -> Any:
    return patch.object(SimulatedBackground, "_background_actor", lambda self: self._actor)


BUGS: dict[str, Callable[[], Any]] = {
    function.__name__.replace("_", " "): function
    for function in (
        settlement_not_fenced,
        settlement_fenced_by_worker_only,
        claim_as_read_then_write,
        overlap_that_ignores_queued_runs,
        retry_off_by_one,
        retry_that_does_not_back_off,
        no_rescuer,
        cursor_moved_in_a_transaction_of_its_own,
        catch_up_that_counts_a_slot_twice,
        two_half_open_probes,
        held_run_never_released,
        pause_that_lets_a_queued_run_start,
        edit_that_drops_the_slots_before_it,
        lease_judged_by_a_local_clock,
        retry_after_its_schedule_was_deleted,
        start_that_records_no_outage,
        agents_without_limits_of_their_own,
        backfill_of_slots_that_have_succeeded,
        manual_errors_of_agents_not_counted,
        retry_that_ignores_retry_after,
        skip_that_counts_as_an_error,
        code_that_stays_after_a_success,
        leases_renewed_on_the_event_loop,
    )
}
