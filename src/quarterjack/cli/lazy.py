"""A click group that imports each command on first use, to keep start-up fast."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """`table` maps each command to `module:attribute` in this package."""

    def __init__(self, *args: Any, table: Mapping[str, str], **options: Any) -> None:
        super().__init__(*args, **options)
        self._table = table

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(self._table)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name not in self._table:
            return None
        module, _, attribute = self._table[name].partition(":")
        command: click.Command = getattr(import_module(f"quarterjack.cli.{module}"), attribute)
        return command
