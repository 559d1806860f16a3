"""Faults of clocks, users and many planners, one at a time in an otherwise quiet simulation, which
the campaign's checker checks."""

from __future__ import annotations

from typing import Any

import pytest

from harness.sim.checker import Checker
from harness.sim.journal import keep_journal
from quarterjack.control import Control
from quarterjack.rules import Limits
from quarterjack.sim.faults import Fault
from quarterjack.sim.profile import Profile
from quarterjack.sim.scripted_target import End, Script
from quarterjack.sim.simulation import Simulation
from quarterjack.times.instants import DAY, HOUR, MILLISECOND, MINUTE, SECOND, read_instant

START = read_instant("2026-11-16T08:00:00Z", "start")
HOURLY = {"cron": "0 * * * *", "task": "work"}
OFTEN = {"every": "5m", "task": "work", "catch_up": "run_all"}
LAZY = {"every": "10m", "task": "work", "catch_up": "skip", "if_running": "queue"}
NIGHTLY = {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "task": "work"}
EVERYTHING = (HOURLY, OFTEN, LAZY, NIGHTLY)


class QuietSimulation(Simulation):
    """Without random faults and requests; all work takes a second."""

    def __init__(self, *definitions: dict[str, Any], hosts: int = 1, one_host: bool = True) -> None:
        super().__init__(
            Profile(
                seed=1,
                start=START,
                duration=DAY,
                recovery=HOUR,
                hosts=hosts,
                schedules=0,
                slots_per_day=1,
                fault_interval=0,
                request_interval=0,
                hint_delivery=0,
                latency=0,
                is_one_host=one_host,
                limits=Limits(),
                lease=10 * SECOND,
                concurrency=6,
            )
        )
        self.scripts: dict[int, Script] = {}
        keep_journal(self)
        self.start()
        for fields in definitions:
            self.run_now(self.users.create(fields))

    def script(self, call: Any) -> Script:
        return self.scripts.get(call.schedule_id, Script(SECOND, End.SUCCEEDS))

    def run_for(self, span: int) -> None:
        self.run_until(self.loop.instant + span)

    def step_clock(self, step: int) -> None:
        """Recorded, so that the checker allows delays."""
        self.faults.record(Fault.CLOCK_STEP, "all", 2 * abs(step) + 5 * SECOND)
        self.set_clock(self.clock.ahead + step)

    def request(self, action: str, schedule_id: int, *values: Any, **arguments: Any) -> None:
        """By a user; the arguments are those that the checker needs."""

        async def call(control: Control) -> None:
            await getattr(control, action)(schedule_id, *values)

        self.run_now(self.users.request(action, schedule_id, arguments, call))

    def checked(self) -> Checker:
        """Heals the simulation and asserts that there is no violation."""
        self.heal()
        self.run_for(HOUR)
        checker = Checker(self)
        assert checker.violations() == []
        return checker

    def slots_of(self, checker: Checker, schedule_id: int) -> list[int]:
        return sorted(versions[0].slot for versions in checker.rows.runs_of[schedule_id])


@pytest.mark.fault("F35")
@pytest.mark.parametrize("step", [SECOND, MINUTE, HOUR, DAY])
def test_a_clock_that_is_set_back_fires_nothing_again(step: int):
    simulation = QuietSimulation(*EVERYTHING, hosts=2)
    simulation.run_for(6 * HOUR + 3 * MINUTE)
    simulation.step_clock(-step)
    simulation.run_for(step + 6 * HOUR)

    slots = simulation.slots_of(simulation.checked(), 1)
    assert len(slots) == len(set(slots))
    assert slots[:12] == [START + hour * HOUR for hour in range(1, 13)]


