"""Kill -9 at every step of a firing: the short form of `make crash`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.crash.kills import (
    PLACES,
    House,
    is_alive,
    judge,
    killed_at,
    killed_at_random,
    wait_for,
)

pytestmark = pytest.mark.unmeasured

FAULTS = {
    "plan.read": "F1",
    "plan.begun": "F1",
    "plan.inserted": "F1",
    "plan.advanced": "F1",
    "plan_due.committing": "F1",
    "plan_due.committed": "F2",
    "claim.written": "F3",
    "claim_runs.committing": "F3",
    "claim_runs.committed": "F4",
    "launch.before": "F4",
    "launch.after": "F5",
    "renew_leases.committed": "F6",
    "attempt.ended": "F7",
    "output.written": "F7",
    "settle.written": "F7",
    "settle_runs.committing": "F7",
    "settle_runs.committed": "F8",
    "notices.told": "F8",
    "prune.written": "F9",
}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[House]:
    service = House(tmp_path)
    yield service
    service.end()


def test_every_step_of_a_firing_has_a_place_to_die():
    steps = {int(step[1:]) for step in PLACES.values()}

    assert steps == set(range(1, 18)) - {10}, "no process id is stored"
    assert FAULTS.keys() == PLACES.keys()


@pytest.mark.parametrize(
    "place", [pytest.param(place, marks=pytest.mark.fault(FAULTS[place])) for place in PLACES]
)
@pytest.mark.mission("V3", "V10")
def test_killed_there_no_slot_is_missed_doubled_or_early(service: House, place: str):
    judged = killed_at(service, f"{place}:1")

    assert judged["steady: succeeded"] >= 2


@pytest.mark.fault("F8")
def test_what_people_should_hear_of_is_told_after_the_crash(service: House):
    killed_at(service, "settle_runs.committed:1", "notices.told:1")

    assert service.query("select count(*) from outbox where sent_at is null") == [(0,)]
    told = [line for line in service.log().splitlines() if " notice=1 " in line]
    assert len(told) >= 2, "it was told before the second crash, and again after it"


@pytest.mark.fault("F10")
def test_killed_again_and_again_at_random_it_loses_and_doubles_nothing(service: House):
    judged = killed_at_random(service, kills=6, seed=7)

    assert judged["steady: succeeded"] > 5


@pytest.fixture
def lonely(tmp_path: Path) -> Iterator[House]:
    """One schedule whose work lasts long, and has children that try to get away."""
    service = House(tmp_path)
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


def written_pids(service: House, count: int) -> list[int]:
    file = service.folder / "pids"

    def found() -> list[int]:
        pids = [int(line) for line in file.read_text().split()] if file.exists() else []
        return pids if len(pids) >= count else []

    return list(wait_for(found, 20, "the work has started"))


def supervisors(of: subprocess.Popen[bytes]) -> list[int]:
    """The process that forks, and the supervisors that it forked."""
    first = children(of.pid)
    return [*first, *(pid for each in first for pid in children(each))]


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in listed.split()]


def are_gone(pids: list[int]) -> bool:
    return not any(is_alive(pid) for pid in pids)


class TestDescendants:
    @pytest.mark.fault("F5", "F6")
    def test_are_gone_after_their_worker_was_killed(self, lonely: House):
        process = lonely.start()
        pids = written_pids(lonely, 2)

        process.kill()
        process.wait(10)

        assert wait_for(lambda: are_gone(pids), 5, "no descendant is left")

    @pytest.mark.fault("F15")
    def test_are_gone_after_their_supervisor_was_killed_and_the_run_has_failed(self, lonely: House):
        process = lonely.start()
        pids = written_pids(lonely, 2)
        _, supervisor = supervisors(process)

        os.kill(supervisor, signal.SIGKILL)

        wait_for(lambda: are_gone(pids), 5, "no descendant is left")
        failed = "select error from runs where state = 'failed'"
        ((error,),) = wait_for(lambda: lonely.query(failed), 5, "the run has failed")
        assert error == "its supervising process was killed"
        lonely.stop(process)

    @pytest.mark.fault("F15")
    def test_are_gone_after_the_process_that_forks_was_killed_and_another_takes_its_place(
        self, lonely: House
    ):
        process = lonely.start()
        pids = written_pids(lonely, 2)
        forks, _ = supervisors(process)

        os.kill(forks, signal.SIGKILL)

        wait_for(lambda: are_gone(pids), 5, "no descendant is left")
        assert len(written_pids(lonely, 4)) >= 4, "the next slot runs"
        lonely.stop(process)

    @pytest.mark.fault("F6", "F15")
    def test_are_gone_also_if_somebody_stopped_their_supervisor(self, lonely: House):
        process = lonely.start()
        pids = written_pids(lonely, 2)
        os.kill(supervisors(process)[1], signal.SIGSTOP)

        process.kill()
        process.wait(10)

        assert wait_for(lambda: are_gone(pids), 15, "no descendant is left")

    @pytest.mark.fault("F14")
    @pytest.mark.mission("H10")
    @pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
    def test_told_to_stop_it_hands_back_what_outlasts_its_grace(
        self, lonely: House, which: signal.Signals
    ):
        said = (lonely.folder / "quarterjack.yaml").read_text()
        quick = said.replace('"grace": "3s"', '"grace": "500ms"')
        (lonely.folder / "quarterjack.yaml").write_text(quick)
        process = lonely.start()
        pids = written_pids(lonely, 2)

        process.send_signal(which)

        assert process.wait(15) == 0, lonely.log()
        wait_for(lambda: are_gone(pids), 5, "no descendant is left")
        rows = lonely.query("select state, attempt, failures, losses from runs")
        assert rows == [("queued", 1, 0, 0)], "another attempt, counted as neither"


@pytest.mark.fault("F14")
@pytest.mark.mission("H10")
def test_restarted_again_and_again_under_load_nothing_fails_by_it(service: House):
    for _ in range(3):
        process = service.start()
        before = service.succeeded("slow")
        wait_for(lambda before=before: service.succeeded("slow") > before, 20, "it works")  # type: ignore[misc]
        service.stop(process)
    process = service.up()
    wait_for(service.has_caught_up, 20, "it catches up")
    service.stop(process)

    judged = judge(service)

    assert not [what for what in judged if "lost" in what]
    assert service.query(
        "select count(*) from attempts where ending = 'lost' and handed_back = 0"
    ) == [(0,)]


@pytest.mark.fault("F11")
def test_a_worker_that_was_stopped_past_its_lease_is_fenced(tmp_path: Path):
    service = House(tmp_path)
    try:
        service.declare({"slow": {"every": "1h", "command": service.work(4), "first_run": "now"}})
        first = service.start()
        (begun,) = wait_for(service.lines, 20, "the work has started")
        second = service.start()
        wait_for(lambda: service.log().count(" up ") == 2, 20, "both are up")
        service.freeze(first)
        wait_for(lambda: len([n for n in service.lines() if n.what == "start"]) == 2, 20, "rescued")

        first.send_signal(signal.SIGCONT)
        wait_for(lambda: not is_alive(begun.pid), 5, "the first attempt is stopped")

        done = "select attempt, state, worker from runs where finished_at is not null"
        ((attempt, state, worker),) = wait_for(lambda: service.query(done), 20, "it ends")
        assert (attempt, state) == (2, "succeeded")
        assert f"-{second.pid}-" in worker
        assert "lease lost, stopped run=1-0" in service.log()
        service.stop(first)
        service.stop(second)
    finally:
        service.end()


@pytest.mark.fault("F12")
@pytest.mark.mission("D1")
def test_two_processes_on_one_database_never_double_a_slot(service: House):
    """One is stopped across several slots while the other works, and goes on."""
    both = [service.start(), service.start()]
    wait_for(lambda: service.succeeded() >= 1, 20, "they work")
    service.freeze(both[0])
    before = service.succeeded()
    wait_for(lambda: service.succeeded() >= before + 2, 30, "the other goes on")
    both[0].send_signal(signal.SIGCONT)
    wait_for(lambda: service.succeeded() >= before + 3, 30, "both go on")
    wait_for(service.has_caught_up, 20, "they catch up")
    for process in both:
        service.stop(process)

    assert judge(service)["steady: succeeded"] >= 4


@pytest.mark.mission("D8")
def test_cancel_really_stops_the_process_and_then_runs(service: House):
    service.declare({"slow": {"every": "2s", "command": service.work(30), "if_running": "cancel"}})
    process = service.up()
    starts = wait_for(
        lambda: len(service.lines()) >= 2 and service.lines(), 20, "the second has begun"
    )

    first, second = starts[:2]
    assert wait_for(lambda: not is_alive(first.pid), 5, "the first is stopped")
    assert (first.run, second.run, second.attempt) == ("1-0", "1-1", 1)
    assert service.query("select state, reason from runs where number = 0") == [
        ("cancelled", "replaced")
    ]
    process.kill()
    process.wait(10)


@pytest.mark.fault("F11", "F54")
def test_a_worker_whose_loop_is_blocked_loses_its_lease_and_is_fenced(tmp_path: Path):
    """A task that never gives the loop back cannot renew; another process takes over, and what the
    blocked one says afterwards changes nothing."""
    script = tmp_path / "blocked.py"
    script.write_text(BLOCKED)
    process = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "q.db")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert process.stdout.split() == ["succeeded", "2", "other"], process.stderr[-2000:]


BLOCKED = """
import asyncio, sys, threading, time
from pathlib import Path
from quarterjack import rules
from quarterjack.clock import SystemClock
from quarterjack.engine.node import Manner, Node
from quarterjack.engine.worker import Seats
from quarterjack.rules import Limits, create, read_specification
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.store.sqlite.file import open_database
from quarterjack.store.types import NewSchedule
from quarterjack.targets.task import TaskTarget, current_call

