"""Migrations of the schema, tested on SQLite; `postgres/test_schema.py` tests the other one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from harness.store.migrated import open_with
from quarterjack.errors import StoreUnusable
from quarterjack.rules import Run, Schedule
from quarterjack.store.migrations import Migration, load_migrations
from quarterjack.store.sqlite.file import open_database, open_read_only

MIGRATIONS = load_migrations("sqlite")


LATEST = MIGRATIONS[-1].number


NEXT = Migration(LATEST + 1, "more", "create table more (id integer primary key);")


LATER = Migration(LATEST + 2, "still_more", "alter table more add column name text;")


def create(folder: Path, name: str = "q.db") -> Path:
    path = folder / name
    open_database(path, now=0, create=True).close()
    return path


def schema(connection: apsw.Connection) -> Any:
    return connection.execute("select type, name, sql from sqlite_schema order by name").fetchall()


def columns_of(connection: apsw.Connection, table: str) -> list[str]:
    return [str(row[1]) for row in connection.execute(f"pragma table_info({table})").fetchall()]


def test_the_columns_are_the_fields_of_the_model_in_order(tmp_path: Path):
    connection = open_read_only(create(tmp_path))

    not_compared = {"specification", "last_fired_at", "last_slot", "deleted_at"}
    fields = [name for name in Schedule._fields if name not in not_compared]
    columns = columns_of(connection, "schedules")
    assert [name for name in columns if name in fields] == fields
    assert columns_of(connection, "runs") == list(Run._fields)


def test_an_upgraded_schema_equals_a_new_one(tmp_path: Path):
    fresh = open_with([*MIGRATIONS, NEXT, LATER], tmp_path / "fresh.db")
    for steps in (MIGRATIONS[:1], MIGRATIONS, [*MIGRATIONS, NEXT]):
        open_with(steps, tmp_path / "old.db").close()
    steps = [*MIGRATIONS, NEXT, LATER]
    old = open_with(steps, tmp_path / "old.db")

    assert schema(old) == schema(fresh)


def test_migration_3_copies_the_priority_from_the_specification(tmp_path: Path):
    path = tmp_path / "q.db"
    old = open_with(MIGRATIONS[:1], path)
    columns = [name for name in columns_of(old, "schedules") if name not in ("id", "key")]
    for identity in (1, 2):
        values = f"{identity}, 'k{identity}', {', '.join('0' for _ in columns)}"
        old.execute(f"insert into schedules (id, key, {', '.join(columns)}) values ({values})")
    old.execute("""insert into specifications values (1, 0, '', '{"priority": 7}', 0)""")
    old.close()

    new = open_database(path, now=0, create=True)

    assert new.execute("select priority from schedules").fetchall() == [(7,), (0,)]


def test_an_older_program_refuses_a_newer_database(tmp_path: Path):
    path = tmp_path / "q.db"
    open_with([*MIGRATIONS, NEXT], path).close()

    with pytest.raises(
        StoreUnusable, match=f"at schema {LATEST + 1}, this program knows {LATEST}; use the"
    ):
        open_database(path, now=0, create=True)


def test_a_newer_program_upgrades_only_if_that_is_allowed(tmp_path: Path):
    path = create(tmp_path)

    schemas = f"at schema {LATEST}, this program needs {LATEST + 1}; run `quarterjack db upgr"
    with pytest.raises(StoreUnusable, match=schemas):
        open_with([*MIGRATIONS, NEXT], path, create=False)


def test_a_migration_with_another_checksum_is_refused(tmp_path: Path):
    path = create(tmp_path)
    other = [MIGRATIONS[0]._replace(text=MIGRATIONS[0].text + "-- changed"), *MIGRATIONS[1:]]

    with pytest.raises(StoreUnusable, match="its schema 1 differs"):
        open_with(other, path)


@pytest.mark.fault("F9")
def test_a_failed_migration_leaves_the_old_schema(tmp_path: Path):
    path = create(tmp_path)
    before = schema(open_read_only(path))
    broken = Migration(LATEST + 1, "broken", "create table more (id integer); create nonsense;")

    with pytest.raises(StoreUnusable):
        open_with([*MIGRATIONS, broken], path)

    assert schema(open_read_only(path)) == before


def test_two_concurrent_upgrades_both_succeed(tmp_path: Path):
    """The second one waits, and then finds nothing to do."""
    path = tmp_path / "q.db"
    open_with(MIGRATIONS[:1], path).close()
    code = (
        "import sys; from pathlib import Path;"
        "from quarterjack.store.sqlite.file import open_database;"
        "sys.stdin.readline(); open_database(Path(sys.argv[1]), now=0, create=True)"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE)
        for _ in range(2)
    ]
    for each in both:
        assert each.stdin is not None
        each.stdin.close()
    assert [each.wait(20) for each in both] == [0, 0]


def test_the_views_show_readable_times(tmp_path: Path):
    connection = open_database(create(tmp_path), now=0)
    connection.execute(
        "insert into slots_not_run values (1, 1794819600000000, 1794819660000000, 2, 'overlap')"
    )

    rows = connection.execute("select * from readable_slots").fetchall()

    readable = (None, "overlap", 2, "2026-11-16 09:00:00.000Z", "2026-11-16 09:01:00.000Z")
    assert rows == [readable]
    assert connection.execute("select * from readable_runs").fetchall() == []
    assert connection.execute("select * from readable_schedules").fetchall() == []
