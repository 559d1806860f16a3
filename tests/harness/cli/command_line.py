"""Invokes `quarterjack` commands on a SQLite database in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from quarterjack.cli import commands
from quarterjack.cli.runtime import Runtime


class FixedRuntime(Runtime):
    """The clock of this host stands still at an instant."""

    def __init__(self, instant: int) -> None:
        self._instant = instant

    def now(self) -> int:
        return self._instant


class CommandLine:
    def __init__(self, folder: Path) -> None:
        self.database = folder / "quarterjack.db"

    def invoke(self, *arguments: str, stdin: str | None = None) -> Result:
        args = list(arguments)
        end = args.index("--") if "--" in args else len(args)
        args[end:end] = ["--database", f"sqlite:///{self.database}"]
        return CliRunner().invoke(commands, args, obj=Runtime(), input=stdin)

    def output(self, *arguments: str, stdin: str | None = None) -> str:
        result = self.invoke(*arguments, stdin=stdin)
        assert result.exit_code == 0, result.output
        return result.output

    def json(self, *arguments: str, stdin: str | None = None) -> Any:
        end = arguments.index("--") if "--" in arguments else len(arguments)
        return json.loads(self.output(*arguments[:end], "--json", *arguments[end:], stdin=stdin))

    def error(self, code: int, *arguments: str) -> str:
        """The output of a command that must exit with this code."""
        result = self.invoke(*arguments)
        assert result.exit_code == code, result.output
        return result.output
