"""`db upgrade`, `check`, `prune` and `backup`, on databases that have lived."""

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

from harness.rules.world import at
from harness.store.stores import Asking, asking
from quarterjack.app import SystemRuntime
from quarterjack.cli import commands
from quarterjack.control import SERVICE_SETTINGS
from quarterjack.rules import Retention, Run, ServiceSettings
from quarterjack.store.maintenance import backup as backing_up
from quarterjack.store.maintenance.check import CHECKS
from quarterjack.store.migrations import migrations
from quarterjack.store.reader import Reader
from quarterjack.store.sqlite.file import open_database
from quarterjack.store.types import Chunk
from quarterjack.times.instants import DAY, HOUR, SECOND


def lived(folder: Path, runs: int = 3) -> Path:
    """A schedule that ran each hour, and one whose only run is still running."""
    with asking("SQLite", folder) as ask:
        live(ask, runs)
    return folder / "quarterjack.db"


def live(ask: Asking, runs: int = 3) -> None:
    ask.add("hourly", every="1h")
    ask.add("slow", every="1h", if_running="skip")
    held: list[Run] = []
    for number in range(runs):
        ask.clock.instant += HOUR
        ask.plan()
        for claim in ask.claim():
            if claim.key == "slow":
                held.append(claim.run)
                continue
            ask(ask.store.add_output([Chunk(1, number, 1, 0, ask.now, b"x" * 9000)]))
            ask.settle((claim.run, ask.outcome()))
    ask(ask.store.renew_leases("w1", held, ask.now + 10 * SECOND))
    ask(ask.store.put_metadata(SERVICE_SETTINGS, ServiceSettings().to_text()))


class At(SystemRuntime):
    """A world in which it is so late."""

    def __init__(self, instant: int) -> None:
        self._instant = instant

    def now(self) -> int:
        return self._instant


def run(path: Path, *arguments: str, now: int | None = None) -> Result:
    world = SystemRuntime() if now is None else At(now)
    where = ["--database", f"sqlite:///{path}"]
    return CliRunner().invoke(commands, [*arguments, *where], obj=world)


def as_json(path: Path, *arguments: str, now: int | None = None, code: int = 0) -> Any:
    result = run(path, *arguments, "--json", now=now)
    assert result.exit_code == code, result.output
    return json.loads(result.output)


