"""Schedulers and workers as real processes, on a real PostgreSQL, that are really killed."""

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
    stopped_short,
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
def test_schedulers_plan_and_workers_work_apart(service: ManyNodes):
    for what in ("scheduler", "scheduler", "worker", "worker"):
        service.up(what, *(["-c", "2"] if what == "worker" else []))
    wait_for(lambda: service.succeeded() >= 4, 20, "four runs end")

    judged = service.finish()

    assert judged["steady: succeeded"] >= 4
    started = [service.log_of(number).read_text().count(" started run=") for number in range(4)]
    assert started[:2] == [0, 0], "schedulers run nothing"
    assert min(started[2:]) > 0, "both workers do"


def test_nodes_are_listed_until_they_stop_or_die(service: ManyNodes):
    service.up("scheduler")
    doomed, leaving = service.up("worker"), service.up("worker")
    shown = service.listed()
    assert [(each["plans"], each["works"]) for each in shown] == [
        (True, False),
        (False, True),
        (False, True),
    ]
    assert len({each["edition"] for each in shown}) == 1
    assert all(abs(each["ahead_seconds"]) < 1 for each in shown)

    doomed.kill()
    leaving.terminate()
    leaving.wait(20)
    assert len(service.listed()) == 2, "one has left, and one may still be there"
    wait_for(lambda: len(service.listed()) == 1, 30, "the dead one is not seen any more")


@pytest.mark.mission("V3", "V10")
@pytest.mark.fault("F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9")
def test_one_of_three_is_killed_at_each_step_and_nothing_is_missed_doubled_or_early(
    service: ManyNodes,
):
    judged = killed_at_each_step(service)

    assert judged["steady: succeeded"] >= 10
    assert judged["once only: lost"] >= 1


@pytest.mark.fault("F10")
def test_killed_again_and_again_three_nodes_lose_and_double_nothing(service: ManyNodes):
    judged = killed_at_random(service, kills=10, seed=7)

    assert judged["steady: succeeded"] > 5


@pytest.mark.fault("F1")
def test_after_a_planner_is_killed_the_other_leaves_no_gap(service: ManyNodes):
    assert gap_after_a_kill(service) < 5


@pytest.mark.fault("F6")
def test_the_run_of_a_lost_worker_goes_on_elsewhere(service: ManyNodes):
    """Within 12 s of a lease of 10 s; here both are shorter."""
    assert taken_over_after(service, lease=2) < 4

    wait_for(lambda: service.succeeded("long") == 1, 20, "it ends")


@pytest.mark.fault("F11", "F12")
def test_nodes_that_are_stopped_past_their_lease_change_nothing_when_they_go_on(service: ManyNodes):
    nodes = [service.up() for _ in range(3)]
    for _ in range(3):
        for node in nodes[:2]:
            service.freeze(node)
        wait_for_more(service, 3)
        for node in nodes[:2]:
            node.send_signal(signal.SIGCONT)

    judged = service.finish()

    assert judged["steady: succeeded"] >= 9


@pytest.mark.fault("F11")
def test_nobody_takes_the_run_of_a_worker_that_was_stopped_for_less_than_its_lease(
    service: ManyNodes,
):
    assert stopped_short(service, workers=5, stops=25, seed=1, lease=4, margin=0.25) == 0


@pytest.mark.fault("F38")
def test_nodes_whose_clocks_are_off_run_nothing_early_late_or_twice(service: ManyNodes):
    for seconds in ("-300", "0", "+300"):
        service.up(program=[*SKEWED, seconds])
    wait_for(lambda: service.succeeded() >= 6, 30, "it works")

    ahead = sorted(round(each["ahead_seconds"]) for each in service.listed())
    judged = service.finish()

    assert ahead == [-300, 0, 300]
    assert judged["steady: succeeded"] >= 6
    assert service.log().count("the clock of this host is not the database's") == 2


@pytest.mark.mission("H7")
def test_a_row_that_somebody_removed_is_made_anew_from_now_without_a_backlog(service: ManyNodes):
    hourly = {"every": "1h", "command": service.work(0), "catch_up": "run_all"}
    service.declare({"hourly": hourly}, limits={"timer_clamp_ms": 1000})
    service.up("scheduler")
    service.up("scheduler")
    service.query("delete from schedules")

    wait_for(lambda: service.query("select id from schedules"), 20, "it is there again")
    found = service.query("select id, planned_count, next_slot - created_at from schedules")

    assert found == [(2, 0, 3600 * SECOND)]
    assert service.query("select count(*) from runs") == [(0,)]


@pytest.mark.fault("F67")
def test_five_nodes_join_at_once_and_four_leave_at_once(service: ManyNodes):
    service.up()
    joining = [service.start() for _ in range(4)]
    wait_for(lambda: len(service.listed()) == 5, 30, "all have joined")
    wait_for_more(service, 3)
    for node in joining:
        os.kill(node.pid, signal.SIGKILL)
    killed_at = time.time_ns() // 1000
    wait_for_more(service, 1)

    judged = service.finish()

    assert judged["steady: succeeded"] >= 4
    started = [line.wall for line in service.lines() if line.what == "start"]
    assert [wall for wall in started if wall > killed_at], "the one that is left goes on"
