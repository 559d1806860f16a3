"""Calls in a task process: what a task is given there, and what becomes of all that it returns or
raises."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from harness.targets import tasks
from harness.targets.pools import NewPool, NewProgram, RealPool
from quarterjack.targets.call import Answer

FILE = tasks.__file__


def test_a_task_runs_in_the_main_thread_of_another_process_which_has_imported_its_module(
    pool: RealPool,
):
    process = pool.call("process").result

    assert process != os.getpid()
    assert pool.call("where").result == {
        "module": "harness.targets.tasks", "imported_by": process, "is_main_thread": True,
    }  # fmt: skip


def test_arguments_are_those_of_json(pool: RealPool):
    assert pool.call("echo", 1, {"a": [None, 0.5]}, "\u00e9").result == [
        [1, {"a": [None, 0.5]}, "\u00e9"],
        {},
    ]


def test_a_task_that_changes_its_arguments_changes_those_of_no_other_call(pool: RealPool):
    days = [1]

    answers = [pool.call("change_arguments", days, payload={"a": 1}) for _ in range(2)]

    assert [each.result for each in answers] == [[[1, 2], {"a": 1}]] * 2
    assert days == [1]


def test_a_task_is_given_its_context_and_dependencies(pool: RealPool):
    assert pool.call("depend").result == ["7-3", "connection"]
    assert pool.output_of("depend") == [("open\n", 20), ("close\n", 20)]


@pytest.mark.mission("H11")
def test_err_and_skip_are_what_they_are_on_the_event_loop(pool: RealPool):
    err = Answer("no funds", None, retryable=False, code="declined", retry_after=2_000_000)

    assert pool.call("err") == err
    assert pool.call("skip") == Answer(skipped="no new files")


@pytest.mark.mission("H11")
def test_an_error_has_its_type_and_message_and_its_traceback_is_in_the_output(pool: RealPool):
    out: list[tuple[bytes, int]] = []

    answer = pool.call(
        "raise_error", "no such day", write=lambda data, level=0: out.append((data, level))
    )

    assert answer == Answer("ValueError: no such day")
    ((text, level),) = out
    assert (text.decode().splitlines()[0], level) == ("Traceback (most recent call last):", 40)
    assert text.decode().splitlines()[-1] == "ValueError: no such day"
    assert FILE in text.decode()


RESULTS: dict[str, str] = {
    "generator": "its result cannot be stored: result <generator object generator at",
    "huge": "is 100000002 characters long as JSON; use at most 1000000",
    "circular": "is nested too deeply",
}


@pytest.mark.fault("F52")
@pytest.mark.parametrize("task", RESULTS)
def test_a_result_that_cannot_be_stored_is_a_failure_that_says_what_to_do(
    pool: RealPool, task: str
):
    answer = pool.call(task)

    error = answer.error or ""
    assert error.startswith(f"{task} ({FILE}:")
    assert RESULTS[task] in error
    assert len(error) < 500 + len(FILE)
    assert answer.retryable is False
    assert pool.call("process").error is None


ERRORS: list[tuple[str, list[Any], str]] = [
    ("leave", ["bad day"], "SystemExit: bad day"),
    ("leave", [0], "SystemExit: 0"),
    ("interrupt", [], "KeyboardInterrupt: "),
    ("stop_iteration", [], "StopIteration: "),
    ("recurse", [], "RecursionError: maximum recursion depth exceeded"),
    ("raise_error", ["\udcff\0" + "x" * 10_000], "ValueError: ?\N{REPLACEMENT CHARACTER}xxx"),
    ("raise_error", [], "TypeError: raise_error() missing 1 required positional argument: 'text'"),
]


@pytest.mark.fault("F48")
@pytest.mark.parametrize(("task", "args", "error"), ERRORS, ids=lambda each: str(each)[:20])
def test_whatever_a_task_raises_fails_its_run_and_its_process_goes_on(
    pool: RealPool, task: str, args: list[Any], error: str
):
    before = pool.call("process").result

    answer = pool.call(task, *args)

    assert (answer.error or "").startswith(error)
    assert len(answer.error or "") <= 4000
    assert pool.call("process").result == before


@pytest.mark.fault("F48", "F53")
def test_of_a_task_that_forks_and_returns_in_both_processes_only_the_parent_answers(
    pool: RealPool,
):
    for _ in range(5):
        assert pool.call("come_back_twice").result == "parent"
        assert pool.call("echo", 1).result == [[1], {}]


def test_signals_of_a_terminal_are_for_the_worker_alone(new_program: NewProgram, new_pool: NewPool):
    pool = new_pool(new_program())
    (pid, _) = pool.call("work").result
    os.kill(pid, 2)
    pool.wait(asyncio.sleep(0.05))

    assert pool.call("work").result == [pid, "shop"]


def test_the_kernel_ends_a_task_process_before_its_worker_when_memory_is_used_up(pool: RealPool):
    def badness(process: Any) -> int:
        return int(Path(f"/proc/{process}/oom_score_adj").read_text())

    assert badness(pool.call("process").result) > badness("self")


def test_the_worker_and_what_a_task_leaves_in_its_module_share_nothing(pool: RealPool):
    kept = len(tasks.kept)

    pool.call("keep", 1)

    assert len(tasks.kept) == kept
