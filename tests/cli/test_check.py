"""`check`: validates a program or a file, and prints what a start would change."""

from __future__ import annotations

import asyncio
from pathlib import Path

from click.testing import CliRunner

from harness.cli.command_line import CommandLine
from harness.crash.kills import RealService
from harness.crash.many_nodes import ManyNodes
from quarterjack.cli import commands
from quarterjack.cli.runtime import Runtime
from quarterjack.clock import SystemClock
from quarterjack.declare.apply import apply
from quarterjack.declare.declaration import read_declaration
from quarterjack.declare.yaml_file import read_yaml
from quarterjack.service import open_store


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


def apply_file(folder: Path, text: str) -> None:
    """As a start does."""
    file = folder / "quarterjack.yaml"
    file.write_text(text)

    async def run() -> None:
        store = await open_store(f"sqlite:///{folder / 'quarterjack.db'}", SystemClock())
        await apply(store, read_declaration(read_yaml(file)), store.now())
        await store.close()

    asyncio.run(run())


KEPT = "schedules:\n  kept: {every: 1h, command: [x]}\n"
GONE = "  gone: {every: 1h, command: [x]}\n"


def test_it_knows_which_schedules_of_the_older_default_name_a_start_takes_over(tmp_path: Path):
    apply_file(tmp_path, f"name: default\n{KEPT}{GONE}")

    assert check(tmp_path, KEPT) == [
        "is valid: 1 schedule, 0 tasks",
        '  take over 2 schedules of the older default name "default"',
        "  remove gone",
    ]
    assert check(tmp_path, KEPT.replace("kept", "new"))[1:] == ["  add new: every hour"]


def test_it_refuses_what_a_start_refuses(tmp_path: Path):
    apply_file(tmp_path, KEPT)
    (tmp_path / "moved").mkdir()
    moved = tmp_path / "moved/quarterjack.yaml"
    moved.write_text(KEPT)
    database = f"sqlite:///{tmp_path / 'quarterjack.db'}"
    arguments = ["check", str(moved), "--database", database]

    result = CliRunner().invoke(commands, arguments, obj=Runtime())

    assert result.exit_code == 1
    assert "start it once with --take-over" in result.output


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
