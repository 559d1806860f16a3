"""Two workers on one database: one that lost its lease changes nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.crash.kills import RealService, check_history, is_alive, wait_for

pytestmark = pytest.mark.unmeasured


@pytest.mark.fault("F11")
def test_a_worker_that_was_suspended_past_its_lease_is_fenced(service: RealService):
    service.declare({"slow": {"every": "1h", "command": service.work(4), "first_run": "now"}})
    first = service.start()
    (start,) = wait_for(service.lines, 20, "the command has started")
    second = service.start()
    wait_for(lambda: service.log().count(" up ") == 2, 20, "both have started")
    service.freeze(first)
    wait_for(
        lambda: len([n for n in service.lines() if n.what == "start"]) == 2,
        20,
        "the run has started again",
    )

    first.send_signal(signal.SIGCONT)
    wait_for(lambda: not is_alive(start.pid), 5, "the first attempt is stopped")

    done = "select attempt, state, worker from runs where finished_at is not null"
    ((attempt, state, worker),) = wait_for(lambda: service.query(done), 20, "it ends")
    assert (attempt, state) == (2, "succeeded")
    assert f"-{second.pid}-" in worker
    assert "lease lost; attempt stopped run=1-0" in service.log()
    service.stop(first)
    service.stop(second)


@pytest.mark.fault("F12")
@pytest.mark.mission("D1")
def test_two_processes_on_one_database_run_no_slot_twice(service: RealService):
    """One is suspended over several slots while the other works, and resumes."""
    both = [service.start(), service.start()]
    wait_for(lambda: service.succeeded() >= 1, 20, "they work")
    service.freeze(both[0])
    before = service.succeeded()
    wait_for(lambda: service.succeeded() >= before + 2, 30, "the other continues")
    both[0].send_signal(signal.SIGCONT)
    wait_for(lambda: service.succeeded() >= before + 3, 30, "both continue")
    wait_for(service.has_caught_up, 20, "they catch up")
    for process in both:
        service.stop(process)

    assert check_history(service)["steady: succeeded"] >= 4


BLOCKED = """
import asyncio, sys, threading, time
from pathlib import Path
from quarterjack.targets.kinds import KINDS
from quarterjack import rules
from quarterjack.clock import SystemClock
from quarterjack.engine.node import Node, NodeConfig
from quarterjack.engine.worker import WorkerConfig
from quarterjack.rules import Limits, create, read_specification
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.store.sqlite.file import open_database
from quarterjack.store.types import NewSchedule
from quarterjack.targets.context import Context
from quarterjack.targets.task import TaskTarget

path, clock = Path(sys.argv[1]), SystemClock()
SECOND = 1_000_000

def open_store():
    return SqliteStore(open_database(path, now=clock.now(), create=True), path, clock, KINDS)

async def block():
    if Context.current().attempt == 1:
        time.sleep(6)  # blocks the event loop

async def run_node(name, seconds, add):
    store = open_store()
    if add:
        fields = {"task": "work", "every": "1h", "first_run": "now"}
        specification = read_specification(fields, kinds=KINDS, key="k", now=0)
        def new(i, each, active):
            return create(i, "k", specification, clock.now(), active=active, limits=Limits())
        await store.add_schedules(
            lambda _: ([NewSchedule("k", specification, None, "test")], new), clock.now()
        )
    tasks = {"task": TaskTarget({"work": block})}
    config = NodeConfig(WorkerConfig(name, ("default",), 16, lease=SECOND), grace_seconds=1)
    node = Node(store, tasks, clock, config)
    running = asyncio.create_task(node.run())
    await asyncio.sleep(seconds)
    node.stop()
    await running
    await store.close()

def other():
    time.sleep(1.5)
    asyncio.run(run_node("other", 5, False))

thread = threading.Thread(target=other)
thread.start()
asyncio.run(run_node("blocked", 7, True))
thread.join()
import apsw
((state, attempt, worker),) = apsw.Connection(str(path)).execute(
    "select state, attempt, worker from runs"
)
print(state, attempt, worker)
"""


@pytest.mark.fault("F11", "F54")
def test_a_worker_whose_event_loop_is_blocked_loses_its_lease_and_is_fenced(tmp_path: Path):
    """Another node takes the run over, and the settlement of the blocked one changes nothing."""
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
