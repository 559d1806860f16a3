"""`db upgrade`, `check`, `prune` and `backup` on PostgreSQL, with concurrent connections."""

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

from harness.cli.databases import CORRUPTIONS, populate
from harness.rules.values import at
from harness.store.server import server
from harness.store.stores import StoreClient, client_of, postgres_at
from quarterjack.cli import commands
from quarterjack.cli.runtime import Runtime
from quarterjack.clock import SystemClock
from quarterjack.store.address import address_of
from quarterjack.store.maintenance import backup as backing_up
from quarterjack.store.maintenance.check import CHECKS
from quarterjack.store.migrations import load_migrations
from quarterjack.store.postgres import schema as postgres_schema
from quarterjack.store.postgres.backup import environment
from quarterjack.times.instants import DAY

NEWEST = load_migrations("postgres")[-1].number


@pytest.fixture
def url() -> str:
    return f"{server().url}?schema=s{uuid4().hex[:12]}"


def populated(url: str, runs: int = 3, now: int = at("08:00")) -> str:
    with client_of(partial(postgres_at, url), now) as client:
        populate(client, runs)
    return url


def run(url: str, *arguments: str) -> Result:
    return CliRunner().invoke(commands, [*arguments, "--database", url], obj=Runtime())


def as_json(url: str, *arguments: str, code: int = 0) -> Any:
    result = run(url, *arguments, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.output)


