"""The command line, a thin door: it reads arguments, asks, and prints.

Each file holds the commands of one subject; `printing` is how they all show what they found.
Every command that reads takes `--json`. Exit codes: 0 ok, 1 failed, 2 wrong usage.
"""

from __future__ import annotations

import click

from quarterjack import __version__
from quarterjack.cli.when import explain_command, next_command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="quarterjack")
def commands() -> None:
    """Say when and what; every due slot becomes exactly one run."""


commands.add_command(next_command)
commands.add_command(explain_command)
