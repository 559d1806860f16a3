"""Forgetting: small batches of what the rule allows to go, oldest first."""

from __future__ import annotations

from collections.abc import Sequence

from quarterjack.failpoint import failpoint
from quarterjack.rules import Horizons, Retention, Run, may_be_forgotten
from quarterjack.store.facts import read_schedules
from quarterjack.store.rows import run_of
from quarterjack.store.specifications import Specifications
from quarterjack.store.steps import Ask, Many, Steps
from quarterjack.store.values import Forgotten, Place

BATCH = 500


def forget(
    specifications: Specifications,
    horizons: Horizons,
    retention: Retention,
    old: Place,
    surplus: Place,
    now: int,
) -> Steps[Forgotten]:
    count = 0
    for statement, before in [
        ("forget_passed", horizons.runs),
        ("forget_output", horizons.output),
        ("forget_events", horizons.events),
        ("forget_outbox", horizons.events),
        ("forget_gate_changes", horizons.events),
    ]:
        if before is not None:
            count += len((yield Ask(statement, (before, BATCH))))
    runs: list[Run] = []
    next_old: Place | None = None
    if horizons.runs is not None:
        found = yield Ask("old_runs", (horizons.runs, *old, BATCH))
        runs += map(run_of, found)
        next_old = _place_after(runs)
    next_surplus: Place | None = None
    if retention.run_count is not None:
        _, schedule_id, number = surplus
        found = yield Ask("surplus_runs", (retention.run_count, schedule_id, number, BATCH))
        beyond = [run_of(row) for row in found]
        next_surplus = _place_after(beyond)
        runs += beyond
    allowed = yield from _allowed(specifications, runs, retention, now)
    for statement in ("forget_output_of_runs", "forget_attempts_of_runs", "forget_runs"):
        if allowed:
            yield Many(statement, allowed)
    failpoint("forget.written")
    return Forgotten(count + len(allowed), next_old, next_surplus)


def _place_after(runs: Sequence[Run]) -> Place | None:
    """The end of a full batch; there may be more behind it."""
    if len(runs) < BATCH:
        return None
    last = runs[-1]
    return Place(last.finished_at or 0, last.schedule_id, last.number)


def _allowed(
    specifications: Specifications, runs: Sequence[Run], retention: Retention, now: int
) -> Steps[list[tuple[int, int]]]:
    """The rule says which of them may go; with a schedule that is gone, go its runs."""
    if not runs:
        return []
    rows = yield Ask("schedules_by_ids", (sorted({run.schedule_id for run in runs}),))
    schedules = yield from read_schedules(rows, specifications)
    by_id = {schedule.id: schedule for schedule in schedules}

    def may_go(run: Run) -> bool:
        schedule = by_id.get(run.schedule_id)
        return schedule is None or may_be_forgotten(run, schedule, retention, now)

    return sorted({(run.schedule_id, run.number) for run in runs if may_go(run)})
