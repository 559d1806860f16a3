"""No descendant of a command outlives it, whichever process is killed or suspended."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.crash.kills import RealService, is_alive, wait_for
from harness.targets.pools import children

pytestmark = pytest.mark.unmeasured


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RealService]:
    """With one long command, whose child leaves its session and its parent."""
    service = RealService(tmp_path)
    script = (
        "import os, sys, time;"
        "os.fork() or (os.setsid(), os.fork() and os._exit(0));"
        "open(sys.argv[1], 'a').write(f'{os.getpid()}\\n');"
        "time.sleep(60)"
    )
    pids = tmp_path / "pids"
    command = ["python3", "-c", script, str(pids)]
    service.declare({"long": {"every": "1s", "command": command, "if_running": "skip"}})
    yield service
    service.end()


def written_pids(service: RealService, count: int) -> list[int]:
    file = service.folder / "pids"

    def found() -> list[int]:
        pids = [int(line) for line in file.read_text().split()] if file.exists() else []
        return pids if len(pids) >= count else []

    return list(wait_for(found, 20, "the command has started"))


def supervisors(worker: subprocess.Popen[bytes]) -> list[int]:
    """The process that forks supervisors, and the supervisors."""
    first = children(worker.pid)
    return [*first, *(pid for each in first for pid in children(each))]


def are_gone(pids: list[int]) -> bool:
    return not any(is_alive(pid) for pid in pids)


class TestDescendantsAreGone:
    @pytest.mark.fault("F5", "F6")
    def test_after_their_worker_was_killed(self, service: RealService):
        process = service.start()
        pids = written_pids(service, 2)

        process.kill()
        process.wait(10)

        assert wait_for(lambda: are_gone(pids), 5, "no descendant is left")

    @pytest.mark.fault("F15")
    def test_after_their_supervisor_was_killed_and_the_run_has_failed(self, service: RealService):
        process = service.start()
        pids = written_pids(service, 2)
        _, supervisor = supervisors(process)

        os.kill(supervisor, signal.SIGKILL)

        wait_for(lambda: are_gone(pids), 5, "no descendant is left")
        failed = "select error from runs where state = 'failed'"
        ((error,),) = wait_for(lambda: service.query(failed), 5, "the run has failed")
        assert error == "the supervisor process was killed"
        service.stop(process)

    @pytest.mark.fault("F15")
    def test_after_the_process_that_forks_supervisors_was_killed_and_another_is_started(
        self, service: RealService
    ):
        process = service.start()
        pids = written_pids(service, 2)
        first, _ = supervisors(process)

        os.kill(first, signal.SIGKILL)

        wait_for(lambda: are_gone(pids), 5, "no descendant is left")
        assert len(written_pids(service, 4)) >= 4, "the next slot runs"
        service.stop(process)

    @pytest.mark.fault("F6", "F15")
    def test_after_their_supervisor_was_suspended_and_their_worker_killed(
        self, service: RealService
    ):
        process = service.start()
        pids = written_pids(service, 2)
        os.kill(supervisors(process)[1], signal.SIGSTOP)

        process.kill()
        process.wait(10)

        assert wait_for(lambda: are_gone(pids), 15, "no descendant is left")

    @pytest.mark.fault("F14")
    @pytest.mark.mission("H10")
    @pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
    def test_after_a_shutdown_whose_grace_they_outlasted_and_the_run_is_queued_again(
        self, service: RealService, which: signal.Signals
    ):
        declaration = service.folder / "quarterjack.yaml"
        declaration.write_text(declaration.read_text().replace('"3s"', '"500ms"'))
        process = service.start()
        pids = written_pids(service, 2)

        process.send_signal(which)

        assert process.wait(15) == 0, service.log()
        wait_for(lambda: are_gone(pids), 5, "no descendant is left")
        rows = service.query("select state, attempt, failures, losses from runs")
        assert rows == [("queued", 1, 0, 0)], "counted neither as a failure nor as a loss"


@pytest.mark.mission("D8")
def test_if_running_cancel_stops_the_command_before_the_next_one_runs(service: RealService):
    service.declare({"slow": {"every": "2s", "command": service.work(30), "if_running": "cancel"}})
    process = service.up()
    starts = wait_for(
        lambda: len(service.lines()) >= 2 and service.lines(), 20, "the second has started"
    )

    first, second = starts[:2]
    assert wait_for(lambda: not is_alive(first.pid), 5, "the first is stopped")
    assert (first.run, second.run, second.attempt) == ("1-0", "1-1", 1)
    assert service.query("select state, reason from runs where number = 0") == [
        ("cancelled", "replaced")
    ]
    process.kill()
    process.wait(10)
