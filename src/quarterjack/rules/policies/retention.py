"""Retention: which rows may be pruned, by age and by number.

Open runs are never pruned, and neither are the last run and the last successful run of a schedule.
The attempts of a run are pruned with it, slots that did not run by the age for runs, and the
history of a gate by the age for events. A store prunes what lies before these horizons, in small
batches.
"""

from __future__ import annotations

from typing import NamedTuple

from quarterjack.times.instants import DAY


class Retention(NamedTuple):
    """Ages in microseconds, and the number of runs to keep for each schedule; None is unlimited."""

    run_age: int | None = 90 * DAY
    run_count: int | None = 10_000
    output_age: int | None = 30 * DAY
    event_age: int | None = 30 * DAY
    audit_age: int | None = 365 * DAY
    daily_age: int | None = 400 * DAY
    """A year of daily statistics, and the same month of the year before."""


class Horizons(NamedTuple):
    """Rows from before these instants may be pruned; None keeps all."""

    runs: int | None
    output: int | None
    events: int | None
    audit: int | None
    daily: int | None


def horizons(retention: Retention, now: int) -> Horizons:
    ages = (
        retention.run_age, retention.output_age, retention.event_age, retention.audit_age,
        retention.daily_age,
    )  # fmt: skip
    return Horizons(*(None if age is None else now - age for age in ages))


class PastRun(NamedTuple):
    """A closed run, with those fields of its schedule that may protect it, unless that is gone."""

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
    """Whether the row of this run may be deleted."""
    if run.finished_at is None or run.id in (run.last_run_id, run.last_success_run_id):
        return False
    before = horizons(retention, now).runs
    too_old = before is not None and run.finished_at < before
    if run.planned_count is None or retention.run_count is None:
        return too_old
    newer = run.planned_count - 1 - run.number
    return too_old or newer >= retention.run_count