def query(path: Path, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    connection = apsw.Connection(str(path))
    try:
        return connection.execute(statement, values).fetchall()
    finally:
        connection.close()


class TestUpgrade:
    def test_an_older_database_is_brought_up_to_date(self, tmp_path: Path):
        path, newest = tmp_path / "q.db", migrations("sqlite")[-1].number
        open_database(path, now=0, create=True, steps=migrations("sqlite")[:1]).close()
        assert "run `quarterjack db upgrade`" in run(path, "list").output

        first, second = run(path, "db", "upgrade"), run(path, "db", "upgrade")

        assert first.output == f"{path} was at schema 1, and is at {newest} now\n"
        assert second.output == f"{path} is at schema {newest}: nothing to do\n"
        assert run(path, "list").output == "there are no schedules\n"
        told = {"database": str(path), "schema_before": newest, "schema": newest}
        assert as_json(path, "db", "upgrade") == told

    def test_a_newer_one_is_refused(self, tmp_path: Path):
        path = lived(tmp_path)
        query(path, "insert into migrations values (99, 'later', 'x', 0)")

        result = run(path, "db", "upgrade")

        assert result.exit_code == 1
        assert "it is at schema 99" in result.output
        assert "use the newer program" in result.output

    def test_none_is_made_where_there_is_none(self, tmp_path: Path):
        result = run(tmp_path / "q.db", "db", "upgrade")

        assert (result.exit_code, list(tmp_path.iterdir())) == (1, [])
        assert "there is none" in result.output

    def test_the_database_of_another_program_is_left_alone(self, tmp_path: Path):
        path = tmp_path / "q.db"
        query(path, "create table theirs (id)")

        result = run(path, "db", "upgrade")

        assert (result.exit_code, "another program's" in result.output) == (1, True)


MEDDLING = {
    "open_runs_without_schedule": "delete from schedules where id = 2",
    "waiting_runs_of_deleted_schedules": (
        "update runs set state = 'queued', finished_at = null where schedule_id = 1; "
        "update schedules set deleted_at = 1, wake_at = null where id = 1"
    ),
    "runs_without_specification": "update runs set version = 7 where schedule_id = 1",
    "schedules_without_specification": "update schedules set version = 7",
    "runs_beyond_the_count": "update schedules set planned_count = 2 where id = 1",
    "open_runs_that_ended": "update runs set state = 'queued' where schedule_id = 1",
    "ended_runs_without_an_end": "update runs set finished_at = null where schedule_id = 1",
    "running_runs_without_lease": "update runs set lease_until = null where schedule_id = 2",
    "doubled_keys": "drop index schedules_by_key; update schedules set key = 'same'",
    "attempts_without_run": "insert into attempts values (1, 9, 1, '', 0, 0, 'failed', '', '', 0)",
    "output_without_run": "insert into output values (1, 9, 1, 0, 0, x'00')",
    "slots_before_the_cursor": "update schedules set next_slot = cursor where id = 1",
    "schedules_that_never_wake": "update schedules set wake_at = null where id = 1",
    "deleted_schedules_that_wake": "update schedules set deleted_at = 1 where id = 1",
    "ids_beyond_the_counter": "update counters set value = 1 where name = 'schedules'",
    "gates_with_unknown_probe": "insert into gates values ('k', 'half_open', 3, null, 60, '1-9')",
}


class TestCheck:
    def test_a_database_that_has_lived_is_sound(self, tmp_path: Path):
        path = lived(tmp_path)
        before = path.read_bytes()

        result = run(path, "db", "check")

        assert (result.exit_code, "is sound" in result.output) == (0, True)
        assert as_json(path, "db", "check")["faults"] == []
        assert path.read_bytes() == before, "it only reads"

    def test_every_question_is_tried(self):
        assert list(MEDDLING) == list(CHECKS)

    @pytest.mark.parametrize("check", MEDDLING)
    def test_what_is_wrong_is_told(self, tmp_path: Path, check: str):
        path = lived(tmp_path)
        query(path, MEDDLING[check])

        told = as_json(path, "db", "check", code=1)

        found = {fault["check"]: fault for fault in told["faults"]}
        assert (told["sound"], check in found) == (False, True)
        assert (
            f"  wrong   {CHECKS[check]} {found[check]['found'][0]}"
            in run(path, "db", "check").output
        )

    def test_of_many_only_the_first_are_shown(self, tmp_path: Path):
        path = lived(tmp_path, runs=8)
        query(path, "update runs set version = 7 where schedule_id = 1")

        result = run(path, "db", "check")

        assert "runs 1-0, 1-1, 1-2, 1-3, 1-4 and others\n" in result.output
        assert "restore a backup" in result.output

    def test_a_damaged_file_is_told(self, tmp_path: Path):
        path = lived(tmp_path)
        ((root, size),) = query(
            path, "select rootpage, 4096 from sqlite_schema where name = 'runs_by_slot'"
        )
        data = bytearray(path.read_bytes())
        data[(root - 1) * size + 3 : (root - 1) * size + 5] = b"\x00\x00"  # no cell is in it
        path.write_bytes(data)

        told = as_json(path, "db", "check", code=1)

        assert told["faults"][0]["check"] == "integrity_check"
        assert "runs_by_slot" in str(told["faults"][0]["found"])


def sweep_away(path: Path, now: int, **environment: str) -> subprocess.CompletedProcess[str]:
    """`db prune` at this instant, in a process of its own."""
    code = (
        "import sys; from quarterjack.app import SystemRuntime\n"
        "from quarterjack.cli import commands\n"
        "class Late(SystemRuntime):\n"
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
    def test_what_is_past_its_retention_goes_and_its_space_comes_back(self, tmp_path: Path):
        path = lived(tmp_path, runs=60)
        size = path.stat().st_size

        told = as_json(path, "db", "prune", now=at("09:00") + 100 * DAY)

        assert query(path, "select number from runs where schedule_id = 1") == [(59,)]
        assert told["rows"] > 59 + 60
        assert told["bytes"] > 59 * 9000 > 0
        assert path.stat().st_size <= size - told["bytes"]
        assert "0 rows forgotten" in run(path, "db", "prune", now=at("09:00") + 100 * DAY).output

    def test_without_a_configuration_it_is_what_the_service_has_noted(self, tmp_path: Path):
        path, late = lived(tmp_path, runs=5), at("09:00") + 100 * DAY
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

    def test_the_retention_is_that_of_the_configuration(self, tmp_path: Path):
        path, config = lived(tmp_path, runs=5), tmp_path / "q.yaml"
        config.write_text(f"database: sqlite:///{path}\nretention: {{run_count: 2}}\n")

        result = CliRunner().invoke(
            commands, ["db", "prune", "--config", str(config)], obj=At(at("16:00"))
        )

        assert result.output.startswith("6 rows forgotten, 32.0 KiB given back")
        assert query(path, "select count(*) from runs where schedule_id = 1") == [(2,)]

    def test_a_configuration_that_cannot_be_used_is_wrong_usage(self, tmp_path: Path):
        path, config = lived(tmp_path), tmp_path / "q.yaml"
        config.write_text("retention: {run_count: many}\n")

        result = run(path, "db", "prune", "--config", str(config))

        assert (result.exit_code, "run_count" in result.output) == (2, True)

    def test_a_locked_database_is_told(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        path = lived(tmp_path)
        monkeypatch.setattr("quarterjack.store.sqlite.file.BUSY_SECONDS", 0)
        stranger = apsw.Connection(str(path))
        stranger.execute("begin immediate")

        result = run(path, "db", "prune")

        assert (result.exit_code, "has locked it" in result.output) == (1, True)

    @pytest.mark.fault("F9")
    @pytest.mark.parametrize(
        "place", ["daily_stats.written", "prune.committing", "prune.committed"]
    )
    def test_killed_at_any_step_each_run_is_counted_once(self, tmp_path: Path, place: str):
        path, now = lived(tmp_path, runs=6), at("09:00") + 100 * DAY
        hit = 1
        while (swept := sweep_away(path, now, QUARTERJACK_CRASH_AT=f"{place}:{hit}")).returncode:
            assert swept.returncode == -9, swept.stderr
            hit += 1
            assert hit < 20

        assert hit > 1, "it was killed at least once"
        assert query(path, "select schedule_id, sum(succeeded) from daily_stats group by 1") == [
            (0, 6),
            (1, 6),
        ]
        assert query(path, "select number from runs where schedule_id = 1") == [(5,)]
        assert run(path, "db", "check").exit_code == 0


class Meanwhile:
    """A few pages; whenever they are to be copied, somebody has written."""

    def __init__(self, path: Path) -> None:
        self._service = open_database(path, now=0)
        self.written = 0

    def __index__(self) -> int:
        self.written += 1
        assert self.written < 1000, "it comes to an end"
        row = f"('x', {self.written}, '[]')"
        self._service.execute(f"insert into events (kind, at, about) values {row}")
        return 5


class TestBackup:
    def test_an_older_schema_is_copied_as_it_is(self, tmp_path: Path):
        path, copy = tmp_path / "old.db", tmp_path / "copy.db"
        open_database(path, now=0, create=True, steps=migrations("sqlite")[:1]).close()

        assert run(path, "db", "backup", str(copy)).exit_code == 0
        assert query(copy, "select max(number) from migrations") == [(1,)]

    def test_a_copy_is_whole_and_for_its_user_alone(self, tmp_path: Path):
        path, copy = lived(tmp_path), tmp_path / "copy.db"

        told = as_json(path, "db", "backup", str(copy))

        assert told["bytes"] == copy.stat().st_size
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        assert run(copy, "db", "check").exit_code == 0
        assert query(copy, "select * from runs") == query(path, "select * from runs")
        assert query(copy, "pragma auto_vacuum") == [(2,)]
        assert sorted(each.name for each in tmp_path.iterdir()) == ["copy.db", "quarterjack.db"]

    def test_what_is_there_is_never_overwritten(self, tmp_path: Path):
        path, copy = lived(tmp_path), tmp_path / "copy.db"
        copy.write_text("precious")

        result = run(path, "db", "backup", str(copy))

        assert (result.exit_code, copy.read_text()) == (1, "precious")
        assert "a backup is never overwritten" in result.output

    def test_nor_what_appears_meanwhile(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        path, copy = lived(tmp_path), tmp_path / "copy.db"
        monkeypatch.setattr(backing_up, "failpoint", lambda place: copy.write_text("precious"))

        result = run(path, "db", "backup", str(copy))

        assert (result.exit_code, copy.read_text()) == (1, "precious")
        assert "somebody else has just written it" in result.output

    def test_it_may_lie_where_no_file_has_two_names(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        def refused(*_: object) -> None:
            raise PermissionError(1, "Operation not permitted")

        path, copy = lived(tmp_path), tmp_path / "copy.db"
        monkeypatch.setattr(os, "link", refused)

        assert run(path, "db", "backup", str(copy)).exit_code == 0
        assert run(copy, "db", "check").exit_code == 0
        monkeypatch.setattr(backing_up, "failpoint", lambda place: copy.touch())
        copy.unlink()
        assert run(path, "db", "backup", str(copy)).exit_code == 1
        assert copy.stat().st_size == 0, "what has appeared meanwhile stays"

    def test_a_place_that_cannot_be_written_is_told(self, tmp_path: Path):
        result = run(lived(tmp_path), "db", "backup", str(tmp_path / "none" / "copy.db"))

        assert result.exit_code == 1
        assert "it cannot be written (No such file or directory); look at" in result.output

    def test_a_copy_that_is_damaged_is_not_kept(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        path, copy = lived(tmp_path), tmp_path / "copy.db"
        whole = backing_up._copy

        def spoiling(path: Path, made: Path) -> None:
            whole(path, made)
            data = bytearray(made.read_bytes())
            data[8192:9000] = bytes(808)
            made.write_bytes(data)

        monkeypatch.setattr(backing_up, "_copy", spoiling)
        result = run(path, "db", "backup", str(copy))

        assert result.exit_code == 1
        assert list(tmp_path.glob("copy*")) == []

    @pytest.mark.fault("F9")
    def test_killed_before_it_has_its_name_there_is_no_backup(self, tmp_path: Path):
        path, copy = lived(tmp_path), tmp_path / "copy.db"
        arguments = ["db", "backup", str(copy), "--database", f"sqlite:///{path}"]

        killed = subprocess.run(
            [sys.executable, "-m", "quarterjack.app", *arguments],
            env={**os.environ, "QUARTERJACK_CRASH_AT": "backup.written"},
            check=False,
            timeout=60,
        )

        assert (killed.returncode, copy.exists()) == (-9, False)
        assert run(path, "db", "backup", str(copy)).exit_code == 0

    def test_it_is_of_one_moment_though_others_write_meanwhile(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        """SQLite would begin again whenever somebody writes, and never come to an end."""
        path, copy = lived(tmp_path), tmp_path / "copy.db"
        meanwhile = Meanwhile(path)
        monkeypatch.setattr(backing_up, "PAGES", meanwhile)

        result = run(path, "db", "backup", str(copy))

        assert result.exit_code == 0, result.output
        assert query(copy, "select count(*) from events where kind = 'x'") == [(0,)]
        written = query(path, "select count(*) from events where kind = 'x'")
        assert written == [(meanwhile.written,)]
        assert meanwhile.written > 5

    @pytest.mark.fault("F10")
    def test_a_restored_one_goes_on_where_it_was_and_doubles_nothing(self, tmp_path: Path):
        path, copy = lived(tmp_path), tmp_path / "copy.db"
        run(path, "db", "backup", str(copy))
        later = tmp_path / "later"
        later.mkdir()
        copy.rename(later / "quarterjack.db")

        with asking("SQLite", later, "13:00") as ask:
            ask.rescue()
            ask.plan()
            claims = ask.claim()
            ask.settle(*((claim.run, ask.outcome()) for claim in claims))
            assert self.slots(ask) == [at("09:00"), at("10:00"), at("11:00"), at("13:00")]
            assert ask.plan().added == 0
        assert run(later / "quarterjack.db", "db", "check").exit_code == 0

    def slots(self, ask: Asking) -> list[int]:
        """Of the hourly one, which is caught up once."""
        reads = Reader(ask.url)
        try:
            return sorted(found.run.slot for found in reads.runs("hourly"))
        finally:
            reads.close()
