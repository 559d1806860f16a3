"""What must not go wrong when a call, its cancellation and the end of a process come together."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.targets.pools import NewPool, NewProgram, RealPool
from quarterjack.targets.processes import pool as pool_module
from quarterjack.targets.processes import pooled_process
from quarterjack.targets.processes.importing import Program
from quarterjack.targets.processes.pooled_process import PooledProcess

MORE = """
def note(file, gate=""):
    with open(file, "a") as lines: lines.write("begun\\n")
    while gate and not os.path.exists(gate): time.sleep(0.005)
registry.tasks["note"] = note
from quarterjack import Context
def send_much(file, context: Context):
    open(file, "w").close()
    while True: context.progress(0.5, "x" * 1_000_000)
registry.tasks["send_much"] = send_much
"""
HOLDS_LOCK = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    print("locked", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def _keep_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that were given ahead, also on a slow machine."""
    monkeypatch.setattr(pool_module, "_AHEAD_SECONDS", 30)


@pytest.fixture
def program(new_program: NewProgram) -> Program:
    return new_program("", MORE)


def hold(pool: RealPool, count: int) -> PooledProcess:
    """Lets its process be given so many calls, and begin the first, while the loop is blocked."""

    async def until_given() -> PooledProcess:
        while [len(each.jobs) for each in pool.pool._busy] != [count]:
            await asyncio.sleep(0)
        return next(iter(pool.pool._busy))

    process = pool.wait(until_given())
    block_until(lambda: process.has_begun(process.jobs[0]))
    return process


def block_until(condition: Callable[[], object]) -> None:
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_a_call_that_ends_while_it_is_cancelled_leaves_its_process_idle_once(
    program: Program, new_pool: NewPool, tmp_path: Path
):
    pool, gate, note = new_pool(program, 2), tmp_path / "gate", tmp_path / "note"
    pool.call("note", str(note))
    call = pool.start("note", str(note), str(gate))
    process = hold(pool, 1)

    async def cancel() -> None:
        gate.touch()
        time.sleep(0.1)  # so that the answer is there when the loop goes on
        call.cancel()
        await asyncio.wait([call])

    pool.wait(cancel())
    pool.wait(asyncio.sleep(0))

    assert pool.pool._idle == [process]


def test_a_call_behind_one_that_ended_while_its_process_was_to_end_runs_once(
    program: Program, new_pool: NewPool, tmp_path: Path
):
    """That process knows nothing of this, and begins the next call before the worker looks."""
    pool, gate, note = new_pool(program), tmp_path / "gate", tmp_path / "note"
    second_gate = tmp_path / "second gate"
    pool.call("work")
    first = pool.start("work", "", str(gate))
    second = pool.start("note", str(note), str(second_gate))
    process = hold(pool, 2)
    process.ends = "its task was cancelled"
    gate.touch()
    block_until(note.exists)
    pool.wait(first)
    second_gate.touch()

    assert pool.wait(second).error is None
    assert note.read_text() == "begun\n"


def test_a_process_whose_task_is_being_cancelled_is_given_nothing_ahead(
    program: Program, new_pool: NewPool, tmp_path: Path
):
    pool, gate = new_pool(program), tmp_path / "gate"
    pool.call("work")
    first = pool.start("work", "", str(gate))
    process = hold(pool, 1)
    first.cancel()
    pool.wait(asyncio.sleep(0.01))

    second = pool.start("work")
    for _ in range(5):
        pool.wait(asyncio.sleep(0))
    assert len(process.jobs) == 1

    gate.touch()
    assert pool.wait(second).error is None
    assert first.cancelled()


def test_a_call_that_is_cancelled_while_another_begins_does_not_end_that(
    program: Program, new_pool: NewPool, tmp_path: Path
):
    pool, gate, note = new_pool(program), tmp_path / "gate", tmp_path / "note"
    pool.call("work")
    first = pool.start("work", "", str(gate))
    second = pool.start("note", str(note))
    process = hold(pool, 2)
    file = f"/proc/{os.getpid()}/fd/{process._state._descriptor}"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS_LOCK, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        second.cancel()
        pool.wait(asyncio.sleep(0.02))
        holder.communicate()

    pool.wait(asyncio.wait([second]))
    gate.touch()

    assert pool.wait(first).error is None
    assert not note.exists()


def test_a_message_that_a_cancellation_has_torn_takes_no_answer_with_it(
    program: Program, new_pool: NewPool, tmp_path: Path
):
    pool, begun = new_pool(program), tmp_path / "begun"
    pool.call("work")
    call = pool.start("send_much", str(begun))
    process = hold(pool, 1)
    block_until(begun.exists)
    time.sleep(0.05)  # it waits for room in the connection
    process._state.cancel(process.jobs[0].number)
    os.kill(process.pid, signal.SIGTERM)

    assert (pool.wait(call).error or "").startswith("CancelledError")


def test_sigterm_from_elsewhere_does_not_end_a_task(
    program: Program, new_pool: NewPool, tmp_path: Path
):
    pool, gate, begun = new_pool(program), tmp_path / "gate", tmp_path / "begun"
    call = pool.start("work", str(begun), str(gate))
    pool.wait_until(begun.exists)
    os.kill(hold(pool, 1).pid, signal.SIGTERM)
    gate.touch()

    assert pool.wait(call).error is None


def test_a_program_that_suspends_its_supervisor_at_its_import_is_stopped(
    new_program: NewProgram, new_pool: NewPool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pooled_process, "IMPORT_SECONDS", 1.5)
    monkeypatch.setattr(pooled_process, "TERMINATE_SECONDS", 0.1)
    monkeypatch.setattr(pooled_process, "SUPERVISOR_SECONDS", 0.1)
    inside = "import signal; os.kill(os.getppid(), signal.SIGSTOP); time.sleep(100)"

    answer = new_pool(new_program(inside)).call("work")

    assert "took longer than 1.5 s" in (answer.error or "")
