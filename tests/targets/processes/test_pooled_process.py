"""One task process, as its worker sees it: output and reports while it works, and its end."""

from __future__ import annotations

import asyncio
import os
import time
from datetime import timedelta
from pathlib import Path

import pytest

from harness.crash.kills import is_alive
from harness.rules.values import at
from harness.targets import tasks
from harness.targets.calls import NoControl, new_call
from harness.targets.pools import NewPool, NewProgram, RealPool
from quarterjack.targets.call import Answer
from quarterjack.targets.context import Context
from quarterjack.targets.processes import pooled_process
from quarterjack.times.instants import SECOND


class Noting(NoControl):
    """The executor, as the process reports to it."""

    def __init__(self) -> None:
        self.until = at("09:10")
        self.extensions: list[int] = []
        self.reports: list[tuple[float, str]] = []

    def deadline(self) -> int | None:
        return self.until

    def extend(self, timeout: int) -> None:
        self.extensions.append(timeout)
        self.until += timeout

    def report(self, fraction: float, text: str) -> None:
        self.reports.append((fraction, text))


def test_output_of_every_kind_keeps_its_order_and_its_level(pool: RealPool):
    out = pool.output_of("talk", 200)

    lines = [(line, level) for text, level in out for line in text.splitlines()]
    assert lines == [
        each
        for number in range(200)
        for each in [
            (f"print {number} xxxxxxxxxx", 0),
            (f"log {number} xxxxxxxxxx", 30),
            (f"shop: logging {number} xxxxxxxxxx", 40),
            (f"descriptor {number} xxxxxxxxxx", 0),
        ]
    ]


def test_output_without_an_end_of_line_and_bytes_that_are_no_text_are_kept(pool: RealPool):
    plain, last = pool.output_of("talk_strangely")

    assert plain == ("a surrogate: \\udcff, and no end of line\ufffd\x1e\x1f\x1e30", 0)
    assert last == ("?30 within ?\n", 40)


def test_lines_from_threads_are_whole_and_all_there_when_the_call_ends(pool: RealPool):
    out = pool.output_of("log_in_threads", 300)

    assert all(level == 20 for _, level in out)
    for name in "abc":
        own = [text for text, _ in out if text.startswith(name)]
        assert own == [f"{name} {number}\n" for number in range(300)]


def test_what_an_earlier_call_has_left_in_a_buffer_belongs_to_no_later_one(pool: RealPool):
    assert pool.output_of("talk", 1)[0] == ("print 0 xxxxxxxxxx\n", 0)
    assert pool.output_of("process") == []


def test_progress_reaches_the_executor_and_the_output(pool: RealPool):
    control, out = Noting(), list[bytes]()

    pool.call("report", control=control, write=lambda data, level=0: out.append(data))

    assert control.reports == [(0.25, "a quarter"), (1, "")]
    assert b"".join(out) == b"25% a quarter\n100%\n"


def test_an_extension_reaches_the_executor_and_the_task_sees_the_new_deadline(pool: RealPool):
    control = Noting()

    answer = pool.call("extend", "5m", 0, control=control)

    assert answer.result == [300, False]
    assert control.extensions == [300 * SECOND]


@pytest.mark.parametrize("timeout", [timedelta(days=100_000), timedelta.max, timedelta.min])
def test_an_extension_to_an_instant_that_cannot_be_stored_is_refused_in_the_task(
    timeout: timedelta,
):
    with pytest.raises(ValueError, match=r"^timeout .*; use (whole ones|0 to 100 years)$"):
        Context(new_call()._replace(control=Noting())).extend(timeout)


