"""`list`, `show` and `runs`: what is stored. They work on the database, and need no server."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from quarterjack.cli.printing import exit_on_error, print_json, print_styled, print_table
from quarterjack.cli.world import World
from quarterjack.config import database_url
from quarterjack.rules import State
from quarterjack.store.reads import PAGE, Reads
from quarterjack.store.shown import attempt_json, passed_json, run_json, schedule_json
from quarterjack.store.sqlite_file import path_of

_database = click.option("--database", metavar="URL", help="Where it is stored.")
_json = click.option("--json", "as_json", is_flag=True, help="For programs.")
_number = click.IntRange(0, 2**63 - 1)
_limit = click.option("--limit", default=PAGE, show_default=True, type=click.IntRange(1, 10_000))


def _looks(command: Callable[..., None]) -> Callable[..., None]:
    """The options that all of them share."""
    return _database(_json(click.pass_obj(exit_on_error(command))))


@contextmanager
def _reads(world: World, database: str | None) -> Iterator[Reads]:
    reads = Reads(path_of(database_url(database, world.environment)))
    try:
        yield reads
    finally:
        reads.close()


@click.command("list")
@_looks
@_limit
@click.option("--after", default=0, type=_number, metavar="ID", help="Only those with a higher id.")
def list_command(world: World, database: str | None, as_json: bool, limit: int, after: int) -> None:
    """List the schedules."""
    with _reads(world, database) as reads:
        found = [schedule_json(each) for each in reads.schedules(after, limit)]
    if as_json:
        print_json({"items": found})
        return
    if not found:
        click.echo("there are no schedules")
        return
    rows = [["ID", "KEY", "STATUS", "NEXT RUN", "LAST", "WHEN"]]
    for each in found:
        last = each["last_result"] or "-"
        when, status = each["in_words"], each["status"]
        rows.append([str(each["id"]), each["key"], status, each["next_run_at"] or "-", last, when])
    print_table(rows)


@click.command("show")
@click.argument("which")
@_looks
def show_command(world: World, which: str, database: str | None, as_json: bool) -> None:
    """Show one schedule, by its id, key or name, and the slots that did not run."""
    with _reads(world, database) as reads:
        shown = schedule_json(reads.schedule(which))
        passed = [passed_json(row) for row in reads.passed(which)]
    if as_json:
        print_json(shown | {"passed": passed})
        return
    print_table(
        [[name, _plain(value)] for name, value in shown.items() if value not in (None, {}, [])]
    )
    if passed:
        click.echo("\nslots that did not run")
        print_table([_slots(row) for row in passed])


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {each}" for name, each in value.items())
    return str(value)


def _slots(row: dict[str, Any]) -> list[str]:
    span = row["first"] if row["count"] == 1 else f"{row['first']} to {row['last']}"
    return [span, str(row["count"]), row["state"], row["meaning"]]


@click.group("runs")
def runs_group() -> None:
    """List runs, show one, or print what it put out."""


@runs_group.command("list")
@click.argument("which", required=False)
@_looks
@_limit
@click.option("--state", type=click.Choice([str(state) for state in State]))
def list_runs(
    world: World,
    which: str | None,
    database: str | None,
    as_json: bool,
    limit: int,
    state: str | None,
) -> None:
    """The latest runs, of one schedule or of all."""
    with _reads(world, database) as reads:
        found = [run_json(each) for each in reads.runs(which, state, limit)]
    if as_json:
        print_json({"items": found})
        return
    if not found:
        click.echo("there are no runs")
        return
    rows = [["RUN", "SCHEDULE", "STATE", "SLOT", "ATTEMPT", "WHY"]]
    for each in found:
        why = each["reason"] or each["error"] or ""
        attempt = str(each["attempt"])
        rows.append([each["id"], each["schedule"], each["state"], each["slot"], attempt, why])
    print_table(rows)


@runs_group.command("show")
@click.argument("run")
@_looks
def show_run(world: World, run: str, database: str | None, as_json: bool) -> None:
    """One run, with the attempts before its last."""
    with _reads(world, database) as reads:
        found, attempts = reads.run(run)
    shown = run_json(found)
    earlier = [attempt_json(attempt) for attempt in attempts]
    if as_json:
        print_json(shown | {"attempts": earlier})
        return
    print_table(
        [[name, _plain(value)] for name, value in shown.items() if value not in (None, {}, [])]
    )
    if earlier:
        click.echo("\nearlier attempts")
        rows = [
            [str(e["attempt"]), e["ending"], e["finished_at"], e["error"] or ""] for e in earlier
        ]
        print_table(rows)


@runs_group.command("logs")
@click.argument("run")
@_looks
@click.option("--attempt", type=_number, help="Only of this attempt.")
def show_logs(
    world: World, run: str, database: str | None, as_json: bool, attempt: int | None
) -> None:
    """What a run has put out, as far as it is kept."""
    with _reads(world, database) as reads:
        data = reads.output(run, attempt)
    if as_json:
        print_json({"run": run, "output": data.decode(errors="replace")})
    elif data:
        sys.stdout.buffer.write(data)
    else:
        print_styled("it has put out nothing", "dim", to_stderr=True)
