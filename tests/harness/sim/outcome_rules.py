"""What must hold of the ends of attempts: what is stored is what the work said."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness.sim.journal import RunRow
from harness.sim.oracle import SECOND, Definition
from harness.sim.run_rules import WAITING_STATES
from harness.sim.violation import Violation

if TYPE_CHECKING:
    from harness.sim.checker import Checker

FAILED = "failed: "
"""Begins the event of work that fails with a code."""
ASKED_DELAY = "busy_for_"
"""Begins the code of an error that says when to retry."""


def retries_are_delayed_as_configured(checker: Checker) -> Iterator[Violation]:
    """From the end of the failure, by the policy of the version that planned the run, unless the
    error itself said when."""
    attempts = checker.simulation.database.query(
        "select schedule_id, number, attempt, finished_at from attempts"
    )
    ends = {(f"{row[0]}-{row[1]}", row[2]): row[3] for row in attempts}
    for versions in checker.rows.runs.values():
        history = checker.histories.get(versions[0].schedule_id)
        for before, after in itertools.pairwise(versions):
            end = ends.get((before.id, before.attempt))
            is_retry = after.state in WAITING_STATES and after.failures > before.failures
            if history is None or end is None or not is_retry:
                continue
            expected = _delay(checker, history.definition(before.version), after)
            delay = after.ready_at - end
            if delay != expected:
                what = f"retries after {delay / SECOND:g} s, expected {expected / SECOND:g}"
                yield Violation("retry", what, before.schedule_id, before.id)


def _delay(checker: Checker, definition: Definition, after: RunRow) -> int:
    code = _code_of_work(checker, after.id, after.attempt) if after.code is not None else ""
    if code.startswith(ASKED_DELAY):
        return int(code.removeprefix(ASKED_DELAY))
    return definition.retry_delay(after.failures)


def _code_of_work(checker: Checker, run_id: str, attempt: int) -> str:
    """With which its work has failed; empty for none."""
    events = (event.event for event in checker.ends.get((run_id, attempt), ()))
    return next((each.removeprefix(FAILED) for each in events if each.startswith(FAILED)), "")


def codes_are_those_of_the_work(checker: Checker) -> Iterator[Violation]:
    """C8: a run has the code of its last attempt, and none after a success."""
    for versions in checker.rows.runs.values():
        for before, after in itertools.pairwise(versions):
            if before.state != "running" or after.state == "running":
                continue
            said = _code_of_work(checker, after.id, after.attempt)
            has_failed = after.failures > before.failures
            is_wrong = after.code != said if after.code is not None else has_failed and said
            if is_wrong or (after.state == "succeeded" and after.code is not None):
                what = f"has the code {after.code}, and its work said {said or 'none'}"
                yield Violation("C8", what, after.schedule_id, after.id)


def stored_results_are_true(checker: Checker) -> Iterator[Violation]:
    """C8: what is stored as succeeded was done, what is stored as skipped by its task had nothing
    to do, and the counts agree."""
    for versions in checker.rows.runs.values():
        last = versions[-1]
        ends = checker.ends.get((last.id, last.attempt), [])
        stored_at = checker.call(last).at
        said = {event.event for event in ends if event.at <= stored_at}
        if last.state == "succeeded" and "succeeded" not in said:
            what = f"attempt {last.attempt} is stored as succeeded, and did not succeed"
            yield Violation("C8", what, last.schedule_id, last.id)
        if last.reason == "by_task" and "skipped" not in said:
            what = f"attempt {last.attempt} is stored as skipped, and had something to do"
            yield Violation("C8", what, last.schedule_id, last.id)
    for schedule_id, rows in checker.rows.schedules.items():
        last_row, runs = rows[-1], checker.rows.runs_of[schedule_id]
        succeeded = sum(versions[-1].state == "succeeded" for versions in runs)
        if last_row.planned_count != len(runs):
            what = f"planned_count is {last_row.planned_count}, and there are {len(runs)} runs"
            yield Violation("C8", what, schedule_id)
        if last_row.run_count != succeeded and last_row.deleted_at is None:
            what = f"run_count is {last_row.run_count}, and {succeeded} have succeeded"
            yield Violation("C8", what, schedule_id)
        numbers = sorted(versions[0].number for versions in runs)
        if numbers != list(range(len(numbers))):
            yield Violation("C8", "run numbers are missing or duplicate", schedule_id)


def skipped_runs_count_for_nothing(checker: Checker) -> Iterator[Violation]:
    """A run whose task skips ends as skipped, and is neither a success nor an error."""
    settled: Counter[tuple[int, int]] = Counter()
    skipped: list[tuple[RunRow, RunRow]] = []
    for versions in checker.rows.runs.values():
        for before, after in itertools.pairwise(versions):
            if before.state == "running" and after.state != "running":
                settled[after.schedule_id, after.call_index] += 1
                if after.state == "skipped":
                    skipped.append((before, after))
    for before, after in skipped:
        where = (after.schedule_id, after.id)
        if after.reason != "by_task":
            yield Violation("C8", f"was skipped while it was running: {after.reason}", *where)
        if (after.failures, after.losses) != (before.failures, before.losses):
            yield Violation("C8", "was skipped by its task, and counts as failed", *where)
        rows = checker.rows.schedules[after.schedule_id]
        index = bisect_left(rows, after.call_index, key=lambda row: row.call_index)
        if settled[after.schedule_id, after.call_index] > 1 or not 0 < index < len(rows):
            continue
        counts = [
            (row.run_count, row.error_count, row.consecutive_errors, row.current_repeat)
            for row in (rows[index - 1], rows[index])
        ]
        if rows[index].call_index == after.call_index and counts[0] != counts[1]:
            what = f"was skipped by its task, and counts became {counts[1]} from {counts[0]}"
            yield Violation("C8", what, *where)
