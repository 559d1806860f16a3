"""`runs`: list and show runs and their output; `cancel` and `retry` are in `operations`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator
from threading import Event

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
from quarterjack.rules.states import OPEN
from quarterjack.store.output_lines import Gap, Line, lines_of, raw_output
from quarterjack.store.reader import Reader
from quarterjack.store.types import Chunk
from quarterjack.times.instants import to_datetime
from quarterjack.views import attempt_view, line_view, run_view

COMMANDS = {
    "list": "runs:list_runs",
    "show": "runs:show_run",
    "logs": "runs:show_logs",
    "cancel": "operations:cancel_command",
    "retry": "operations:retry_command",
}


FOLLOW_SECONDS = 0.5


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
    view = run_view(found)
    earlier = [attempt_view(each, found.progress.get(each.number)) for each in attempts]
    if as_json:
        print_json(view | {"attempts": earlier})
        return
    print_fields(view)
    if earlier:
        click.echo("\nearlier attempts")
        print_table([_attempt_row(each) for each in earlier])


def _attempt_row(attempt: View) -> list[str]:
    progress, fields = attempt["progress"], ("attempt", "ending", "finished_at", "error")
    done = f"{progress['fraction']:.0%} {progress['text'] or ''}".rstrip() if progress else ""
    return [*(str(attempt[field] or "") for field in fields), done]


@click.command("logs")
@click.argument("run")
@pass_database
@click.option("--attempt", type=NUMBER, help="Only this attempt")
@click.option("--follow", "-f", is_flag=True, help="Print new output until the run has ended")
def show_logs(
    database: Database, run: str, as_json: bool, attempt: int | None, follow: bool
) -> None:
    """Print the stored output of a run.

    On a terminal each line has its time (UTC) and its level in front, if they are known. In a pipe
    or a file, the output is unchanged.
    """
    if as_json and follow:
        raise click.UsageError("--follow cannot be combined with --json; leave out one of them")
    with database.reader() as reader:
        chunks = _new_chunks(reader, run, attempt) if follow else reader.output(run, attempt)
        if as_json:
            _print_json(run, list(chunks))
        elif not (_print_lines(chunks) if sys.stdout.isatty() else _print_raw(chunks)):
            print_styled("(no output)", "dim", to_stderr=True)


def _new_chunks(reader: Reader, run: str, attempt: int | None) -> Iterator[Chunk]:
    """What is stored, and then what is added, until the run has ended. Whether it has is read
    first, because its output is stored before its end."""
    last, has_ended = (0, -1), False
    while not has_ended:
        found = reader.run(run)[0].run
        has_ended = found.state not in OPEN or (attempt is not None and attempt < found.attempt)
        for chunk in reader.output(run, attempt, last):
            last = chunk.attempt, chunk.sequence
            yield chunk
        if not has_ended:
            Event().wait(FOLLOW_SECONDS)


def _print_json(run: str, chunks: list[Chunk]) -> None:
    data, lines = b"".join(raw_output(chunks)), [line_view(each) for each in lines_of(chunks)]
    print_json({"run": run, "output": data.decode(errors="replace"), "lines": lines})


def _print_raw(chunks: Iterable[Chunk]) -> bool:
    """Was there any output?"""
    data = b""
    for data in raw_output(chunks):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    return bool(data)


def _print_lines(chunks: Iterable[Chunk]) -> bool:
    line = None
    for line in lines_of(chunks):
        click.echo(_prefix(line) + _text(line))
    return line is not None


def _prefix(line: Line | Gap) -> str:
    if isinstance(line, Gap) or line.at is None:
        return ""
    at = f"{to_datetime(line.at):%H:%M:%S.%f}"[:-3]
    return f"{at} {logging.getLevelName(line.level)} " if line.level else f"{at} "


def _text(line: Line | Gap) -> str:
    if isinstance(line, Gap):
        return str(line)
    return "".join(
        char if char.isprintable() or char == "\t" else repr(char)[1:-1] for char in line.text
    )
