"""`runs`: list and show runs and their output; `cancel` and `retry` are in `operations`."""

from __future__ import annotations

import sys

import click

from quarterjack.cli.database_option import Database, pass_database
from quarterjack.cli.lazy import LazyGroup
from quarterjack.cli.listing import NUMBER, limit_option
from quarterjack.cli.printing import (
    View,
    print_fields,
    print_items,
    print_json,
    print_styled,
    print_table,
)
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
    """List, show, cancel and retry runs."""


@click.command("list")
@click.argument("which", required=False)
@pass_database
@limit_option
@click.option(
    "--state", type=click.Choice([str(state) for state in State]), help="Only runs in this state"
)
def list_runs(
    database: Database, which: str | None, as_json: bool, limit: int, state: str | None
) -> None:
    """List the latest runs of one schedule or of all."""
    with database.reader() as reader:
        runs = [run_view(each) for each in reader.runs(which, state, limit)]
    heading = "RUN  SCHEDULE  STATE  SLOT  ATTEMPT  WHY"
    print_items(runs, _run_row, heading, empty="no runs", as_json=as_json)


def _run_row(run: View) -> list[str]:
    why = run["reason"] or run["error"] or ""
    return [run["id"], run["schedule"], run["state"], run["slot"], str(run["attempt"]), why]


@click.command("show")
@click.argument("run")
@pass_database
def show_run(database: Database, run: str, as_json: bool) -> None:
    """Show a run and its earlier attempts."""
    with database.reader() as reader:
        found, attempts = reader.run(run)
    view, earlier = run_view(found), [attempt_view(attempt) for attempt in attempts]
    if as_json:
        print_json(view | {"attempts": earlier})
        return
    print_fields(view)
    if earlier:
        click.echo("\nearlier attempts")
        fields = ("attempt", "ending", "finished_at", "error")
        print_table([[str(each[field] or "") for field in fields] for each in earlier])


@click.command("logs")
@click.argument("run")
@pass_database
@click.option("--attempt", type=NUMBER, help="Only this attempt")
def show_logs(database: Database, run: str, as_json: bool, attempt: int | None) -> None:
    """Print the stored output of a run."""
    with database.reader() as reader:
        data = reader.output(run, attempt)
    if as_json:
        print_json({"run": run, "output": data.decode(errors="replace")})
    elif not data:
        print_styled("(no output)", "dim", to_stderr=True)
    elif sys.stdout.isatty():
        click.echo(_escape_controls(data), nl=False)
    else:
        sys.stdout.buffer.write(data)


def _escape_controls(data: bytes) -> str:
    """Text that is safe on a terminal: control characters are escaped, line ends and tabs kept."""
    text = data.decode(errors="backslashreplace").replace("\r\n", "\n")
    return "".join(
        char if char.isprintable() or char in "\n\t" else repr(char)[1:-1] for char in text
    )
