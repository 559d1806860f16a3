"""The mutable state of planning: a `Draft` for each schedule, and what a batch shares.

Nothing that the schedules of a batch share changes before a draft is finished with `Draft.plan`, so
a schedule that fails half-way has no effect on the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from quarterjack.rules.definition.specification import Specification
from quarterjack.rules.model import Facts, Gate, Kind, Plan, Plans, Run, Schedule, SlotsNotRun
from quarterjack.rules.policies.gate import (
    RECHECK,
    SharedGates,
    blocked_until,
    gate_after_pass,
    outstanding_polls,
)
from quarterjack.rules.policies.overlap import next_held, without_waiting
from quarterjack.rules.policies.service_limits import Budget, BudgetUsage, Outage
from quarterjack.rules.reasons import Reason
from quarterjack.rules.slots_not_run import merged
from quarterjack.rules.states import RunEvent, State, moved_run


class BatchState:
    """What the schedules of a batch share, updated after each of them."""

    def __init__(self, facts: Facts) -> None:
        self.open_runs = dict(facts.open_runs)
        # An operation makes a second draft for its one schedule, which must see the first.
        self.is_batch = len(facts.schedules) > 1
        self.gates = SharedGates(facts.gates)
        self.budget = Budget(facts.limits, facts.outage, facts.dispatch_rate)
        self.agent_budget = Budget(facts.limits.among_agents(), *facts.agent_budgets)
        self.done = facts.done

    def results(self, plans: Sequence[Plan]) -> Plans:
        agents = BudgetUsage(self.agent_budget.outage, self.agent_budget.dispatch_rate)
        gates, outage = self.gates, self.budget.outage
        rate = self.budget.dispatch_rate
        return Plans(plans, gates.changed, gates.changes, outage, rate, agents)


class Draft:
    """The plan of one schedule while it is being made."""

    added: Sequence[Run] = ()
    not_run: Sequence[SlotsNotRun] = ()
    released: Sequence[Run] = ()
    closed: Sequence[Run] = ()
    cancelled: Sequence[Run] = ()
    closes: Reason | None = None
    rescoped: str | None = None
    wakes: Sequence[int] = ()
    deleted: bool = False
    gates: Sequence[tuple[Gate, str]] = ()
    """Changed gates, newest first, each with the id of the run that changed it."""

    def __init__(self, schedule: Schedule, batch: BatchState, now: int) -> None:
        self.schedule = schedule
        self.specification: Specification = schedule.specification
        self.batch = batch
        self.now = now
        self.scope = self.specification.scope(schedule.id)
        self.open_runs: Sequence[Run] = batch.open_runs.get(self.scope, ())
        self.budgets: Sequence[Budget] = (batch.budget,)
        if self.specification.is_agent:
            self.budgets = (batch.budget, batch.agent_budget)

    @property
    def outage(self) -> Outage | None:
        """The outage in which slots of this schedule may have been missed: it must have existed
        before the outage ended."""
        outage = self.batch.budget.outage
        return outage if outage is not None and self.schedule.created_at < outage.until else None

    @property
    def own_open_runs(self) -> list[Run]:
        return [run for run in self.open_runs if run.schedule_id == self.schedule.id]

    def gate(self, key: str) -> Gate:
        for gate, _ in self.gates:
            if gate.key == key:
                return gate
        return self.batch.gates[key]

    def blocked_until(self, run: Run) -> int | None:
        """When to check again whether the run may start; None if it may start now."""
        most = self.specification.max_outstanding_polls
        if most and run.kind is Kind.SLOT and outstanding_polls(self.open_runs) >= most:
            return self.now + RECHECK
        return None if run.gate is None else blocked_until(self.gate(run.gate), run, self.now)

    def pass_gate(self, run: Run) -> None:
        """Record that the run may start, if it has a gate: it may become the probe."""
        if run.gate is not None:
            gate = gate_after_pass(self.gate(run.gate), run, self.now)
            self.gates = [(gate, run.id), *self.gates]

    def record_not_run(self, slots: Sequence[int], reason: Reason) -> None:
        self.not_run = [*self.not_run, *(SlotsNotRun(slot, slot, 1, reason) for slot in slots)]

    def keep_newest(self, slots: Sequence[int], room: int | None, reason: Reason) -> Sequence[int]:
        """At most `room` of the newest slots; the others are recorded as not run."""
        if room is None or room >= len(slots):
            return slots
        split = len(slots) - room
        self.record_not_run(slots[:split], reason)
        return slots[split:]

    def keep_oldest(self, slots: Sequence[int], room: int, reason: Reason) -> Sequence[int]:
        """At most `room` of the oldest slots; the others are recorded as not run."""
        if room >= len(slots):
            return slots
        self.record_not_run(slots[room:], reason)
        return slots[:room]

    def new_run(
        self, number: int, kind: Kind, slot: int, ready_at: int, state: State,
        request: int = 0, gate: str | None = None, *, caught_up: bool = False,
    ) -> Run:  # fmt: skip
        schedule, specification = self.schedule, self.specification
        # By position: this is the hottest call of planning, and keywords take longer.
        return Run(
            schedule.id, number, kind, slot, ready_at, self.now, self.scope, gate, schedule.version,
            request, state, None, specification.priority, specification.queue, caught_up,
            repeat=schedule.current_repeat,
        )  # fmt: skip

    def add(self, runs: Sequence[Run]) -> None:
        self.added = [*self.added, *runs] if self.added else runs
        self.open_runs = [*self.open_runs, *runs] if self.open_runs else runs

    def release(self, run: Run) -> None:
        """Queue a held run."""
        state, ready_at = moved_run(run, RunEvent.RELEASE), max(run.ready_at, self.now)
        queued = run._replace(state=state, ready_at=ready_at)
        self.released = [*self.released, queued]
        self._replace_open(run, queued)

    def cancel(self, run: Run, reason: Reason) -> None:
        """Close a waiting run; request a running one to stop, unless that was done before."""
        if run.state is not State.RUNNING:
            self.close(run, RunEvent.CANCEL, reason)
        elif run.cancel is None:
            cancelled = run._replace(cancel=reason)
            self.cancelled = [*self.cancelled, cancelled]
            self._replace_open(run, cancelled)

    def close(self, run: Run, event: RunEvent, reason: Reason) -> None:
        """Close a waiting run."""
        state = moved_run(run, event)
        closed = run._replace(state=state, reason=reason, finished_at=self.now)
        if run.waits_to_retry and run.schedule_id == self.schedule.id:
            self.schedule = self.schedule._replace(current_retry=0)
        self.closed = [*self.closed, closed]
        self.open_runs = [each for each in self.open_runs if each.id != run.id]

    def close_waiting(self, reason: Reason) -> None:
        """Close all waiting runs of this schedule."""
        self.closes = reason
        self.open_runs = without_waiting(self.open_runs, self.schedule.id)
        self.wake_next()

    def wake_next(self) -> None:
        """Wake the schedule that owns the next held run, because only its plan releases it."""
        if (head := next_held(self.open_runs)) is not None:
            self.wake(head.schedule_id)

    def wake(self, schedule_id: int) -> None:
        """Have another schedule of the scope planned now."""
        if schedule_id != self.schedule.id and schedule_id not in self.wakes:
            self.wakes = [*self.wakes, schedule_id]

    def plan(self) -> Plan:
        """The finished plan. Updates the state that the batch shares."""
        batch, schedule = self.batch, self.schedule
        batch.budget = self.budgets[0]
        if self.specification.is_agent:
            batch.agent_budget = self.budgets[1]
        for gate, run_id in reversed(self.gates):
            batch.gates.put(gate, self.now, run_id)
        if self.specification.shares_scope or not batch.is_batch:
            batch.open_runs[self.scope] = self.open_runs
        if self.not_run or schedule.not_run is not None:
            ran = [run.slot for run in self.added if run.kind is Kind.SLOT]
            self.not_run, not_run = merged(self.not_run, ran, schedule.not_run)
            schedule = schedule._replace(not_run=not_run)
        return Plan(
            schedule, self.added, self.not_run, self.released, self.closed, self.cancelled,
            self.closes, self.rescoped, self.wakes, self.deleted,
        )  # fmt: skip

    def _replace_open(self, run: Run, changed: Run) -> None:
        self.open_runs = [changed if each.id == run.id else each for each in self.open_runs]
