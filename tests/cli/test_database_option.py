"""`--database`, `--config` and the defaults that choose the database of a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.command_line import CommandLine
from quarterjack.cli import commands
from quarterjack.cli.runtime import Runtime


def test_the_configuration_file_names_the_database(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    cli.output("add", "a", "--every", "1h", "--", "true")
    file = tmp_path / "quarterjack.yaml"
    file.write_text(json.dumps({"database": f"sqlite:///{cli.database}"}))
    monkeypatch.delenv("QUARTERJACK_DATABASE_URL", raising=False)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    for folder, options in [(tmp_path, []), (elsewhere, ["--config", str(file)])]:
        monkeypatch.chdir(folder)
        result = CliRunner().invoke(commands, ["list", *options], obj=Runtime())
        assert (result.exit_code, "every hour" in result.output) == (0, True)
    result = CliRunner().invoke(commands, ["list"], obj=Runtime())
    assert "database quarterjack.db: not found" in result.output


def test_a_missing_database_is_an_error_and_is_not_created(tmp_path: Path):
    url = f"sqlite:///{tmp_path}/none.db"

    result = CliRunner().invoke(commands, ["list", "--database", url], obj=Runtime())

    assert result.exit_code == 1
    assert "not found; start `quarterjack up` once" in result.output
    assert list(tmp_path.iterdir()) == []