path, clock = Path(sys.argv[1]), SystemClock()
SECOND = 1_000_000

def opened():
    return SqliteStore(open_database(path, now=clock.now(), create=True), path, clock)

async def blocking():
    if current_call.get().attempt == 1:
        time.sleep(6)  # it never gives the loop back

async def lived(name, seconds, add):
    store = opened()
    if add:
        fields = {"task": "work", "every": "1h", "first_run": "now"}
        said = read_specification(fields, key="k", now=0)
        def made(i, each, active):
            return create(i, "k", said, clock.now(), active=active, limits=Limits())
        await store.add_schedules([NewSchedule("k", said, None, "test")], made, clock.now())
    tasks = {"task": TaskTarget({"work": blocking})}
    node = Node(store, tasks, clock, Manner(Seats(name, lease=SECOND), grace_seconds=1))
    running = asyncio.create_task(node.run())
    await asyncio.sleep(seconds)
    node.stop()
    await running
    await store.close()

def other():
    time.sleep(1.5)
    asyncio.run(lived("other", 5, False))

thread = threading.Thread(target=other)
thread.start()
asyncio.run(lived("blocked", 7, True))
thread.join()
import apsw
((state, attempt, worker),) = apsw.Connection(str(path)).execute(
    "select state, attempt, worker from runs"
)
print(state, attempt, worker)
"""