@pytest.mark.fault("F36")
@pytest.mark.parametrize("step", [MINUTE, HOUR, DAY])
def test_a_clock_that_is_set_forward_is_caught_up_by_the_policies(step: int):
    simulation = QuietSimulation(*EVERYTHING, hosts=2)
    simulation.run_for(2 * HOUR + 3 * MINUTE)
    simulation.step_clock(step)
    simulation.run_for(2 * HOUR)
    checker = simulation.checked()

    caught_up = [
        versions for versions in checker.rows.runs_of[2] if versions[0].slot > START + 2 * HOUR
    ]
    assert len(caught_up) >= min(step // (5 * MINUTE), 100), "as many as run_all allows"


@pytest.mark.fault("F36")
def test_a_clock_that_is_ahead_by_years_stops_planning_until_it_is_set_right():
    simulation = QuietSimulation(*EVERYTHING, hosts=2)
    simulation.run_for(2 * HOUR + 3 * MINUTE)
    planned = simulation.database.query("select count(*) from runs")
    simulation.step_clock(3650 * DAY)
    simulation.run_for(HOUR)
    assert simulation.database.query("select count(*) from runs") == planned
    problems = [
        problem for host in simulation.hosts if host.node for problem in host.node.problems()
    ]
    assert len(problems) == 4, "of the planner and the pruner of each host"
    assert all("the clock jumped by +3,650.0 days" in problem for problem in problems)

    simulation.step_clock(-3650 * DAY)
    simulation.run_for(2 * HOUR)

    slots = simulation.slots_of(simulation.checked(), 1)
    assert slots == [START + hour * HOUR for hour in (1, 2, 3, 4, 5, 6)]


@pytest.mark.fault("F37")
def test_a_clock_that_is_set_many_times_repeats_no_slot_and_causes_no_busy_loop():
    simulation = QuietSimulation(*EVERYTHING, hosts=3)
    simulation.run_for(HOUR - 10 * SECOND)
    simulation.faults.strobe_clock(Fault.CLOCK_STROBE)
    calls = len(simulation.record.calls)
    simulation.run_for(MINUTE)
    assert len(simulation.record.calls) - calls < 5000

    simulation.run_for(3 * HOUR)
    slots = simulation.slots_of(simulation.checked(), 1)
    assert slots == [START + hour * HOUR for hour in (1, 2, 3, 4, 5)]


@pytest.mark.fault("F38")
@pytest.mark.parametrize("skew", [5 * SECOND, 5 * MINUTE, HOUR])
def test_hosts_whose_clocks_differ_agree_by_the_clock_of_the_database(skew: int):
    simulation = QuietSimulation(*EVERYTHING, {**OFTEN, "max_retries": 3}, hosts=3, one_host=False)
    simulation.hosts[0].clock.ahead, simulation.hosts[1].clock.ahead = skew, -skew
    simulation.run_for(6 * HOUR)
    checker = simulation.checked()

    assert simulation.slots_of(checker, 1) == [START + hour * HOUR for hour in range(1, 8)]
    ends = [
        versions[-1]
        for versions in checker.rows.runs.values()
        if versions[-1].finished_at is not None
    ]
    assert {row.attempt for row in ends} == {1}, "no lease is lost"
    assert {(row.finished_at or 0) - (row.started_at or 0) for row in ends} == {SECOND}


@pytest.mark.fault("F39")
def test_a_leap_second_is_a_step_of_one_second():
    simulation = QuietSimulation(*EVERYTHING, {"cron": "59 23 * * *", "task": "work"}, hosts=2)
    simulation.run_for(16 * HOUR)
    simulation.step_clock(-SECOND)  # 23:59:59 occurs twice
    simulation.run_for(2 * HOUR)
    for _ in range(1000):  # and a smeared one: a second in many steps
        simulation.clock.ahead += MILLISECOND
        simulation.run_for(MINUTE // 10)

    slots = simulation.slots_of(simulation.checked(), 5)
    assert slots == [read_instant("2026-11-16T23:59:00Z", "slot")]


@pytest.mark.fault("F43")
def test_nodes_with_different_zone_data_plan_each_slot_once():
    simulation = QuietSimulation(*EVERYTHING, hosts=2)
    simulation.hosts[1].zone_data = "2020a"
    for _ in range(6):
        simulation.run_for(HOUR)
        simulation.hosts[1].stop()
    checker = simulation.checked()

    assert simulation.slots_of(checker, 1) == [START + hour * HOUR for hour in range(1, 8)]


@pytest.mark.fault("F44")
def test_a_zone_that_is_gone_stops_its_own_schedule_only(monkeypatch: pytest.MonkeyPatch):
    simulation = QuietSimulation(*EVERYTHING)
    simulation.run_for(HOUR)
    simulation.database.query(
        "update specifications set body = replace(body, 'Europe/Berlin', 'Europe/Atlantis')"
    )
    monkeypatch.setenv("TZ", "Pacific/Apia")
    simulation.hosts[0].stop()
    simulation.run_for(DAY)

    states = simulation.database.query("select id, status, status_reason from schedules")
    assert [state[:2] for state in states if state[1] != "active"] == [(4, "invalid")]
    assert "Europe/Atlantis" in states[3][2]
    checker = Checker(simulation)
    assert simulation.slots_of(checker, 1) == [START + hour * HOUR for hour in range(1, 26)]


@pytest.mark.fault("F60")
@pytest.mark.parametrize("action", ["edit", "pause", "delete", "rename"])
@pytest.mark.parametrize("step", range(6))
def test_requests_between_any_two_steps_of_a_run_do_no_harm(action: str, step: int):
    """A request while the slot of 09:00 is planned, claimed, run and settled."""
    beside = [-MILLISECOND, 0, MILLISECOND, SECOND // 2, SECOND, SECOND + MILLISECOND][step]
    simulation = QuietSimulation(HOURLY, OFTEN, hosts=2)
    simulation.run_until(START + HOUR + beside)
    if action == "edit":
        changes = {"every": "7m", "start_at": None, "end_at": None}
        simulation.request("edit", 1, changes, changes=changes)
    elif action == "rename":
        simulation.request("edit", 1, {"name": "Ada's"}, changes={"name": "Ada's"})
    else:
        simulation.request(action, 1)
    simulation.run_for(3 * HOUR)
    checker = simulation.checked()

    assert START + HOUR in simulation.slots_of(checker, 1) or beside < 0 or action == "delete"
    ran = [versions[0] for versions in checker.rows.runs_of[1] if versions[0].slot == START + HOUR]
    assert beside < 0 or all(run.version == 1 for run in ran), "with the version of then"


def test_a_slot_that_is_due_at_the_instant_its_schedule_pauses_itself_has_a_row():
    """Found by seed 22: an attempt timed out at the instant of the next slot."""
    fields = {"every": "10m", "task": "work", "timeout": "10m", "on_exhausted": "pause"}
    simulation = QuietSimulation(fields)
    simulation.scripts[1] = Script(HOUR, End.HANGS)
    simulation.run_for(3 * HOUR)
    checker = simulation.checked()

    (row,) = checker.rows.slots_not_run[1]
    assert (row.first, row.count, row.reason) == (START + 20 * MINUTE, 1, "exhausted")


def test_a_lease_is_renewed_by_its_own_age_whenever_the_renewer_polls():
    simulation = QuietSimulation({"every": "10m", "task": "work"})
    simulation.scripts[1] = Script(8 * SECOND, End.SUCCEEDS)
    slot = START + 10 * MINUTE
    simulation.run_until(slot - 58 * SECOND)
    node = simulation.hosts[0].node
    assert node is not None
    node.hint("lease renewer")  # so that it polls again two seconds after the claim
    simulation.run_until(slot + MINUTE)

    renewed = [
        each.at - slot for each in simulation.record.calls if each.transaction == "renew_leases"
    ]
    assert renewed == [3 * SECOND, 6 * SECOND]


@pytest.mark.fault("F54")
@pytest.mark.parametrize(("timeout", "attempt"), [("none", 1), ("10m", 1), ("8s", 2)])
def test_work_that_blocks_its_event_loop_past_its_lease_is_lost_only_after_its_timeout(
    timeout: str, attempt: int
):
    fields = {"every": "30m", "task": "work", "timeout": timeout}
    simulation = QuietSimulation(fields, hosts=2, one_host=False)
    simulation.run_until(START + 30 * MINUTE - SECOND)
    for host in simulation.hosts:  # whichever starts it
        simulation.faults._blocks[host.actor] = 5 * MINUTE
    simulation.run_until(START + 30 * MINUTE + SECOND)
    simulation.faults._blocks.clear()
    simulation.run_until(START + 59 * MINUTE)
    checker = simulation.checked()

    (first, *_) = [versions for versions in checker.rows.runs_of[1] if versions[0].attempt == 0]
    assert (first[-1].state, first[-1].attempt) == ("succeeded", attempt)
    leases = [
        each.lease_until or 0 for each in first if (each.state, each.attempt) == ("running", 1)
    ]
    kept = max(leases) - first[0].slot
    assert timeout != "8s" or 13 * SECOND < kept <= 23 * SECOND


@pytest.mark.fault("F61")
def test_a_schedule_that_was_paused_for_months_resumes_at_its_next_slot():
    simulation = QuietSimulation(HOURLY, NIGHTLY)
    simulation.run_for(90 * MINUTE)
    simulation.request("pause", 1)
    simulation.run_for(120 * DAY)
    simulation.request("resume", 1)
    simulation.run_for(2 * HOUR)
    slots = simulation.slots_of(simulation.checked(), 1)

    resumed = START + 120 * DAY + 90 * MINUTE
    assert slots == [START + HOUR, *(resumed + n * HOUR - 30 * MINUTE for n in (1, 2, 3))]


@pytest.mark.fault("F64")
def test_many_planners_without_a_leader_plan_what_one_plans():
    planned = []
    for hosts in (1, 2, 5):
        simulation = QuietSimulation(*EVERYTHING, hosts=hosts)
        simulation.run_for(2 * DAY)
        checker = simulation.checked()
        planned.append([simulation.slots_of(checker, each) for each in (1, 2, 3, 4)])

    assert planned[0] == planned[1] == planned[2]
    assert [len(slots) for slots in planned[0]] == [49, 588, 294, 2]
