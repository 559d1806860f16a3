"""The commands of `quarterjack`, as somebody types them in a folder with a database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from quarterjack.app import SystemRuntime
from quarterjack.cli import commands


class Desk:
    """A folder with a database, and somebody who types."""

    def __init__(self, folder: Path) -> None:
        self.database = folder / "quarterjack.db"

    def run(self, *arguments: str, given: str | None = None) -> Result:
        words = list(arguments)
        at = words.index("--") if "--" in words else len(words)
        words[at:at] = ["--database", f"sqlite:///{self.database}"]
        return CliRunner().invoke(commands, words, obj=SystemRuntime(), input=given)

    def said(self, *arguments: str, given: str | None = None) -> str:
        result = self.run(*arguments, given=given)
        assert result.exit_code == 0, result.output
        return result.output

    def json(self, *arguments: str, given: str | None = None) -> Any:
        words = list(arguments)
        at = words.index("--") if "--" in words else len(words)
        return json.loads(self.said(*words[:at], "--json", *words[at:], given=given))

    def refused(self, code: int, *arguments: str) -> str:
        result = self.run(*arguments)
        assert result.exit_code == code, result.output
        return result.output
