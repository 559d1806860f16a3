"""Poison: work that dies in every way it can, and takes its worker with it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.crash.kills import House, Line, wait_for

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
DEAF = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)  # and so the grandchild has no parent, and a session of its own
with open(sys.argv[1], "a") as pids:
    pids.write(f"{os.getpid()}\\n")
time.sleep(60)
"""
ARE_DEAD = "for pid in $(cat $0); do kill -0 $pid && exit 1; done; exit 0"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[House]:
    service = House(tmp_path)
    yield service
    service.end()


def python(script: str) -> list[str]:
    return [sys.executable, "-S", "-E", "-c", script]


def at_once(lines: list[Line]) -> int:
    """How many worked at the same time, at most."""
    changes = sorted((line.wall, 1 if line.what == "start" else -1) for line in lines)
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


@pytest.mark.fault("F48")
def test_work_that_dies_is_tried_so_often_and_takes_no_seat_with_it(service: House):
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
    wait_for(lambda: len(service.lines()) >= before + 6, 20, "others go on")
    service.stop(process)

    assert rows == [(key, 5, error) for key, (_, error) in sorted(DEATHS.items())]
    assert at_once(service.lines()[before:]) == 2, "both seats are there"


@pytest.mark.fault("F48")
def test_work_that_kills_its_worker_is_lost_after_five_of_them_and_others_go_on(service: House):
    poison = {"command": python(KILL_THE_WORKER), "every": "1h", "first_run": "now"}
    service.declare({"poison": poison, "steady": {"command": service.work(0), "every": "1s"}})
    deaths = 0
    process = service.up()

    def is_lost() -> bool:
        """As under a supervisor that starts it again."""
        nonlocal deaths, process
        if process.poll() is not None:
            deaths, process = deaths + 1, service.start()
        return service.query("select 1 from runs where state = 'lost'") != []

    wait_for(is_lost, 60, "it is given up")
    before = service.succeeded()
    wait_for(lambda: service.succeeded() >= before + 2, 20, "others go on")
    service.stop(process)

    told = "select attempt, losses, error from runs where state = 'lost'"
    ((attempt, losses, error),) = service.query(told)
    assert (attempt, losses, deaths) == (5, 5, 5)
    assert "was lost" in error
    ended = "select ending from attempts join runs using (schedule_id, number) where state = 'lost'"
    assert service.query(ended) == [("lost",)] * 4, "and the last one in the run itself"


@pytest.mark.fault("F49")
@pytest.mark.mission("P12")
def test_work_that_ends_for_nobody_is_timed_out_and_gone_before_its_seat_is_free(service: House):
    """It ignores SIGTERM, and has forked twice and left its session. Its one successor, which waits
    for the seat, looks whether any of it is alive."""
    pids = service.folder / "pids"
    deaf = {"command": [*python(DEAF), str(pids)], "timeout": "1s", "priority": 1}
    after = {"command": ["sh", "-c", ARE_DEAD, str(pids)]}
    once = {"every": "1h", "first_run": "now"}
    service.declare({"deaf": deaf | once, "after": after | once}, workers=1)
    process = service.up()
    ended = "select state, error from runs where finished_at is not null order by finished_at"
    rows = wait_for(
        lambda: len(found := service.query(ended)) == 2 and found, 20, "both have ended"
    )
    service.stop(process)

    assert len(pids.read_text().split()) == 2, "there were two of them"
    assert rows == [("timed_out", "it took longer than its 1 s"), ("succeeded", None)]
