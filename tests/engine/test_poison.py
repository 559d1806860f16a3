"""Poison runs: commands that die in every way, kill their worker, or refuse to end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.crash.kills import Line, RealService, wait_for

DEATHS = {
    "raises": ("raise ValueError('no')", "exit code 1"),
    "leaves": ("import os; os._exit(7)", "exit code 7"),
    "segfaults": ("import ctypes; ctypes.string_at(0)", "killed by SIGSEGV"),
    "out of memory": ("import os; os.kill(os.getpid(), 9)", "killed by SIGKILL"),
}
KILL_THE_WORKER = """
import os, signal
pid = os.getpid()
for _ in range(3):  # its supervisor, the process that forks these, the worker
    pid = int(open(f"/proc/{pid}/stat").read().rpartition(") ")[2].split()[1])
os.kill(pid, signal.SIGKILL)
signal.pause()
"""
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)  # the grandchild has no parent, and its own session
with open(sys.argv[1], "a") as pids:
    pids.write(f"{os.getpid()}\\n")
time.sleep(60)
"""
ARE_DEAD = "for pid in $(cat $0); do kill -0 $pid && exit 1; done; exit 0"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RealService]:
    service = RealService(tmp_path)
    yield service
    service.end()


def python(script: str) -> list[str]:
    return [sys.executable, "-S", "-E", "-c", script]


def max_concurrency(lines: list[Line]) -> int:
    changes = sorted((line.wall, 1 if line.what == "start" else -1) for line in lines)
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


@pytest.mark.fault("F48")
def test_a_command_that_dies_is_retried_as_configured_and_frees_its_place(service: RealService):
    poison = {
        key: {
            "command": python(script),
            "every": "1h",
            "first_run": "now",
            "max_retries": 4,
            "retry_delay": "100ms",
            "retry_backoff": "fixed",
        }
        for key, (script, _) in DEATHS.items()
    }
    slow = {key: {"command": service.work(1), "every": "2s"} for key in ("left", "right")}
    service.declare(poison | slow, workers=2)
    process = service.up()
    failed = "select key, attempt, error from runs join schedules on id = schedule_id"
    failed += " where state = 'failed' order by key"
    rows = wait_for(
        lambda: len(found := service.query(failed)) == 4 and found, 30, "they have failed"
    )
    before = len(service.lines())
    wait_for(lambda: len(service.lines()) >= before + 6, 20, "others continue")
    service.stop(process)

    assert rows == [(key, 5, error) for key, (_, error) in sorted(DEATHS.items())]
    assert max_concurrency(service.lines()[before:]) == 2, "both places are free again"


@pytest.mark.fault("F48")
def test_a_command_that_kills_its_worker_is_lost_after_five_attempts_and_others_continue(
    service: RealService,
):
    poison = {"command": python(KILL_THE_WORKER), "every": "1h", "first_run": "now"}
    service.declare({"poison": poison, "steady": {"command": service.work(0), "every": "1s"}})
    deaths = 0
    process = service.up()

    def is_lost() -> bool:
        """Restarts the service, as a process manager would."""
        nonlocal deaths, process
        if process.poll() is not None:
            deaths, process = deaths + 1, service.start()
        return service.query("select 1 from runs where state = 'lost'") != []

    wait_for(is_lost, 60, "the run is lost")
    before = service.succeeded()
    wait_for(lambda: service.succeeded() >= before + 2, 20, "others continue")
    service.stop(process)

    lost = "select attempt, losses, error from runs where state = 'lost'"
    ((attempt, losses, error),) = service.query(lost)
    assert (attempt, losses, deaths) == (5, 5, 5)
    assert "was lost" in error
    ended = "select ending from attempts join runs using (schedule_id, number) where state = 'lost'"
    assert service.query(ended) == [("lost",)] * 4, "and the last one in the run itself"


@pytest.mark.fault("F49")
@pytest.mark.mission("P12")
def test_a_command_that_ignores_sigterm_times_out_and_is_gone_before_the_next_run_starts(
    service: RealService,
):
    """It has also forked twice and left its session. The next command, for which concurrency is 1,
    checks that no process of it is alive."""
    pids = service.folder / "pids"
    stubborn = {"command": [*python(STUBBORN), str(pids)], "timeout": "1s", "priority": 1}
    after = {"command": ["sh", "-c", ARE_DEAD, str(pids)]}
    once = {"every": "1h", "first_run": "now"}
    service.declare({"stubborn": stubborn | once, "after": after | once}, workers=1)
    process = service.up()
    ended = "select state, error from runs where finished_at is not null order by finished_at"
    rows = wait_for(
        lambda: len(found := service.query(ended)) == 2 and found, 20, "both have ended"
    )
    service.stop(process)

    assert len(pids.read_text().split()) == 2, "there were two of them"
    assert rows == [("timed_out", "timed out after 1 s"), ("succeeded", None)]
