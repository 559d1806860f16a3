"""Gates: circuit breakers that schedules share, and the limit of outstanding polls.

A breaker opens after `threshold` failures in a row, and slots are skipped while it is open. After
`reset_after` it half-opens: exactly one run may start, across all schedules and nodes, as the
probe. If the probe succeeds the breaker closes. If the probe fails, or ends without a result
(cancelled, lost, skipped by its task, closed before it started), the breaker opens again. Only runs
created by slots count, and while the breaker is not closed only the probe does.

Polls: of the runs that slots created for a plugin's command `poll`, at most
`max_outstanding_polls` are queued or running. `if_running: cancel` ignores this limit, because it
cancels the outstanding ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from quarterjack.rules.model import Ending, Gate, GateChange, GateState, Kind, Outcome, Run
from quarterjack.rules.reasons import Reason
from quarterjack.rules.states import State
from quarterjack.times.instants import MINUTE

RECHECK = MINUTE
"""How soon a held run is checked again while another run is the probe."""


class Breaker(NamedTuple):
    threshold: int
    reset_after: int
    name: str | None = None
    """Shares the breaker among all schedules that give this name, instead of those of the plugin's
    command."""


def blocking_reason(gate: Gate, now: int) -> Reason | None:
    """Why no run may pass the gate now; None if one may."""
    if gate.state is GateState.CLOSED:
        return None
    if gate.state is GateState.HALF_OPEN:
        return Reason.BREAKER_PROBING
    return None if may_probe(gate, now) else Reason.BREAKER_OPEN


def may_probe(gate: Gate, now: int) -> bool:
    """Whether the breaker is due to half-open, so that exactly one run may pass as the probe."""
    return gate.state is GateState.OPEN and gate.until is not None and now >= gate.until


def gate_after_pass(gate: Gate, run: Run, now: int) -> Gate:
    """The gate after this run has passed: the run becomes the probe if one is due."""
    if not may_probe(gate, now):
        return gate
    return gate._replace(state=GateState.HALF_OPEN, until=None, probe=run.id)


def blocked_until(gate: Gate, run: Run, now: int) -> int | None:
    """When to check again whether this run may pass; None if it may now. A run that is not ready
    yet does not become the probe, because all others would wait for it."""
    if gate.state is GateState.CLOSED:
        return None
    if may_probe(gate, now):
        return run.ready_at if run.ready_at > now else None
    return now + RECHECK if gate.until is None else gate.until


def gate_after_attempt(gate: Gate, breaker: Breaker, run: Run, outcome: Outcome) -> Gate:
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
    """The breaker opened at an instant, after a failure or a probe that ended without a result."""
    return Gate(gate.key, GateState.OPEN, gate.failures, at + gate.reset_after, gate.reset_after)


def outstanding_polls(open_runs: Iterable[Run]) -> int:
    return sum(run.kind is Kind.SLOT and run.state is not State.HELD for run in open_runs)


def _is_failure(outcome: Outcome) -> bool:
    return outcome.ending is Ending.FAILED or outcome.ending is Ending.TIMED_OUT


class SharedGates:
    """The gates of a batch, updated after each decision, and the changes to record. A gate whose
    probe was closed without a result is opened again when it is read."""

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
            change = GateChange(gate.key, at, before.state, gate.state, gate.failures, run_id)
            self.changes.append(change)
