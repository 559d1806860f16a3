"""Groups of operations, commits and what goes wrong with them, on a real file."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from harness.store.stores import Asking, connection, new
from quarterjack.clock import SystemClock
from quarterjack.errors import StoreAway
from quarterjack.store.specifications import Specifications
from quarterjack.store.sqlite import executor as sqlite_thread
from quarterjack.store.sqlite.executor import Executor, GroupCommitThread
from quarterjack.store.sqlite.file import open_database
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.store.statements import SQL_FOLDER, Operation, Query, Statements, sql


def remember(name: str, value: str) -> Statements[str]:
    yield Query("put_metadata", (name, value))
    return value


def fail(name: str) -> Statements[None]:
    yield Query("put_metadata", (name, "half-way"))
    raise ZeroDivisionError(name)


def operation(steps: Any, *values: Any) -> Operation:
    return Operation("test", lambda: steps(*values))


@contextmanager
def walking(path: Path) -> Iterator[tuple[Executor, apsw.Connection]]:
    """A walker, and another connection that sees what is committed."""
    connection = open_database(path, now=0, create=True)
    walker = Executor(connection, path, Specifications(), SystemClock())
    other = apsw.Connection(str(path))
    try:
        yield walker, other
    finally:
        other.close()
        walker.close()


def facts(other: apsw.Connection) -> dict[str, str]:
    return dict(other.execute("select name, value from metadata").fetchall())


class TestAGroup:
    def test_is_one_transaction(self, tmp_path: Path):
        with walking(tmp_path / "q.db") as (walker, other):
            before = other.pragma("data_version")
            group = [operation(remember, f"n{number}", "x") for number in range(5)]

            walker.run(group)

            assert [each.result for each in group] == ["x"] * 5
            assert len(facts(other)) == 5
            versions = {before, other.pragma("data_version")}
            assert len(versions) == 2

    def test_what_fails_in_it_leaves_the_others_alone(self, tmp_path: Path):
        with walking(tmp_path / "q.db") as (walker, other):
            group = [
                operation(remember, "a", "1"),
                operation(fail, "b"),
                operation(remember, "c", "2"),
            ]

            walker.run(group)

            assert facts(other) == {"a": "1", "c": "2"}
            assert [type(each.error) for each in group] == [
                type(None),
                ZeroDivisionError,
                type(None),
            ]

    def test_if_it_cannot_be_committed_everybody_is_told(self, tmp_path: Path):
        with walking(tmp_path / "q.db") as (walker, other):
            walker._connection.set_commit_hook(lambda: True)  # as a full disk would
            group = [operation(remember, "a", "1"), operation(fail, "b")]

            walker.run(group)

            assert facts(other) == {}
            assert group[0].error is not None
            assert isinstance(group[1].error, ZeroDivisionError), "its own error is its own"
            walker._connection.set_commit_hook(None)
            walker.run(again := [operation(remember, "a", "1")])
            assert (again[0].error, facts(other)) == (None, {"a": "1"})

    def test_an_error_that_undoes_everything_is_told_to_everybody(self, tmp_path: Path):
        def roll_back() -> Statements[None]:
            walker._connection.execute("rollback")  # as SQLite does when the disk is full
            yield Query("no_such_statement")

        with walking(tmp_path / "q.db") as (walker, other):
            group = [operation(remember, "a", "1"), operation(roll_back)]

            walker.run(group)

            assert facts(other) == {}
            assert all(each.error is not None for each in group)

    def test_what_was_read_or_added_in_a_group_that_is_undone_is_not_remembered(
        self, tmp_path: Path
    ):
        """Its number is given to another, whose definition would be taken for this one."""
        said = new("a", 0, every="1h").specification

        def add_and_fail(known: Specifications) -> Statements[None]:
            known.add((1, 1), said)
            walker._connection.execute("rollback")  # as SQLite does when the disk is full
            yield Query("no_such_statement")

        with walking(tmp_path / "q.db") as (walker, _):
            walker.run([operation(add_and_fail, walker._known)])
            walker.run([operation(remember, "a", "1")])

            assert (walker._known._kept, walker._known._new) == ({}, {})

    def test_a_database_that_a_stranger_has_locked_is_away(self, tmp_path: Path):
        with walking(tmp_path / "q.db") as (walker, other):
            walker._connection.set_busy_timeout(10)
            other.execute("begin immediate")

            walker.run(group := [operation(remember, "a", "1")])

            assert isinstance(group[0].error, StoreAway)
            assert "another program has locked it" in str(group[0].error)
            other.execute("rollback")
            walker.run(group := [operation(remember, "a", "1")])
            assert group[0].error is None

    def test_a_statement_that_takes_too_long_is_ended(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(sqlite_thread, "STATEMENT_SECONDS_MAX", -1)

        def endless() -> Statements[Any]:
            return (yield Query("due_schedules", (0, 1)))

        with walking(tmp_path / "q.db") as (walker, _):
            walker._connection.set_progress_handler(walker._is_too_late, 1)

            walker.run(group := [operation(endless)])

            assert isinstance(group[0].error, StoreAway)
            assert "a statement took too long" in str(group[0].error)


def counted(run: Any, groups: list[int]) -> Any:
    def counting(group: list[Operation]) -> None:
        groups.append(len(group))
        run(group)

    return counting


class TestTheThread:
    def test_answers_only_after_the_commit(self, tmp_path: Path):
        path = tmp_path / "q.db"

        async def caller() -> list[dict[str, str]]:
            doing = GroupCommitThread(walker)
            seen = []
            for number in range(20):
                await doing.run(operation(remember, f"n{number}", "x"))
                seen.append(facts(other))
            await doing.close()
            return seen

        with walking(path) as (walker, other):
            seen = asyncio.run(caller())

        assert [len(each) for each in seen] == list(range(1, 21))

    def test_whoever_waits_together_is_committed_together(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        path = tmp_path / "q.db"
        groups: list[int] = []

        async def caller() -> None:
            doing = GroupCommitThread(walker)
            many = [operation(remember, f"n{number}", "x") for number in range(200)]
            await asyncio.gather(*(doing.run(each) for each in many))
            await doing.close()

        with walking(path) as (walker, other):
            monkeypatch.setattr(walker, "run", counted(walker.run, groups))
            asyncio.run(caller())
            assert len(facts(other)) == 200

        assert sum(groups) == 200
        assert len(groups) < 20, "the disk is waited for a few times, not 200 times"

    def test_a_caller_who_gave_up_harms_nobody(self, tmp_path: Path):
        async def caller() -> str:
            doing = GroupCommitThread(walker)
            waiting = asyncio.ensure_future(doing.run(operation(remember, "a", "1")))
            await asyncio.sleep(0)
            waiting.cancel()
            answer = await doing.run(operation(remember, "b", "2"))
            await doing.close()
            return str(answer)

        with walking(tmp_path / "q.db") as (walker, other):
            assert asyncio.run(caller()) == "2"
            assert facts(other)["b"] == "2"

    def test_a_closed_store_says_so(self, tmp_path: Path):
        async def caller() -> None:
            doing = GroupCommitThread(walker)
            await doing.close()
            await doing.run(operation(remember, "a", "1"))

        with walking(tmp_path / "q.db") as (walker, _), pytest.raises(StoreAway, match="is closed"):
            asyncio.run(caller())

    def test_the_loop_is_not_blocked_while_the_disk_is_waited_for(self, tmp_path: Path):
        held = threading.Event()

        def slow() -> Statements[None]:
            held.wait(10)
            yield Query("planner_state")

        async def caller() -> int:
            doing = GroupCommitThread(walker)
            waiting = asyncio.ensure_future(doing.run(operation(slow)))
            turns = 0
            while turns < 100:
                await asyncio.sleep(0)
                turns += 1
            assert not waiting.done()
            held.set()
            await waiting
            await doing.close()
            return turns

        with walking(tmp_path / "q.db") as (walker, _):
            assert asyncio.run(caller()) == 100


class TestWatching:
    @pytest.mark.parametrize("told", [True, False])
    def test_what_another_process_writes_is_noticed_and_what_we_write_is_not(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: bool
    ):
        if not told:
            monkeypatch.setattr("quarterjack.store.sqlite.watch._watched", lambda folder: None)
            monkeypatch.setattr("quarterjack.store.sqlite.watch.POLL_SECONDS", 0.02)
        path = tmp_path / "q.db"

        async def watched() -> tuple[int, int]:
            clock = SystemClock()
            store = SqliteStore(open_database(path, now=0, create=True), path, clock)
            noticed = asyncio.Event()
            hints: list[int] = []

            def hint() -> None:
                hints.append(1)
                noticed.set()

            watching = asyncio.ensure_future(store.watch(hint))
            for number in range(5):
                await store._do(remember, f"ours{number}", "x")
                await asyncio.sleep(0.03)
            ours = len(hints)
            other = apsw.Connection(str(path))
            other.execute("insert into metadata values ('theirs', 'x')")
            await asyncio.wait_for(noticed.wait(), 10)
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await store.close()
            return ours, len(hints)

        assert asyncio.run(watched()) == (0, 1)


def statements(ask: Asking) -> int:
    assert isinstance(ask.store, SqliteStore)
    return ask.store.statements


def statements_for(ask: Asking, due: int, idle: int) -> int:
    """How many statements it takes to plan so many schedules beside so many idle ones."""
    ask.add_all([new(f"idle{number}", ask.now, every="365d") for number in range(idle)])
    ask.add_all([new(f"due{number}", ask.now, every="1h") for number in range(due)])
    ask.go("09:00")
    before = statements(ask)
    planned = ask.plan(limit=1000)
    while planned.looked_at == 1000:
        planned = ask.plan(limit=1000)
    return statements(ask) - before


PER_BATCH = 8


class TestTheNumberOfStatements:
    """A batch of rows for one statement counts as one."""

    def test_grows_with_the_thousands_that_are_due(self, ask: Asking):
        full, looks_in_vain = 3, 1

        counts = statements_for(ask, due=full * 1000, idle=0)

        assert counts <= (full + looks_in_vain) * PER_BATCH

    @pytest.mark.parametrize("idle", [0, 2000])
    def test_is_the_same_however_many_are_idle(self, ask: Asking, idle: int):
        assert statements_for(ask, due=10, idle=idle) == PER_BATCH

    def test_is_the_same_beside_a_hundred_thousand(self, ask: Asking):
        """Rows that are idle are copied, for a hundred thousand of them take a while to add."""
        ask.add("idle", every="365d")
        database = connection(ask)
        columns = [row[1] for row in database.execute("pragma table_info(schedules)").fetchall()]
        database.execute("create temp table idle as select * from schedules")
        database.execute(
            "with recursive many(n) as (select 1 union all select n + 1 from many where n < 100000)"
            " insert into schedules select n + 1000000, 'idle' || n, "
            f"{', '.join(columns[2:])} from many, idle"
        )
        ((stored,),) = database.execute("select count(*) from schedules").fetchall()
        assert stored == 100_001

        steps = statements_for(ask, due=10, idle=0)
        for statement in ("due_schedules", "next_wake", "wake_all"):
            text = sql(statement, "sqlite")
            plan = str(database.execute(f"explain query plan {text}", _nothings(text)).fetchall())
            assert "schedules_by_wake" in plan

        assert steps == PER_BATCH


NO_TABLES = ("SCAN json_each", "SCAN wanted", "SCAN levels", "SCAN (subquery")


def test_what_was_asked_of_each_statement_is_answered_by_an_index(ask: Asking):
    """No verb of the engine reads a whole table."""
    database = connection(ask)
    whole = {}
    for file in {
        *SQL_FOLDER.glob("*.sql"),
        *SQL_FOLDER.glob("sqlite/*.sql"),
    }:  # checks read all there is
        text = sql(file.stem, "sqlite")
        if text.lstrip().startswith("pragma") or "pragma" in text:
            continue
        wanted = database.execute(f"explain query plan {text}", _nothings(text)).fetchall()
        scans = [row[3] for row in wanted if row[3].startswith("SCAN")]
        real = [scan for scan in scans if not scan.startswith(NO_TABLES)]
        if real:
            whole[file.stem] = real

    assert whole == {
        "failing_schedules": ["SCAN schedules"],  # when a person asks what is wrong
        # Up to a limit, where there is one.
        "count_active": ["SCAN schedules USING INDEX schedules_by_key", "SCAN counted"],
        "deleted_schedule": ["SCAN schedules"],  # when a person asks for what is gone
        "list_runs": ["SCAN runs USING INDEX runs_planned"],  # the newest, up to a limit
        "list_nodes": ["SCAN nodes"],  # as many as there are processes
        "lock_name": ["SCAN CONSTANT ROW"],
        # One row, of four that are each found in an index.
        "next_dues": ["SCAN CONSTANT ROW", "SCAN outbox USING INDEX outbox_unsent"],
        "count_active_of_preset": ["SCAN counted"],
        "planner_state": ["SCAN planner_state"],  # one row
        "note_planner_step": ["SCAN planner_state"],
        "budgets_in_use": ["SCAN planner_state"],
        "put_planner_state": ["SCAN planner_state"],
        "update_daily_stats": ["SCAN CONSTANT ROW", "SCAN CONSTANT ROW"],  # two rows
        "unsent_notifications": ["SCAN outbox USING INDEX outbox_unsent"],  # only what is unsent
    }


def _nothings(text: str) -> list[None]:
    return [None] * len(set(re.findall(r"\$\d+", text)))
