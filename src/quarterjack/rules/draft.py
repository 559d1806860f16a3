"""Drafts: where the steps of planning note what they decide.

Nothing that the schedules of a batch share is changed before a draft is finished, so that one
which fails half-way leaves no trace.
"""

from __future__ import annotations

from collections.abc import Sequence

from quarterjack.rules.definition.specification import Specification
from quarterjack.rules.model import (
    Facts,
    Gate,
    Kind,
    Plan,
    Plans,
    Run,
    Schedule,
    SlotsNotRun,
)
from quarterjack.rules.policies.gate import SharedGates
from quarterjack.rules.policies.limits import Budgets, Outage, Rations
from quarterjack.rules.policies.overlap import next_in_line, still_open
from quarterjack.rules.reasons import Reason
from quarterjack.rules.slots_not_run import merged
from quarterjack.rules.states import RunEvent, State, moved_run


class BatchState:
    """What the schedules of a batch share, as far as the batch has come."""

    def __init__(self, facts: Facts) -> None:
        self.open_runs = dict(facts.open_runs)
        # An operation makes a second draft for its one schedule, which must see the first.
        self.is_batch = len(facts.schedules) > 1
        self.gates = SharedGates(facts.gates)
        limits, agents = facts.limits, facts.limits.among_agents()
        self.all = Rations(limits, facts.outage, facts.pace)
        self.agents = Rations(agents, facts.agents.outage, facts.agents.pace)
        self.done = facts.done

    def results(self, plans: Sequence[Plan]) -> Plans:
        gates, budgets = self.gates, Budgets(self.agents.outage, self.agents.pace)
        outage, pace = self.all.outage, self.all.pace
        return Plans(plans, gates.changed, gates.changes, outage, pace, budgets)


class Draft:
    """The plan of one schedule while it is made."""

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
    """Gates that changed, each with the run that changed it."""

    def __init__(self, schedule: Schedule, batch: BatchState, now: int) -> None:
        self.schedule = schedule
        self.specification: Specification = schedule.specification
        self.batch = batch
        self.now = now
        self.scope = self.specification.scope(schedule.id)
        self.open_runs: Sequence[Run] = batch.open_runs.get(self.scope, ())
        self.rations: Sequence[Rations] = (batch.all,)
        if self.specification.is_agent:
            self.rations = (batch.all, batch.agents)

    @property
    def outage(self) -> Outage | None:
        """The outage in which its slots may have been missed: it began when the schedule was there
        already."""
        outage = self.batch.all.outage
        return outage if outage is not None and self.schedule.created_at < outage.until else None

    @property
    def own_open_runs(self) -> list[Run]:
        return [run for run in self.open_runs if run.schedule_id == self.schedule.id]

    def gate(self, key: str) -> Gate:
        for gate, _ in self.gates:
            if gate.key == key:
                return gate
        return self.batch.gates[key]

    def put_gate(self, gate: Gate, run: Run) -> None:
        self.gates = [(gate, run.id), *self.gates]

    def pass_over(self, slots: Sequence[int], reason: Reason) -> None:
        self.not_run = [*self.not_run, *(SlotsNotRun(slot, slot, 1, reason) for slot in slots)]

    def newest(self, slots: Sequence[int], room: int | None, reason: Reason) -> Sequence[int]:
        """So many of the newest; the others are passed over."""
        if room is None or room >= len(slots):
            return slots
        split = len(slots) - room
        self.pass_over(slots[:split], reason)
        return slots[split:]

    def oldest(self, slots: Sequence[int], room: int, reason: Reason) -> Sequence[int]:
        """So many of the oldest; the others are passed over."""
        if room >= len(slots):
            return slots
        self.pass_over(slots[room:], reason)
        return slots[:room]

    def new_run(
        self,
        number: int,
        kind: Kind,
        slot: int,
        ready_at: int,
        state: State,
        request: int = 0,
        gate: str | None = None,
        *,
        caught_up: bool = False,
    ) -> Run:
        schedule, specification = self.schedule, self.specification
        # By position, for this is done most often of all.
        return Run(
            schedule.id,
            number,
            kind,
            slot,
            ready_at,
            self.now,
            self.scope,
            gate,
            schedule.version,
            request,
            state,
            None,
            specification.priority,
            specification.queue,
            caught_up,
            repeat=schedule.current_repeat,
        )

    def add(self, runs: Sequence[Run]) -> None:
        self.added = [*self.added, *runs] if self.added else runs
        self.open_runs = [*self.open_runs, *runs] if self.open_runs else runs

    def release(self, run: Run) -> None:
        """Its turn has come."""
        state, ready_at = moved_run(run, RunEvent.RELEASE), max(run.ready_at, self.now)
        queued = run._replace(state=state, ready_at=ready_at)
        self.released = [*self.released, queued]
        self._exchange(run, queued)

    def cancel(self, run: Run, reason: Reason) -> None:
        """A run that waits is closed; one that runs is asked to stop, once."""
        if run.state is not State.RUNNING:
            self.close(run, RunEvent.CANCEL, reason)
        elif run.cancel is None:
            caller = run._replace(cancel=reason)
            self.cancelled = [*self.cancelled, caller]
            self._exchange(run, caller)

    def close(self, run: Run, event: RunEvent, reason: Reason) -> None:
        """A run that waits never starts."""
        state = moved_run(run, event)
        closed = run._replace(state=state, reason=reason, finished_at=self.now)
        if run.waits_to_retry and run.schedule_id == self.schedule.id:
            self.schedule = self.schedule._replace(current_retry=0)
        self.closed = [*self.closed, closed]
        self.open_runs = [each for each in self.open_runs if each.id != run.id]

    def close_waiting(self, reason: Reason) -> None:
        """All of the schedule's own that have not started."""
        self.closes = reason
        self.open_runs = still_open(self.open_runs, self.schedule.id)
        self.wake_next()

    def wake_next(self) -> None:
        """Whoever owns the run whose turn it is must release it."""
        if (head := next_in_line(self.open_runs)) is not None:
            self.wake(head.schedule_id)

    def wake(self, schedule_id: int) -> None:
        """Another schedule has something to do."""
        if schedule_id != self.schedule.id and schedule_id not in self.wakes:
            self.wakes = [*self.wakes, schedule_id]

    def plan(self) -> Plan:
        """As decided; what others in the batch must know is noted in what they share."""
        batch, schedule = self.batch, self.schedule
        batch.all = self.rations[0]
        if self.specification.is_agent:
            batch.agents = self.rations[1]
        for gate, run_id in reversed(self.gates):
            batch.gates.put(gate, self.now, run_id)
        if self.specification.shares_scope or not batch.is_batch:
            batch.open_runs[self.scope] = self.open_runs
        if self.not_run or schedule.not_run is not None:
            ran = [run.slot for run in self.added if run.kind is Kind.SLOT]
            self.not_run, not_run = merged(self.not_run, ran, schedule.not_run)
            schedule = schedule._replace(not_run=not_run)
        return Plan(
            schedule,
            self.added,
            self.not_run,
            self.released,
            self.closed,
            self.cancelled,
            self.closes,
            self.rescoped,
            self.wakes,
            self.deleted,
        )

    def _exchange(self, run: Run, changed: Run) -> None:
        self.open_runs = [changed if each.id == run.id else each for each in self.open_runs]