def query(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """The rows of the last statement, on a connection of its own."""

    async def fetch() -> list[tuple[Any, ...]]:
        address = address_of(url)
        connection = await asyncpg.connect(address.url)
        try:
            await connection.execute(f"set search_path = {address.schema}")
            for statement in statements[:-1]:
                await connection.execute(statement)
            return [tuple(row) for row in await connection.fetch(statements[-1])]
        finally:
            await connection.close()

    return asyncio.run(fetch())


def everything(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables."""
    schema = address_of(url).schema
    tables = query(url, f"select tablename from pg_tables where schemaname = '{schema}'")
    return {name: sorted(query(url, f"select * from {name}"), key=repr) for (name,) in tables}


class TestUpgrade:
    def test_it_creates_the_tables_and_prints_both_schema_versions(self, url: str):
        location = str(address_of(url))

        first, second = run(url, "db", "upgrade"), run(url, "db", "upgrade")

        assert first.output == f"{location}: created schema {NEWEST}\n"
        assert second.output == f"{location}: schema {NEWEST} is up to date\n"
        assert run(url, "list").output == "no schedules\n"
        answer = {"database": location, "schema_before": NEWEST, "schema": NEWEST}
        assert as_json(url, "db", "upgrade") == answer

    def test_an_older_schema_is_upgraded(self, url: str, add_migration: Callable[[str], None]):
        populated(url)
        add_migration("alter table schedules add column more text")
        assert "run `quarterjack db upgrade`" in run(url, "list").output

        answer = run(url, "db", "upgrade")

        assert f"upgraded schema {NEWEST} to {NEWEST + 1}\n" in answer.output
        assert query(url, "select count(*) from schedules where more is null") == [(2,)]

    def test_a_newer_schema_is_refused(self, url: str):
        populated(url)
        query(url, "insert into migrations values (99, 'later', 'x', now())")

        result = run(url, "db", "upgrade")

        assert (result.exit_code, "it is at schema 99" in result.output) == (1, True)

    def test_it_gives_up_on_a_lock_instead_of_blocking_others(
        self, url: str, add_migration: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
    ):
        populated(url)
        add_migration("alter table schedules add column more text")
        monkeypatch.setattr(postgres_schema, "LOCK_SECONDS", 0.2)

        async def beside(other: str) -> Result:
            connection = await asyncpg.connect(server().url)
            await connection.execute(f"begin; select 1 from {other}.schedules")
            upgrading = asyncio.create_task(asyncio.to_thread(run, url, "db", "upgrade"))
            await asyncio.wait([upgrading], timeout=20)
            await connection.close()
            return await upgrading

        result = asyncio.run(beside(address_of(url).schema))

        assert result.exit_code == 1
        assert "lock timeout: another transaction holds the lock" in result.output
        assert run(url, "db", "upgrade").exit_code == 0

    def test_an_unreachable_server_is_reported_without_the_password(self):
        result = run("postgresql://ada:s3cret@127.0.0.1:1/app", "db", "upgrade")

        assert (result.exit_code, "s3cret" in result.output) == (1, False)
        assert "postgresql://127.0.0.1:1/app: cannot be reached" in result.output


class TestCheck:
    def test_a_consistent_database_passes_and_is_not_changed(self, url: str):
        populated(url)
        before = everything(url)

        result = run(url, "db", "check")

        expected = f"{address_of(url)}: {len(CHECKS)} checks passed\n"
        assert (result.exit_code, result.output) == (0, expected)
        assert as_json(url, "db", "check")["faults"] == []
        assert everything(url) == before, "read-only"

    @pytest.mark.parametrize("check", CORRUPTIONS)
    def test_a_corruption_fails_its_check(self, url: str, check: str):
        populated(url)
        meddling = CORRUPTIONS[check].replace("'', '', 0)", "'', '', false)").replace("x'00'", "''")
        query(url, *meddling.split("; "))

        answer = as_json(url, "db", "check", code=1)

        found = {fault["check"]: fault for fault in answer["faults"]}
        assert (answer["sound"], check in found) == (False, True)
        expected = f"  failed   {CHECKS[check]}: {found[check]['found'][0]}"
        assert expected in run(url, "db", "check").output

    def test_checking_creates_no_schema(self, url: str):
        result = run(url, "db", "check")

        assert (result.exit_code, "no Quarterjack schema in this database" in result.output) == (
            1,
            True,
        )


class TestPrune:
    def test_rows_expire_by_the_clock_of_the_database(self, url: str):
        populated(url, runs=60, now=SystemClock().now() - 100 * DAY)

        answer = as_json(url, "db", "prune")

        assert query(url, "select number from runs where schedule_id = 1") == [(59,)]
        assert (answer["rows"] > 59 + 60, answer["bytes"]) == (True, None)
        assert run(url, "db", "check").exit_code == 0
        expected = "pruned 0 rows; autovacuum makes their space reusable\n"
        assert run(url, "db", "prune").output == expected

    def test_nothing_is_deleted_while_the_retention_is_unknown(self, url: str, tmp_path: Path):
        populated(url, runs=5, now=SystemClock().now() - 100 * DAY)
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
    """Puts the real pg_dump into PATH."""
    monkeypatch.setenv("PATH", f"{server().program('pg_dump').parent}:{os.environ['PATH']}")


def replace_dumper(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a script named pg_dump first in PATH; it may call the real one as $real."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "pg_dump"
    program.write_text(f"#!/bin/sh\nreal={server().program('pg_dump')}\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


def restored(backup: Path, url: str) -> str:
    """The address of a new database that holds only the backup."""
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
    def test_a_backup_holds_the_whole_schema_and_is_readable_only_by_its_user(
        self, url: str, tmp_path: Path
    ):
        populated(url)
        query(url, "create schema if not exists other", "create table if not exists other.t ()")
        backup = tmp_path / "copy.dump"

        answer = as_json(url, "db", "backup", str(backup))

        assert answer["bytes"] == backup.stat().st_size
        assert stat.S_IMODE(backup.stat().st_mode) == 0o600
        assert [each.name for each in tmp_path.iterdir()] == ["copy.dump"]
        copy = restored(backup, url)
        assert everything(copy) == everything(url)
        assert query(copy, "select 1 from pg_namespace where nspname = 'other'") == []
        assert run(copy, "db", "check").exit_code == 0
        assert "is up to date" in run(copy, "db", "upgrade").output

    @pytest.mark.fault("F10")
    def test_a_restored_backup_continues_without_duplicates(self, url: str, tmp_path: Path):
        populated(url)
        backup = tmp_path / "copy.dump"
        expected = f"backed up {address_of(url)} to {backup} ("
        assert run(url, "db", "backup", str(backup)).output.startswith(expected)
        copy = restored(backup, url)

        with client_of(partial(postgres_at, copy), at("13:00")) as client:
            client.rescue()
            client.plan()
            client.settle(*((claim.run, client.outcome()) for claim in client.claim()))
            assert slots(client) == [at("09:00"), at("10:00"), at("11:00"), at("13:00")]
            assert client.plan().added == 0
            assert client.add("another", every="1h") == 3
        assert run(copy, "db", "check").exit_code == 0

    def test_an_existing_file_is_not_overwritten(
        self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        populated(url)
        backup = tmp_path / "copy.dump"
        backup.write_text("precious")
        answer = run(url, "db", "backup", str(backup))
        assert (answer.exit_code, backup.read_text()) == (1, "precious")

        backup.unlink()
        monkeypatch.setattr(backing_up, "failpoint", lambda place: backup.write_text("precious"))
        answer = run(url, "db", "backup", str(backup))
        assert (answer.exit_code, backup.read_text()) == (1, "precious")

    @pytest.mark.fault("F9")
    @pytest.mark.parametrize("dies", ["this program", "other"])
    def test_a_backup_that_is_killed_leaves_at_most_a_new_file(
        self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies: str
    ):
        populated(url)
        backup = tmp_path / "copy.dump"
        environ = dict(os.environ)
        if dies == "this program":
            environ["QUARTERJACK_CRASH_AT"] = "backup.written"
        else:
            script = '[ "$1" = --version ] && exec "$real" "$@"; echo half; kill -9 $$'
            replace_dumper(tmp_path, monkeypatch, script)
            environ["PATH"] = os.environ["PATH"]
        arguments = ["db", "backup", str(backup), "--database", url]

        ended = subprocess.run(
            [sys.executable, "-m", "quarterjack", *arguments],
            env=environ,
            capture_output=True,
            check=False,
            timeout=60,
        )

        assert ended.returncode == (-9 if dies == "this program" else 1), ended.stderr
        left = [each.name for each in tmp_path.glob("copy*")]
        assert [name.endswith(".new") for name in left] == [True] * (dies == "this program")

    @pytest.mark.threat("T33")
    def test_the_password_is_not_in_the_process_list(
        self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        populated(url)
        with_password = with_password_role(url, "s3c:r@t?")
        seen = tmp_path / "seen"
        replace_dumper(tmp_path, monkeypatch, f'cat /proc/$$/cmdline >> {seen}; exec "$real" "$@"')

        answer = run(with_password, "db", "backup", str(tmp_path / "copy.dump"))

        assert answer.exit_code == 0, answer.output
        assert b"--format=custom" in seen.read_bytes()
        assert b"s3c" not in seen.read_bytes()
        assert "s3c" not in answer.output
        wrong = run(with_password.replace("s3c", "bad"), "db", "backup", str(tmp_path / "no.dump"))
        assert (wrong.exit_code, "authentication failed" in wrong.output) == (1, True)

    def test_a_missing_pg_dump_is_an_error_that_says_what_to_install(
        self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        populated(url)
        monkeypatch.setenv("PATH", str(tmp_path))

        answer = run(url, "db", "backup", str(tmp_path / "copy.dump"))

        assert answer.exit_code == 1
        assert "pg_dump not found; install the client programs of Postg" in answer.output
        assert list(tmp_path.iterdir()) == []

    def test_a_pg_dump_older_than_the_server_is_refused(
        self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        populated(url)
        replace_dumper(tmp_path, monkeypatch, "echo 'pg_dump (PostgreSQL) 13.9'")

        answer = run(url, "db", "backup", str(tmp_path / "copy.dump"))

        assert answer.exit_code == 1
        assert "is too old for PostgreSQL" in answer.output
        assert list(tmp_path.glob("copy*")) == []

    def test_a_database_without_our_schema_has_no_backup(self, url: str, tmp_path: Path):
        answer = run(url, "db", "backup", str(tmp_path / "copy.dump"))

        assert (answer.exit_code, "no matching schemas were found" in answer.output) == (1, True)
        assert list(tmp_path.iterdir()) == []


def slots(client: StoreClient) -> list[int]:
    return sorted(found.run.slot for found in client.reads.runs("hourly"))


def with_password_role(url: str, password: str) -> str:
    """The address of a new user who needs a password."""
    role = f"guarded_{uuid4().hex[:8]}"
    create_role = f"create role {role} superuser login password '{password}'"
    ((file,),) = query(url, create_role, "select current_setting('hba_file')")
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
        raise AssertionError("the server does not require the password")
    return url.replace("//app@", f"//{role}:{quote(password)}@")


class TestEnvironmentOfPgDump:
    @pytest.mark.parametrize(
        ("url", "expected"),
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
    def test_the_environment_has_every_part_of_the_address(
        self, url: str, expected: dict[str, str]
    ):
        always = {"PGCONNECT_TIMEOUT": "5", "PGAPPNAME": "quarterjack backup"}

        assert environment(address_of(url)) == expected | always


def test_a_missing_driver_is_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("quarterjack.store.address.find_spec", lambda name: None)

    for arguments in (["list"], ["db", "check"], ["db", "upgrade"], ["db", "prune"]):
        answer = run("postgresql://db/app", *arguments)
        assert (answer.exit_code, "install quarterjack[postgres]" in answer.output) == (1, True)
