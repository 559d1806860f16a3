"""The checker of outages: which starts of planners found no other alive, and what has to follow."""

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
from quarterjack.sim.host import Life
from quarterjack.sim.record import Moment

if TYPE_CHECKING:
    from harness.sim.checker import Judge

HEARD_OF_WITHIN = 20 * SECOND
"""So long after its last heartbeat a node counts as alive on other hosts."""
CAUGHT_UP_WITHIN = 60 * SECOND
"""What is planned later may belong to another outage, which nobody registered for."""
AGENT_BUDGET, AGENT_STAGGER = 5, 5 * SECOND


class Start(NamedTuple):
    """A planner has started while no other was alive."""

    moment: int
    at: int
    until: int
    """What came due before was missed."""


class Outages:
    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._world = judge.world

    @cached_property
    def starts(self) -> list[Start]:
        """In order."""
        found: list[Start] = []
        registered: list[str] = []
        left: set[str] = set()
        for number, moment in enumerate(self._judge.record.moments):
            if moment.verb == "unregister":
                left.add(moment.place)
            if moment.verb != "register" or moment.place in registered:
                continue
            life, others = self._world.lives[moment.place], set(registered) - left
            if life.plans and not any(self._is_alive(life, each, moment) for each in others):
                assert moment.now is not None
                found.append(Start(number, moment.at, moment.now))
            registered.append(moment.place)
        return found

    def _is_alive(self, here: Life, name: str, moment: Moment) -> bool:
        """Is that one a planner that is alive, as seen from here?"""
        life = self._world.lives[name]
        if not life.plans:
            return False
        is_near = self._world.is_one_host or life.host == here.host
        ended_at = life.ended_at
        if ended_at is not None and ended_at <= moment.at:
            return not is_near and moment.at - ended_at < HEARD_OF_WITHIN
        return is_near or not self._is_silent(name, moment.at)

    def _is_silent(self, name: str, at: int) -> bool:
        """Was it stopped, and so not heard of for long?"""
        return any(
            each.since <= at - HEARD_OF_WITHIN and at < each.until
            for each in self._judge.record.disturbances
            if each.kind == str(Fault.STOPPED) and each.place == name
        )

    def last_before(self, moment: int) -> Start | None:
        place = bisect_left(self.starts, (moment,))
        return self.starts[place - 1] if place else None

    def covers(self, slot: int, moment: int) -> bool:
        """Was a slot that was decided in this moment missed, for no planner was alive?"""
        return any(start.until > slot for start in self.starts if start.moment < moment)

    # What has to follow.

    def nothing_missed_runs_under_skip(self) -> Iterator[tuple[str, RunRow]]:
        for run, definition in self._slot_runs():
            if definition["catch_up"] != "skip" or definition.once:
                continue
            start, at = self.last_before(run.moment), self._judge.moment(run.moment).at
            if start is None or run.slot >= start.until or self._judge.was_set(start.at, at):
                continue
            if self._judge.lives.schedules[run.schedule_id][0].created_at < start.until:
                yield f"slot {run.slot} came due while no planner was alive", run

    def budgets_are_kept(self) -> Iterator[tuple[str, RunRow]]:
        limits = self._world.profile.limits
        is_agents_own = limits.max_catchup_runs is None
        most = AGENT_BUDGET if is_agents_own else limits.max_catchup_runs
        stagger = AGENT_STAGGER
        if limits.catchup_stagger_ms is not None:
            stagger = limits.catchup_stagger_ms * 1000
        for runs in self._caught_up(is_agents_own).values():
            recurring = [run for run, definition in runs if not definition.once]
            if most and len(recurring) > most:
                yield f"{len(recurring)} schedules were caught up after one outage", recurring[-1]
            ordered = sorted(
                (run for run, definition in runs if not _moves_by_itself(definition)),
                key=lambda run: run.ready_at,
            )
            for before, after in itertools.pairwise(ordered):
                if after.ready_at - before.ready_at < stagger:
                    apart = (after.ready_at - before.ready_at) / SECOND
                    yield f"is ready {apart:g} s after {before.id}, which was missed too", after

    def _caught_up(self, is_agents_own: bool) -> dict[Start, list[tuple[RunRow, Definition]]]:
        """By outage, the first run of each schedule that was caught up after it."""
        found: dict[Start, dict[int, tuple[RunRow, Definition]]] = defaultdict(dict)
        for run, definition in self._slot_runs():
            start, moment = self.last_before(run.moment), self._judge.moment(run.moment)
            if start is None or run.slot >= start.until or moment.now is None:
                continue
            soon = 0 <= moment.now - start.until <= CAUGHT_UP_WITHIN
            counts = definition.is_agent or not is_agents_own
            if soon and counts and not self._judge.was_set(start.at, moment.at):
                found[start].setdefault(run.schedule_id, (run, definition))
        return {start: list(runs.values()) for start, runs in found.items()}

    def _slot_runs(self) -> Iterator[tuple[RunRow, Definition]]:
        """As they were planned, with what they were planned by."""
        firsts = [life[0] for life in self._judge.lives.runs.values()]
        for run in sorted(firsts, key=lambda run: (run.moment, run.schedule_id, run.number)):
            history = self._judge.histories.get(run.schedule_id)
            if run.kind == "slot" and history is not None:
                yield run, history.definition(run.version)


def _moves_by_itself(definition: Definition) -> bool:
    """May a run be ready later than its slot, whatever was missed?"""
    return definition["jitter"] is not None or definition["on_constraint"] == "defer"
