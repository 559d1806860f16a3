"""The pool: processes are started on demand, used again, and replaced when they end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.crash.kills import is_alive
from harness.targets import tasks
from harness.targets.endurance import endure
from harness.targets.pools import NewPool, NewProgram, RealPool


@pytest.fixture(scope="module")
def pair() -> Iterator[RealPool]:
    """A pool of two."""
    made = RealPool(tasks.registry, 2)
    yield made
    made.close()


def test_a_process_is_warm_and_used_again(pool: RealPool):
    first = pool.call("process").result

    assert first not in (None, os.getpid())
    assert [pool.call("process").result for _ in range(20)] == [first] * 20
    assert pool.processes() == [first]


def test_what_a_task_keeps_in_its_module_is_there_for_the_next_and_need_not_be_pickled(
    pool: RealPool,
):
    one, two = (pool.call("keep", {"days": [1]}).result for _ in range(2))

    assert two == one + 1


def test_calls_run_beside_each_other_up_to_the_size_and_the_others_wait(
    pair: RealPool, tmp_path: Path
):
    files = [tmp_path / name for name in "abc"]
    running = [pair.start("cooperate", str(file)) for file in files]
    pair.wait_until(lambda: sum(file.exists() for file in files) == 2)

    assert len(pair.processes()) == 2
    for each in running:
        each.cancel()
    pair.wait(asyncio.wait(running))
    assert [file.exists() for file in files] == [True, True, False]
    results = [pair.call("process").result for _ in range(4)]
    assert set(results) <= set(pair.processes())
    assert len(pair.processes()) == 2, "both have ended their task, and are used again"


DEATHS: dict[str, tuple[str, list[Any], str]] = {
    "exits": ("exit_at_once", [7], "exit code 7; a task must return or raise, not end its process"),
    "exits with 0": ("exit_at_once", [0], "exit code 0; a task must return or raise"),
    "exits in a thread": ("exit_in_a_thread", [], "exit code 3; a task must return or raise"),
    "segfaults": ("segfault", [], "killed by SIGSEGV; a library in C may be the cause"),
    "memory used up": ("kill_itself", [], "killed by SIGKILL; perhaps memory was used up: use"),
    "closes its connection": ("close_descriptors", [], "exit code 1; a task must return or raise"),
}


@pytest.mark.fault("F48", "F53")
@pytest.mark.parametrize(("task", "args", "error"), DEATHS.values(), ids=DEATHS)
def test_a_process_that_ends_fails_its_own_run_and_the_pool_keeps_its_size(
    pair: RealPool, tmp_path: Path, task: str, args: list[Any], error: str
):
    file = tmp_path / "beside"
    beside = pair.start("cooperate", str(file))
    pair.wait_until(file.exists)

    answer = pair.call(task, *args)

    assert (answer.error or "").startswith(f"the process of the task ended: {error}")
    assert not beside.done()
    assert pair.call("process").error is None
    assert len(pair.processes()) == 2
    beside.cancel()
    pair.wait(asyncio.wait([beside]))


@pytest.mark.fault("F53")
@pytest.mark.parametrize(
    ("task", "amount"),
    [
        ("leak_memory", 300),
        ("leak_threads", 30),
        ("leak_files", 600),
        ("leave_ended_processes", 150),
    ],
)
def test_a_process_that_tasks_have_used_up_is_replaced_after_the_run(
    pool: RealPool, task: str, amount: int
):
    before = pool.call("process").result

    assert pool.call(task, amount).result == before, "the run itself has succeeded"

    assert pool.call("process").result != before
    assert pool.wait_until(lambda: len(pool.processes()) == 1)


def test_memory_that_a_task_has_given_back_is_no_reason_to_end_its_process(pool: RealPool):
    before = pool.call("process").result

    assert pool.call("use_memory", 300).result == before

    assert pool.call("process").result == before


@pytest.mark.fault("F49")
@pytest.mark.parametrize("ends", ["", "kill_itself"], ids=["returns", "is killed"])
def test_what_a_task_leaves_running_is_gone_within_5_seconds(pool: RealPool, ends: str):
    out: list[bytes] = []

    pool.call("leave_process", ends, write=lambda data, level=0: out.append(data))

    left = int(b"".join(out).split()[1])
    assert pool.wait_until(lambda: not is_alive(left), 5)
    assert pool.call("process").error is None


def test_a_process_that_is_killed_while_it_is_idle_is_replaced_unnoticed(pool: RealPool):
    before = pool.call("process").result
    os.kill(before, signal.SIGKILL)

    answers = [pool.call("process") for _ in range(2)]

    assert {each.error for each in answers} == {None}
    assert before not in {each.result for each in answers}


def test_a_call_that_waits_for_a_process_can_be_cancelled_and_the_process_serves_the_next(
    new_pool: NewPool,
):
    pool = new_pool(tasks.registry)
    waiting = pool.start("process")
    pool.wait_until(pool.processes)

    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        pool.wait(waiting)

    assert pool.processes() == [pool.call("process").result]


@pytest.mark.fault("F53")
def test_an_import_that_fails_only_in_a_task_process_fails_each_run_with_the_reason(
    new_program: NewProgram,
    new_pool: NewPool,
):
    pool = new_pool(new_program("raise RuntimeError('no route')"))

    answers = [pool.call("work") for _ in range(2)]

    assert {each.error for each in answers} == {
        "shop cannot be imported in a task process: RuntimeError: no route"
        f" ({new_program.file}:11); fix it there, and restart"
    }
    assert pool.wait_until(lambda: not pool.processes())


@pytest.mark.parametrize(
    ("inside", "error"),
    [
        (
            "print('no licence'); os._exit(3)",
            "exit code 3; a task must return or raise, not end its",
        ),
        ("os.kill(os.getpid(), 9)", "killed by SIGKILL; perhaps memory was used up"),
    ],
)
def test_a_process_that_ends_while_it_imports_fails_the_run_with_its_last_words(
    new_program: NewProgram, new_pool: NewPool, inside: str, error: str
):
    pool = new_pool(new_program(inside))

    text = pool.call("work").error or ""

    assert text.startswith(f"the task process ended at its start: {error}")
    assert ("(no licence)" in text) == ("no licence" in inside)


def test_the_next_call_uses_a_process_that_has_finished_its_import_after_the_first_timed_out(
    new_program: NewProgram, new_pool: NewPool, tmp_path: Path
):
    gate = tmp_path / "gate"
    pool = new_pool(new_program(f"while not os.path.exists({str(gate)!r}): time.sleep(0.01)"))
    first = pool.start("work")
    pool.wait_until(pool.processes)
    (importing,) = pool.processes()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        pool.wait(first)

    second = pool.start("work")
    gate.touch()

    assert pool.wait(second).result == [importing, "shop"]


def test_an_import_that_never_ends_is_stopped_with_advice(
    new_program: NewProgram, new_pool: NewPool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("quarterjack.targets.processes.pooled_process.IMPORT_SECONDS", 0.5)
    pool = new_pool(new_program("time.sleep(60)"))

    assert pool.call("work").error == (
        "the import of shop took longer than 0.5 s; put what starts servers or waits under"
        ' if __name__ == "__main__"'
    )
    assert pool.processes() == []


def test_a_pool_that_is_closed_while_a_process_imports_does_not_wait_for_that(
    new_program: NewProgram,
    new_pool: NewPool,
):
    pool = new_pool(new_program("time.sleep(60)"))
    pool.loop.call_soon(pool.pool.warm_up)
    pool.wait_until(pool.processes)

    pool.loop.run_until_complete(asyncio.wait_for(pool.pool.close(), 10))

    assert pool.processes() == []


@pytest.mark.fault("F68")
def test_a_process_that_would_import_a_changed_file_is_refused_and_others_do_its_work(
    new_program: NewProgram, new_pool: NewPool, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    pool = new_pool(new_program(""), 2)
    gate, begun = tmp_path / "gate", tmp_path / "begun"
    waiting = pool.start("work", str(begun), str(gate))
    pool.wait_until(begun.exists)
    new_program.file.write_text(new_program.file.read_text() + "# a later version")

    held = pool.start("work")
    reason = "has changed since the program started; restart it, so that all of it runs the same"
    pool.wait_until(lambda: reason in caplog.text)
    gate.touch()

    first, second = pool.wait(waiting), pool.wait(held)
    assert first == second, "by the process that has the first version"


def test_closing_runs_the_hooks_and_ends_all_processes(
    new_program: NewProgram, new_pool: NewPool, tmp_path: Path
):
    log = tmp_path / "log"
    hooks = f"""
