"""Where the program starts: the console script, which hands the real world to the doors."""

from __future__ import annotations

from quarterjack.cli import commands
from quarterjack.clock import SystemClock


def main() -> None:
    """`quarterjack`, and its alias `qj`."""
    commands(obj=SystemClock(), prog_name="quarterjack")
