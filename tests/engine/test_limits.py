"""Service limits on the running engine: one node, two nodes on one database, two real processes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw
import pytest

from harness.cli.desk import Desk
from harness.crash import kills as harness
from harness.crash.kills import wait_for
from harness.engine.service import House, failing
from harness.rules.world import at
from harness.store.stores import HOUSES, new
from quarterjack import rules
from quarterjack.app import SystemRuntime
from quarterjack.declare.declaration import read_declaration
from quarterjack.engine import planner
from quarterjack.rules import AS_A_SETTING, Limits, Status
from quarterjack.times.instants import HOUR, MILLISECOND, SECOND, to_text

AGENT: Limits = AS_A_SETTING["agent"]["limits"]


@pytest.fixture(params=HOUSES)
def make(request: pytest.FixtureRequest) -> Iterator[Callable[..., House]]:
    made: list[House] = []

    def service(*values: Any, **words: Any) -> House:
        made.append(House(*values, on=request.param, **words))
        return made[-1]

    yield service
    for each in made:
        each.close()


@pytest.fixture
def nodes(
    make: Callable[..., House], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Limits], House]:
    """Two nodes on one database, which take turns: each plans three schedules at a time."""
    monkeypatch.setattr(planner, "BATCH", 3)

    def service(limits: Limits) -> House:
        return make(limits=limits, workers=("w1", "w2"), folder=tmp_path)

    return service


def after_an_outage(service: House, until: str) -> None:
    service.sleep_until(until)
    service.restart("w3", "w4")
    service.planned_by.clear()
    service.go(until)


def seconds_after(start: str, service: House) -> list[int]:
    return [(when - at(start)) // SECOND for when, _ in service.calls]


class TestAfterAnOutage:
    @pytest.mark.mission("E6", "E8")
    def test_two_nodes_together_catch_up_five_recurring_ones_five_seconds_apart_oldest_first(
        self, nodes: Callable[[Limits], House]
    ):
        service = nodes(AGENT)
        for minute in range(20, 0, -1):
            service.add(f"at {minute:02}", cron=f"{minute} 9 * * *")
        service.go("08:30")
        after_an_outage(service, "10:30")
        service.go("10:35")

        assert set(service.planned_by) == {"w3", "w4"}, "both have planned"
        assert [call.key for _, call in service.calls] == [
            f"at {minute:02}" for minute in range(1, 6)
        ]
        assert seconds_after("10:30", service) == [0, 5, 10, 15, 20]
        refused = [service.not_run(identity) for identity in range(1, 16)]
        assert refused == [[(1, "outage_limit")]] * 15, "the rest has a row with the reason"
        tomorrow = {service.schedule(identity).next_slot for identity in range(1, 21)}
        assert tomorrow == {at(f"2026-11-17T09:{minute:02}:00Z") for minute in range(1, 21)}

    @pytest.mark.mission("E6")
    def test_one_shots_are_never_lost_and_follow_at_the_same_stagger(
        self, nodes: Callable[[Limits], House]
    ):
        service = nodes(AGENT)
        for number in range(8):
            service.add(f"hourly {number}", every="1h")
        for minute in range(10, 17):
            service.add(f"once {minute}", at=f"2026-11-16T09:{minute}:00Z", catch_up="skip")
        service.go("08:30")
        after_an_outage(service, "09:45")
        service.go("10:00:01")

        started = Counter(call.key.split()[0] for _, call in service.calls[:12])
        assert started == {"hourly": 5, "once": 7}
        assert seconds_after("09:45", service)[:12] == [5 * step for step in range(12)]
        done = [service.schedule(identity).status for identity in range(9, 16)]
        assert done == [Status.DONE] * 7
        assert len(service.calls) == 12 + 8, "the slots of ten are none of the budget"

    @pytest.mark.mission("E6")
    def test_restarting_again_and_again_makes_no_new_budget(self, nodes: Callable[[Limits], House]):
        service = nodes(AGENT)
        for number in range(20):
            service.add(f"s{number}", every="1h")
        service.go("08:30")
        after_an_outage(service, "09:30")
        for second in (2, 4, 6):
            service.restart(f"w{second}", f"x{second}")
            service.go(at("09:30") + second * SECOND)
        service.go("09:45")

        assert len(service.calls) == 5

    @pytest.mark.mission("E6")
    def test_a_schedule_that_cannot_be_planned_makes_no_new_budget(
        self, make: Callable[..., House]
    ):
        """The others of its batch are planned one by one."""
        service = make(limits=AGENT)
        for number in range(12):
            service.add(f"s{number}", every="1h")
        service.go("08:30")
        if service.address is None:
            service.meddle(
                "create trigger picky before insert on runs when new.schedule_id = 3"
                " begin select raise(abort, 'not this one'); end"
            )
        else:
            service.meddle("alter table runs add constraint picky check (schedule_id <> 3)")
        service.sleep_until("09:30")
        service.restart()
        service.go("09:45")

        assert service.schedule(3).status is Status.INVALID
        assert seconds_after("09:30", service) == [0, 5, 10, 15, 20]

    @pytest.mark.mission("E6")
    def test_an_edit_before_the_first_look_takes_from_the_same_budget(
        self, make: Callable[..., House]
    ):
        """At a start the declaration is applied first, and plans under the old definitions."""
        service = make(limits=AGENT)
        for number in range(12):
            service.add(f"s{number}", every="1h")
        service.go("08:30")
        service.sleep_until("09:30")
        for identity in range(1, 9):
            changed = new(f"s{identity - 1}", service.clock.instant, every="2h").specification
            service.ask(identity, rules.edit, changed)
        service.restart()
        service.go("09:45")

        assert seconds_after("09:30", service) == [0, 5, 10, 15, 20]

    @pytest.mark.mission("E6", "E7")
    def test_one_with_ten_errors_is_paused_and_not_dispatched(
        self, nodes: Callable[[Limits], House]
    ):
        service = nodes(AGENT)
        service.add("lenient", every="1m", max_consecutive_errors=50)
        service.add("good", every="1h")
        service.work = lambda call: failing(call) if call.key == "lenient" else None
        service.go("08:12")
        strict = new("lenient", at("08:12"), every="1m", max_consecutive_errors=10).specification
        service.ask(1, rules.edit, strict)
        service.calls.clear()
        after_an_outage(service, "09:30")
        service.go("09:31")

        assert [call.key for _, call in service.calls] == ["good"]
        schedule = service.schedule(1)
        assert (schedule.status, schedule.status_reason) == (Status.PAUSED, "consecutive_errors")
        assert service.not_run(1) == [(78, "consecutive_errors")]


class TestAPlainService:
    """One that says nothing of limits: those of the preset `agent` hold for its schedules."""

    @pytest.mark.mission("E6", "E8")
    def test_of_eight_agents_that_a_restart_of_nine_seconds_has_missed_five_run_5_seconds_apart(
        self, nodes: Callable[[Limits], House]
    ):
        service = nodes(Limits())
        for second in range(8, 0, -1):
            service.add(f"at {second}", preset="agent", every="1h", start_at=eight(second))
        service.go("08:00:00")
        after_an_outage(service, "08:00:09")
        service.go("08:10")

        assert [call.key for _, call in service.calls] == [f"at {second}" for second in range(1, 6)]
        assert seconds_after("08:00:09", service) == [0, 5, 10, 15, 20]
        for identity in (1, 2, 3):
            assert service.not_run(identity) == [(1, "outage_limit")]
        nine = {service.schedule(identity).next_slot for identity in range(1, 9)}
        assert nine == {at(f"09:00:0{second}") for second in range(1, 9)}

    @pytest.mark.mission("E6", "E8")
    def test_of_eight_one_shots_that_it_has_missed_all_run_5_seconds_apart(
        self, nodes: Callable[[Limits], House]
    ):
        service = nodes(Limits())
        for second in range(1, 9):
            service.add(f"at {second}", preset="agent", at=eight(second))
        service.go("08:00:00")
        after_an_outage(service, "08:00:09")
        service.go("08:10")

        assert seconds_after("08:00:09", service) == [0, 5, 10, 15, 20, 25, 30, 35]
        assert {service.schedule(identity).status for identity in range(1, 9)} == {Status.DONE}

    @pytest.mark.mission("E6", "E8", "D7")
    def test_what_is_no_agent_is_caught_up_at_once_or_as_it_says_itself(
        self, nodes: Callable[[Limits], House]
    ):
        service = nodes(Limits())
        for second in range(1, 9):
            service.add(f"agent {second}", preset="agent", every="1h", start_at=eight(second))
            service.add(f"other {second}", every="1h", start_at=eight(second))
            service.add(f"skip {second}", every="1h", start_at=eight(second), catch_up="skip")
        service.go("08:00:00")
        after_an_outage(service, "08:00:09")
        service.go("08:10")

        keys = Counter(call.key.split()[0] for _, call in service.calls)
        assert keys == {"agent": 5, "other": 8}
        at_once = [when for when, call in service.calls if call.key.startswith("other")]
        assert set(at_once) == {at("08:00:09")}
        missed = [service.not_run(identity) for identity in range(3, 25, 3)]
        assert missed == [[(1, "outage")]] * 8

    @pytest.mark.mission("E6", "D7")
    def test_what_a_second_planner_finds_beside_a_living_one_was_not_missed(
        self, nodes: Callable[[Limits], House]
    ):
        service = nodes(Limits())
        service.add("skip", every="1h", start_at=eight(3), catch_up="skip")
        service.go("08:00:00")
        service.sleep_until("08:00:09")
        service.run(service._register("w3", service.store))
        service.go("08:00:09")

        assert [call.key for _, call in service.calls] == ["skip"], "late, and within grace"
        assert service.not_run() == []

    @pytest.mark.mission("E8")
    def test_five_agents_are_dispatched_in_a_second_and_any_number_of_others(
        self, nodes: Callable[[Limits], House]
    ):
        service = nodes(Limits())
        for number in range(8):
            service.add(f"agent {number}", preset="agent", every="1h")
            service.add(f"other {number}", every="1h")
        service.go("09:00:05")

        seconds = Counter(
            (call.key.split()[0], (when - at("09:00")) // SECOND) for when, call in service.calls
        )
        assert seconds == {("agent", 0): 5, ("agent", 1): 3, ("other", 0): 8}

    @pytest.mark.mission("E8")
    @pytest.mark.parametrize(
        ("limits", "seconds"), [(Limits(), 60), (Limits(timer_clamp_ms=2000), 2)]
    )
    def test_the_store_is_looked_at_each_60_seconds_or_as_often_as_is_said(
        self, make: Callable[..., House], limits: Limits, seconds: int
    ):
        service = make(limits=limits)
        service.add(every="12h")
        service.go("08:00:00")

        assert service.wakes["planner w1"] == at("08:00") + seconds * SECOND


def eight(second: int) -> str:
    """08:00, and so many seconds."""
    return f"2026-11-16T08:00:0{second}Z"


class TestThePace:
    @pytest.mark.mission("E8")
    def test_two_nodes_together_dispatch_five_in_a_second(self, nodes: Callable[[Limits], House]):
        service = nodes(Limits(max_dispatch_per_tick=5))
        for number in range(18):
            service.add(f"s{number:02}", every="1h")
        service.go("09:00:05")

        assert seconds_after("09:00", service) == [0] * 5 + [1] * 5 + [2] * 5 + [3] * 3
        assert set(service.planned_by) == {"w1", "w2"}
        assert {service.slots(identity)[0] for identity in range(1, 19)} == {at("09:00")}

    @pytest.mark.mission("E8")
    def test_0_is_unlimited(self, nodes: Callable[[Limits], House]):
        service = nodes(Limits(0, 0, 0, 0, 60_000, 0))
        for number in range(18):
            service.add(f"s{number:02}", every="1h")
        service.go("09:00")
        after_an_outage(service, "10:30")

        assert seconds_after("09:00", service) == [0] * 18 + [90 * 60] * 18


class TestErrors:
    @pytest.mark.mission("E7", "E8")
    @pytest.mark.parametrize(("said", "calls"), [({}, 10), ({"max_consecutive_errors": 3}, 3)])
    def test_in_a_row_pause_a_schedule_and_the_service_says_how_many(
        self, make: Callable[..., House], tmp_path: Path, said: dict[str, int], calls: int
    ):
        file = tmp_path / "q.yaml"
        file.write_text(
            f"preset: agent\nlimits: {said}\nschedules:\n  a: {{every: 1m, task: work}}"
        )
        declaration = read_declaration(file)
        service = make(limits=declaration.limits)
        service.add(**declaration.specification("a", service.clock.instant).to_json())
        service.work = failing
        service.go("09:00")

        assert len(service.calls) == calls
        assert service.schedule().status is Status.PAUSED


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[harness.House]:
    service = harness.House(tmp_path)
    yield service
    service.end()


def age(service: harness.House, hours: int) -> None:
    """As if nobody had looked for so long; of the schedules the last is the oldest."""
    ago = hours * HOUR
    database = apsw.Connection(str(service.database))
    database.execute(f"update planner_state set last_look = last_look - {ago}")
    for instant in ("created_at", "anchor_at", "cursor", "next_slot", "wake_at"):
        database.execute(f"update schedules set {instant} = {instant} - {ago} - id * {SECOND}")
    database.close()


@pytest.mark.mission("E6", "E8")
def test_two_processes_after_an_outage_have_one_budget(folder: harness.House):
    recurring = {f"hourly {n}": {"every": "1h", "command": folder.work(0.8)} for n in range(8)}
    shots = {f"once {n}": {"after": "1h", "command": folder.work(0.8)} for n in range(2)}
    limits = {"catchup_stagger_ms": 600, "max_catchup_runs": 3}
    folder.declare(shots | recurring, preset="agent", limits=limits, workers=1)
    folder.stop(folder.up())
    age(folder, hours=2)

    both = [folder.start(), folder.start()]
    wait_for(lambda: len(folder.lines()) == 2 * 5, 30, "five are caught up")
    for process in both:
        folder.stop(process)

    planned = "select key, ready_at from runs join schedules on id = schedule_id order by ready_at"
    keys, ready = zip(*folder.query(planned), strict=True)
    walls = {line.key: line.wall for line in folder.lines() if line.what == "start"}
    assert keys == ("hourly 7", "hourly 6", "hourly 5", "once 1", "once 0")
    assert [later - sooner for sooner, later in pairwise(ready)] == [600 * MILLISECOND] * 4
    assert all(walls[key] >= instant for key, instant in zip(keys, ready, strict=True))
    assert len(folder.query("select distinct worker from runs")) == 2, "both have worked"
    missed = "select schedule_id from slots_not_run where reason = 'outage_limit'"
    assert len(folder.query(missed)) == 8 - 3
    assert folder.query(f"select count(*) from schedules where wake_at < {ready[0]}") == [(0,)]


@pytest.mark.mission("E8")
def test_a_plain_up_dispatches_five_agents_in_a_second_and_any_number_of_others(
    folder: harness.House,
):
    folder.declare({})
    process = folder.up()
    due = {"at": to_text(SystemRuntime().now() + SECOND), "command": ["true"]}
    agents = [{"key": f"agent {n}", "preset": "agent", **due} for n in range(8)]
    others = [{"key": f"other {n}", **due} for n in range(8)]
    lines = [json.dumps(each) for each in (*agents, *others)]
    Desk(folder.folder).said("add", "--from", "-", given="\n".join(lines))
    ended = "select count(*) from runs where state = 'succeeded'"
    wait_for(lambda: folder.query(ended) == [(16,)], 20, "all have run")
    folder.stop(process)

    planned = "select substr(key, 1, 5), planned_at from runs join schedules on id = schedule_id"
    seconds = Counter((kind, at // SECOND) for kind, at in folder.query(planned))
    together = {second for _, second in seconds}
    assert [seconds["agent", second] for second in sorted(together)] == [5, 3]
    assert [seconds["other", second] for second in sorted(together)] == [8, 0]


@pytest.mark.mission("E8")
def test_a_plain_up_takes_a_thousand_agents_and_any_number_of_others(folder: harness.House):
    folder.declare({"declared": {"every": "1h", "command": ["true"], "preset": "agent"}})
    process, desk = folder.up(), Desk(folder.folder)
    new = json.dumps({"every": "1h", "command": ["true"], "preset": "agent"})
    desk.said("add", "--from", "-", given="\n".join([new] * 999))

    told = desk.refused(1, "add", "--every", "1h", "--set", "preset=agent", "--", "true")
    desk.said("add", "another", "--every", "1h", "--", "true")

    limit = '1000 schedules of the preset "agent" are active and max_scheduled_jobs is 1000'
    assert limit in " ".join(told.split())
    assert folder.query("select count(*) from schedules") == [(1001,)]
    folder.stop(process)


@pytest.mark.mission("E8")
def test_a_declaration_of_more_than_may_be_active_changes_nothing(folder: harness.House):
    every = {"every": "1h", "command": ["true"]}
    folder.declare({"a": every, "b": every}, limits={"max_scheduled_jobs": 2})
    folder.stop(folder.up())
    folder.declare({"b": every, "c": every, "d": every}, limits={"max_scheduled_jobs": 2})

    assert folder.start().wait(20) == 1
    assert "2 schedules are active and max_scheduled_jobs is 2; pause" in folder.log()
    assert folder.query("select key from schedules where deleted_at is null") == [("a",), ("b",)]
