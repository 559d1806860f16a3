"""Faults of time, of people and of many planners, one by one: each in a world that is quiet else,
and judged by the same checker as the campaign."""

from __future__ import annotations

from typing import Any

import pytest

from harness.sim.checker import Judge
from harness.sim.journal import keep_journal
from quarterjack.control import Control
from quarterjack.rules import Limits
from quarterjack.sim.faults import Fault
from quarterjack.sim.profile import Profile
from quarterjack.sim.work import End, Script
from quarterjack.sim.world import World
from quarterjack.times.instants import DAY, HOUR, MILLISECOND, MINUTE, SECOND, read_instant

START = read_instant("2026-11-16T08:00:00Z", "start")
HOURLY = {"cron": "0 * * * *", "task": "work"}
OFTEN = {"every": "5m", "task": "work", "catch_up": "run_all"}
LAZY = {"every": "10m", "task": "work", "catch_up": "skip", "if_running": "queue"}
NIGHTLY = {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "task": "work"}
EVERYTHING = (HOURLY, OFTEN, LAZY, NIGHTLY)


class QuietWorld(World):
    """Nothing happens in it but what a test does; all work takes a second."""

    def __init__(self, *definitions: dict[str, Any], hosts: int = 1, one_host: bool = True) -> None:
        super().__init__(
            Profile(
                seed=1,
                start=START,
                lasts=DAY,
                heals_for=HOUR,
                hosts=hosts,
                schedules=0,
                a_day=1,
                faults_every=0,
                people_every=0,
                hints_kept=0,
                latency=0,
                is_one_host=one_host,
                limits=Limits(),
                lease=10 * SECOND,
                seats=6,
            )
        )
        self.scripts: dict[int, Script] = {}
        keep_journal(self)
        self.begin()
        for fields in definitions:
            self.do(self.asking.create(fields))

    def script(self, call: Any) -> Script:
        return self.scripts.get(call.schedule_id, Script(SECOND, End.SUCCEEDS))

    def go_for(self, span: int) -> None:
        self.go(self.loop.instant + span)

    def step_clock(self, step: int) -> None:
        """And everybody may say that something was wrong."""
        self.faults._struck(Fault.CLOCK, "all", 2 * abs(step) + 5 * SECOND)
        self.set_clock(self.clock.ahead + step)

    def ask(self, verb: str, *values: Any, **words: Any) -> Any:
        """What a person asks, as the checker expects to find it."""
        answers: list[Any] = []
        said = words.pop("said", {})

        async def asking(control: Control) -> None:
            answers.append(await getattr(control, verb)(*values, **words))

        self.do(self.asking._ask(verb, values[0], said, asking))
        return answers[0] if answers else None

    def judged(self) -> Judge:
        """Healed, and without a violation."""
        self.heal()
        self.go_for(HOUR)
        judge = Judge(self)
        assert judge.violations() == []
        return judge

    def slots_of(self, judge: Judge, schedule_id: int) -> list[int]:
        return sorted(life[0].slot for life in judge.lives.runs_of[schedule_id])


@pytest.mark.fault("F35")
@pytest.mark.parametrize("step", [SECOND, MINUTE, HOUR, DAY])
def test_a_clock_that_is_set_back_fires_nothing_again(step: int):
    world = QuietWorld(*EVERYTHING, hosts=2)
    world.go_for(6 * HOUR + 3 * MINUTE)
    world.step_clock(-step)
    world.go_for(step + 6 * HOUR)

    slots = world.slots_of(world.judged(), 1)
    assert len(slots) == len(set(slots))
    assert slots[:12] == [START + hour * HOUR for hour in range(1, 13)]


