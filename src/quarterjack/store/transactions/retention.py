"""Retention: expired rows are deleted in small batches, oldest first.

One round goes through all stages. Runs are counted in the daily statistics before they are deleted.
Surplus runs (more than are kept per schedule) are searched only for schedules of which a run has
ended since the last search. Runs are found a window at a time and deleted in the order of their
schedules, because neighbours share pages, and pages are what a batch costs.
"""

from __future__ import annotations

from typing import NamedTuple

from quarterjack.failpoint import failpoint
from quarterjack.rules import Retention
from quarterjack.rules.policies.retention import Horizons, PastRun, may_be_pruned
from quarterjack.store.rows import from_json, json_text
from quarterjack.store.statements import Query, Row, Statements
from quarterjack.store.transactions.daily_stats import update_daily_stats
from quarterjack.store.transactions.metadata import read_metadata
from quarterjack.store.types import RunCursor

BATCH, CHUNKS = 50, 12
"""Rows per batch. Chunks of output are fewer, because one may take many pages."""
WINDOW = 3000
ENDED = 500
"""How many ended runs are read to find the schedules that may have surplus runs. A schedule refers
to at most two runs, which stay, so that a window always contains some that may be deleted."""
_BY_AGE = {
    "prune_slots_not_run": "runs",
    "prune_output": "output",
    "prune_events": "events",
    "prune_outbox": "events",
    "prune_gate_changes": "events",
    "prune_audit": "audit",
    "prune_daily_stats": "daily",
}
"""The horizon that each of these statements needs."""
_STAGES = ("update_daily_stats", "surplus", "old", *_BY_AGE)


class PruneProgress(NamedTuple):
    """How far one round has come."""

    stages: tuple[str, ...] = _STAGES
    """Those that are not complete."""
    counted_until: int = 0
    """Runs that ended before this are counted in the daily statistics, and may be deleted."""
    surplus: RunCursor | None = None
    """How far ended runs were searched for surplus ones; None means the stored cursor."""
    old: RunCursor = RunCursor()
    """How far old runs were searched; a new cursor finds those again that had to stay."""
    found: tuple[tuple[int, int], ...] = ()
    """Runs that were found, but not deleted yet."""

    @property
    def is_complete(self) -> bool:
        return not self.stages and not self.found

    def next_stage(self) -> PruneProgress:
        return self._replace(stages=self.stages[1:])


class Pruned(NamedTuple):
    count: int  # type: ignore[assignment]  # not the method of a tuple
    progress: PruneProgress


class _Policy(NamedTuple):
    horizons: Horizons
    retention: Retention
    now: int


def prune(
    horizons: Horizons, retention: Retention, progress: PruneProgress, now: int
) -> Statements[Pruned]:
    policy, count = _Policy(horizons, retention, now), 0
    while not progress.is_complete:
        stages = progress.stages
        count, progress = yield from _prune_batch(policy, progress)
        if count or progress.found or progress.stages == stages:
            break  # a stage with nothing to do is not worth a transaction
    failpoint("prune.written")
    return Pruned(count, progress)


def _prune_batch(policy: _Policy, progress: PruneProgress) -> Statements[Pruned]:
    if progress.found:
        return (yield from _delete_found(policy, progress))
    stage = progress.stages[0]
    if stage == "update_daily_stats":
        counted_until, is_complete = yield from update_daily_stats(policy.now)
        progress = progress._replace(counted_until=counted_until)
        return Pruned(0, progress.next_stage() if is_complete else progress)
    if stage == "surplus":
        return Pruned(0, (yield from _find_surplus(policy, progress)))
    if stage == "old":
        return Pruned(0, (yield from _find_old(policy, progress)))
    return (yield from _delete_by_age(policy, progress, stage))


def _delete_by_age(policy: _Policy, progress: PruneProgress, statement: str) -> Statements[Pruned]:
    before = getattr(policy.horizons, _BY_AGE[statement])
    if before is None:
        return Pruned(0, progress.next_stage())
    limit = CHUNKS if statement == "prune_output" else BATCH
    count = len((yield Query(statement, (before, limit))))
    return Pruned(count, progress if count else progress.next_stage())


def _find_surplus(policy: _Policy, progress: PruneProgress) -> Statements[PruneProgress]:
    """A window of the runs of a schedule beyond the number that is kept."""
    kept = policy.retention.run_count
    if kept is None:
        return progress.next_stage()
    cursor = yield from _surplus_cursor(kept, progress)
    ended = yield Query("ended_runs", (progress.counted_until, *cursor, ENDED))
    if not ended:
        return progress.next_stage()
    schedule_ids = sorted({schedule_id for _, schedule_id, _ in ended})
    rows = yield Query("surplus_runs", (schedule_ids, kept, progress.counted_until, WINDOW))
    if len(rows) < WINDOW:
        cursor = RunCursor._make(ended[-1])
    return progress._replace(surplus=cursor, found=_in_order(rows))


def _surplus_cursor(kept: int, progress: PruneProgress) -> Statements[RunCursor]:
    """From where to search on. It is stored now, because all runs that were found up to there have
    been handled. If the number of runs to keep has changed, the search starts over."""
    cursor = progress.surplus
    stored = from_json((yield from read_metadata("surplus")))
    if cursor is None:
        cursor = RunCursor(*stored[1:]) if stored and stored[0] == kept else RunCursor()
    cursor = min(cursor, RunCursor(progress.counted_until))  # a clock may have been ahead
    if stored != [kept, *cursor]:
        yield Query("put_metadata", ("surplus", json_text([kept, *cursor])))
    return cursor


def _find_old(policy: _Policy, progress: PruneProgress) -> Statements[PruneProgress]:
    if policy.horizons.runs is None:
        return progress.next_stage()
    before = min(policy.horizons.runs, progress.counted_until)
    rows = yield Query("ended_runs", (before, *progress.old, WINDOW))
    if not rows:
        return progress.next_stage()
    found = _in_order([row[1:] for row in rows])
    return progress._replace(old=RunCursor._make(rows[-1]), found=found)


def _in_order(rows: list[Row]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((schedule_id, number) for schedule_id, number in rows))


def _delete_found(policy: _Policy, progress: PruneProgress) -> Statements[Pruned]:
    """Output, progress and attempts go first, because they may be many; the runs go in a later
    batch."""
    found = progress.found[:BATCH]
    rows = yield Query("prunable_runs", (list(found),))
    runs = (PastRun._make(row) for row in rows)
    expired = [run[:2] for run in runs if may_be_pruned(run, policy.retention, policy.now)]
    deleted = yield Query("prune_output_of_runs", (expired, CHUNKS))
    deleted = deleted or (yield Query("prune_progress_of_runs", (expired, BATCH)))
    deleted = deleted or (yield Query("prune_attempts_of_runs", (expired, BATCH)))
    if deleted:
        return Pruned(len(deleted), progress)
    if expired:
        yield Query("prune_runs", (expired,))
    return Pruned(len(expired), progress._replace(found=progress.found[BATCH:]))
