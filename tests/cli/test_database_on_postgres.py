"""`db upgrade`, `check`, `prune` and `backup` on PostgreSQL, while others are at work."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import asyncpg
import pytest
from click.testing import CliRunner, Result

from cli.test_database import MEDDLING, live
from harness.rules.world import at
from harness.store.server import server
from harness.store.stores import Asking, asking_of, postgres_at
from quarterjack.app import SystemRuntime
from quarterjack.cli import commands
from quarterjack.clock import SystemClock
from quarterjack.store.maintenance import backup as backing_up
from quarterjack.store.maintenance.check import CHECKS
from quarterjack.store.migrations import migrations
from quarterjack.store.postgres import schema as postgres_schema
from quarterjack.store.postgres.backup import environment
from quarterjack.store.postgres.connection import address_of
from quarterjack.times.instants import DAY

NEWEST = migrations("postgres")[-1].number


@pytest.fixture
def url() -> str:
    return f"{server().url}?schema=s{uuid4().hex[:12]}"


def lived(url: str, runs: int = 3, now: int = at("08:00")) -> str:
    with asking_of(partial(postgres_at, url), now) as ask:
        live(ask, runs)
    return url


def run(url: str, *arguments: str) -> Result:
    return CliRunner().invoke(commands, [*arguments, "--database", url], obj=SystemRuntime())


def as_json(url: str, *arguments: str, code: int = 0) -> Any:
    result = run(url, *arguments, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.output)


def query(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """As somebody with a database browser."""

    async def caller() -> list[tuple[Any, ...]]:
        address = address_of(url)
        connection = await asyncpg.connect(address.url)
        try:
            await connection.execute(f"set search_path = {address.schema}")
            for statement in statements[:-1]:
                await connection.execute(statement)
            return [tuple(row) for row in await connection.fetch(statements[-1])]
        finally:
            await connection.close()

    return asyncio.run(caller())


def everything(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables."""
    schema = address_of(url).schema
    tables = query(url, f"select tablename from pg_tables where schemaname = '{schema}'")
    return {name: sorted(query(url, f"select * from {name}"), key=repr) for (name,) in tables}


class TestUpgrade:
    def test_it_makes_the_tables_and_tells_from_which_schema_to_which(self, url: str):
        place = str(address_of(url))

        first, second = run(url, "db", "upgrade"), run(url, "db", "upgrade")

        assert first.output == f"{place} had no tables of ours, and is at schema {NEWEST} now\n"
        assert second.output == f"{place} is at schema {NEWEST}: nothing to do\n"
        assert run(url, "list").output == "there are no schedules\n"
        told = {"database": place, "schema_before": NEWEST, "schema": NEWEST}
        assert as_json(url, "db", "upgrade") == told

    def test_an_older_one_is_brought_up_to_date(self, url: str, later: Callable[[str], None]):
        lived(url)
        later("alter table schedules add column more text")
        assert "run `quarterjack db upgrade`" in run(url, "list").output

        told = run(url, "db", "upgrade")

        assert f"was at schema {NEWEST}, and is at {NEWEST + 1} now\n" in told.output
        assert query(url, "select count(*) from schedules where more is null") == [(2,)]

    def test_a_newer_one_is_refused(self, url: str):
        lived(url)
        query(url, "insert into migrations values (99, 'later', 'x', now())")

        result = run(url, "db", "upgrade")

        assert (result.exit_code, "it is at schema 99" in result.output) == (1, True)

    def test_it_does_not_make_everybody_wait_behind_a_stranger(
        self, url: str, later: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
    ):
        lived(url)
        later("alter table schedules add column more text")
        monkeypatch.setattr(postgres_schema, "LOCK_SECONDS", 0.2)

        async def beside(stranger: str) -> Result:
            connection = await asyncpg.connect(server().url)
            await connection.execute(f"begin; select 1 from {stranger}.schedules")
            upgrading = asyncio.create_task(asyncio.to_thread(run, url, "db", "upgrade"))
            await asyncio.wait([upgrading], timeout=20)
            await connection.close()
            return await upgrading

        result = asyncio.run(beside(address_of(url).schema))

        assert result.exit_code == 1
        assert "another transaction holds a lock for too long" in result.output
        assert run(url, "db", "upgrade").exit_code == 0

    def test_nobody_there_is_told_without_secrets(self):
        result = run("postgresql://ada:s3cret@127.0.0.1:1/app", "db", "upgrade")

        assert (result.exit_code, "s3cret" in result.output) == (1, False)
        assert "postgresql://127.0.0.1:1/app: the connection is lost" in result.output


