"""Outages: which planners started while no other was alive, and what must follow."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from harness.sim.journal import RunRow
from harness.sim.oracle import SECOND, Definition
from quarterjack.sim.faults import Fault
from quarterjack.sim.host import NodeLife
from quarterjack.sim.record import StoreCall

if TYPE_CHECKING:
    from harness.sim.checker import Checker

NODE_TIMEOUT = 20 * SECOND
"""After its last heartbeat a node on another host still counts as alive for this time."""
CAUGHT_UP_WITHIN = 60 * SECOND
"""What is planned later may belong to an outage without the start of a planner."""
AGENT_BUDGET, AGENT_STAGGER = 5, 5 * SECOND


class Start(NamedTuple):
    """A planner started while no other was alive."""

    call_index: int
    at: int
    until: int
    """What came due before was missed."""


class Outages:
    def __init__(self, checker: Checker) -> None:
        self._checker = checker
        self._simulation = checker.simulation

    @cached_property
    def starts(self) -> list[Start]:
        """In order."""
        found: list[Start] = []
        registered: list[str] = []
        unregistered: set[str] = set()
        for index, call in enumerate(self._checker.record.calls):
            if call.transaction == "unregister":
                unregistered.add(call.actor)
            if call.transaction != "register" or call.actor in registered:
                continue
            life, others = self._simulation.node_lives[call.actor], set(registered) - unregistered
            if life.plans and not any(self._is_alive(life, each, call) for each in others):
                assert call.now is not None
                found.append(Start(index, call.at, call.now))
            registered.append(call.actor)
        return found

    def _is_alive(self, observer: NodeLife, name: str, call: StoreCall) -> bool:
        """Whether that node is a live planner, for this observer."""
        life = self._simulation.node_lives[name]
        if not life.plans:
            return False
        is_local = self._simulation.profile.is_one_host or life.host == observer.host
        if life.ended_at is not None and life.ended_at <= call.at:
            return not is_local and call.at - life.ended_at < NODE_TIMEOUT
        return is_local or not self._has_timed_out(name, call.at)

    def _has_timed_out(self, name: str, at: int) -> bool:
        """Whether it was paused for so long that its heartbeat is too old."""
        return any(
            each.since <= at - NODE_TIMEOUT and at < each.until
            for each in self._checker.record.disturbances
            if each.kind == str(Fault.PAUSED) and each.actor == name
        )

    def last_start_before(self, call_index: int) -> Start | None:
        index = bisect_left(self.starts, (call_index,))
        return self.starts[index - 1] if index else None

    def covers(self, slot: int, call_index: int) -> bool:
        """Whether a slot decided by this call came due in an outage."""
        return any(start.until > slot for start in self.starts if start.call_index < call_index)

    def skip_runs_nothing_missed(self) -> Iterator[tuple[str, RunRow]]:
        for run, definition in self._planned_runs():
            if definition["catch_up"] != "skip" or definition.is_one_shot:
                continue
            start, at = self.last_start_before(run.call_index), self._checker.call(run).at
            if start is None or run.slot >= start.until:
                continue
            created_at = self._checker.rows.schedules[run.schedule_id][0].created_at
            if created_at < start.until and not self._checker.was_clock_set(start.at, at):
                yield f"slot {run.slot} came due while no planner was alive", run

    def budgets_are_kept(self) -> Iterator[tuple[str, RunRow]]:
        limits = self._simulation.profile.limits
        is_for_agents = limits.max_catchup_runs is None
        budget = AGENT_BUDGET if is_for_agents else limits.max_catchup_runs
        stagger = AGENT_STAGGER
        if limits.catchup_stagger_ms is not None:
            stagger = limits.catchup_stagger_ms * 1000
        for runs in self._caught_up(is_for_agents).values():
            recurring = [run for run, definition in runs if not definition.is_one_shot]
            if budget and len(recurring) > budget:
                yield f"{len(recurring)} schedules were caught up after one outage", recurring[-1]
            ordered = sorted(
                (run for run, definition in runs if not _may_be_delayed(definition)),
                key=lambda run: run.ready_at,
            )
            for before, after in itertools.pairwise(ordered):
                gap = after.ready_at - before.ready_at
                if gap < stagger:
                    yield f"is ready {gap / SECOND:g} s after {before.id}, missed too", after

    def _caught_up(self, is_for_agents: bool) -> dict[Start, list[tuple[RunRow, Definition]]]:
        """The first run of each schedule that was caught up, by outage."""
        found: dict[Start, dict[int, tuple[RunRow, Definition]]] = defaultdict(dict)
        for run, definition in self._planned_runs():
            start, call = self.last_start_before(run.call_index), self._checker.call(run)
            if start is None or run.slot >= start.until or call.now is None:
                continue
            is_soon = 0 <= call.now - start.until <= CAUGHT_UP_WITHIN
            counts = definition.is_agent or not is_for_agents
            if is_soon and counts and not self._checker.was_clock_set(start.at, call.at):
                found[start].setdefault(run.schedule_id, (run, definition))
        return {start: list(runs.values()) for start, runs in found.items()}

    def _planned_runs(self) -> Iterator[tuple[RunRow, Definition]]:
        """Runs of slots as they were planned, in order, with the definition that planned them."""
        planned = [versions[0] for versions in self._checker.rows.runs.values()]
        for run in sorted(planned, key=lambda run: (run.call_index, run.schedule_id, run.number)):
            history = self._checker.histories.get(run.schedule_id)
            if run.kind == "slot" and history is not None:
                yield run, history.definition(run.version)


def _may_be_delayed(definition: Definition) -> bool:
    """Whether a run may be ready later than its slot for another reason."""
    return definition["jitter"] is not None or definition["on_constraint"] != "drop"
