"""`db upgrade`, `check`, `prune` and `backup` on SQLite."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest
from click.testing import CliRunner, Result

from harness.cli.command_line import FixedRuntime
from harness.cli.databases import CORRUPTIONS, populated_database, query
from harness.rules.values import at
from harness.store.migrated import open_with
from harness.store.stores import StoreClient, open_client
from quarterjack.cli import commands
from quarterjack.cli.runtime import Runtime
from quarterjack.rules import Retention, ServiceSettings
from quarterjack.store.maintenance import backup as backing_up
from quarterjack.store.maintenance.check import CHECKS
from quarterjack.store.migrations import load_migrations
from quarterjack.store.reader import Reader
from quarterjack.store.sqlite.file import open_database
from quarterjack.targets.kinds import KINDS
from quarterjack.times.instants import DAY


def run(path: Path, *arguments: str, now: int | None = None) -> Result:
    runtime = Runtime() if now is None else FixedRuntime(now)
    where = ["--database", f"sqlite:///{path}"]
    return CliRunner().invoke(commands, [*arguments, *where], obj=runtime)


def as_json(path: Path, *arguments: str, now: int | None = None, code: int = 0) -> Any:
    result = run(path, *arguments, "--json", now=now)
    assert result.exit_code == code, result.output
    return json.loads(result.output)


class TestUpgrade:
    def test_an_older_schema_is_upgraded(self, tmp_path: Path):
        path, newest = tmp_path / "q.db", load_migrations("sqlite")[-1].number
        open_with(load_migrations("sqlite")[:1], path).close()
        assert "run `quarterjack db upgrade`" in run(path, "list").output

        first, second = run(path, "db", "upgrade"), run(path, "db", "upgrade")

        assert first.output == f"{path}: upgraded schema 1 to {newest}\n"
        assert second.output == f"{path}: schema {newest} is up to date\n"
        assert run(path, "list").output == "no schedules\n"
        answer = {"database": str(path), "schema_before": newest, "schema": newest}
        assert as_json(path, "db", "upgrade") == answer

    def test_a_newer_schema_is_refused(self, tmp_path: Path):
        path = populated_database(tmp_path)
        query(path, "insert into migrations values (99, 'later', 'x', 0)")

        result = run(path, "db", "upgrade")

        assert result.exit_code == 1
        assert "it is at schema 99" in result.output
        assert "use the newer program" in result.output

    def test_a_missing_database_is_not_created(self, tmp_path: Path):
        result = run(tmp_path / "q.db", "db", "upgrade")

        assert (result.exit_code, list(tmp_path.iterdir())) == (1, [])
        assert "not found" in result.output

    def test_the_database_of_another_program_is_refused(self, tmp_path: Path):
        path = tmp_path / "q.db"
        query(path, "create table theirs (id)")

        result = run(path, "db", "upgrade")

        assert (result.exit_code, "belongs to another program" in result.output) == (1, True)


class TestCheck:
    def test_a_consistent_database_passes_and_is_not_changed(self, tmp_path: Path):
        path = populated_database(tmp_path)
        before = path.read_bytes()

        result = run(path, "db", "check")

        assert (result.exit_code, "checks passed" in result.output) == (0, True)
        assert as_json(path, "db", "check")["faults"] == []
        assert path.read_bytes() == before, "it only reader"

    def test_every_check_has_a_corruption_that_fails_it(self):
        assert list(CORRUPTIONS) == list(CHECKS)

    @pytest.mark.parametrize("check", CORRUPTIONS)
    def test_a_corruption_fails_its_check(self, tmp_path: Path, check: str):
        path = populated_database(tmp_path)
        query(path, CORRUPTIONS[check])

        answer = as_json(path, "db", "check", code=1)

        found = {fault["check"]: fault for fault in answer["faults"]}
        assert (answer["sound"], check in found) == (False, True)
        assert (
            f"  failed   {CHECKS[check]}: {found[check]['found'][0]}"
            in run(path, "db", "check").output
        )

    def test_only_the_first_rows_of_a_failed_check_are_shown(self, tmp_path: Path):
        path = populated_database(tmp_path, runs=8)
        query(path, "update runs set version = 7 where schedule_id = 1")

        result = run(path, "db", "check")

        assert "1-0, 1-1, 1-2, 1-3, 1-4 and others\n" in result.output
        assert "restore a backup" in result.output

    def test_a_damaged_file_fails_the_integrity_check(self, tmp_path: Path):
        path = populated_database(tmp_path)
        ((root, size),) = query(
            path, "select rootpage, 4096 from sqlite_schema where name = 'runs_by_slot'"
        )
        data = bytearray(path.read_bytes())
        data[(root - 1) * size + 3 : (root - 1) * size + 5] = b"\x00\x00"  # no cell is in it
        path.write_bytes(data)

        answer = as_json(path, "db", "check", code=1)

        assert answer["faults"][0]["check"] == "integrity_check"
        assert "runs_by_slot" in str(answer["faults"][0]["found"])


def prune_in_subprocess(
    path: Path, now: int, **environment: str
) -> subprocess.CompletedProcess[str]:
    """`db prune` at this instant, in a process that failpoints can kill."""
    code = (
        "import sys; from quarterjack.cli.runtime import Runtime\n"
        "from quarterjack.cli import commands\n"
        "class Late(Runtime):\n"
        f"    def now(self): return {now}\n"
        "commands(sys.argv[1:], obj=Late())"
    )
    arguments = ["db", "prune", "--json", "--database", f"sqlite:///{path}"]
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


class TestPrune:
    def test_expired_rows_are_deleted_and_their_space_is_freed(self, tmp_path: Path):
        path = populated_database(tmp_path, runs=60)
        size = path.stat().st_size

        answer = as_json(path, "db", "prune", now=at("09:00") + 100 * DAY)

        assert query(path, "select number from runs where schedule_id = 1") == [(59,)]
        assert answer["rows"] > 59 + 60
        assert answer["bytes"] > 59 * 9000 > 0
        assert path.stat().st_size <= size - answer["bytes"]
        assert "pruned 0 rows" in run(path, "db", "prune", now=at("09:00") + 100 * DAY).output

    def test_without_a_configuration_file_the_retention_of_the_last_start_applies(
        self, tmp_path: Path
    ):
        path, late = populated_database(tmp_path, runs=5), at("09:00") + 100 * DAY
        rules = ServiceSettings(retention=Retention(run_age=None, run_count=4, output_age=None))
        query(
            path, "update metadata set value = ? where name = 'service_settings'", rules.to_text()
        )
        run(path, "db", "prune", now=late)
        assert query(path, "select count(*) from runs where schedule_id = 1") == [(4,)]

        query(path, "delete from metadata where name = 'service_settings'")
        result = run(path, "db", "prune", now=late)

        assert (result.exit_code, "name the configuration file" in result.output) == (1, True)
        assert query(path, "select count(*) from runs where schedule_id = 1") == [(4,)]

    def test_the_retention_of_the_configuration_file_applies(self, tmp_path: Path):
        path, config = populated_database(tmp_path, runs=5), tmp_path / "q.yaml"
        config.write_text(f"database: sqlite:///{path}\nretention: {{run_count: 2}}\n")

        result = CliRunner().invoke(
            commands, ["db", "prune", "--config", str(config)], obj=FixedRuntime(at("16:00"))
        )

        assert result.output.startswith("pruned 6 rows, freed 32.0 KiB")
        assert query(path, "select count(*) from runs where schedule_id = 1") == [(2,)]

    def test_an_invalid_configuration_file_is_a_usage_error(self, tmp_path: Path):
        path, config = populated_database(tmp_path), tmp_path / "q.yaml"
        config.write_text("retention: {run_count: many}\n")

        result = run(path, "db", "prune", "--config", str(config))

        assert (result.exit_code, "run_count" in result.output) == (2, True)

    def test_a_locked_database_is_an_error(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        path = populated_database(tmp_path)
        monkeypatch.setattr("quarterjack.store.sqlite.file.BUSY_SECONDS", 0)
        other = apsw.Connection(str(path))
        other.execute("begin immediate")

        result = run(path, "db", "prune")

        assert (result.exit_code, "locked by another program" in result.output) == (1, True)

    @pytest.mark.fault("F9")
    @pytest.mark.parametrize(
        "place", ["daily_stats.written", "prune.committing", "prune.committed"]
    )
    def test_each_run_is_counted_once_when_prune_is_killed_at_any_step(
        self, tmp_path: Path, place: str
    ):
        path, now = populated_database(tmp_path, runs=6), at("09:00") + 100 * DAY
        hit = 1
        while (
            process := prune_in_subprocess(path, now, QUARTERJACK_CRASH_AT=f"{place}:{hit}")
        ).returncode:
            assert process.returncode == -9, process.stderr
            hit += 1
            assert hit < 20

        assert hit > 1, "killed at least once"
        assert query(path, "select schedule_id, sum(succeeded) from daily_stats group by 1") == [
            (0, 6),
            (1, 6),
        ]
        assert query(path, "select number from runs where schedule_id = 1") == [(5,)]
        assert run(path, "db", "check").exit_code == 0


class ConcurrentWriter:
    """Stands in for the page count of a backup step: before each step it writes a row."""

    def __init__(self, path: Path) -> None:
        self._service = open_database(path, now=0)
        self.written = 0

    def __index__(self) -> int:
        self.written += 1
        assert self.written < 1000, "the backup must end"
        row = f"('x', {self.written}, '[]')"
        self._service.execute(f"insert into events (kind, at, about) values {row}")
        return 5


class TestBackup:
    def test_an_older_schema_is_copied_unchanged(self, tmp_path: Path):
        path, copy = tmp_path / "old.db", tmp_path / "copy.db"
        open_with(load_migrations("sqlite")[:1], path).close()

        assert run(path, "db", "backup", str(copy)).exit_code == 0
        assert query(copy, "select max(number) from migrations") == [(1,)]

    def test_a_backup_is_complete_and_readable_only_by_its_user(self, tmp_path: Path):
        path, copy = populated_database(tmp_path), tmp_path / "copy.db"

        answer = as_json(path, "db", "backup", str(copy))

        assert answer["bytes"] == copy.stat().st_size
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        assert run(copy, "db", "check").exit_code == 0
        assert query(copy, "select * from runs") == query(path, "select * from runs")
        assert query(copy, "pragma auto_vacuum") == [(2,)]
        assert sorted(each.name for each in tmp_path.iterdir()) == ["copy.db", "quarterjack.db"]

    def test_an_existing_file_is_not_overwritten(self, tmp_path: Path):
        path, copy = populated_database(tmp_path), tmp_path / "copy.db"
        copy.write_text("precious")

        result = run(path, "db", "backup", str(copy))

        assert (result.exit_code, copy.read_text()) == (1, "precious")
        assert "a backup is never overwritten" in result.output

    def test_a_file_created_during_the_backup_is_not_overwritten(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        path, copy = populated_database(tmp_path), tmp_path / "copy.db"
        monkeypatch.setattr(backing_up, "failpoint", lambda place: copy.write_text("precious"))

        result = run(path, "db", "backup", str(copy))

        assert (result.exit_code, copy.read_text()) == (1, "precious")
        assert "another process has just written it" in result.output

    def test_a_file_system_without_hard_links_works(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        def refuse(*_: object) -> None:
            raise PermissionError(1, "Operation not permitted")

        path, copy = populated_database(tmp_path), tmp_path / "copy.db"
        monkeypatch.setattr(os, "link", refuse)

        assert run(path, "db", "backup", str(copy)).exit_code == 0
        assert run(copy, "db", "check").exit_code == 0
        monkeypatch.setattr(backing_up, "failpoint", lambda place: copy.touch())
        copy.unlink()
        assert run(path, "db", "backup", str(copy)).exit_code == 1
        assert copy.stat().st_size == 0, "the file that appeared stays"

    def test_an_unwritable_location_is_an_error(self, tmp_path: Path):
        result = run(
            populated_database(tmp_path), "db", "backup", str(tmp_path / "none" / "copy.db")
        )

        assert result.exit_code == 1
        assert "cannot write (No such file or directory); check" in result.output

    def test_a_damaged_copy_is_deleted(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        path, copy = populated_database(tmp_path), tmp_path / "copy.db"
        copy_file = backing_up._copy_pages

        def copy_damaged(path: Path, copy: Path) -> None:
            copy_file(path, copy)
            data = bytearray(copy.read_bytes())
            data[8192:9000] = bytes(808)
            copy.write_bytes(data)

        monkeypatch.setattr(backing_up, "_copy_pages", copy_damaged)
        result = run(path, "db", "backup", str(copy))

        assert result.exit_code == 1
        assert list(tmp_path.glob("copy*")) == []

    @pytest.mark.fault("F9")
    def test_a_backup_that_is_killed_leaves_no_file_with_its_name(self, tmp_path: Path):
        path, copy = populated_database(tmp_path), tmp_path / "copy.db"
        arguments = ["db", "backup", str(copy), "--database", f"sqlite:///{path}"]

        killed = subprocess.run(
            [sys.executable, "-m", "quarterjack", *arguments],
            env={**os.environ, "QUARTERJACK_CRASH_AT": "backup.written"},
            check=False,
            timeout=60,
        )

        assert (killed.returncode, copy.exists()) == (-9, False)
        assert run(path, "db", "backup", str(copy)).exit_code == 0

    def test_a_backup_is_consistent_while_others_write(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        """SQLite restarts a backup whenever another connection writes, and would never finish."""
        path, copy = populated_database(tmp_path), tmp_path / "copy.db"
        writer = ConcurrentWriter(path)
        monkeypatch.setattr(backing_up, "PAGES", writer)

        result = run(path, "db", "backup", str(copy))

        assert result.exit_code == 0, result.output
        assert query(copy, "select count(*) from events where kind = 'x'") == [(0,)]
        written = query(path, "select count(*) from events where kind = 'x'")
        assert written == [(writer.written,)]
        assert writer.written > 5

    @pytest.mark.fault("F10")
    def test_a_restored_backup_continues_without_duplicates(self, tmp_path: Path):
        path, copy = populated_database(tmp_path), tmp_path / "copy.db"
        run(path, "db", "backup", str(copy))
        later = tmp_path / "later"
        later.mkdir()
        copy.rename(later / "quarterjack.db")

        with open_client("SQLite", later, "13:00") as client:
            client.rescue()
            client.plan()
            claims = client.claim()
            client.settle(*((claim.run, client.outcome()) for claim in claims))
            assert self.slots(client) == [at("09:00"), at("10:00"), at("11:00"), at("13:00")]
            assert client.plan().added == 0
        assert run(later / "quarterjack.db", "db", "check").exit_code == 0

    def slots(self, client: StoreClient) -> list[int]:
        """The slots of the runs of the hourly schedule."""
        reader = Reader(client.url, KINDS)
        try:
            return sorted(found.run.slot for found in reader.runs("hourly"))
        finally:
            reader.close()