class TestCheck:
    def test_a_database_that_has_lived_is_sound(self, url: str):
        lived(url)
        before = everything(url)

        result = run(url, "db", "check")

        said = f"{address_of(url)} is sound: {len(CHECKS)} questions found nothing\n"
        assert (result.exit_code, result.output) == (0, said)
        assert as_json(url, "db", "check")["faults"] == []
        assert everything(url) == before, "it only reads"

    @pytest.mark.parametrize("check", MEDDLING)
    def test_what_is_wrong_is_told(self, url: str, check: str):
        lived(url)
        meddling = MEDDLING[check].replace("'', '', 0)", "'', '', false)").replace("x'00'", "''")
        query(url, *meddling.split("; "))

        told = as_json(url, "db", "check", code=1)

        found = {fault["check"]: fault for fault in told["faults"]}
        assert (told["sound"], check in found) == (False, True)
        said = f"  wrong   {CHECKS[check]} {found[check]['found'][0]}"
        assert said in run(url, "db", "check").output

    def test_none_is_made_by_looking(self, url: str):
        result = run(url, "db", "check")

        assert (result.exit_code, "nothing of ours is there" in result.output) == (1, True)


class TestPrune:
    def test_what_is_past_its_retention_goes_by_the_clock_of_the_database(self, url: str):
        lived(url, runs=60, now=SystemClock().now() - 100 * DAY)

        told = as_json(url, "db", "prune")

        assert query(url, "select number from runs where schedule_id = 1") == [(59,)]
        assert (told["rows"] > 59 + 60, told["bytes"]) == (True, None)
        assert run(url, "db", "check").exit_code == 0
        said = "0 rows forgotten; the vacuum of PostgreSQL lets new rows have their space\n"
        assert run(url, "db", "prune").output == said

    def test_nothing_is_forgotten_while_nobody_knows_for_how_long_to_keep_it(
        self, url: str, tmp_path: Path
    ):
        lived(url, runs=5, now=SystemClock().now() - 100 * DAY)
        query(url, "delete from metadata where name = 'service_settings'")

        result = run(url, "db", "prune")

        assert (result.exit_code, "name the configuration file" in result.output) == (1, True)
        assert query(url, "select count(*) from runs where schedule_id = 1") == [(5,)]
        config = tmp_path / "q.yaml"
        config.write_text("retention: {run_count: 2}\n")
        assert run(url, "db", "prune", "--config", str(config)).exit_code == 0
        assert query(url, "select count(*) from runs where schedule_id = 1") == [(1,)]


