"""The command line, a thin door: it reads arguments, asks, and prints.

Each file holds the commands of one subject; `printing` is how they all show what they found.
Every command that reads takes `--json`. Exit codes: 0 ok, 1 failed, 2 wrong usage.
"""

from __future__ import annotations

from importlib import import_module

import click

from quarterjack import __version__

COMMANDS = {
    "up": "up:up_command",
    "list": "stored:list_command",
    "show": "stored:show_command",
    "runs": "stored:runs_group",
    "next": "when:next_command",
    "explain": "when:explain_command",
}
"""Where each one is; it is loaded when it is used, so that the others start fast."""


class _Commands(click.Group):
    def list_commands(self, _context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name].partition(":")
        command: click.Command = getattr(import_module(f"{__name__}.{module}"), attribute)
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="quarterjack")
def commands() -> None:
    """Say when and what; every due slot becomes exactly one run."""
