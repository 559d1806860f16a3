"""The command line: parses arguments, calls `control` or the store's reader, prints the result.

Each module holds the commands of one subject; `printing` formats output and errors for all of them.
Every command that reads takes `--json`. Exit codes: 0 ok, 1 failed, 2 usage error, 3 changes
pending.
"""

from __future__ import annotations

import click

from quarterjack import __version__
from quarterjack.cli.lazy import LazyGroup

COMMANDS = {
    "up": "up:up_command",
    "scheduler": "up:scheduler_command",
    "worker": "up:worker_command",
    "check": "up:check_command",
    "list": "listing:list_command",
    "show": "listing:show_command",
    "add": "definitions:add_command",
    "edit": "definitions:edit_command",
    "rm": "operations:rm_command",
    "pause": "operations:pause_command",
    "resume": "operations:resume_command",
    "run": "operations:run_command",
    "backfill": "operations:backfill_command",
    "runs": "runs:runs_group",
    "db": "database:db_group",
    "doctor": "doctor:doctor_command",
    "next": "preview:next_command",
    "explain": "preview:explain_command",
    "audit": "listing:audit_command",
    "nodes": "listing:nodes_command",
}
"""Each command and where it is defined, in the order of `--help`."""


@click.group(
    cls=LazyGroup, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="quarterjack")
def commands() -> None:
    """Run scheduled work on SQLite or PostgreSQL.

    Every due slot becomes exactly one run, or a record of why it did not run.
    """
