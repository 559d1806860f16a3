"""The in-memory world of the rules with a real store beside it: each operation is executed in both,
and afterwards all rows must be equal to the state of the world."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from harness.rules.in_memory_service import InMemoryService
from quarterjack.rules import (
    Ending,
    Facts,
    Limits,
    Outcome,
    Plan,
    Plans,
    Run,
    Schedule,
    Settlement,
    settle,
)
from quarterjack.store import rows
from quarterjack.store.sqlite.file import memory_database
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.store.statements import Query, QueryMany, Statements
from quarterjack.store.transactions.apply_decisions import apply_plans
from quarterjack.store.transactions.facts import budgets, read_facts, read_schedules
from quarterjack.store.types import NewSchedule, NodeInfo
from quarterjack.targets.kinds import KINDS
from quarterjack.times.instants import SECOND

T = TypeVar("T")
EVERYTHING = 100_000


class ManualClock:
    """A clock that tests set."""

    def __init__(self, now: int = 0) -> None:
        self.instant = now

    def now(self) -> int:
        return self.instant

    def monotonic(self) -> int:
        return self.instant

    def since_boot(self) -> int:
        return self.instant

    def chance(self) -> float:
        return 0.5


def run_inline(call: Coroutine[Any, Any, T]) -> T:
    """The result of a call of a store that works inline, and so never waits."""
    try:
        call.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    raise AssertionError("an inline store must not wait")


def memory_store(clock: ManualClock) -> SqliteStore:
    return SqliteStore(memory_database(clock.now()), Path("memory"), clock, KINDS, inline=True)


class StoredWorld(InMemoryService):
    """A world whose state is compared with a store after each operation."""

    def __init__(self, now: str = "08:00", limits: Limits = Limits()) -> None:  # noqa: B008
        super().__init__(now, limits)
        self.store = memory_store(ManualClock(self.now))
        run_inline(self.store._transact(self._start_planning))
        self._stored_state: tuple[Any, ...] = self._snapshot()
        self._is_detached = False
        """A test has set a value that no store can contain: text in a column of numbers."""

    def _start_planning(self) -> Statements[None]:
        """Register a planner, so that only the world decides when there was an outage."""
        node = NodeInfo("p", "here", 1, True, False, "", "", "", "", self.now, self.now)
        yield QueryMany("add_node", [node])
        self.store.is_alive = lambda node: True  # type: ignore[method-assign]

    def add(self, **fields: Any) -> int:
        self._copy_changes()
        identity = super().add(**fields)
        schedule = self.schedules[identity]
        new = NewSchedule(schedule.key, schedule.specification, None, "test")
        added = run_inline(
            self.store.add_schedules(lambda _: ([new], lambda *_: schedule), self.now)
        )
        assert [each.id for each in added] == [identity]
        self._compare()
        return identity

    def plan(self, identities: list[int]) -> list[Plan]:
        self._copy_changes()
        plans = super().plan(identities)
        self._compare()
        return plans

    def claim(self) -> list[Run]:
        self._copy_changes()
        ready = super().claim()
        if self._is_detached:
            return ready
        claimed = run_inline(
            self.store.claim_runs("w1", ["default"], EVERYTHING, self.now + 10 * SECOND, self.now)
        )
        assert {claim.run.id for claim in claimed.claims} == {run.id for run in ready}
        assert all(claim.run == self.runs[claim.run.id] for claim in claimed.claims)
        self._compare()
        return ready

    def finish(
        self, run_id: str, ending: Ending | str = Ending.SUCCEEDED, **words: Any
    ) -> Settlement:
        self._copy_changes()
        run = self.runs[run_id]
        settled = super().finish(run_id, ending, **words)
        if self._is_detached:
            return settled
        outcome = Outcome(Ending(ending), self.now, **words)
        found = run_inline(self.store.settle_runs("w1", [(run, outcome)], settle, self.now))
        assert [each.id for each in found.settled] == [run_id]
        again = run_inline(self.store.settle_runs("w1", [(run, outcome)], settle, self.now))
        assert (again.settled, again.fenced) == ([], [run]), "an attempt is settled only once"
        self._compare()
        return settled

    def _commit(self, plans: Plans, *, edited: bool = False) -> None:
        self._copy_changes()
        if self._is_detached:
            super()._commit(plans, edited=edited)
            return
        known = {each.schedule.id for each in plans.plans}
        expected = self._facts(sorted(known))

        def decide(facts: Facts, now: int) -> Plans:
            self._check_facts(facts, expected)
            return plans

        due = {s.id for s in self.schedules.values() if (s.wake_at or self.now + 1) <= self.now}
        if len(plans.plans) == 1:
            (identity,) = known
            wanted = plans.plans[0].schedule.specification
            run_inline(
                self.store.edit_schedule(
                    identity, lambda *_: wanted, lambda facts, _, now: decide(facts, now), self.now
                )
            )
        elif due == known:
            run_inline(self.store.plan_due(self.now, EVERYTHING, decide, self.limits))
        else:
            run_inline(self.store._transact(self._plan_some, sorted(known), decide))
        super()._commit(plans, edited=edited)
        self._compare()

    def _plan_some(self, wanted: list[int], decide: Any) -> Statements[None]:
        """Plan only some of the due schedules, as if another planner had planned the others."""
        known = self.store._specifications
        schedules = yield from read_schedules((yield Query("schedules_by_ids", (wanted,))), known)
        facts = yield from read_facts(schedules, self.now)
        plans = decide(facts, self.now)
        yield Query(
            "put_planner_state",
            rows.planning_row(self.now, plans.outage, plans.dispatch_rate, plans.agent_budgets),
        )
        before = {schedule.id: schedule for schedule in schedules}
        yield from apply_plans(plans, before, known, self.now)

    def _check_facts(self, facts: Facts, expected: Facts) -> None:
        assert sorted(facts.schedules) == sorted(expected.schedules)
        for scope, runs in facts.open_runs.items():
            assert sorted(runs) == sorted(expected.open_runs[scope])
        for schedule in facts.schedules:
            if schedule.specification.reads_open_runs:
                scope = schedule.specification.scope(schedule.id)
                assert sorted(facts.open_runs.get(scope, ())) == sorted(
                    expected.open_runs.get(scope, ())
                )
        assert facts.gates == {key: expected.gates[key] for key in facts.gates}
        assert budgets(facts) == budgets(expected)

    def _snapshot(self) -> tuple[Any, ...]:
        return (
            {**self.schedules, **self.deleted},
            set(self.deleted),
            dict(self.runs),
            dict(self.not_run),
            dict(self.gates),
            len(self.gate_history),
            self.outage,
            self.dispatch_rate,
            self.agent_budgets,
        )

    def _stored(self) -> tuple[Any, ...]:
        def all_of(table: str) -> list[Any]:
            return self.store._executor._connection.execute(f"select * from {table}").fetchall()

        found = all_of("schedules")
        versions = {(row[0], row[5]): row[1] for row in found}
        known = run_inline(self.store._transact(self.store._specifications.read, versions))
        ((_, _, *shared),) = all_of("planner_state")
        return (
            {row[0]: rows.schedule_of(row, known[row[0], row[5]]) for row in found},
            {row[0] for row in found if row[31] is not None},
            {run.id: run for run in map(rows.run_of, all_of("runs"))},
            {
                (row[0], row[1]): rows.slots_not_run_of(list(row[1:]))
                for row in all_of("slots_not_run")
            },
            {row[0]: rows.gate_of(row, None) for row in all_of("gates")},
            len(all_of("gate_changes")),
            *rows.planning_of((0, *shared))[1:],
        )

    def _compare(self) -> None:
        if self._is_detached:
            return
        self._stored_state = self._snapshot()
        stored, expected = self._stored(), self._stored_state
        for identity in expected[1]:  # deleting a schedule clears its wake in the store
            expected[0][identity] = expected[0][identity]._replace(next_slot=None, wake_at=None)
            stored[0][identity] = stored[0][identity]._replace(next_slot=None, wake_at=None)
        names = ["schedules", "deleted", "runs", "not_run", "gates", "changes", "outage", "pace"]
        names += ["agents"]
        for name, one, other in zip(names, stored, expected, strict=True):
            assert one == other, name

    def _copy_changes(self) -> None:
        """Copy into the store what a test has changed in the world directly."""
        now = self._snapshot()
        if now == self._stored_state:
            return
        if any(not isinstance(each.anchor_at, int) for each in now[0].values()):
            self._is_detached = True
            return

        def write() -> Statements[None]:
            schedules: dict[int, Schedule] = now[0]
            yield QueryMany(
                "put_schedules", [rows.schedule_row(each) for each in schedules.values()]
            )
            yield QueryMany("put_gates", [rows.gate_row(each) for each in self.gates.values()])
            new = [run for key, run in self.runs.items() if key not in self._stored_state[2]]
            yield QueryMany("add_runs", new)
            yield QueryMany("put_runs", [rows.run_row(each) for each in self.runs.values()])
            yield Query(
                "put_planner_state",
                rows.planning_row(self.now, self.outage, self.dispatch_rate, self.agent_budgets),
            )

        run_inline(self.store._transact(write))
        self._stored_state = now
