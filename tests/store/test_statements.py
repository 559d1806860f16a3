"""The files of `sql/`; and how many statements planning takes, and which of them scan a table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.store.stores import StoreClient, connection, new
from quarterjack.store.sqlite import file as sqlite_file
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.store.statements import SQL_FOLDER, sql


@pytest.mark.parametrize(
    "file",
    [file for file in sorted(SQL_FOLDER.rglob("*.sql")) if file.parent.name != "postgres"],
    ids=lambda file: file.stem,
)
def test_each_file_is_one_statement_with_its_parameters_in_order(file: Path):
    """SQLite numbers parameters by their first use, PostgreSQL by their names."""
    text = re.sub(r"--.*", "", file.read_text())

    numbers = [int(number) for number in re.findall(r"\$(\d+)", text)]
    assert list(dict.fromkeys(numbers)) == list(range(1, len(set(numbers)) + 1))
    assert ";" not in text


def test_every_statement_is_used():
    """The simulator uses some of them."""
    source = Path(sqlite_file.__file__).parents[2]
    files = [*source.glob("store/**/*.py"), *source.glob("sim/*.py")]
    text = "".join(file.read_text() for file in files)
    names = {file.stem for file in SQL_FOLDER.rglob("*.sql")}

    assert {name for name in names if f'"{name}"' not in text} == set()


def statements_for(client: StoreClient, due: int, idle: int) -> int:
    """How many statements it takes to plan `due` schedules among `idle` others."""
    client.add_all([new(f"idle{number}", client.now, every="365d") for number in range(idle)])
    client.add_all([new(f"due{number}", client.now, every="1h") for number in range(due)])
    client.go("09:00")
    assert isinstance(client.store, SqliteStore)
    before = client.store.statements
    planned = client.plan(limit=1000)
    while planned.due_count == 1000:
        planned = client.plan(limit=1000)
    return client.store.statements - before


PER_BATCH = 8


class TestStatementCount:
    """A batch of rows counts as one statement."""

    def test_grows_with_the_number_of_batches(self, client: StoreClient):
        full, empty = 3, 1

        counts = statements_for(client, due=full * 1000, idle=0)

        assert counts <= (full + empty) * PER_BATCH

    @pytest.mark.parametrize("idle", [0, 2000])
    def test_does_not_depend_on_the_idle_schedules(self, client: StoreClient, idle: int):
        assert statements_for(client, due=10, idle=idle) == PER_BATCH

    def test_is_the_same_beside_a_hundred_thousand_idle_schedules(self, client: StoreClient):
        """The rows are copied in SQL, because adding so many schedules takes a while."""
        client.add("idle", every="365d")
        database = connection(client)
        columns = [row[1] for row in database.execute("pragma table_info(schedules)").fetchall()]
        database.execute("create temp table idle as select * from schedules")
        database.execute(
            "with recursive many(n) as (select 1 union all select n + 1 from many where n < 100000)"
            " insert into schedules select n + 1000000, 'idle' || n, "
            f"{', '.join(columns[2:])} from many, idle"
        )
        ((stored,),) = database.execute("select count(*) from schedules").fetchall()
        assert stored == 100_001

        count = statements_for(client, due=10, idle=0)
        for statement in ("due_schedules", "next_wake", "wake_all"):
            text = sql(statement, "sqlite")
            plan = str(database.execute(f"explain query plan {text}", nulls_for(text)).fetchall())
            assert "schedules_by_wake" in plan

        assert count == PER_BATCH


NOT_TABLES = ("SCAN json_each", "SCAN wanted", "SCAN levels", "SCAN (subquery")


def test_no_statement_of_the_engine_scans_a_table(client: StoreClient):
    """Those that do are for people, or read a table of few rows. Checks scan whole tables."""
    database = connection(client)
    scanning = {}
    for file in {
        *SQL_FOLDER.glob("*.sql"),
        *SQL_FOLDER.glob("sqlite/*.sql"),
    }:
        text = sql(file.stem, "sqlite")
        if text.lstrip().startswith("pragma") or "pragma" in text:
            continue
        plan = database.execute(f"explain query plan {text}", nulls_for(text)).fetchall()
        scans = [row[3] for row in plan if row[3].startswith("SCAN")]
        tables = [scan for scan in scans if not scan.startswith(NOT_TABLES)]
        if tables:
            scanning[file.stem] = tables

    assert scanning == {
        "failing_schedules": ["SCAN schedules"],  # for `doctor`
        # Only up to a limit.
        "count_active": ["SCAN schedules USING INDEX schedules_by_key", "SCAN counted"],
        "deleted_schedule": ["SCAN schedules"],  # for `show` of a deleted schedule
        "list_runs": ["SCAN runs USING INDEX runs_planned"],  # up to a limit
        "list_nodes": ["SCAN nodes"],  # few rows
        "lock_name": ["SCAN CONSTANT ROW"],
        # One row, from four index lookups.
        "next_dues": ["SCAN CONSTANT ROW", "SCAN outbox USING INDEX outbox_unsent"],
        "count_active_of_preset": ["SCAN counted"],
        "planner_state": ["SCAN planner_state"],  # one row
        "put_planner_step": ["SCAN planner_state"],
        "lock_planner_state": ["SCAN planner_state"],
        "put_planner_state": ["SCAN planner_state"],
        "update_daily_stats": ["SCAN CONSTANT ROW", "SCAN CONSTANT ROW"],  # two rows
        "unsent_notifications": ["SCAN outbox USING INDEX outbox_unsent"],  # only what is unsent
    }


def nulls_for(text: str) -> list[None]:
    return [None] * len(set(re.findall(r"\$\d+", text)))
