"""Forgetting: small batches of what the rule allows to go, oldest first.

A sweep goes through everything once. Runs are rolled up before any of them is forgotten; then come
those beyond the number that is kept, but only of schedules of which a run has ended since the last
look, and those that are too old. Runs are found a window at a time and forgotten in the order of
their schedules: neighbours share pages, and pages are what a batch costs.
"""

from __future__ import annotations

from typing import NamedTuple

from quarterjack.failpoint import failpoint
from quarterjack.rules import Horizons, PastRun, Retention, may_be_pruned
from quarterjack.store.rows import from_json, json_text
from quarterjack.store.statements import Query, Row, Statements
from quarterjack.store.transactions.daily_stats import update_daily_stats
from quarterjack.store.transactions.facts import read_metadata
from quarterjack.store.types import RunCursor

BATCH, CHUNKS = 50, 12
"""A chunk of output may lie on many pages; how many is not known before it is read."""
WINDOW = 3000
ENDED = 500
"""How many ends are looked at for the schedules that they are of. A schedule points at two runs at
most, so a window always holds some that may go."""
_BY_AGE = {
    "prune_slots_not_run": "runs",
    "prune_output": "output",
    "prune_events": "events",
    "prune_outbox": "events",
    "prune_gate_changes": "events",
    "prune_audit": "audit",
    "prune_daily_stats": "daily",
}
"""Each statement, and the horizon that it needs."""
_SWEEP = ("update_daily_stats", "surplus", "old", *_BY_AGE)


class PruneProgress(NamedTuple):
    """How far one round of forgetting came."""

    left: tuple[str, ...] = _SWEEP
    rolled_up: int = 0
    """Runs that ended before this may be forgotten."""
    surplus: RunCursor | None = None
    """Up to where the ends were looked at for runs beyond the number; None is as stored."""
    old: RunCursor = RunCursor()
    """Up to where old runs were looked at; whoever begins anew finds those again that stayed."""
    found: tuple[tuple[int, int], ...] = ()
    """Runs that are to be judged next."""

    @property
    def is_over(self) -> bool:
        return not self.left and not self.found

    def onward(self) -> PruneProgress:
        return self._replace(left=self.left[1:])


class Pruned(NamedTuple):
    count: int  # type: ignore[assignment]  # not the method of a tuple
    progress: PruneProgress


class _Round(NamedTuple):
    horizons: Horizons
    retention: Retention
    now: int


def prune(
    horizons: Horizons, retention: Retention, progress: PruneProgress, now: int
) -> Statements[Pruned]:
    this, count, in_vain = _Round(horizons, retention, now), 0, True
    while in_vain and not progress.is_over:
        left = progress.left
        count, progress = yield from _batch(this, progress)
        in_vain = not count and not progress.found and progress.left != left
    failpoint("prune.written")
    return Pruned(count, progress)


def _batch(this: _Round, progress: PruneProgress) -> Statements[Pruned]:
    """The first thing that is left."""
    if progress.found:
        return (yield from _forget_found(this, progress))
    kind = progress.left[0]
    if kind == "update_daily_stats":
        rolled_up, is_all = yield from update_daily_stats(this.now)
        progress = progress._replace(rolled_up=rolled_up)
        return Pruned(0, progress.onward() if is_all else progress)
    if kind == "surplus":
        return Pruned(0, (yield from _find_surplus(this, progress)))
    if kind == "old":
        return Pruned(0, (yield from _find_old(this, progress)))
    return (yield from _forget_by_age(this, progress, kind))


def _forget_by_age(this: _Round, progress: PruneProgress, statement: str) -> Statements[Pruned]:
    before = getattr(this.horizons, _BY_AGE[statement])
    if before is None:
        return Pruned(0, progress.onward())
    limit = CHUNKS if statement == "prune_output" else BATCH
    count = len((yield Query(statement, (before, limit))))
    return Pruned(count, progress if count else progress.onward())


def _find_surplus(this: _Round, progress: PruneProgress) -> Statements[PruneProgress]:
    """A window of those beyond the number that is kept."""
    kept = this.retention.run_count
    if kept is None:
        return progress.onward()
    place = yield from _noted(kept, progress)
    ended = yield Query("ended_runs", (progress.rolled_up, *place, ENDED))
    if not ended:
        return progress.onward()
    whose = sorted({schedule_id for _, schedule_id, _ in ended})
    rows = yield Query("surplus_runs", (whose, kept, progress.rolled_up, WINDOW))
    if len(rows) < WINDOW:
        place = RunCursor._make(ended[-1])
    return progress._replace(surplus=place, found=_in_order(rows))


def _noted(kept: int, progress: PruneProgress) -> Statements[RunCursor]:
    """From where to look on; what was found before it has been judged by now, and so it is stored.
    Another number than before begins anew."""
    reached = progress.surplus
    stored = from_json((yield from read_metadata("surplus")))
    if reached is None:
        reached = RunCursor(*stored[1:]) if stored and stored[0] == kept else RunCursor()
    reached = min(reached, RunCursor(progress.rolled_up))  # a clock may have been ahead
    if stored != [kept, *reached]:
        yield Query("put_metadata", ("surplus", json_text([kept, *reached])))
    return reached


def _find_old(this: _Round, progress: PruneProgress) -> Statements[PruneProgress]:
    if this.horizons.runs is None:
        return progress.onward()
    before = min(this.horizons.runs, progress.rolled_up)
    rows = yield Query("ended_runs", (before, *progress.old, WINDOW))
    if not rows:
        return progress.onward()
    return progress._replace(
        old=RunCursor._make(rows[-1]), found=_in_order([row[1:] for row in rows])
    )


def _in_order(rows: list[Row]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((schedule_id, number) for schedule_id, number in rows))


def _forget_found(this: _Round, progress: PruneProgress) -> Statements[Pruned]:
    """Output and attempts first, for they may be many; the runs are left for a later batch."""
    found = progress.found[:BATCH]
    rows = yield Query("past_runs", (list(found),))
    judged = (PastRun._make(row) for row in rows)
    allowed = [run[:2] for run in judged if may_be_pruned(run, this.retention, this.now)]
    gone = yield Query("prune_output_of_runs", (allowed, CHUNKS))
    gone = gone or (yield Query("prune_attempts_of_runs", (allowed, BATCH)))
    if gone:
        return Pruned(len(gone), progress)
    if allowed:
        yield Query("prune_runs", (allowed,))
    return Pruned(len(allowed), progress._replace(found=progress.found[BATCH:]))
