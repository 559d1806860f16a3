"""`pause`, `resume`, `run`, `backfill`, `rm`, `runs cancel` and `runs retry`: control requests.

They write to the database. A running service acts on them at once, otherwise the next one does.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from quarterjack.cli.database_option import Database, pass_database
from quarterjack.cli.printing import print_json, print_result
from quarterjack.control import Backfilled
from quarterjack.errors import InvalidSpecification
from quarterjack.rules import Run, Schedule
from quarterjack.times.durations import looks_like_duration, read_duration
from quarterjack.times.instants import read_instant, to_text
from quarterjack.views import run_view, schedule_view

CHANGES_PENDING = 3
"""The exit code when changes were shown and not made."""
_schedules_argument = click.argument("which", nargs=-1, required=True)


@click.command("pause")
@_schedules_argument
@pass_database
@click.option("--reason", help="Why the schedules are paused")
@click.option("--until", metavar="WHEN", help="Resume at this instant, or after a duration like 2h")
def pause_command(
    database: Database, which: Sequence[str], as_json: bool, reason: str | None, until: str | None
) -> None:
    """Pause schedules.

    Waiting runs are skipped; a running attempt continues.
    """
    end = None if until is None else _instant(until, "until", database.runtime.now())
    paused = database.with_control(lambda control: control.pause(*which, reason=reason, until=end))
    suffix = "" if end is None else f" until {to_text(end)}"
    print_schedules(database, paused, f"paused{suffix}", as_json=as_json)


@click.command("resume")
@_schedules_argument
@pass_database
def resume_command(database: Database, which: Sequence[str], as_json: bool) -> None:
    """Resume paused schedules.

    Slots that fell into the pause are not run.
    """
    resumed = database.with_control(lambda control: control.resume(*which))
    print_schedules(database, resumed, "resumed", as_json=as_json)


@click.command("rm")
@_schedules_argument
@pass_database
def rm_command(database: Database, which: Sequence[str], as_json: bool) -> None:
    """Delete schedules, keeping their history.

    Deletes all of them or none.
    """
    deleted = database.with_control(lambda control: control.delete(*which))
    view = {"status": "deleted", "ids": [schedule.id for schedule in deleted]}
    text = "\n".join(f"deleted {_label(schedule)}" for schedule in deleted)
    print_result(view, text, as_json=as_json)


@click.command("run")
@click.argument("which")
@pass_database
def run_command(database: Database, which: str, as_json: bool) -> None:
    """Run a schedule now, in addition to its slots."""
    run = database.with_control(lambda control: control.run(which))
    view = {"status": "dispatched", "run_id": run.id}
    text = f"dispatched {run.id}; follow it with `quarterjack runs show {run.id}`"
    print_result(view, text, as_json=as_json)


@click.command("backfill")
@click.argument("which")
@pass_database
@click.option("--from", "start", metavar="WHEN", help="Start of the range, inclusive")
@click.option("--to", "until", metavar="WHEN", help="End of the range, inclusive [default: now]")
@click.option("--again", is_flag=True, help="Also run slots that have succeeded or are open")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation")
@click.option("--stop", is_flag=True, help="Stop the current backfill of the schedule")
def backfill_command(
    database: Database,
    which: str,
    as_json: bool,
    start: str | None,
    until: str | None,
    again: bool,
    yes: bool,
    stop: bool,
) -> None:
    """Run past slots that have not succeeded.

    Shows how many slots match before running them. Exits with 3 if not confirmed.
    """
    if stop:
        stopped = database.with_control(lambda control: control.stop_backfill(which))
        print_schedules(database, [stopped], "stopped", as_json=as_json)
        return
    first, last = _backfill_range(start, until, database.runtime.now())
    with database.reader() as reader:
        schedule = reader.schedule(which).schedule
    count = database.with_control(lambda c: c.count_backfill(schedule, first, last, again=again))
    summary = _backfill_summary(count, schedule, first, last)
    if not yes and not _is_confirmed(summary, as_json=as_json):
        text = f"{summary}; pass --yes to run them"
        print_result(_backfill_view("pending", count), text, as_json=as_json)
        sys.exit(CHANGES_PENDING)
    database.with_control(lambda c: c.backfill(schedule.id, first, last, again=again))
    print_result(_backfill_view("ok", count), f"backfilling {summary}", as_json=as_json)


def _backfill_range(start: str | None, until: str | None, now: int) -> tuple[int, int]:
    if start is None:
        raise click.UsageError("--from is required (or --stop)")
    first = _instant(start, "from", now, ago=True)
    last = now if until is None else _instant(until, "to", now, ago=True)
    if first > last and until is None:
        remedy = "give an instant that has passed, or --to as well"
        raise InvalidSpecification.because("from", to_text(first), "is in the future", remedy)
    if first > last:
        remedy = "swap the two"
        raise InvalidSpecification.because("from", to_text(first), "is after the end", remedy)
    return first, last


def _backfill_summary(count: Backfilled, schedule: Schedule, first: int, last: int) -> str:
    span = f"from {to_text(first)} to {to_text(last)}"
    text = f"{count.slots:,} slots of {_label(schedule)} {span}"
    if count.left_out:
        text += f"; leaving out {count.left_out:,} that have succeeded or are open (see --again)"
    return text


def _backfill_view(status: str, count: Backfilled) -> dict[str, Any]:
    return {"status": status, "slots": count.slots, "left_out": count.left_out}


def _is_confirmed(summary: str, *, as_json: bool) -> bool:
    return not as_json and sys.stdin.isatty() and click.confirm(f"run {summary}?")


@click.command("cancel")
@click.argument("run")
@pass_database
def cancel_command(database: Database, run: str, as_json: bool) -> None:
    """Cancel a run that is waiting or running."""
    cancelled = database.with_control(lambda control: control.cancel(run))
    status = "stopping" if cancelled.finished_at is None else "cancelled"
    _print_run(database, cancelled, status, as_json=as_json)


@click.command("retry")
@click.argument("run")
@pass_database
def retry_command(database: Database, run: str, as_json: bool) -> None:
    """Retry a closed run, or start a waiting retry now.

    A closed run is retried as a new run of the same slot.
    """
    retried = database.with_control(lambda control: control.retry(run))
    _print_run(database, retried, "retrying", as_json=as_json)


def _print_run(database: Database, run: Run, status: str, *, as_json: bool) -> None:
    if not as_json:
        click.echo(f"{status}: {run.id}")
        return
    with database.reader() as reader:
        print_json(run_view(reader.run(run.id)[0]))


def print_schedules(
    database: Database, schedules: Sequence[Schedule], status: str, *, as_json: bool
) -> None:
    """A line for each schedule, or its JSON; a single one is not wrapped in `items`."""
    if as_json:
        items = schedule_views(database, schedules)
        print_json(items[0] if len(items) == 1 else {"items": items})
        return
    for schedule in schedules:
        next_slot = schedule.next_slot
        suffix = "" if next_slot is None else f"; next run {to_text(next_slot)}"
        click.echo(f"{status}: {_label(schedule)}{suffix}")


def schedule_views(database: Database, schedules: Sequence[Schedule]) -> list[dict[str, Any]]:
    with database.reader() as reader:
        return [schedule_view(reader.schedule(str(each.id))) for each in schedules]


def _label(schedule: Schedule) -> str:
    return f"{schedule.id} {schedule.key}"


def _instant(text: str, field: str, now: int, *, ago: bool = False) -> int:
    """An instant, or a duration from now or ago."""
    if looks_like_duration(text.strip()):
        length = read_duration(text, field)
        return now - length if ago else now + length
    if not text[:1].isdigit():
        remedy = 'write it as "2026-11-16T09:00:00Z" or "2h"'
        raise InvalidSpecification.because(field, text, "is no instant and no duration", remedy)
    return read_instant(text, field)
