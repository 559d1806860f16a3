"""`doctor` on SQLite: each problem is reported with a remedy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli.command_line import FixedRuntime
from harness.cli.databases import populated_database, query
from harness.rules.values import at
from harness.store.migrated import open_with
from harness.store.stores import new, open_client
from quarterjack.cli import commands
from quarterjack.store.maintenance.results import Level
from quarterjack.store.migrations import load_migrations
from quarterjack.store.sqlite import doctor as sqlite_doctor
from quarterjack.store.sqlite.file import open_database
from quarterjack.times import zone_data_version
from quarterjack.times.instants import DAY, HOUR, MINUTE

LAST = at("11:00")
"""When the planner ran last."""


def findings_of(path: Path, now: int = LAST, code: int = 0) -> list[dict[str, Any]]:
    arguments = ["doctor", "--json", "--database", f"sqlite:///{path}"]
    result = CliRunner().invoke(commands, arguments, obj=FixedRuntime(now))
    assert result.exit_code == code, result.output
    answer = json.loads(result.output)
    assert answer["ok"] is (code == 0)
    findings: list[dict[str, Any]] = answer["findings"]
    assert all(bool(each["remedy"]) is (each["level"] != "ok") for each in findings)
    return findings


def problems_of(path: Path, now: int = LAST, code: int = 0) -> list[str]:
    """Level and text of every finding that is not ok."""
    found = findings_of(path, now, code)
    return [f"{each['level']}: {each['what']}" for each in found if each["level"] != "ok"]


class TestHealthyDatabase:
    def test_there_are_no_problems(self, tmp_path: Path):
        path = populated_database(tmp_path)
        before = path.read_bytes()

        assert problems_of(path) == []
        assert path.read_bytes() == before, "read-only"

    def test_each_finding_is_a_line_with_its_remedy_below(self, tmp_path: Path):
        path = populated_database(tmp_path)
        query(path, "update schedules set status = 'dead' where id = 1")

        arguments = ["doctor", "--database", f"sqlite:///{path}"]
        lines = CliRunner().invoke(commands, arguments, obj=FixedRuntime(LAST)).output.splitlines()

        assert lines[0].startswith("  ok        SQLite 3.")
        place = lines.index("  warning   invalid or dead schedules: hourly (dead)")
        assert lines[place + 1].startswith("            see `quarterjack show` for the reason")


class TestFile:
    def test_a_missing_file(self, tmp_path: Path):
        assert problems_of(tmp_path / "q.db", code=1) == [
            f"failed: database {tmp_path}/q.db: not found"
        ]
        assert list(tmp_path.iterdir()) == []

    def test_a_file_that_is_not_a_database(self, tmp_path: Path):
        path = tmp_path / "q.db"
        path.write_text("this is no database\n" * 100)
        path.chmod(0o600)

        (problem,) = problems_of(path, code=1)

        assert "not a SQLite database" in problem

    def test_an_older_schema(self, tmp_path: Path):
        path = tmp_path / "q.db"
        open_with(load_migrations("sqlite")[:1], path).close()

        found = findings_of(path, code=1)

        assert found[-1]["remedy"] == "run `quarterjack db upgrade`"

    def test_a_damaged_file(self, tmp_path: Path):
        path = populated_database(tmp_path)
        ((root,),) = query(path, "select rootpage from sqlite_schema where name = 'events'")
        data = bytearray(path.read_bytes())
        data[(root - 1) * 4096 + 1 : (root - 1) * 4096 + 3] = b"\x0f\xf0"  # where it has room
        path.write_bytes(data)

        assert "quick_check: " in str(problems_of(path, code=1))

    def test_a_file_that_others_can_read(self, tmp_path: Path):
        path = populated_database(tmp_path)
        path.chmod(0o644)

        assert problems_of(path) == [f"warning: permissions of {path}: 644"]

    def test_a_read_only_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        path = populated_database(tmp_path)
        monkeypatch.setattr("os.access", lambda *_: False)

        assert problems_of(path) == ["warning: this user cannot write the file or its folder"]

    def test_a_large_wal_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sqlite_doctor, "WAL_BYTES_ALARM", -1)

        assert problems_of(populated_database(tmp_path)) == ["warning: write-ahead log: 0.0 MiB"]

    @pytest.mark.parametrize(
        ("kind", "level"), [("ext4", "ok"), ("", "ok"), ("nfs4", "failed"), ("tmpfs", "warning")]
    )
    def test_file_systems(self, kind: str, level: str):
        assert sqlite_doctor._file_system(kind).level is Level(level)

    @pytest.mark.parametrize(
        ("free", "size", "level"),
        [
            (2**31, 2**20, "ok"),
            (2**30 - 1, 2**20, "warning"),
            (2**31, 2**32, "warning"),
            (2**26, 0, "failed"),
        ],
    )
    def test_free_space(self, free: int, size: int, level: str):
        assert sqlite_doctor._disk_space(free, size).level is Level(level)


class TestProgram:
    @pytest.mark.parametrize(
        "version",
        ["3.7.0", "3.44.5", "3.45.0", "3.50.6", "3.51.0", "3.51.2", "3.52.0", "3.52.9"],
    )
    def test_sqlite_libraries_with_the_wal_reset_bug_fail(self, version: str):
        assert sqlite_doctor._library(version).level is Level.FAILED

    @pytest.mark.parametrize(
        "version", ["3.44.6", "3.50.7", "3.51.3", "3.51.10", "3.53.0", "3.54.1", "4.0.0"]
    )
    def test_fixed_sqlite_libraries_pass(self, version: str):
        assert sqlite_doctor._library(version).level is Level.OK

    def test_different_zone_data(self, tmp_path: Path):
        path = populated_database(tmp_path)
        query(path, f"insert into metadata values ('zone_data', '{zone_data_version()}')")
        assert problems_of(path) == []
        query(path, "update metadata set value = '2020a' where name = 'zone_data'")

        (problem,) = problems_of(path)

        assert problem.startswith("warning: time zone data: slots were computed with 2020a")


class TestSchedules:
    def test_no_planner_has_ever_run(self, tmp_path: Path):
        path = tmp_path / "q.db"
        open_database(path, now=0, create=True).close()

        assert problems_of(path) == ["warning: no planner has ever run"]

    def test_a_clock_that_is_behind(self, tmp_path: Path):
        (problem,) = problems_of(populated_database(tmp_path), LAST - HOUR, code=1)

        assert "2026-11-16T11:00:00Z, in the future: it is 2026-11-16T10:00:00Z" in problem

    def test_no_planner_while_schedules_are_due(self, tmp_path: Path):
        found = problems_of(populated_database(tmp_path), LAST + HOUR + 2 * MINUTE, code=1)

        assert found[0].startswith("failed: no planner is running: last planner step at")
        assert found[1] == "warning: schedules overdue for more than a minute: hourly, slow"

    def test_no_planner_while_nothing_is_due(self, tmp_path: Path):
        found = problems_of(populated_database(tmp_path), LAST + 6 * MINUTE)

        assert found[0].startswith("warning: no planner is running")

    def test_a_run_whose_lease_has_expired(self, tmp_path: Path):
        path = populated_database(tmp_path)
        query(path, f"update planner_state set last_look = {LAST + 30 * MINUTE}")

        found = problems_of(path, LAST + 30 * MINUTE)

        assert found == ["warning: running runs whose leases expired long ago: 2-0"]

    def test_only_the_first_of_many_schedules_are_named(self, tmp_path: Path):
        with open_client("SQLite", tmp_path) as client:
            client.add_all([new(f"s{number}", client.now, every="1h") for number in range(7)])
            client.plan()
        query(tmp_path / "quarterjack.db", "update schedules set status = 'invalid'")

        names = ", ".join(f"s{number} (invalid)" for number in range(5))
        assert problems_of(tmp_path / "quarterjack.db", at("08:00")) == [
            f"warning: invalid or dead schedules: {names} and others"
        ]

    def test_notifications_that_wait_for_long(self, tmp_path: Path):
        path = populated_database(tmp_path)
        at_last = LAST - 11 * MINUTE
        query(path, f"insert into outbox (kind, at, about) values ('x', {at_last}, '[]')")

        assert problems_of(path) == ["warning: notifications pending since 2026-11-16T10:49:00Z"]

    def test_a_database_that_was_unused_for_a_year(self, tmp_path: Path):
        levels = [
            problem.split(":")[0]
            for problem in problems_of(populated_database(tmp_path), LAST + 365 * DAY, code=1)
        ]

        assert levels == ["failed", "warning", "warning"]
