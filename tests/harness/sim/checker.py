"""The checker: what must hold in every simulation, whatever faults were injected. The rules are in
`slot_rules`, `run_rules`, `outcome_rules` and `recovery_rules`; their codes are those of the
catalogue of faults."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Protocol

from harness.sim import outcome_rules, recovery_rules, run_rules, slot_rules
from harness.sim.active_periods import histories
from harness.sim.journal import RowChanges
from harness.sim.oracle import Definition
from harness.sim.outages import Outages
from harness.sim.violation import AFTERMATH, Violation
from quarterjack.sim.faults import Fault
from quarterjack.sim.record import Disturbance, StoreCall, WorkEvent
from quarterjack.sim.simulation import Simulation

CLOCK_FAULTS = {"healed", str(Fault.CLOCK_STEP), str(Fault.CLOCK_STROBE)}


class JournalRow(Protocol):
    @property
    def call_index(self) -> int: ...


class Checker:
    """Everything known about a finished simulation."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.record = simulation.record
        self.rows = RowChanges(simulation)
        errors_max = simulation.profile.limits.max_consecutive_errors
        self.histories = histories(self.record, self.rows, errors_max)
        self.ended_at = simulation.clock.now()
        self.starts: dict[tuple[str, int], list[WorkEvent]] = defaultdict(list)
        """By run and attempt, as is `ends`."""
        self.ends: dict[tuple[str, int], list[WorkEvent]] = defaultdict(list)
        for event in self.record.work:
            events = self.starts if event.event == "started" else self.ends
            events[event.run_id, event.attempt].append(event)
        faults = self.record.disturbances
        self._disturbed = _merged([(each.since, each.until + AFTERMATH) for each in faults])
        self._blocks = [each for each in faults if each.kind == str(Fault.BLOCKED)]
        others = [each for each in faults if each.kind != str(Fault.BLOCKED)]
        self._disturbed_otherwise = _merged(
            [(each.since, each.until + AFTERMATH) for each in others]
        )
        self._clock_set = _merged(
            [(each.since, each.until) for each in faults if each.kind in CLOCK_FAULTS]
        )
        self.outages = Outages(self)
        self.slots_checked = 0

    def call(self, row: JournalRow) -> StoreCall:
        """The store call that wrote the row."""
        return self.record.calls[row.call_index]

    def is_disturbed(self, low: int, high: int) -> bool:
        """Whether there was any fault between these instants of simulated time."""
        return _overlaps(self._disturbed, low, high)

    def is_disturbed_otherwise(self, low: int, high: int) -> bool:
        """The same without blocked event loops, through which leases are kept."""
        return _overlaps(self._disturbed_otherwise, low, high)

    def blocks(self, low: int, high: int) -> list[Disturbance]:
        """The blocked event loops between these instants."""
        return [each for each in self._blocks if each.since <= high and each.until >= low]

    def was_clock_set(self, low: int, high: int) -> bool:
        """Whether the database's clock was set between them: then the `now` of a call may be older
        than what the clock shows."""
        return _overlaps(self._clock_set, low, high)

    def is_limited(self, definition: Definition) -> bool:
        """Whether service limits may delay it."""
        return definition.is_agent or self.simulation.profile.limits.has_budgets

    def violations(self) -> list[Violation]:
        found = [each for rule in RULES for each in rule(self)]
        errors = self.simulation.loop.unhandled_errors
        return found + [Violation("unhandled error", error) for error in errors]


def _overlaps(spans: list[tuple[int, int]], low: int, high: int) -> bool:
    index = bisect_right(spans, (high, float("inf")))
    return index > 0 and spans[index - 1][1] >= low


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged


RULES: tuple[Callable[[Checker], Iterator[Violation]], ...] = (
    slot_rules.every_slot_is_decided_once,
    slot_rules.reasons_are_allowed,
    slot_rules.slots_are_planned_promptly,
    slot_rules.runs_of_excluded_days_wait_for_the_next_day,
    slot_rules.outages_are_caught_up_as_documented,
    slot_rules.backfills_leave_out_what_is_done,
    run_rules.consecutive_errors_are_counted,
    run_rules.attempts_follow_each_other,
    run_rules.runs_do_not_overlap,
    run_rules.retries_are_bounded,
    outcome_rules.retries_are_delayed_as_configured,
    outcome_rules.stored_results_are_true,
    outcome_rules.codes_are_those_of_the_work,
    outcome_rules.skipped_runs_count_for_nothing,
    run_rules.breakers_let_one_probe_through,
    run_rules.nothing_starts_after_a_deletion,
    recovery_rules.everything_recovers,
)
