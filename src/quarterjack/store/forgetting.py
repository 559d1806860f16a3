"""Forgetting: small batches of what the rule allows to go, oldest first.

A sweep goes through everything once. Runs are rolled up before any of them is forgotten; then come
those beyond the number that is kept, but only of schedules of which a run has ended since the last
look, and those that are too old. Runs are found a window at a time and forgotten in the order of
their schedules: neighbours share pages, and pages are what a batch costs.
"""

from __future__ import annotations

from typing import NamedTuple

from quarterjack.failpoint import failpoint
from quarterjack.rules import Horizons, PastRun, Retention, may_be_forgotten
from quarterjack.store.facts import read_fact
from quarterjack.store.rolling_up import roll_up
from quarterjack.store.rows import from_json, json_text
from quarterjack.store.steps import Ask, Row, Steps
from quarterjack.store.values import Place

BATCH, CHUNKS = 50, 12
"""A chunk of output may lie on many pages; how many is not known before it is read."""
WINDOW = 3000
ENDED = 500
"""How many ends are looked at for the schedules that they are of. A schedule points at two runs at
most, so a window always holds some that may go."""
_BY_AGE = {
    "forget_passed": "runs",
    "forget_output": "output",
    "forget_events": "events",
    "forget_outbox": "events",
    "forget_gate_changes": "events",
    "forget_audit": "audit",
    "forget_daily": "daily",
}
"""Each statement, and the horizon that it needs."""
_SWEEP = ("roll_up", "surplus", "old", *_BY_AGE)


class Sweep(NamedTuple):
    """How far one round of forgetting came."""

    left: tuple[str, ...] = _SWEEP
    rolled_up: int = 0
    """Runs that ended before this may be forgotten."""
    surplus: Place | None = None
    """Up to where the ends were looked at for runs beyond the number; None is as stored."""
    old: Place = Place()
    """Up to where old runs were looked at; whoever begins anew finds those again that stayed."""
    found: tuple[tuple[int, int], ...] = ()
    """Runs that are to be judged next."""

    @property
    def is_over(self) -> bool:
        return not self.left and not self.found

    def onward(self) -> Sweep:
        return self._replace(left=self.left[1:])


class Forgotten(NamedTuple):
    count: int  # type: ignore[assignment]  # not the method of a tuple
    sweep: Sweep


class _Round(NamedTuple):
    horizons: Horizons
    retention: Retention
    now: int


def forget(horizons: Horizons, retention: Retention, sweep: Sweep, now: int) -> Steps[Forgotten]:
    this, count, in_vain = _Round(horizons, retention, now), 0, True
    while in_vain and not sweep.is_over:
        left = sweep.left
        count, sweep = yield from _batch(this, sweep)
        in_vain = not count and not sweep.found and sweep.left != left
    failpoint("forget.written")
    return Forgotten(count, sweep)


def _batch(this: _Round, sweep: Sweep) -> Steps[Forgotten]:
    """The first thing that is left."""
    if sweep.found:
        return (yield from _forget_found(this, sweep))
    kind = sweep.left[0]
    if kind == "roll_up":
        rolled_up, is_all = yield from roll_up(this.now)
        sweep = sweep._replace(rolled_up=rolled_up)
        return Forgotten(0, sweep.onward() if is_all else sweep)
    if kind == "surplus":
        return Forgotten(0, (yield from _find_surplus(this, sweep)))
    if kind == "old":
        return Forgotten(0, (yield from _find_old(this, sweep)))
    return (yield from _forget_by_age(this, sweep, kind))


def _forget_by_age(this: _Round, sweep: Sweep, statement: str) -> Steps[Forgotten]:
    before = getattr(this.horizons, _BY_AGE[statement])
    if before is None:
        return Forgotten(0, sweep.onward())
    limit = CHUNKS if statement == "forget_output" else BATCH
    count = len((yield Ask(statement, (before, limit))))
    return Forgotten(count, sweep if count else sweep.onward())


def _find_surplus(this: _Round, sweep: Sweep) -> Steps[Sweep]:
    """A window of those beyond the number that is kept."""
    kept = this.retention.run_count
    if kept is None:
        return sweep.onward()
    place = yield from _noted(kept, sweep)
    ended = yield Ask("ended_runs", (sweep.rolled_up, *place, ENDED))
    if not ended:
        return sweep.onward()
    whose = sorted({schedule_id for _, schedule_id, _ in ended})
    rows = yield Ask("surplus_runs", (whose, kept, sweep.rolled_up, WINDOW))
    if len(rows) < WINDOW:
        place = Place._make(ended[-1])
    return sweep._replace(surplus=place, found=_in_order(rows))


def _noted(kept: int, sweep: Sweep) -> Steps[Place]:
    """From where to look on; what was found before it has been judged by now, and so it is stored.
    Another number than before begins anew."""
    reached = sweep.surplus
    stored = from_json((yield from read_fact("surplus")))
    if reached is None:
        reached = Place(*stored[1:]) if stored and stored[0] == kept else Place()
    reached = min(reached, Place(sweep.rolled_up))  # a clock may have been ahead
    if stored != [kept, *reached]:
        yield Ask("put_fact", ("surplus", json_text([kept, *reached])))
    return reached


def _find_old(this: _Round, sweep: Sweep) -> Steps[Sweep]:
    if this.horizons.runs is None:
        return sweep.onward()
    before = min(this.horizons.runs, sweep.rolled_up)
    rows = yield Ask("ended_runs", (before, *sweep.old, WINDOW))
    if not rows:
        return sweep.onward()
    return sweep._replace(old=Place._make(rows[-1]), found=_in_order([row[1:] for row in rows]))


def _in_order(rows: list[Row]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((schedule_id, number) for schedule_id, number in rows))


def _forget_found(this: _Round, sweep: Sweep) -> Steps[Forgotten]:
    """Output and attempts first, for they may be many; the runs are left for a later batch."""
    found = sweep.found[:BATCH]
    rows = yield Ask("past_runs", (list(found),))
    judged = (PastRun._make(row) for row in rows)
    allowed = [run[:2] for run in judged if may_be_forgotten(run, this.retention, this.now)]
    gone = yield Ask("forget_output_of_runs", (allowed, CHUNKS))
    gone = gone or (yield Ask("forget_attempts_of_runs", (allowed, BATCH)))
    if gone:
        return Forgotten(len(gone), sweep)
    if allowed:
        yield Ask("forget_runs", (allowed,))
    return Forgotten(len(allowed), sweep._replace(found=sweep.found[BATCH:]))