class TestCancelling:
    @pytest.fixture(autouse=True)
    def _fast(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert pooled_process.COOPERATE_SECONDS == 2
        assert pooled_process.COOPERATE_SECONDS + pooled_process.TERMINATE_SECONDS == 5
        monkeypatch.setattr(pooled_process, "COOPERATE_SECONDS", 0.3)
        monkeypatch.setattr(pooled_process, "TERMINATE_SECONDS", 0.7)

    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        return tmp_path / "pid"

    def cancel(self, pool: RealPool, task: str, file: Path) -> tuple[int, str]:
        """The process, and what the task has written; the call has ended."""
        out: list[bytes] = []
        call = pool.start(task, str(file), write=lambda data, level=0: out.append(data))
        pid = int(pool.wait_until(lambda: file.exists() and file.read_text()))
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            pool.wait(call)
        return pid, b"".join(out).decode()

    @pytest.mark.mission("P12")
    def test_a_task_that_looks_at_its_context_ends_by_itself_and_its_process_is_kept(
        self, pool: RealPool, file: Path
    ):
        pid, out = self.cancel(pool, "cooperate", file)

        assert out == "cancelled\n"
        assert pool.call("process").result == pid

    @pytest.mark.mission("P12")
    def test_a_task_that_does_not_is_interrupted_in_the_main_thread(
        self, pool: RealPool, file: Path
    ):
        pid, out = self.cancel(pool, "work_forever", file)

        assert out.startswith("interrupted True True\nTraceback (most recent call last):\n")
        assert out.endswith("asyncio.exceptions.CancelledError\n")
        assert not is_alive(pid)
        assert pool.call("process").error is None

    @pytest.mark.mission("P12")
    @pytest.mark.fault("F49")
    @pytest.mark.parametrize("task", ["swallow_everything", "wait_in_c"])
    def test_a_task_that_ignores_that_or_is_inside_c_code_is_killed(
        self, pool: RealPool, file: Path, task: str
    ):
        pid, out = self.cancel(pool, task, file)

        assert ("swallowed CancelledError" in out) == (task == "swallow_everything")
        assert not is_alive(pid)
        assert pool.call("process").error is None

    @pytest.mark.fault("F49")
    def test_a_call_that_is_cancelled_again_still_waits_until_its_task_has_ended(
        self, pool: RealPool, file: Path
    ):
        """As if the worker had lost its lease meanwhile."""
        call = pool.start("swallow_everything", str(file))
        pid = int(pool.wait_until(lambda: file.exists() and file.read_text()))
        call.cancel()
        pool.wait(asyncio.sleep(0.05))
        for _ in range(3):
            call.cancel()
            pool.wait(asyncio.sleep(0.05))
            assert not call.done()

        with pytest.raises(asyncio.CancelledError):
            pool.wait(call)

        assert not is_alive(pid)

    @pytest.mark.fault("F50")
    def test_a_task_that_forks_without_end_is_gone_with_all_that_it_has_started(
        self, pool: RealPool, file: Path
    ):
        pid, _ = self.cancel(pool, "fork_without_end", file)

        assert not is_alive(pid)
        assert pool.call("process").error is None
        assert len(pool.processes()) == 1
        newest = file.read_text()
        time.sleep(0.1)
        assert file.read_text() == newest, "the process that always forks is gone as well"

    @pytest.mark.parametrize("task", ["swallow_everything", "work_forever"])
    def test_calls_behind_a_task_that_was_cancelled_run_in_another_process(
        self, pool: RealPool, file: Path, task: str
    ):
        first = pool.start(task, str(file))
        pid = int(pool.wait_until(lambda: file.exists() and file.read_text()))
        others = [pool.start("process") for _ in range(20)]
        first.cancel()

        found = [pool.wait(each) for each in others]

        assert {each.error for each in found} == {None}
        assert pid not in {each.result for each in found}
        with pytest.raises(asyncio.CancelledError):
            pool.wait(first)


def test_a_process_whose_hooks_never_end_is_stopped(
    new_program: NewProgram, new_pool: NewPool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pooled_process, "FAREWELL_SECONDS", 0.3)
    hook = "\ndef stop(): time.sleep(60)\nregistry.on_stop.append(stop)\n"
    pool = new_pool(new_program("", hook))
    (pid, _) = pool.call("work").result

    pool.close()

    assert not is_alive(pid)


def test_a_process_that_cannot_be_started_fails_the_run_with_the_reason(
    new_pool: NewPool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    pool = new_pool(tasks.registry)

    error = pool.call("process").error or ""

    assert "No such file or directory" in error
    assert pool.processes() == []


def test_a_task_that_is_not_found_in_the_process_is_named_with_advice(
    new_program: NewProgram, new_pool: NewPool
):
    more = f"""
if os.getpid() == {os.getpid()}:
    def local(): ...
    registry.tasks["local"] = local
"""
    pool = new_pool(new_program("", more))

    assert pool.call("local") == Answer(
        "task local is not there when shop is imported again; define it at the top of its module,"
        ' not under if __name__ == "__main__"'
    )
