"""On macOS, for development: the program without what only Linux has. These run on Linux, in
processes from which that is taken."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness import macos
from harness.crash.kills import PROGRAM, RealService, is_alive, wait_for
from harness.targets.calls import new_call
from quarterjack.targets.call import Answer
from quarterjack.targets.command import CommandTarget
from quarterjack.targets.processes import supervised

JOBS = """
import subprocess
import sys
from pathlib import Path
from quarterjack import Quarterjack

app = Quarterjack(lease="1s", grace="300ms")


@app.every("1h", first_run="now")
def calls() -> str:
    print("printed")
    return sys.platform


@app.every("1h", first_run="now")
async def awaits() -> str:
    return sys.platform


@app.every("1h", first_run="now", timeout="1s")
def hangs() -> None:
    child = subprocess.Popen(["sleep", "60"])
    Path("child").write_text(f"{child.pid}")
    child.wait()


app.schedule("fails", "1h", first_run="now", command=["sh", "-c", "exit 3"])
app.schedule("waits", "1h", first_run="now", command=["sh", "-c", "echo $$ > waiting; sleep 60"])
app.schedule("later", "1h", command=["true"])
"""


@pytest.fixture(autouse=True)
def _is_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the processes that a test starts."""
    monkeypatch.setenv("PYTHONPATH", str(Path(macos.__file__).parent))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RealService]:
    service = RealService(tmp_path)
    (tmp_path / "jobs.py").write_text(JOBS)
    service.source = "jobs.py:app"
    yield service
    service.end()


def run(*argv: str) -> Answer:
    async def act() -> Answer:
        target = CommandTarget(supervised.Supervisors())
        try:
            return await target.act(new_call(command=list(argv)))
        finally:
            await target.close()

    return asyncio.run(asyncio.wait_for(act(), 30))


def cancel(*argv: str, when: Callable[[], Any]) -> None:
    async def act() -> None:
        target = CommandTarget(supervised.Supervisors())
        running = asyncio.ensure_future(target.act(new_call(command=list(argv))))
        await asyncio.to_thread(wait_for, when, 10, "it runs")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await target.close()

    asyncio.run(asyncio.wait_for(act(), 30))


def pid_in(file: Path) -> int:
    return int(wait_for(lambda: file.exists() and file.read_text().split(), 20, "it runs")[0])


class TestCommands:
    def test_their_exit_codes_signals_and_errors_are_those_of_linux(self):
        assert run("true") == Answer()
        assert run("sh", "-c", "exit 3").error == "exit code 3"
        assert run("sh", "-c", "kill -SEGV $$").error == "killed by SIGSEGV"
        assert (run("no-such-program").error or "").startswith("cannot start no-such-program: ")
        assert run("sh", "-c", "kill -9 $PPID").error == "the supervisor process was killed"

    def test_what_is_left_of_their_process_group_is_killed(self, tmp_path: Path):
        file = tmp_path / "pid"

        run("sh", "-c", "exec >&- 2>&-; sleep 60 & echo $! > $0", str(file))

        assert not is_alive(pid_in(file))

    def test_a_process_that_has_left_the_group_and_holds_the_output_delays_the_end_for_2_seconds(
        self, tmp_path: Path
    ):
        file = tmp_path / "pid"

        assert run("sh", "-c", "setsid sleep 60 & echo $! > $0; sleep 0.3", str(file)) == Answer()

        assert is_alive(pid_in(file))
        os.kill(pid_in(file), signal.SIGKILL)

    def test_one_that_is_cancelled_gets_time_to_end_and_is_killed_with_its_group(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr("quarterjack.targets.command.GRACE_SECONDS", 0.5)
        asked, file = tmp_path / "asked", tmp_path / "pid"
        left = "(trap '' TERM; sleep 60 & echo $! > $0; wait)"
        script = f"trap 'touch $1; exit' TERM; {left} & wait"

        cancel("sh", "-c", script, str(file), str(asked), when=file.exists)

        assert asked.exists()
        assert not is_alive(pid_in(file))


def state_of(service: RealService, key: str) -> tuple[Any, ...]:
    """State, error and result of its last run that has ended."""
    statement = (
        "select state, error, result from runs join schedules on id = schedule_id"
        f" where key = '{key}' and finished_at is not null order by number desc limit 1"
    )
    return next(iter(service.query(statement)), ())


@pytest.mark.unmeasured
class TestServices:
    def test_tasks_and_commands_run_and_requests_are_noticed_by_polling(self, service: RealService):
        process = service.up()
        for key in ("calls", "awaits"):
            wait_for(partial(state_of, service, key), 20, f"{key} has ended")
            assert state_of(service, key) == ("succeeded", None, '"darwin"')
        wait_for(lambda: state_of(service, "fails"), 20, "the command has ended")
        assert state_of(service, "fails")[:2] == ("failed", "exit code 3")

        subprocess.run([*PROGRAM, "run", "later"], cwd=service.folder, check=True)

        wait_for(lambda: state_of(service, "later"), 10, "the request was noticed")
        service.stop(process)
        assert "Traceback" not in service.log()

    def test_a_task_that_times_out_ends_with_the_processes_that_it_started(
        self, service: RealService
    ):
        process = service.up()
        child = pid_in(service.folder / "child")

        wait_for(lambda: state_of(service, "hangs"), 20, "it has timed out")

        assert state_of(service, "hangs")[0] == "timed_out"
        assert not is_alive(child)
        service.stop(process)

    def test_when_the_service_is_killed_its_commands_and_tasks_die(self, service: RealService):
        process = service.start()
        pids = [pid_in(service.folder / name) for name in ("waiting", "child")]

        process.kill()
        process.wait(10)

        assert wait_for(lambda: not any(map(is_alive, pids)), 5, "no process is left")