@pytest.fixture
def dumper(monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL's programs are installed."""
    monkeypatch.setenv("PATH", f"{server().program('pg_dump').parent}:{os.environ['PATH']}")


def replace_dumper(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Another program comes first; it may call the real one."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "pg_dump"
    program.write_text(f"#!/bin/sh\nreal={server().program('pg_dump')}\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


def restored(backup: Path, url: str) -> str:
    """The address of a new database with nothing but the backup in it."""
    name = f"r{uuid4().hex[:12]}"
    query(url, f"create database {name}")
    place, schema = address_of(url)
    place = place.replace("/postgres", f"/{name}")
    restoring = [str(server().program("pg_restore")), "--exit-on-error", "-d", place, str(backup)]
    done = subprocess.run(restoring, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return f"{place}?schema={schema}"


@pytest.mark.usefixtures("dumper")
class TestBackup:
    def test_it_holds_all_of_our_schema_and_is_for_its_user_alone(self, url: str, tmp_path: Path):
        lived(url)
        query(url, "create schema if not exists theirs", "create table if not exists theirs.t ()")
        backup = tmp_path / "copy.dump"

        told = as_json(url, "db", "backup", str(backup))

        assert told["bytes"] == backup.stat().st_size
        assert stat.S_IMODE(backup.stat().st_mode) == 0o600
        assert [each.name for each in tmp_path.iterdir()] == ["copy.dump"]
        copy = restored(backup, url)
        assert everything(copy) == everything(url)
        assert query(copy, "select 1 from pg_namespace where nspname = 'theirs'") == []
        assert run(copy, "db", "check").exit_code == 0
        assert "nothing to do" in run(copy, "db", "upgrade").output

    @pytest.mark.fault("F10")
    def test_a_restored_one_goes_on_where_it_was_and_doubles_nothing(
        self, url: str, tmp_path: Path
    ):
        lived(url)
        backup = tmp_path / "copy.dump"
        said = f"{address_of(url)} is backed up to {backup}, "
        assert run(url, "db", "backup", str(backup)).output.startswith(said)
        copy = restored(backup, url)

        with asking_of(partial(postgres_at, copy), at("13:00")) as ask:
            ask.rescue()
            ask.plan()
            ask.settle(*((claim.run, ask.outcome()) for claim in ask.claim()))
            assert slots(ask) == [at("09:00"), at("10:00"), at("11:00"), at("13:00")]
            assert ask.plan().added == 0
            assert ask.add("another", every="1h") == 3
        assert run(copy, "db", "check").exit_code == 0

    def test_what_is_there_is_never_overwritten(
        self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        lived(url)
        backup = tmp_path / "copy.dump"
        backup.write_text("precious")
        told = run(url, "db", "backup", str(backup))
        assert (told.exit_code, backup.read_text()) == (1, "precious")

        backup.unlink()
        monkeypatch.setattr(backing_up, "failpoint", lambda place: backup.write_text("precious"))
        told = run(url, "db", "backup", str(backup))
        assert (told.exit_code, backup.read_text()) == (1, "precious")

    @pytest.mark.fault("F9")
    @pytest.mark.parametrize("dies", ["ours", "theirs"])
    def test_killed_it_leaves_no_backup_but_a_new_file_at_most(
        self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies: str
    ):
        lived(url)
        backup = tmp_path / "copy.dump"
        environ = dict(os.environ)
        if dies == "ours":
            environ["QUARTERJACK_CRASH_AT"] = "backup.written"
        else:
            script = '[ "$1" = --version ] && exec "$real" "$@"; echo half; kill -9 $$'
            replace_dumper(tmp_path, monkeypatch, script)
            environ["PATH"] = os.environ["PATH"]
        arguments = ["db", "backup", str(backup), "--database", url]

        ended = subprocess.run(
            [sys.executable, "-m", "quarterjack.app", *arguments],
            env=environ,
            capture_output=True,
            check=False,
            timeout=60,
        )

        assert ended.returncode == (-9 if dies == "ours" else 1), ended.stderr
        left = [each.name for each in tmp_path.glob("copy*")]
        assert [name.endswith(".new") for name in left] == [True] * (dies == "ours")

    @pytest.mark.threat("T33")
    def test_a_password_is_not_among_the_arguments_that_everybody_can_read(
        self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        lived(url)
        signing_in = guarded(url, "s3c:r@t?")
        seen = tmp_path / "seen"
        replace_dumper(tmp_path, monkeypatch, f'cat /proc/$$/cmdline >> {seen}; exec "$real" "$@"')

        told = run(signing_in, "db", "backup", str(tmp_path / "copy.dump"))

        assert told.exit_code == 0, told.output
        assert b"--format=custom" in seen.read_bytes()
        assert b"s3c" not in seen.read_bytes()
        assert "s3c" not in told.output
        wrong = run(signing_in.replace("s3c", "bad"), "db", "backup", str(tmp_path / "no.dump"))
        assert (wrong.exit_code, "it does not let us in" in wrong.output) == (1, True)

    def test_without_the_program_it_is_said_what_to_install(
        self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        lived(url)
        monkeypatch.setenv("PATH", str(tmp_path))

        told = run(url, "db", "backup", str(tmp_path / "copy.dump"))

        assert told.exit_code == 1
        assert "there is no pg_dump here; install the client programs of Postg" in told.output
        assert list(tmp_path.iterdir()) == []

    def test_a_program_that_is_older_than_the_server_is_refused(
        self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        lived(url)
        replace_dumper(tmp_path, monkeypatch, "echo 'pg_dump (PostgreSQL) 13.9'")

        told = run(url, "db", "backup", str(tmp_path / "copy.dump"))

        assert told.exit_code == 1
        assert "is too old for PostgreSQL" in told.output
        assert list(tmp_path.glob("copy*")) == []

    def test_where_nothing_of_ours_is_there_is_no_backup(self, url: str, tmp_path: Path):
        told = run(url, "db", "backup", str(tmp_path / "copy.dump"))

        assert (told.exit_code, "no matching schemas were found" in told.output) == (1, True)
        assert list(tmp_path.iterdir()) == []


def slots(ask: Asking) -> list[int]:
    return sorted(found.run.slot for found in ask.reads.runs("hourly"))


def guarded(url: str, password: str) -> str:
    """The address for a user who must say a password."""
    role = f"guarded_{uuid4().hex[:8]}"
    made = f"create role {role} superuser login password '{password}'"
    ((file,),) = query(url, made, "select current_setting('hba_file')")
    rules = Path(file)
    rules.write_text(f"host all {role} 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
    query(url, "select pg_reload_conf()")
    without = url.replace("//app@", f"//{role}@")
    for _ in range(500):
        try:
            query(without, "select 1")
        except asyncpg.InvalidPasswordError:
            break
        time.sleep(0.01)
    else:
        raise AssertionError("a password is not asked for")
    return url.replace("//app@", f"//{role}:{quote(password)}@")


class TestTheEnvironmentOfTheDump:
    @pytest.mark.parametrize(
        ("url", "said"),
        [
            ("postgresql://db/app", {"PGHOST": "db", "PGDATABASE": "app"}),
            (
                "postgresql://a%40b:c%3Ad@[::1]:5433/app",
                {
                    "PGUSER": "a@b",
                    "PGPASSWORD": "c:d",
                    "PGHOST": "::1",
                    "PGPORT": "5433",
                    "PGDATABASE": "app",
                },
            ),
            (
                "postgresql://one:5432,two/app?target_session_attrs=primary",
                {
                    "PGHOST": "one,two",
                    "PGPORT": "5432,",
                    "PGDATABASE": "app",
                    "PGTARGETSESSIONATTRS": "primary",
                },
            ),
            (
                "postgresql:///app?host=/run/pg&user=ada&passfile=/etc/p&sslmode=require&x=y",
                {
                    "PGHOST": "/run/pg",
                    "PGUSER": "ada",
                    "PGPASSFILE": "/etc/p",
                    "PGSSLMODE": "require",
                    "PGDATABASE": "app",
                },
            ),
        ],
    )
    def test_it_says_what_the_address_says(self, url: str, said: dict[str, str]):
        always = {"PGCONNECT_TIMEOUT": "5", "PGAPPNAME": "quarterjack backup"}

        assert environment(address_of(url)) == said | always


def test_without_its_driver_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("quarterjack.store.address.find_spec", lambda name: None)

    for arguments in (["list"], ["db", "check"], ["db", "upgrade"], ["db", "prune"]):
        told = run("postgresql://db/app", *arguments)
        assert (told.exit_code, "install quarterjack[postgres]" in told.output) == (1, True)
