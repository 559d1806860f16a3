"""Group commit on a real file, and what can go wrong with it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from harness.crash.kills import wait_for
from harness.store.stores import new
from quarterjack.clock import SystemClock
from quarterjack.errors import StoreUnavailable
from quarterjack.store.specifications import Specifications
from quarterjack.store.sqlite import executor as executor_module
from quarterjack.store.sqlite.executor import Executor, GroupCommitThread
from quarterjack.store.sqlite.file import open_database
from quarterjack.store.statements import Operation, Query, Statements
from quarterjack.targets.kinds import KINDS


def put(name: str, value: str) -> Statements[str]:
    yield Query("put_metadata", (name, value))
    return value


def fail(name: str) -> Statements[None]:
    yield Query("put_metadata", (name, "half-way"))
    raise ZeroDivisionError(name)


def operation(statements: Any, *values: Any) -> Operation:
    return Operation("test", lambda: statements(*values))


@contextmanager
def open_executor(path: Path) -> Iterator[tuple[Executor, apsw.Connection]]:
    """An executor, and another connection that sees what is committed."""
    connection = open_database(path, now=0, create=True)
    executor = Executor(connection, path, Specifications(KINDS), SystemClock())
    other = apsw.Connection(str(path))
    try:
        yield executor, other
    finally:
        other.close()
        executor.close()


def metadata(other: apsw.Connection) -> dict[str, str]:
    return dict(other.execute("select name, value from metadata").fetchall())


class TestGroup:
    def test_is_one_transaction(self, tmp_path: Path):
        with open_executor(tmp_path / "q.db") as (executor, other):
            before = other.pragma("data_version")
            group = [operation(put, f"n{number}", "x") for number in range(5)]

            executor.run(group)

            assert [each.result for each in group] == ["x"] * 5
            assert len(metadata(other)) == 5
            versions = {before, other.pragma("data_version")}
            assert len(versions) == 2

    def test_a_failed_operation_does_not_affect_the_others(self, tmp_path: Path):
        with open_executor(tmp_path / "q.db") as (executor, other):
            group = [
                operation(put, "a", "1"),
                operation(fail, "b"),
                operation(put, "c", "2"),
            ]

            executor.run(group)

            assert metadata(other) == {"a": "1", "c": "2"}
            assert [type(each.error) for each in group] == [
                type(None),
                ZeroDivisionError,
                type(None),
            ]

    def test_a_failed_commit_fails_every_operation(self, tmp_path: Path):
        with open_executor(tmp_path / "q.db") as (executor, other):
            executor._connection.set_commit_hook(lambda: True)  # as a full disk would
            group = [operation(put, "a", "1"), operation(fail, "b")]

            executor.run(group)

            assert metadata(other) == {}
            assert group[0].error is not None
            assert isinstance(group[1].error, ZeroDivisionError), "it keeps its own error"
            executor._connection.set_commit_hook(None)
            executor.run(again := [operation(put, "a", "1")])
            assert (again[0].error, metadata(other)) == (None, {"a": "1"})

    def test_an_error_that_rolls_back_the_group_fails_every_operation(self, tmp_path: Path):
        def roll_back() -> Statements[None]:
            executor._connection.execute("rollback")  # as SQLite does when the disk is full
            yield Query("no_such_statement")

        with open_executor(tmp_path / "q.db") as (executor, other):
            group = [operation(put, "a", "1"), operation(roll_back)]

            executor.run(group)

            assert metadata(other) == {}
            assert all(each.error is not None for each in group)

    def test_specifications_of_a_group_that_is_rolled_back_are_not_cached(self, tmp_path: Path):
        """Their ids are assigned again, to other definitions."""
        specification = new("a", 0, every="1h").specification

        def add_and_fail(known: Specifications) -> Statements[None]:
            known.add((1, 1), specification)
            executor._connection.execute("rollback")  # as SQLite does when the disk is full
            yield Query("no_such_statement")

        with open_executor(tmp_path / "q.db") as (executor, _):
            executor.run([operation(add_and_fail, executor._specifications)])
            executor.run([operation(put, "a", "1")])

            assert (executor._specifications._cached, executor._specifications._new) == ({}, {})

    def test_a_database_locked_by_another_program_is_unavailable(self, tmp_path: Path):
        with open_executor(tmp_path / "q.db") as (executor, other):
            executor._connection.set_busy_timeout(10)
            other.execute("begin immediate")

            executor.run(group := [operation(put, "a", "1")])

            assert isinstance(group[0].error, StoreUnavailable)
            assert "locked by another program" in str(group[0].error)
            other.execute("rollback")
            executor.run(group := [operation(put, "a", "1")])
            assert group[0].error is None

    def test_a_statement_that_takes_too_long_is_interrupted(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(executor_module, "STATEMENT_SECONDS_MAX", -1)

        def query() -> Statements[Any]:
            return (yield Query("due_schedules", (0, 1)))

        with open_executor(tmp_path / "q.db") as (executor, _):
            executor._connection.set_progress_handler(executor._is_past_deadline, 1)

            executor.run(group := [operation(query)])

            assert isinstance(group[0].error, StoreUnavailable)
            assert "a statement timed out" in str(group[0].error)


def counting(run: Any, groups: list[int]) -> Any:
    def run_and_count(group: list[Operation]) -> None:
        groups.append(len(group))
        run(group)

    return run_and_count


class TestGroupCommitThread:
    def test_an_operation_returns_only_after_its_commit(self, tmp_path: Path):
        path = tmp_path / "q.db"

        async def use() -> list[dict[str, str]]:
            thread = GroupCommitThread(executor)
            seen = []
            for number in range(20):
                await thread.run(operation(put, f"n{number}", "x"))
                seen.append(metadata(other))
            await thread.close()
            return seen

        with open_executor(path) as (executor, other):
            seen = asyncio.run(use())

        assert [len(each) for each in seen] == list(range(1, 21))

    def test_waiting_operations_share_a_commit(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        path = tmp_path / "q.db"
        groups: list[int] = []

        async def use() -> None:
            thread = GroupCommitThread(executor)
            many = [operation(put, f"n{number}", "x") for number in range(200)]
            await asyncio.gather(*(thread.run(each) for each in many))
            await thread.close()

        with open_executor(path) as (executor, other):
            monkeypatch.setattr(executor, "run", counting(executor.run, groups))
            asyncio.run(use())
            assert len(metadata(other)) == 200

        assert sum(groups) == 200
        assert len(groups) < 20, "few commits, not 200"

    def test_a_cancelled_caller_does_not_affect_the_others(self, tmp_path: Path):
        async def use() -> str:
            thread = GroupCommitThread(executor)
            waiting = asyncio.ensure_future(thread.run(operation(put, "a", "1")))
            await asyncio.sleep(0)
            waiting.cancel()
            answer = await thread.run(operation(put, "b", "2"))
            await thread.close()
            return str(answer)

        with open_executor(tmp_path / "q.db") as (executor, other):
            assert asyncio.run(use()) == "2"
            assert metadata(other)["b"] == "2"

    def test_one_group_answers_several_event_loops_and_waits_for_none(self, tmp_path: Path):
        held, answers = threading.Event(), []

        def slow() -> Statements[None]:
            held.wait(10)
            yield Query("planner_state")

        def call_from_another_loop(thread: GroupCommitThread) -> None:
            answers.append(asyncio.run(thread.run(operation(put, "b", "2"))))

        async def use() -> list[Any]:
            thread = GroupCommitThread(executor)
            calls = [asyncio.ensure_future(thread.run(operation(slow)))]
            await asyncio.sleep(0)
            wait_for(lambda: not thread._waiting, 10, "it has begun")
            calls.append(asyncio.ensure_future(thread.run(operation(put, "a", "1"))))
            await asyncio.sleep(0)
            other = threading.Thread(target=call_from_another_loop, args=(thread,))
            other.start()
            wait_for(lambda: len(thread._waiting) == 2, 10, "both wait")
            held.set()
            other.join(10)  # this event loop is blocked until the other one has its answer
            assert answers == ["2"]
            found = await asyncio.gather(*calls)
            await thread.close()
            return found

        with open_executor(tmp_path / "q.db") as (executor, _):
            assert asyncio.run(use()) == [None, "1"]

    def test_a_closed_store_refuses_operations(self, tmp_path: Path):
        async def use() -> None:
            thread = GroupCommitThread(executor)
            await thread.close()
            await thread.run(operation(put, "a", "1"))

        with (
            open_executor(tmp_path / "q.db") as (executor, _),
            pytest.raises(StoreUnavailable, match="is closed"),
        ):
            asyncio.run(use())

    def test_the_event_loop_is_not_blocked_by_a_slow_operation(self, tmp_path: Path):
        held = threading.Event()

        def slow() -> Statements[None]:
            held.wait(10)
            yield Query("planner_state")

        async def use() -> int:
            thread = GroupCommitThread(executor)
            waiting = asyncio.ensure_future(thread.run(operation(slow)))
            iterations = 0
            while iterations < 100:
                await asyncio.sleep(0)
                iterations += 1
            assert not waiting.done()
            held.set()
            await waiting
            await thread.close()
            return iterations

        with open_executor(tmp_path / "q.db") as (executor, _):
            assert asyncio.run(use()) == 100
