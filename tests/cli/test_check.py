"""`check`: validates a program or a file, and prints what a start would change."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from harness.cli.command_line import CommandLine
from harness.crash.kills import RealService
from harness.crash.many_nodes import ManyNodes
from quarterjack.cli import commands
from quarterjack.cli.runtime import Runtime


def check(folder: Path, text: str) -> list[str]:
    file = folder / "quarterjack.yaml"
    file.write_text(text)
    database = f"sqlite:///{folder / 'quarterjack.db'}"
    arguments = ["check", str(file), "--database", database]
    result = CliRunner().invoke(commands, arguments, obj=Runtime())
    assert result.exit_code == 0, result.output
    return result.output.replace(f"{file} ", "").splitlines()


def test_without_a_database_everything_is_added_and_none_is_created(tmp_path: Path):
    lines = check(tmp_path, "schedules: {a: {every: 1h, command: [x]}}")

    assert lines == ["is valid: 1 schedule, 0 tasks", "  add a: every hour"]
    assert [each.name for each in tmp_path.iterdir()] == ["quarterjack.yaml"]


def test_it_prints_what_a_start_would_add_change_and_remove_and_changes_nothing(
    service: RealService,
):
    service.declare({key: {"every": "1h", "command": ["x"]} for key in ("same", "other", "gone")})
    before = (service.folder / "quarterjack.yaml").read_text()
    service.stop(service.up())
    rows = service.query("select key, version, deleted_at from schedules order by id")

    assert check(service.folder, before) == ["is valid: 3 schedules, 0 tasks", "  no changes"]
    assert check(
        service.folder,
        """
        lease: 1s
        schedules:
          same: {every: 1h, command: [x]}
          other: {every: 2h, command: [x], max_retries: 3}
          new: {cron: "0 3 * * *", command: [x]}
        """,
    ) == [
        "is valid: 3 schedules, 0 tasks",
        "  add new: every day at 03:00",
        "  change other: every, max_retries",
        "  remove gone",
    ]
    assert service.query("select key, version, deleted_at from schedules order by id") == rows


def test_an_invalid_file_is_a_usage_error(cli: CommandLine, tmp_path: Path):
    file = tmp_path / "quarterjack.yaml"
    file.write_text("schedules: {a: {every: 1h}}")

    assert 'schedule "a": target {} is missing' in cli.error(2, "check", str(file))


def test_on_postgresql_without_a_schema_everything_is_added_and_none_is_created(tmp_path: Path):
    nodes = ManyNodes(tmp_path)
    file = tmp_path / "quarterjack.yaml"
    file.write_text("schedules: {a: {every: 1h, command: [x]}}")
    arguments = ["check", str(file), "--database", nodes.url]

    result = CliRunner().invoke(commands, arguments, obj=Runtime())

    assert result.output.splitlines()[1:] == ["  add a: every hour"]
    assert nodes.query("select 1 from schedules") == []
