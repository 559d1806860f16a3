"""A service in memory for tests of the rules: it stands in for a store and an engine.

It keeps schedules, runs and gates, applies the decisions of the rules, claims runs and ends
attempts. At each step it checks every guarantee of the rules that is visible from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness.rules.values import at, specification
from quarterjack import rules
from quarterjack.rules import (
    OPEN,
    WAITING,
    DoneSlots,
    Ended,
    Ending,
    Facts,
    Gate,
    GateChange,
    GateState,
    Kind,
    Limits,
    Outage,
    Outcome,
    Plan,
    Plans,
    Run,
    Schedule,
    Settlement,
    SlotsNotRun,
    State,
    Status,
)
from quarterjack.rules.policies.service_limits import BudgetUsage, DispatchRate, outage_at_start
from quarterjack.times.instants import MINUTE, SECOND


class InMemoryService:
    """Schedules, runs and gates in memory, at a current instant that tests set."""

    def __init__(self, now: str = "08:00", limits: Limits = Limits()) -> None:  # noqa: B008
        self.now = at(now)
        self.limits = limits
        self.outage: Outage | None = None
        self.dispatch_rate = DispatchRate()
        self.agent_budgets = BudgetUsage()
        self.schedules: dict[int, Schedule] = {}
        self.deleted: dict[int, Schedule] = {}
        self.versions: dict[tuple[int, int], Any] = {}
        self.runs: dict[str, Run] = {}
        self.not_run: dict[tuple[int, int], SlotsNotRun] = {}
        self.gates: dict[str, Gate] = {}
        self.gate_history: list[GateChange] = []
        self.slots_planned: set[tuple[int, int, int]] = set()
        self.most_open: dict[int, int] = {}
        self.requests = 0

    # Operations.

    def add(self, **fields: Any) -> int:
        identity = len(self.schedules) + len(self.deleted) + 1
        key = fields.pop("key", f"s{identity}")
        schedule = rules.create(
            identity,
            key,
            specification(key, self.now, **fields),
            self.now,
            active=self.active_without(identity),
            limits=self.limits,
        )
        self.schedules[identity] = schedule
        self.versions[identity, 1] = schedule.specification
        return identity

    def active_without(self, identity: int) -> int:
        """How many other schedules count for `max_scheduled_jobs`."""
        others = [each for each in self.schedules.values() if each.id != identity]
        return sum(each.status is Status.ACTIVE or each.paused_until is not None for each in others)

    def pause(self, identity: int, **words: Any) -> None:
        words.setdefault("by", "ada")
        self._commit(rules.pause(self._facts([identity]), self.now, **words))

    def resume(self, identity: int) -> None:
        self._commit(rules.resume(self._operation_facts(identity), self.now))

    def edit(self, identity: int, **fields: Any) -> None:
        schedule = self.schedules[identity]
        changed = specification(schedule.key, self.now, **fields)
        plans = rules.edit(self._operation_facts(identity), changed, self.now)
        self._commit(plans, edited=True)

    def delete(self, identity: int, *, though_running: bool = False) -> None:
        facts = self._facts([identity])
        self._commit(rules.delete(facts, self.now, though_running=though_running))

    def run_now(self, identity: int) -> Run:
        plans = rules.run_now(self._operation_facts(identity), self.now)
        self._commit(plans)
        return plans.plans[0].added[-1]

    def start_planner(self, last_step_at: int) -> None:
        """A planner starts while no other is alive."""
        agents = self.agent_budgets
        self.outage = outage_at_start(self.outage, last_step_at, self.now)
        outage = outage_at_start(agents.outage, last_step_at, self.now)
        self.agent_budgets = agents._replace(outage=outage)

    def backfill(self, identity: int, start: str, until: str, *, again: bool = False) -> int:
        schedule, low, high = self.schedules[identity], at(start), at(until)
        facts = self._operation_facts(identity)
        self._commit(rules.backfill(facts, self.now, start=low, until=high, again=again))
        return rules.count_backfill(schedule, low, high)

    def cancel(self, run_id: str) -> None:
        run = self.runs[run_id]
        self._commit(rules.cancel_run(self._facts([run.schedule_id]), run, self.now))

    def retry(self, run_id: str) -> None:
        run = self.runs[run_id]
        self._commit(rules.retry_run(self._operation_facts(run.schedule_id), run, self.now))

    # The engine.

    def advance_to(self, until: str | int) -> None:
        """Moves the clock; nothing happens until then."""
        self.now = at(until) if isinstance(until, str) else until

    def plan_at(self, *instants: str) -> None:
        """Plans at each of these instants, without claiming a run."""
        for instant in instants:
            self.advance_to(instant)
            self.plan_due()

    def plan_due(self) -> list[Plan]:
        """Plans all due schedules, until none is due."""
        plans: list[Plan] = []
        for _ in range(200):
            wakes = [(s.wake_at, s.id) for s in self.schedules.values() if s.wake_at is not None]
            due = sorted(wake for wake in wakes if wake[0] <= self.now)
            if not due:
                return plans
            plans += self.plan([identity for _, identity in due])
        raise AssertionError("planning must come to an end")

    def plan(self, identities: list[int]) -> list[Plan]:
        facts = self._facts(identities)
        decided = rules.plan(facts, self.now)
        assert decided == rules.plan(facts, self.now), "the same facts give the same plan"
        self._commit(decided)
        return list(decided.plans)

    def claim(self) -> list[Run]:
        """Claims all runs that are ready."""
        ready = [
            run
            for run in self.runs.values()
            if run.state is State.QUEUED and run.ready_at <= self.now
        ]
        for run in ready:
            claimed = run._replace(
                state=State.RUNNING,
                attempt=run.attempt + 1,
                worker="w1",
                started_at=self.now,
                lease_until=self.now + 10 * SECOND,
            )
            self._put(claimed)
        return ready

    def finish(
        self, run_id: str, ending: Ending | str = Ending.SUCCEEDED, **words: Any
    ) -> Settlement:
        """Ends the running attempt of a run now, and settles it."""
        run = self.runs[run_id]
        schedule = self.schedules.get(run.schedule_id) or self.deleted[run.schedule_id]
        ended = Ended(
            run,
            self.versions[run.schedule_id, run.version],
            Outcome(Ending(ending), self.now, **words),
        )
        held = {run.scope: self._first_held(run.scope)}
        decided = rules.settle([ended], {schedule.id: schedule}, self._gates(), held, self.now)
        for _, error in decided.refused:
            raise error
        (settlement,) = decided.settlements
        self._put(settlement.run)
        self._put_schedule(settlement.schedule)
        self._put_gates(decided.gates, decided.gate_changes)
        self._close_waiting(schedule.id, settlement.closes)
        self._put_not_run(schedule.id, settlement.not_run)
        if settlement.wakes is not None:
            self._wake(settlement.wakes)
        return settlement

    def run_until(
        self, until: str | int, every: int = MINUTE, work: Callable[[Run], str] | None = None
    ):
        """Plans at regular intervals; each run is claimed and ends at once."""
        stop = at(until) if isinstance(until, str) else until
        while self.now < stop:
            self.now = min(self.now + every, stop)
            self.plan_due()
            for run in self.claim():
                self.finish(run.id, work(run) if work else Ending.SUCCEEDED)
            self.plan_due()

    # Inspection.

    def open_runs(self, identity: int) -> list[Run]:
        return [r for r in self.runs.values() if r.schedule_id == identity and r.state in OPEN]

    def states(self, identity: int) -> list[str]:
        """`state`, or `state: reason`, of each run in order."""
        runs = [run for run in self.runs.values() if run.schedule_id == identity]
        return [f"{r.state}: {r.reason}" if r.reason else str(r.state) for r in runs]

    def not_run_rows(self, identity: int) -> list[tuple[int, str, str]]:
        """(count, state, reason) of each row of slots that did not run, in order."""
        rows = sorted(row for (owner, _), row in self.not_run.items() if owner == identity)
        return [(row.count, str(row.state), str(row.reason)) for row in rows]

    # The store.

    def _facts(self, identities: list[int]) -> Facts:
        schedules = [self.schedules[identity] for identity in identities]
        by_scope: dict[str, list[Run]] = {}
        for run in self.runs.values():
            if run.state in OPEN:
                by_scope.setdefault(run.scope, []).append(run)
        return Facts(
            schedules,
            by_scope,
            self._gates(),
            self.limits,
            self.outage,
            self.dispatch_rate,
            self.agent_budgets,
            done=self._done(schedules),
        )

    def _done(self, schedules: list[Schedule]) -> dict[int, DoneSlots]:
        """The slots that backfills leave out."""
        done = {}
        for each in schedules:
            if each.backfill is not None and not each.backfill.again:
                request, _, until, _ = each.backfill
                runs = [run for run in self.runs.values() if run.schedule_id == each.id]
                done[each.id] = DoneSlots(
                    frozenset(
                        run.slot
                        for run in runs
                        if run.request != request
                        and (run.state in OPEN or run.state is State.SUCCEEDED)
                    ),
                    until,
                )
        return done

    def _operation_facts(self, identity: int) -> Facts:
        """The facts for an operation on one schedule."""
        self.requests += 1
        facts = self._facts([identity])
        return facts._replace(active=self.active_without(identity), request=self.requests)

    def _gates(self) -> dict[str, Gate]:
        """Each gate, with the end of its probe if that run was closed."""
        ends = {run.id: run.finished_at for run in self.runs.values() if run.state not in OPEN}
        return {
            key: gate._replace(probe_ended_at=ends.get(gate.probe or ""))
            for key, gate in self.gates.items()
        }

    def _first_held(self, scope: str) -> list[Run]:
        heads: dict[int, Run] = {}
        for run in self.runs.values():
            if run.scope == scope and run.state is State.HELD:
                heads.setdefault(run.schedule_id, run)
        return list(heads.values())

    def _commit(self, plans: Plans, *, edited: bool = False) -> None:
        for plan in plans.plans:
            self._apply(plan, edited=edited)
        for plan in plans.plans:  # after all of them, as a store does: a plan must not undo a wake
            for other in plan.wakes:
                self._wake(other)
        self._put_gates(plans.gates, plans.gate_changes)
        self.outage, self.dispatch_rate, self.agent_budgets = (
            plans.outage,
            plans.dispatch_rate,
            plans.agent_budgets,
        )

    def _apply(self, plan: Plan, *, edited: bool = False) -> None:
        identity = plan.schedule.id
        for run in plan.added:
            slot = (identity, run.slot, run.request)
            assert slot not in self.slots_planned, "a slot is never planned twice"
            assert run.slot <= self.now, "nothing is planned early"
            assert run.id not in self.runs, "a number is given once"
            self.slots_planned.add(slot)
            self.runs[run.id] = run
        self._put_not_run(identity, plan.not_run)
        for run in (*plan.released, *plan.closed, *plan.cancelled):
            self._put(run)
        self._close_waiting(identity, plan.closes)
        if plan.rescoped is not None:
            for run in self.open_runs(identity):
                self._put(run._replace(scope=plan.rescoped))
        self._put_schedule(plan.schedule, edited=edited)
        if plan.deleted:
            self._delete(identity)
        count = len(self.open_runs(identity))
        self.most_open[identity] = max(self.most_open.get(identity, 0), count)

    def _put_not_run(self, identity: int, rows: Sequence[SlotsNotRun]) -> None:
        for row in rows:
            assert row.first <= row.last <= self.now
            self.not_run[identity, row.first] = row

    def _put(self, run: Run) -> None:
        before = self.runs[run.id]
        assert before.state in OPEN, "a closed run never changes"
        assert run.attempt >= before.attempt
        self.runs[run.id] = run

    def _put_schedule(self, schedule: Schedule, *, edited: bool = False) -> None:
        if schedule.id in self.deleted:
            return
        before = self.schedules[schedule.id]
        assert edited or schedule.cursor >= before.cursor, "the cursor never moves back"
        assert schedule.planned_count >= before.planned_count
        self.schedules[schedule.id] = schedule
        self.versions[schedule.id, schedule.version] = schedule.specification

    def _put_gates(self, gates: Any, changes: Any) -> None:
        self.gates.update(gates)
        self.gate_history += changes
        for gate in gates.values():
            assert gate.probe_ended_at is None, "that is never written"
            assert (gate.state is GateState.HALF_OPEN) == (gate.probe is not None)
            assert (gate.state is GateState.OPEN) == (gate.until is not None)

    def _close_waiting(self, identity: int, reason: Any) -> None:
        if reason is not None:
            for run in self.open_runs(identity):
                if run.state in WAITING:
                    self._put(
                        run._replace(state=State.SKIPPED, reason=reason, finished_at=self.now)
                    )

    def _wake(self, identity: int) -> None:
        schedule = self.schedules.get(identity)
        if schedule is not None and schedule.status is Status.ACTIVE:
            self.schedules[identity] = schedule._replace(wake_at=self.now)

    def _delete(self, identity: int) -> None:
        self.deleted[identity] = self.schedules.pop(identity)._replace(deleted_at=self.now)


def made_by_slots(service: InMemoryService, identity: int) -> list[Run]:
    return [r for r in service.runs.values() if r.schedule_id == identity and r.kind is Kind.SLOT]
