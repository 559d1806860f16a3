"""`pause`, `resume`, `run`, `backfill`, `rm`, `runs cancel` and `runs retry`: what a person asks of
what is stored. Whoever runs the service notices at once; if nobody does, it waits."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from quarterjack.cli.database_option import Database, on_database
from quarterjack.cli.printing import print_json
from quarterjack.control import Backfilled
from quarterjack.errors import Invalid, InvalidSpecification
from quarterjack.rules import Run, Schedule
from quarterjack.times.durations import read_duration
from quarterjack.times.instants import read_instant, to_text
from quarterjack.views import run_view, schedule_view

PENDING = 3
"""The exit code for changes that were shown, and not made."""
_schedules = click.argument("which", nargs=-1, required=True)


@click.command("pause")
@_schedules
@on_database
@click.option("--reason", help="Why, for those who wonder.")
@click.option("--until", metavar="WHEN", help="An instant, or for how long: 2h.")
def pause_command(
    database: Database,
    which: Sequence[str],
    as_json: bool,
    reason: str | None,
    until: str | None,
) -> None:
    """Let schedules rest: no slot comes due, and what waits is skipped."""
    then = None if until is None else _instant(until, "until", database.world.now())
    paused = database.ask(lambda control: control.pause(*which, reason=reason, until=then))
    end = "" if then is None else f" until {to_text(then)}"
    show_schedules(database, paused, f"paused{end}", as_json=as_json)


@click.command("resume")
@_schedules
@on_database
def resume_command(database: Database, which: Sequence[str], as_json: bool) -> None:
    """Let paused schedules go on; nothing that they slept through is replayed."""
    resumed = database.ask(lambda control: control.resume(*which))
    show_schedules(database, resumed, "resumed", as_json=as_json)


@click.command("rm")
@_schedules
@on_database
def rm_command(database: Database, which: Sequence[str], as_json: bool) -> None:
    """Delete schedules, all or none; their history stays."""
    deleted = database.ask(lambda control: control.delete(*which))
    if as_json:
        print_json({"status": "deleted", "ids": [schedule.id for schedule in deleted]})
        return
    for schedule in deleted:
        click.echo(f"deleted {_name(schedule)}")


@click.command("run")
@click.argument("which")
@on_database
def run_command(database: Database, which: str, as_json: bool) -> None:
    """Run a schedule now, beside its slots."""
    made = database.ask(lambda control: control.run(which))
    if as_json:
        print_json({"status": "dispatched", "run_id": made.id})
    else:
        click.echo(f"dispatched {made.id}; `quarterjack runs show {made.id}` tells how it goes")


@click.command("backfill")
@click.argument("which")
@on_database
@click.option("--from", "start", metavar="WHEN", help="The first slot, or before.")
@click.option("--to", "until", metavar="WHEN", help="The last slot, or after; else now.")
@click.option("--again", is_flag=True, help="Run also the slots that have succeeded.")
@click.option("--yes", is_flag=True, help="Do it, without being asked.")
@click.option("--stop", is_flag=True, help="Do not run what is left of the last one.")
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
    """Run the slots of a time that has passed, those that have not succeeded; how many these are is
    told first."""
    if stop:
        stopped = database.ask(lambda control: control.stop_backfill(which))
        show_schedules(database, [stopped], "stopped", as_json=as_json)
        return
    if start is None:
        raise click.UsageError("say --from which instant on, or --stop")
    first = read_instant(start, "from")
    last = database.world.now() if until is None else read_instant(until, "to")
    if first > last:
        remedy = "swap the two"
        raise InvalidSpecification.because("from", to_text(first), "is after the end", remedy)
    with database.reading() as reads:
        schedule = reads.schedule(which).schedule
    found = database.ask(lambda c: c.count_backfill(schedule, first, last, again=again))
    span = f"{found.slots:,} slots of {_name(schedule)} from {to_text(first)} to {to_text(last)}"
    if found.left_out:
        span += f"; {found.left_out:,} have succeeded or are open (--again runs them, too)"
    if not yes and not _is_confirmed(span, as_json=as_json):
        if as_json:
            print_json(_backfilled("pending", found))
        else:
            click.echo(f"{span}; nothing is done without --yes")
        sys.exit(PENDING)
    database.ask(lambda c: c.backfill(schedule.id, first, last, again=again))
    if as_json:
        print_json(_backfilled("ok", found))
    else:
        click.echo(f"to be run: {span}")


def _backfilled(status: str, found: Backfilled) -> dict[str, Any]:
    return {"status": status, "slots": found.slots, "left_out": found.left_out}


def _is_confirmed(span: str, *, as_json: bool) -> bool:
    """Only who sits at a terminal can be asked."""
    return not as_json and sys.stdin.isatty() and click.confirm(f"run {span}?")


@click.command("cancel")
@click.argument("run")
@on_database
def cancel_command(database: Database, run: str, as_json: bool) -> None:
    """Cancel a run: if it waits it never starts, if it runs it is stopped."""
    cancelled = database.ask(lambda control: control.cancel(run))
    what = "stopping" if cancelled.finished_at is None else "cancelled"
    _show_run(database, cancelled, what, as_json=as_json)


@click.command("retry")
@click.argument("run")
@on_database
def retry_command(database: Database, run: str, as_json: bool) -> None:
    """Try a run again that has failed, or that waits to be tried again."""
    tried = database.ask(lambda control: control.retry(run))
    _show_run(database, tried, "to be tried", as_json=as_json)


def _show_run(database: Database, run: Run, what: str, *, as_json: bool) -> None:
    if not as_json:
        click.echo(f"{what}: {run.id}")
        return
    with database.reading() as reads:
        print_json(run_view(reads.run(run.id)[0]))


def show_schedules(
    database: Database, schedules: Sequence[Schedule], what: str, *, as_json: bool
) -> None:
    """What became of them: a line each, or the form that every face shows."""
    if as_json:
        print_json(_only(shown_schedules(database, schedules)))
        return
    for schedule in schedules:
        following = schedule.next_slot
        then = "" if following is None else f"; next run {to_text(following)}"
        click.echo(f"{what}: {_name(schedule)}{then}")


def shown_schedules(database: Database, schedules: Sequence[Schedule]) -> list[dict[str, Any]]:
    with database.reading() as reads:
        return [schedule_view(reads.schedule(str(each.id))) for each in schedules]


def _only(items: list[dict[str, Any]]) -> dict[str, Any]:
    """One is shown as it is."""
    return items[0] if len(items) == 1 else {"items": items}


def _name(schedule: Schedule) -> str:
    return f"{schedule.id} {schedule.key}"


def _instant(text: str, field: str, now: int) -> int:
    """An instant, or a duration from now."""
    try:
        return now + read_duration(text, field)
    except Invalid:
        return read_instant(text, field)
