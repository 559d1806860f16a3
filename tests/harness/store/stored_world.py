"""The world of the rules with a real store beside it: each deed is done in both, and afterwards
every row must be what the world remembers."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from harness.rules.world import World
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
from quarterjack.times.instants import SECOND

T = TypeVar("T")
EVERYTHING = 100_000


class SetClock:
    """A clock that shows what it is told."""

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


def at_once(doing: Coroutine[Any, Any, T]) -> T:
    """The answer of a store that never waits."""
    try:
        doing.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    raise AssertionError("an inline store does not wait")


def memory_store(clock: SetClock) -> SqliteStore:
    return SqliteStore(memory_database(clock.now()), Path("memory"), clock, inline=True)


class StoredWorld(World):
    """A world that is checked against a store."""

    def __init__(self, now: str = "08:00", limits: Limits = Limits()) -> None:  # noqa: B008
        super().__init__(now, limits)
        self.store = memory_store(SetClock(self.now))
        at_once(self.store._do(self._start_planning))
        self._mirrored: tuple[Any, ...] = self._snapshot()
        self._is_alone = False
        """From where a test plants what no store can keep: text in a column of numbers."""

    def _start_planning(self) -> Statements[None]:
        """A planner is alive; when another one is not, is said by the world."""
        node = NodeInfo("p", "here", 1, True, False, "", "", "", "", self.now, self.now)
        yield QueryMany("add_node", [node])
        self.store.is_alive = lambda node: True  # type: ignore[method-assign]

    def add(self, **fields: Any) -> int:
        self._carry_over()
        identity = super().add(**fields)
        schedule = self.schedules[identity]
        new = NewSchedule(schedule.key, schedule.specification, None, "test")
        made = at_once(self.store.add_schedules([new], lambda *_: schedule, self.now))
        assert [each.id for each in made] == [identity]
        self._compare()
        return identity

    def plan(self, identities: list[int]) -> list[Plan]:
        self._carry_over()
        plans = super().plan(identities)
        self._compare()
        return plans

    def claim(self) -> list[Run]:
        self._carry_over()
        ready = super().claim()
        if self._is_alone:
            return ready
        claimed = at_once(
            self.store.claim_runs("w1", ["default"], EVERYTHING, self.now + 10 * SECOND, self.now)
        )
        assert {claim.run.id for claim in claimed.claims} == {run.id for run in ready}
        assert all(claim.run == self.runs[claim.run.id] for claim in claimed.claims)
        self._compare()
        return ready

    def end(self, run_id: str, ending: Ending | str = Ending.SUCCEEDED, **words: Any) -> Settlement:
        self._carry_over()
        run = self.runs[run_id]
        settled = super().end(run_id, ending, **words)
        if self._is_alone:
            return settled
        outcome = Outcome(Ending(ending), self.now, **words)
        answer = at_once(self.store.settle_runs("w1", [(run, outcome)], settle, self.now))
        assert [each.id for each in answer.settled] == [run_id]
        again = at_once(self.store.settle_runs("w1", [(run, outcome)], settle, self.now))
        assert (again.settled, again.fenced) == ([], [run]), "an attempt is settled once"
        self._compare()
        return settled

    def _commit(self, plans: Plans, *, edited: bool = False) -> None:
        self._carry_over()
        if self._is_alone:
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
            at_once(
                self.store.edit_schedule(
                    identity, lambda *_: wanted, lambda facts, _, now: decide(facts, now), self.now
                )
            )
        elif due == known:
            at_once(self.store.plan_due(self.now, EVERYTHING, decide, self.limits))
        else:
            at_once(self.store._do(self._planned, sorted(known), decide))
        super()._commit(plans, edited=edited)
        self._compare()

    def _planned(self, wanted: list[int], decide: Any) -> Statements[None]:
        """Only some of those that are due, as another planner might leave them."""
        known = self.store._known
        schedules = yield from read_schedules((yield Query("schedules_by_ids", (wanted,))), known)
        facts = yield from read_facts(schedules, self.now)
        plans = decide(facts, self.now)
        yield Query(
            "put_planner_state", rows.planning_row(self.now, plans.outage, plans.pace, plans.agents)
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
            self.pace,
            self.agents,
        )

    def _stored(self) -> tuple[Any, ...]:
        def all_of(table: str) -> list[Any]:
            return self.store._walker._connection.execute(f"select * from {table}").fetchall()

        found = all_of("schedules")
        versions = {(row[0], row[5]): row[1] for row in found}
        known = at_once(self.store._do(self.store._known.read, versions))
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
        if self._is_alone:
            return
        self._mirrored = self._snapshot()
        stored, expected = self._stored(), self._mirrored
        for identity in expected[1]:  # a schedule that is gone has no wake any more
            expected[0][identity] = expected[0][identity]._replace(next_slot=None, wake_at=None)
            stored[0][identity] = stored[0][identity]._replace(next_slot=None, wake_at=None)
        names = ["schedules", "deleted", "runs", "not_run", "gates", "changes", "outage", "pace"]
        names += ["agents"]
        for name, one, other in zip(names, stored, expected, strict=True):
            assert one == other, name

    def _carry_over(self) -> None:
        """A test may have set the world's facts by hand: then the store's are set as well."""
        now = self._snapshot()
        if now == self._mirrored:
            return
        if any(not isinstance(each.anchor_at, int) for each in now[0].values()):
            self._is_alone = True
            return

        def write() -> Statements[None]:
            schedules: dict[int, Schedule] = now[0]
            yield QueryMany(
                "put_schedules", [rows.schedule_row(each) for each in schedules.values()]
            )
            yield QueryMany("put_gates", [rows.gate_row(each) for each in self.gates.values()])
            new = [run for key, run in self.runs.items() if key not in self._mirrored[2]]
            yield QueryMany("add_runs", new)
            yield QueryMany("put_runs", [rows.run_row(each) for each in self.runs.values()])
            yield Query(
                "put_planner_state",
                rows.planning_row(self.now, self.outage, self.pace, self.agents),
            )

        at_once(self.store._do(write))
        self._mirrored = now
