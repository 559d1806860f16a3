"""Gate: what several schedules share. Its circuit breaker, and how many polls are outstanding.

The breaker opens after `threshold` failures in a row. While it is open, slots are skipped. After
`reset_after` it lets exactly one run through, across all schedules and nodes: the probe. Success
closes it; a failure, or no verdict at all (cancelled, lost, closed before it started), opens it
anew from then on. Only runs made by slots count, and while it is not closed only the probe does.

Polls: of the runs that slots made for a plugin's command `poll`, at most `max_outstanding_polls`
are queued or running. `cancel` makes room itself, and so passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from quarterjack.rules.model import Ending, Gate, GateChange, GateState, Kind, Outcome, Run
from quarterjack.rules.reasons import Reason
from quarterjack.rules.states import State
from quarterjack.times.instants import MINUTE

RECHECK = MINUTE
"""How soon a held run looks again while another one is the probe."""


class Breaker(NamedTuple):
    threshold: int
    reset_after: int
    name: str | None = None
    """A key of its own, to share it between other schedules than those of a plugin's command."""


def refusal(gate: Gate, now: int) -> Reason | None:
    """Why no run may pass now."""
    if gate.state is GateState.CLOSED:
        return None
    if gate.state is GateState.HALF_OPEN:
        return Reason.BREAKER_PROBING
    return None if may_probe(gate, now) else Reason.BREAKER_OPEN


def may_probe(gate: Gate, now: int) -> bool:
    """Is it open, and time for exactly one run?"""
    return gate.state is GateState.OPEN and gate.until is not None and now >= gate.until


def passed_by(gate: Gate, run: Run, now: int) -> Gate:
    """The gate after this run was let through: it becomes the probe, if it is time for one."""
    if not may_probe(gate, now):
        return gate
    return gate._replace(state=GateState.HALF_OPEN, until=None, probe=run.id)


def held_until(gate: Gate, run: Run, now: int) -> int | None:
    """Until when this run must wait, or look again; None if it may pass. A run that cannot start
    yet does not become the probe, for all others would wait with it."""
    if gate.state is GateState.CLOSED:
        return None
    if may_probe(gate, now):
        return run.ready_at if run.ready_at > now else None
    return now + RECHECK if gate.until is None else gate.until


def judged(gate: Gate, breaker: Breaker, run: Run, outcome: Outcome) -> Gate:
    """The gate after an attempt of this run."""
    if gate.state is not GateState.CLOSED:
        if gate.probe != run.id:
            return gate
        if outcome.ending is Ending.SUCCEEDED:
            return Gate(gate.key)
        gate = gate._replace(failures=gate.failures + _is_failure(outcome))
        return opened(gate, outcome.at)
    if outcome.ending is Ending.SUCCEEDED:
        return gate._replace(failures=0) if gate.failures else gate
    if not _is_failure(outcome):
        return gate
    gate = gate._replace(failures=gate.failures + 1, reset_after=breaker.reset_after)
    return opened(gate, outcome.at) if gate.failures >= breaker.threshold else gate


def opened(gate: Gate, at: int) -> Gate:
    """Open from then on: after a failure, or after a probe that was closed before it could tell."""
    return Gate(gate.key, GateState.OPEN, gate.failures, at + gate.reset_after, gate.reset_after)


def outstanding_polls(open_runs: Iterable[Run]) -> int:
    return sum(run.kind is Kind.SLOT and run.state is not State.HELD for run in open_runs)


def _is_failure(outcome: Outcome) -> bool:
    return outcome.ending is Ending.FAILED or outcome.ending is Ending.TIMED_OUT


class SharedGates:
    """The gates of a batch, as far as it has come, and their history. Whoever reads one whose probe
    was closed without a verdict finds it open."""

    def __init__(self, gates: Mapping[str, Gate]) -> None:
        self._gates = dict(gates)
        self.changed: dict[str, Gate] = {}
        self.changes: list[GateChange] = []

    def __getitem__(self, key: str) -> Gate:
        gate = self._gates.get(key) or Gate(key)
        if gate.probe_ended_at is not None:
            self.put(opened(gate, gate.probe_ended_at), gate.probe_ended_at, gate.probe)
            gate = self._gates[key]
        return gate

    def put(self, gate: Gate, at: int, run_id: str | None) -> None:
        before = self._gates.get(gate.key) or Gate(gate.key)
        if gate == before:
            return
        self._gates[gate.key] = self.changed[gate.key] = gate
        if gate.state is not before.state:
            self.changes.append(
                GateChange(gate.key, at, before.state, gate.state, gate.failures, run_id)
            )
