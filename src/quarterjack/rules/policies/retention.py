"""Retention: what may be forgotten, by age and by number.

Open runs are never forgotten, nor is what a schedule still points at: its last run and its last
success. With a run go its attempts; slots passed over go by the age of runs, a gate's history by
that of events. A store forgets what lies before these horizons, in small batches.
"""

from __future__ import annotations

from typing import NamedTuple

from quarterjack.times.instants import DAY


class Retention(NamedTuple):
    """How long, in microseconds, and how many runs of each schedule; None is for ever."""

    run_age: int | None = 90 * DAY
    run_count: int | None = 10_000
    output_age: int | None = 30 * DAY
    event_age: int | None = 30 * DAY
    audit_age: int | None = 365 * DAY
    daily_age: int | None = 400 * DAY
    """A year of daily figures, and the same month of the year before."""


class Horizons(NamedTuple):
    """What ended, or happened, before these instants may be forgotten; None is nothing."""

    runs: int | None
    output: int | None
    events: int | None
    audit: int | None
    daily: int | None


def horizons(retention: Retention, now: int) -> Horizons:
    ages = (
        retention.run_age,
        retention.output_age,
        retention.event_age,
        retention.audit_age,
        retention.daily_age,
    )
    return Horizons(*(None if age is None else now - age for age in ages))


class PastRun(NamedTuple):
    """A run, and what its schedule says of it; of a schedule that is gone, nothing."""

    schedule_id: int
    number: int
    finished_at: int | None
    planned_count: int | None = None
    last_run_id: str | None = None
    last_success_run_id: str | None = None

    @property
    def id(self) -> str:
        return f"{self.schedule_id}-{self.number}"


def may_be_pruned(run: PastRun, retention: Retention, now: int) -> bool:
    """May the row of this run go?"""
    pointed_at = run.id in (run.last_run_id, run.last_success_run_id)
    if run.finished_at is None or pointed_at:
        return False
    before = horizons(retention, now).runs
    too_old = before is not None and run.finished_at < before
    if run.planned_count is None or retention.run_count is None:
        return too_old
    newer = run.planned_count - 1 - run.number
    return too_old or newer >= retention.run_count