def note(what):
    with open({str(log)!r}, "a") as file:
        print(what, os.getpid(), file=file)
def stop(): note("stop")
async def start(): note("start")
registry.on_start.append(start)
registry.on_stop.append(stop)
"""
    pool = new_pool(new_program("", hooks), 2)
    gate, begun = tmp_path / "gate", [tmp_path / name for name in "ab"]
    both = [pool.start("work", str(each), str(gate)) for each in begun]
    pool.wait_until(lambda: all(each.exists() for each in begun))
    gate.touch()
    pool.wait(asyncio.wait(both))
    pids = {each.result().result[0] for each in both}

    pool.close()

    assert {tuple(line.split()) for line in log.read_text().splitlines()} == {
        (what, str(pid)) for what in ("start", "stop") for pid in pids
    }
    assert not any(map(is_alive, pids))


def test_a_hook_that_fails_in_a_task_process_fails_the_run_with_its_name(
    new_program: NewProgram, new_pool: NewPool
):
    hooks = """
def connect(): raise OSError("no route")
registry.on_start.append(connect)
"""
    pool = new_pool(new_program("", hooks))

    assert pool.call("work").error == (
        "the hook connect failed in a task process: OSError: no route"
    )


def test_processes_that_are_not_needed_are_ended_but_for_one(
    new_pool: NewPool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("quarterjack.targets.processes.pool.IDLE_SECONDS", 0.3)
    pool = new_pool(tasks.registry, 3)
    pool.wait(asyncio.wait([pool.start("process") for _ in range(3)]))

    assert pool.wait_until(lambda: len(pool.processes()) == 1)
    (last,) = pool.processes()
    assert pool.call("process").result == last


def test_no_descriptor_is_left_open_after_processes_were_replaced(pool: RealPool):
    counts = []
    for _ in range(2):
        for _ in range(2):
            pool.call("kill_itself")
        pool.call("process")
        counts.append(len(list(Path("/proc/self/fd").iterdir())))

    assert counts[0] == counts[1]


def test_a_worker_does_not_grow_with_the_runs_that_it_has_executed():
    """The short form of the campaign `harness.targets.endurance`."""
    endured = endure(2000)

    assert endured.failed == 0
    assert endured.grown_mib < 2
    assert endured.processes <= 2