@pytest.mark.fault("F36")
@pytest.mark.parametrize("step", [MINUTE, HOUR, DAY])
def test_a_clock_that_is_set_forward_is_caught_up_by_the_policies(step: int):
    world = QuietWorld(*EVERYTHING, hosts=2)
    world.go_for(2 * HOUR + 3 * MINUTE)
    world.step_clock(step)
    world.go_for(2 * HOUR)
    judge = world.judged()

    caught_up = [life for life in judge.lives.runs_of[2] if life[0].slot > START + 2 * HOUR]
    assert len(caught_up) >= min(step // (5 * MINUTE), 100), "as many as run_all allows"


@pytest.mark.fault("F36")
def test_a_clock_that_is_ahead_by_years_stops_planning_until_it_is_set_right():
    world = QuietWorld(*EVERYTHING, hosts=2)
    world.go_for(2 * HOUR + 3 * MINUTE)
    planned = world.database.ask("select count(*) from runs")
    world.step_clock(3650 * DAY)
    world.go_for(HOUR)
    assert world.database.ask("select count(*) from runs") == planned
    told = [problem for host in world.hosts if host.node for problem in host.node.problems()]
    assert len(told) == 4, "of the planner and the pruner of each"
    assert all("the clock jumped by +3,650.0 days" in problem for problem in told)

    world.step_clock(-3650 * DAY)
    world.go_for(2 * HOUR)

    slots = world.slots_of(world.judged(), 1)
    assert slots == [START + hour * HOUR for hour in (1, 2, 3, 4, 5, 6)]


@pytest.mark.fault("F37")
def test_a_clock_that_strobes_doubles_nothing_and_nobody_is_busy_for_ever():
    world = QuietWorld(*EVERYTHING, hosts=3)
    world.go_for(HOUR - 10 * SECOND)
    world.faults._strobe(Fault.STROBE)
    verbs = len(world.record.moments)
    world.go_for(MINUTE)
    assert len(world.record.moments) - verbs < 5000

    world.go_for(3 * HOUR)
    slots = world.slots_of(world.judged(), 1)
    assert slots == [START + hour * HOUR for hour in (1, 2, 3, 4, 5)]


@pytest.mark.fault("F38")
@pytest.mark.parametrize("skew", [5 * SECOND, 5 * MINUTE, HOUR])
def test_hosts_whose_clocks_differ_agree_by_the_clock_of_the_database(skew: int):
    world = QuietWorld(*EVERYTHING, {**OFTEN, "max_retries": 3}, hosts=3, one_host=False)
    world.hosts[0].clock.ahead, world.hosts[1].clock.ahead = skew, -skew
    world.go_for(6 * HOUR)
    judge = world.judged()

    assert world.slots_of(judge, 1) == [START + hour * HOUR for hour in range(1, 8)]
    ends = [life[-1] for life in judge.lives.runs.values() if life[-1].finished_at is not None]
    assert {row.attempt for row in ends} == {1}, "no lease is taken from anybody"
    assert {(row.finished_at or 0) - (row.started_at or 0) for row in ends} == {SECOND}


@pytest.mark.fault("F39")
def test_a_leap_second_is_a_step_of_one_second():
    world = QuietWorld(*EVERYTHING, {"cron": "59 23 * * *", "task": "work"}, hosts=2)
    world.go_for(16 * HOUR)
    world.step_clock(-SECOND)  # 23:59:59 comes twice
    world.go_for(2 * HOUR)
    for _ in range(1000):  # and a smeared one: a second within as many steps
        world.clock.ahead += MILLISECOND
        world.go_for(MINUTE // 10)

    slots = world.slots_of(world.judged(), 5)
    assert slots == [read_instant("2026-11-16T23:59:00Z", "slot")]


@pytest.mark.fault("F43")
def test_nodes_with_different_zone_data_plan_each_slot_once():
    world = QuietWorld(*EVERYTHING, hosts=2)
    world.hosts[1].zone_data = "2020a"
    for _ in range(6):
        world.go_for(HOUR)
        world.hosts[1].stop()
    judge = world.judged()

    assert world.slots_of(judge, 1) == [START + hour * HOUR for hour in range(1, 8)]


@pytest.mark.fault("F44")
def test_a_zone_that_is_gone_stops_its_own_schedule_only(monkeypatch: pytest.MonkeyPatch):
    world = QuietWorld(*EVERYTHING)
    world.go_for(HOUR)
    world.database.ask(
        "update specifications set body = replace(body, 'Europe/Berlin', 'Europe/Atlantis')"
    )
    monkeypatch.setenv("TZ", "Pacific/Apia")
    world.hosts[0].stop()
    world.go_for(DAY)

    states = world.database.ask("select id, status, status_reason from schedules")
    assert [state[:2] for state in states if state[1] != "active"] == [(4, "invalid")]
    assert "Europe/Atlantis" in states[3][2]
    judge = Judge(world)
    assert world.slots_of(judge, 1) == [START + hour * HOUR for hour in range(1, 26)]


@pytest.mark.fault("F60")
@pytest.mark.parametrize("verb", ["edit", "pause", "delete", "rename"])
@pytest.mark.parametrize("step", range(6))
def test_what_people_do_between_any_two_steps_is_no_matter(verb: str, step: int):
    """A person comes while the slot of 09:00 is planned, claimed, run and settled."""
    beside = [-MILLISECOND, 0, MILLISECOND, SECOND // 2, SECOND, SECOND + MILLISECOND][step]
    world = QuietWorld(HOURLY, OFTEN, hosts=2)
    world.go(START + HOUR + beside)
    if verb == "edit":
        changes = {"every": "7m", "start_at": None, "end_at": None}
        world.ask("edit", 1, changes, said={"changes": changes})
    elif verb == "rename":
        world.ask("edit", 1, {"name": "Ada's"}, said={"changes": {"name": "Ada's"}})
    else:
        world.ask(verb, 1)
    world.go_for(3 * HOUR)
    judge = world.judged()

    assert START + HOUR in world.slots_of(judge, 1) or beside < 0 or verb == "delete"
    ran = [life[0] for life in judge.lives.runs_of[1] if life[0].slot == START + HOUR]
    assert beside < 0 or all(run.version == 1 for run in ran), "as it was defined then"


def test_a_slot_that_is_due_in_the_moment_in_which_its_schedule_stops_itself_has_a_row():
    """Found by seed 22: an attempt ran into its timeout at the very instant of the next slot."""
    fields = {"every": "10m", "task": "work", "timeout": "10m", "on_exhausted": "pause"}
    world = QuietWorld(fields)
    world.scripts[1] = Script(HOUR, End.HANGS)
    world.go_for(3 * HOUR)
    judge = world.judged()

    (row,) = judge.lives.not_run[1]
    assert (row.first, row.count, row.reason) == (START + 20 * MINUTE, 1, "exhausted")


def test_a_lease_is_renewed_by_its_own_age_whenever_the_renewer_looks():
    world = QuietWorld({"every": "10m", "task": "work"})
    world.scripts[1] = Script(8 * SECOND, End.SUCCEEDS)
    slot = START + 10 * MINUTE
    world.go(slot - 58 * SECOND)
    node = world.hosts[0].node
    assert node is not None
    node.hint("renewer")  # so that it looks again two seconds after the claim
    world.go(slot + MINUTE)

    renewed = [each.at - slot for each in world.record.moments if each.verb == "renew_leases"]
    assert renewed == [3 * SECOND, 6 * SECOND]


@pytest.mark.fault("F61")
def test_a_schedule_that_rested_for_months_goes_on_at_its_next_slot():
    world = QuietWorld(HOURLY, NIGHTLY)
    world.go_for(90 * MINUTE)
    world.ask("pause", 1)
    world.go_for(120 * DAY)
    world.ask("resume", 1)
    world.go_for(2 * HOUR)
    slots = world.slots_of(world.judged(), 1)

    resumed = START + 120 * DAY + 90 * MINUTE
    assert slots == [START + HOUR, *(resumed + n * HOUR - 30 * MINUTE for n in (1, 2, 3))]


@pytest.mark.fault("F64")
def test_many_planners_without_a_leader_plan_what_one_plans():
    planned = []
    for hosts in (1, 2, 5):
        world = QuietWorld(*EVERYTHING, hosts=hosts)
        world.go_for(2 * DAY)
        judge = world.judged()
        planned.append([world.slots_of(judge, each) for each in (1, 2, 3, 4)])

    assert planned[0] == planned[1] == planned[2]
    assert [len(slots) for slots in planned[0]] == [49, 588, 294, 2]
