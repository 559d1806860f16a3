"""Many real processes on PostgreSQL: killed, suspended, or with wrong clocks."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.crash import skewed
from harness.crash.kills import wait_for
from harness.crash.many_nodes import (
    ManyNodes,
    gap_after_a_kill,
    killed_at_each_step,
    killed_at_random,
    suspended_shortly,
    taken_over_after,
    wait_for_more,
)
from quarterjack.times.instants import SECOND

pytestmark = pytest.mark.unmeasured

SKEWED = [sys.executable, str(Path(skewed.__file__))]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ManyNodes]:
    service = ManyNodes(tmp_path)
    yield service
    service.end()


@pytest.mark.mission("H1", "H6")
def test_schedulers_only_plan_and_workers_only_work(service: ManyNodes):
    for command in ("scheduler", "scheduler", "worker", "worker"):
        service.up(command, *(["-c", "2"] if command == "worker" else []))
    wait_for(lambda: service.succeeded() >= 4, 20, "four runs end")

    counts = service.finish()

    assert counts["steady: succeeded"] >= 4
    started = [service.log_of(number).read_text().count(" started run=") for number in range(4)]
    assert started[:2] == [0, 0], "schedulers run nothing"
    assert min(started[2:]) > 0, "both workers do"


def test_nodes_are_listed_until_they_stop_or_time_out(service: ManyNodes):
    service.up("scheduler")
    killed, stopped = service.up("worker"), service.up("worker")
    nodes = service.list_nodes()
    assert [(each["plans"], each["works"]) for each in nodes] == [
        (True, False),
        (False, True),
        (False, True),
    ]
    assert len({each["revision"] for each in nodes}) == 1
    assert all(abs(each["ahead_seconds"]) < 1 for each in nodes)

    killed.kill()
    stopped.terminate()
    stopped.wait(20)
    assert len(service.list_nodes()) == 2, "the killed one may still be alive"
    wait_for(lambda: len(service.list_nodes()) == 1, 30, "the killed one has timed out")


@pytest.mark.mission("V3", "V10")
@pytest.mark.fault("F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9")
def test_one_of_three_nodes_is_killed_at_each_step_and_no_slot_is_missed_doubled_or_early(
    service: ManyNodes,
):
    counts = killed_at_each_step(service)

    assert counts["steady: succeeded"] >= 10
    assert counts["once only: lost"] >= 1


@pytest.mark.fault("F10")
def test_repeated_kills_of_one_of_three_nodes_lose_and_double_nothing(service: ManyNodes):
    counts = killed_at_random(service, kills=10, seed=7)

    assert counts["steady: succeeded"] > 5


@pytest.mark.fault("F1")
def test_after_a_planner_was_killed_the_other_leaves_no_gap(service: ManyNodes):
    assert gap_after_a_kill(service) < 5


@pytest.mark.fault("F6")
def test_the_run_of_a_killed_worker_is_taken_over(service: ManyNodes):
    """Within 12 s for a lease of 10 s; here both are shorter."""
    assert taken_over_after(service, lease=2) < 4

    wait_for(lambda: service.succeeded("long") == 1, 20, "it has succeeded")


@pytest.mark.fault("F11", "F12")
def test_nodes_that_were_suspended_past_their_lease_change_nothing_when_they_resume(
    service: ManyNodes,
):
    nodes = [service.up() for _ in range(3)]
    for _ in range(3):
        for node in nodes[:2]:
            service.freeze(node)
        wait_for_more(service, 3)
        for node in nodes[:2]:
            node.send_signal(signal.SIGCONT)

    counts = service.finish()

    assert counts["steady: succeeded"] >= 9


@pytest.mark.fault("F11")
def test_a_worker_that_was_suspended_for_less_than_its_lease_keeps_its_run(
    service: ManyNodes,
):
    assert suspended_shortly(service, workers=5, suspensions=25, seed=1, lease=4, margin=0.25) == 0


@pytest.mark.fault("F38")
def test_nodes_with_wrong_clocks_run_nothing_early_late_or_twice(service: ManyNodes):
    for seconds in ("-300", "0", "+300"):
        service.up(program=[*SKEWED, seconds])
    wait_for(lambda: service.succeeded() >= 6, 30, "they work")

    ahead = sorted(round(each["ahead_seconds"]) for each in service.list_nodes())
    counts = service.finish()

    assert ahead == [-300, 0, 300]
    assert counts["steady: succeeded"] >= 6
    assert service.log().count("the host clock differs from the database clock") == 2


@pytest.mark.mission("H7")
def test_a_deleted_row_of_a_declared_schedule_is_recreated_without_a_backlog(service: ManyNodes):
    hourly = {"every": "1h", "command": service.work(0), "catch_up": "run_all"}
    service.declare({"hourly": hourly}, limits={"timer_clamp_ms": 1000})
    service.up("scheduler")
    service.up("scheduler")
    service.query("delete from schedules")

    wait_for(lambda: service.query("select id from schedules"), 20, "it is recreated")
    found = service.query("select id, planned_count, next_slot - created_at from schedules")

    assert found == [(2, 0, 3600 * SECOND)]
    assert service.query("select count(*) from runs") == [(0,)]


@pytest.mark.fault("F67")
def test_five_nodes_join_at_once_and_four_leave_at_once(service: ManyNodes):
    service.up()
    joining = [service.start() for _ in range(4)]
    wait_for(lambda: len(service.list_nodes()) == 5, 30, "all have joined")
    wait_for_more(service, 3)
    for node in joining:
        os.kill(node.pid, signal.SIGKILL)
    killed_at = time.time_ns() // 1000
    wait_for_more(service, 1)

    counts = service.finish()

    assert counts["steady: succeeded"] >= 4
    started = [line.wall for line in service.lines() if line.what == "start"]
    assert [wall for wall in started if wall > killed_at], "the remaining one continues"
