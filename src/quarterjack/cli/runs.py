"""`runs`: what became of slots and requests, run by run."""

from __future__ import annotations

import sys

import click

from quarterjack.cli.database_option import Database, on_database
from quarterjack.cli.lazy import LazyGroup
from quarterjack.cli.listing import NUMBER, limit_option, plain
from quarterjack.cli.printing import print_json, print_styled, print_table
from quarterjack.rules import State
from quarterjack.views import attempt_view, run_view

COMMANDS = {
    "list": "runs:list_runs",
    "show": "runs:show_run",
    "logs": "runs:show_logs",
    "cancel": "operations:cancel_command",
    "retry": "operations:retry_command",
}


@click.group("runs", cls=LazyGroup, table=COMMANDS)
def runs_group() -> None:
    """List runs, show one or what it put out, cancel one or try it again."""


@click.command("list")
@click.argument("which", required=False)
@on_database
@limit_option
@click.option("--state", type=click.Choice([str(state) for state in State]))
def list_runs(
    database: Database,
    which: str | None,
    as_json: bool,
    limit: int,
    state: str | None,
) -> None:
    """The latest runs, of one schedule or of all."""
    with database.reading() as reads:
        found = [run_view(each) for each in reads.runs(which, state, limit)]
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


@click.command("show")
@click.argument("run")
@on_database
def show_run(database: Database, run: str, as_json: bool) -> None:
    """One run, with the attempts before its last."""
    with database.reading() as reads:
        found, attempts = reads.run(run)
    shown = run_view(found)
    earlier = [attempt_view(attempt) for attempt in attempts]
    if as_json:
        print_json(shown | {"attempts": earlier})
        return
    print_table(
        [[name, plain(value)] for name, value in shown.items() if value not in (None, {}, [])]
    )
    if earlier:
        click.echo("\nearlier attempts")
        rows = [
            [str(e["attempt"]), e["ending"], e["finished_at"], e["error"] or ""] for e in earlier
        ]
        print_table(rows)


@click.command("logs")
@click.argument("run")
@on_database
@click.option("--attempt", type=NUMBER, help="Only of this attempt.")
def show_logs(database: Database, run: str, as_json: bool, attempt: int | None) -> None:
    """What a run has put out, as far as it is kept."""
    with database.reading() as reads:
        data = reads.output(run, attempt)
    if as_json:
        print_json({"run": run, "output": data.decode(errors="replace")})
    elif not data:
        print_styled("it has put out nothing", "dim", to_stderr=True)
    elif sys.stdout.isatty():
        click.echo(_harmless(data), nl=False)
    else:
        sys.stdout.buffer.write(data)


def _harmless(data: bytes) -> str:
    """As a terminal may see it: what would speak to the terminal is shown instead."""
    text = data.decode(errors="backslashreplace").replace("\r\n", "\n")
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else repr(letter)[1:-1]
        for letter in text
    )
