"""Service limits in real processes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import apsw
import pytest

from harness.cli.command_line import CommandLine
from harness.crash.kills import RealService, wait_for
from quarterjack.cli.runtime import Runtime
from quarterjack.times.instants import HOUR, MILLISECOND, SECOND, to_text


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RealService]:
    service = RealService(tmp_path)
    yield service
    service.end()


def simulate_outage(service: RealService, hours: int) -> None:
    """Moves all stored instants into the past; the last schedule becomes the oldest."""
    ago = hours * HOUR
    database = apsw.Connection(str(service.database))
    database.execute(f"update planner_state set last_look = last_look - {ago}")
    for instant in ("created_at", "anchor_at", "cursor", "next_slot", "wake_at"):
        database.execute(f"update schedules set {instant} = {instant} - {ago} - id * {SECOND}")
    database.close()


@pytest.mark.mission("E6", "E8")
def test_two_processes_share_one_budget_after_an_outage(service: RealService):
    recurring = {f"hourly {n}": {"every": "1h", "command": service.work(0.8)} for n in range(8)}
    shots = {f"once {n}": {"after": "1h", "command": service.work(0.8)} for n in range(2)}
    limits = {"catchup_stagger_ms": 600, "max_catchup_runs": 3}
    service.declare(shots | recurring, preset="agent", limits=limits, workers=1)
    service.stop(service.up())
    simulate_outage(service, hours=2)

    both = [service.start(), service.start()]
    wait_for(lambda: len(service.lines()) == 2 * 5, 30, "five are caught up")
    for process in both:
        service.stop(process)

    planned = "select key, ready_at from runs join schedules on id = schedule_id order by ready_at"
    keys, ready = zip(*service.query(planned), strict=True)
    walls = {line.key: line.wall for line in service.lines() if line.what == "start"}
    assert keys == ("hourly 7", "hourly 6", "hourly 5", "once 1", "once 0")
    assert [later - sooner for sooner, later in pairwise(ready)] == [600 * MILLISECOND] * 4
    assert all(walls[key] >= instant for key, instant in zip(keys, ready, strict=True))
    assert len(service.query("select distinct worker from runs")) == 2, "both have worked"
    missed = "select schedule_id from slots_not_run where reason = 'outage_limit'"
    assert len(service.query(missed)) == 8 - 3
    assert service.query(f"select count(*) from schedules where wake_at < {ready[0]}") == [(0,)]


@pytest.mark.mission("E8")
def test_by_default_five_agent_schedules_are_dispatched_in_a_second_and_all_others(
    service: RealService,
):
    service.declare({})
    process = service.up()
    due = {"at": to_text(Runtime().now() + SECOND), "command": ["true"]}
    agents = [{"key": f"agent {n}", "preset": "agent", **due} for n in range(8)]
    others = [{"key": f"other {n}", **due} for n in range(8)]
    lines = [json.dumps(each) for each in (*agents, *others)]
    CommandLine(service.folder).output("add", "--from", "-", stdin="\n".join(lines))
    ended = "select count(*) from runs where state = 'succeeded'"
    wait_for(lambda: service.query(ended) == [(16,)], 20, "all have run")
    service.stop(process)

    planned = "select substr(key, 1, 5), planned_at from runs join schedules on id = schedule_id"
    seconds = Counter((kind, at // SECOND) for kind, at in service.query(planned))
    together = {second for _, second in seconds}
    assert [seconds["agent", second] for second in sorted(together)] == [5, 3]
    assert [seconds["other", second] for second in sorted(together)] == [8, 0]


@pytest.mark.mission("E8")
def test_by_default_a_thousand_agent_schedules_may_be_active_and_any_number_of_others(
    service: RealService,
):
    service.declare({"declared": {"every": "1h", "command": ["true"], "preset": "agent"}})
    process, cli = service.up(), CommandLine(service.folder)
    new = json.dumps({"every": "1h", "command": ["true"], "preset": "agent"})
    cli.output("add", "--from", "-", stdin="\n".join([new] * 999))

    told = cli.error(1, "add", "--every", "1h", "--set", "preset=agent", "--", "true")
    cli.output("add", "another", "--every", "1h", "--", "true")

    limit = '1000 schedules of the preset "agent" are active and max_scheduled_jobs is 1000'
    assert limit in " ".join(told.split())
    assert service.query("select count(*) from schedules") == [(1001,)]
    service.stop(process)


@pytest.mark.mission("E8")
def test_a_declaration_with_too_many_active_schedules_changes_nothing(service: RealService):
    every = {"every": "1h", "command": ["true"]}
    service.declare({"a": every, "b": every}, limits={"max_scheduled_jobs": 2})
    service.stop(service.up())
    service.declare({"b": every, "c": every, "d": every}, limits={"max_scheduled_jobs": 2})

    assert service.start().wait(20) == 1
    assert "2 schedules are active and max_scheduled_jobs is 2; pause" in service.log()
    assert service.query("select key from schedules where deleted_at is null") == [("a",), ("b",)]
