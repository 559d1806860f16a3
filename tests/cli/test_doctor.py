"""`doctor`: each thing that can be wrong is told, with what to do about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cli.test_database import At, lived, query
from harness.rules.world import at
from harness.store.stores import asking, new
from quarterjack.cli import commands
from quarterjack.store.maintenance.results import Level
from quarterjack.store.migrations import migrations
from quarterjack.store.sqlite import doctor as sqlite_diagnosis
from quarterjack.store.sqlite.file import open_database
from quarterjack.times import zone_data_version
from quarterjack.times.instants import DAY, HOUR, MINUTE

LAST = at("11:00")
"""When the database was planned last."""


def examined(path: Path, now: int = LAST, code: int = 0) -> list[dict[str, Any]]:
    arguments = ["doctor", "--json", "--database", f"sqlite:///{path}"]
    result = CliRunner().invoke(commands, arguments, obj=At(now))
    assert result.exit_code == code, result.output
    told = json.loads(result.output)
    assert told["ok"] is (code == 0)
    findings: list[dict[str, Any]] = told["findings"]
    assert all(bool(each["remedy"]) is (each["level"] != "ok") for each in findings)
    return findings


def wrong(path: Path, now: int = LAST, code: int = 0) -> list[str]:
    """What is not well, and how bad that is."""
    found = examined(path, now, code)
    return [f"{each['level']}: {each['what']}" for each in found if each["level"] != "ok"]


class TestAWellOne:
    def test_nothing_is_wrong(self, tmp_path: Path):
        path = lived(tmp_path)
        before = path.read_bytes()

        assert wrong(path) == []
        assert path.read_bytes() == before, "it only reads"

    def test_it_is_told_line_by_line(self, tmp_path: Path):
        path = lived(tmp_path)
        query(path, "update schedules set status = 'dead' where id = 1")

        arguments = ["doctor", "--database", f"sqlite:///{path}"]
        lines = CliRunner().invoke(commands, arguments, obj=At(LAST)).output.splitlines()

        assert lines[0].startswith("  ok        SQLite 3.")
        place = lines.index("  warning   schedules that do not run any more: hourly (dead)")
        assert lines[place + 1].startswith("            `quarterjack show` says why")


class TestTheFile:
    def test_there_is_none(self, tmp_path: Path):
        assert wrong(tmp_path / "q.db", code=1) == [f"failed: there is no database {tmp_path}/q.db"]
        assert list(tmp_path.iterdir()) == []

    def test_it_is_no_database(self, tmp_path: Path):
        path = tmp_path / "q.db"
        path.write_text("this is no database\n" * 100)
        path.chmod(0o600)

        (told,) = wrong(path, code=1)

        assert "it is not a SQLite database" in told

    def test_it_is_of_an_older_program(self, tmp_path: Path):
        path = tmp_path / "q.db"
        open_database(path, now=0, create=True, steps=migrations("sqlite")[:1]).close()

        found = examined(path, code=1)

        assert found[-1]["remedy"] == "run `quarterjack db upgrade`"

    def test_it_is_damaged(self, tmp_path: Path):
        path = lived(tmp_path)
        ((root,),) = query(path, "select rootpage from sqlite_schema where name = 'events'")
        data = bytearray(path.read_bytes())
        data[(root - 1) * 4096 + 1 : (root - 1) * 4096 + 3] = b"\x0f\xf0"  # where it has room
        path.write_bytes(data)

        assert "quick_check says" in str(wrong(path, code=1))

    def test_others_may_read_it(self, tmp_path: Path):
        path = lived(tmp_path)
        path.chmod(0o644)

        assert wrong(path) == [f"warning: the rights of {path} are 644"]

    def test_this_user_may_not_write_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        path = lived(tmp_path)
        monkeypatch.setattr("os.access", lambda *_: False)

        assert wrong(path) == ["warning: this user may not write it"]

    def test_its_log_is_large(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sqlite_diagnosis, "ALARM_BYTES", -1)

        assert wrong(lived(tmp_path)) == ["warning: its log takes 0.0 MiB"]

    @pytest.mark.parametrize(
        ("kind", "level"), [("ext4", "ok"), ("", "ok"), ("nfs4", "failed"), ("tmpfs", "warning")]
    )
    def test_the_file_system_is_judged(self, kind: str, level: str):
        assert sqlite_diagnosis._file_system(kind).level is Level(level)

    @pytest.mark.parametrize(
        ("free", "size", "level"),
        [
            (2**31, 2**20, "ok"),
            (2**30 - 1, 2**20, "warning"),
            (2**31, 2**32, "warning"),
            (2**26, 0, "failed"),
        ],
    )
    def test_the_space_is_judged(self, free: int, size: int, level: str):
        assert sqlite_diagnosis._space(free, size).level is Level(level)


class TestTheProgram:
    @pytest.mark.parametrize(
        "version",
        ["3.7.0", "3.44.5", "3.45.0", "3.50.6", "3.51.0", "3.51.2", "3.52.0", "3.52.9"],
    )
    def test_a_library_that_may_damage_the_log_is_told(self, version: str):
        assert sqlite_diagnosis._sqlite(version).level is Level.FAILED

    @pytest.mark.parametrize(
        "version", ["3.44.6", "3.50.7", "3.51.3", "3.51.10", "3.53.0", "3.54.1", "4.0.0"]
    )
    def test_one_that_is_mended_is_well(self, version: str):
        assert sqlite_diagnosis._sqlite(version).level is Level.OK

    def test_other_zone_data_is_told(self, tmp_path: Path):
        path = lived(tmp_path)
        query(path, f"insert into metadata values ('zone_data', '{zone_data_version()}')")
        assert wrong(path) == []
        query(path, "update metadata set value = '2020a' where name = 'zone_data'")

        (told,) = wrong(path)

        assert told.startswith("warning: zone data: the database has planned with 2020a")


class TestPlans:
    def test_nobody_has_ever_planned(self, tmp_path: Path):
        path = tmp_path / "q.db"
        open_database(path, now=0, create=True).close()

        assert wrong(path) == ["warning: nobody has ever planned here"]

    def test_the_clock_is_behind(self, tmp_path: Path):
        (told,) = wrong(lived(tmp_path), LAST - HOUR, code=1)

        assert "2026-11-16T11:00:00Z, but it is 2026-11-16T10:00:00Z" in told

    def test_nobody_plans_though_something_is_due(self, tmp_path: Path):
        found = wrong(lived(tmp_path), LAST + HOUR + 2 * MINUTE, code=1)

        assert found[0].startswith("failed: nobody plans: the last look at what is due was at")
        assert found[1] == "warning: overdue for more than a minute: hourly, slow"

    def test_nobody_plans_and_nothing_is_due(self, tmp_path: Path):
        found = wrong(lived(tmp_path), LAST + 6 * MINUTE)

        assert found[0].startswith("warning: nobody plans")

    def test_a_run_was_left_behind_by_its_worker(self, tmp_path: Path):
        path = lived(tmp_path)
        query(path, f"update planner_state set last_look = {LAST + 30 * MINUTE}")

        found = wrong(path, LAST + 30 * MINUTE)

        assert found == ["warning: their leases lapsed long ago: runs 2-0"]

    def test_of_many_only_the_first_are_named(self, tmp_path: Path):
        with asking("SQLite", tmp_path) as ask:
            ask.add_all([new(f"s{number}", ask.now, every="1h") for number in range(7)])
            ask.plan()
        query(tmp_path / "quarterjack.db", "update schedules set status = 'invalid'")

        said = ", ".join(f"s{number} (invalid)" for number in range(5))
        assert wrong(tmp_path / "quarterjack.db", at("08:00")) == [
            f"warning: schedules that do not run any more: {said} and others"
        ]

    def test_notices_that_nobody_was_told_of(self, tmp_path: Path):
        path = lived(tmp_path)
        at_last = LAST - 11 * MINUTE
        query(path, f"insert into outbox (kind, at, about) values ('x', {at_last}, '[]')")

        assert wrong(path) == ["warning: notices wait to be told since 2026-11-16T10:49:00Z"]

    def test_all_of_it_a_year_later(self, tmp_path: Path):
        levels = [told.split(":")[0] for told in wrong(lived(tmp_path), LAST + 365 * DAY, code=1)]

        assert levels == ["failed", "warning", "warning"]
