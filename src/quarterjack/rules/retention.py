"""Retention: what may be forgotten, by age and by number.

Open runs are never forgotten, nor is what a schedule still points at: its last run and its last
success. With a run go its attempts; slots passed over go by the age of runs, a gate's history by
that of events. A store forgets what lies before these horizons, in small batches.
"""

from __future__ import annotations

from typing import NamedTuple

from quarterjack.rules.model import Run, Schedule
from quarterjack.rules.states import OPEN
from quarterjack.times.instants import DAY


class Retention(NamedTuple):
    """How long, in microseconds, and how many runs of each schedule; None is for ever."""

    run_age: int | None = 90 * DAY
    run_count: int | None = 10_000
    output_age: int | None = 30 * DAY
    event_age: int | None = 30 * DAY
    audit_age: int | None = 365 * DAY


class Horizons(NamedTuple):
    """What ended, or happened, before these instants may be forgotten; None is nothing."""

    runs: int | None
    output: int | None
    events: int | None
    audit: int | None


def horizons(retention: Retention, now: int) -> Horizons:
    ages = (retention.run_age, retention.output_age, retention.event_age, retention.audit_age)
    return Horizons(*(None if age is None else now - age for age in ages))


def may_be_forgotten(run: Run, schedule: Schedule, retention: Retention, now: int) -> bool:
    """May the row of this run go?"""
    pointed_at = run.id in (schedule.last_run_id, schedule.last_success_run_id)
    if run.state in OPEN or run.finished_at is None or pointed_at:
        return False
    before = horizons(retention, now).runs
    too_old = before is not None and run.finished_at < before
    newer = schedule.planned_count - 1 - run.number
    too_many = retention.run_count is not None and newer >= retention.run_count
    return too_old or too_many
