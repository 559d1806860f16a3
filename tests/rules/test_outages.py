"""Outages of any length: what came due while no planner was alive was missed."""

from __future__ import annotations

from typing import Any

import pytest

from harness.rules.world import World, at, specification
from quarterjack import rules
from quarterjack.errors import Conflict
from quarterjack.rules import (
    Facts,
    Limits,
    Outage,
    Schedule,
    Status,
    outage_at_start,
    read_specification,
)
from quarterjack.times.instants import SECOND

START = "09:00:09"


def restarted(world: World, until: str = START) -> None:
    """The only planner is gone, and comes back then."""
    last_look = world.now
    world.go(until)
    world.start_planner(last_look)
    world.step()


def starts(world: World) -> list[int]:
    """How long after the restart each run may start, in seconds."""
    return [(run.ready_at - at(START)) // SECOND for run in world.runs.values()]


@pytest.mark.mission("E6")
def test_after_nine_seconds_five_agents_are_caught_up_and_the_others_wait_for_their_next_slot():
    world = World()
    world.go("09:00")
    ids = [world.add(prompt="hello", every="5s") for _ in range(8)]

    restarted(world)

    assert starts(world) == [0, 5, 10, 15, 20]
    missed = [each for each in ids if not world.states(each)]
    assert [world.rows(each) for each in missed] == [[(1, "missed", "outage_limit")]] * 3
    assert all((world.schedules[each].next_slot or 0) > world.now for each in ids)


@pytest.mark.mission("E6")
def test_after_nine_seconds_every_one_shot_of_an_agent_runs_five_seconds_apart():
    world = World()
    world.go("09:00")
    for n in range(8):
        world.add(prompt="hello", at=f"2026-11-16T09:00:0{n + 1}Z")

    restarted(world)

    assert starts(world) == [0, 5, 10, 15, 20, 25, 30, 35]


@pytest.mark.mission("E6")
def test_what_is_missed_in_a_second_outage_starts_behind_what_waits_from_the_first():
    world = World()
    world.go("09:00")
    for n in range(3):
        world.add(prompt="hello", at=f"2026-11-16T09:00:0{n + 1}Z")
    later = world.add(prompt="hello", at="2026-11-16T09:00:10Z")
    restarted(world)

    restarted(world, "09:00:11")

    (run,) = [run for run in world.runs.values() if run.schedule_id == later]
    assert run.ready_at == at(START) + 15 * SECOND


@pytest.mark.mission("E6", "E8")
def test_the_budgets_of_agents_hold_back_no_other_schedule():
    world = World()
    world.go("09:00")
    for _ in range(8):
        world.add(prompt="hello", every="5s")
    others = [world.add(every="5s") for _ in range(8)]

    restarted(world)

    assert len(world.runs) == 5 + 8
    ready = [run.ready_at for run in world.runs.values() if run.schedule_id in others]
    assert max(ready) <= world.now


@pytest.mark.mission("E6", "E8")
def test_limits_that_the_service_gives_ration_all_schedules_together():
    world = World(limits=Limits(max_catchup_runs=3, catchup_stagger_ms=1000))
    world.go("09:00")
    for _ in range(4):
        world.add(prompt="hello", every="5s")
        world.add(every="5s")

    restarted(world)

    assert starts(world) == [0, 1, 2]


@pytest.mark.mission("E6", "E8")
@pytest.mark.parametrize("operation", ["delete", "pause", "edit"])
def test_what_is_closed_in_the_same_decision_takes_nothing_from_the_budgets(operation: str):
    """As when a declaration drops or disables schedules at the start."""
    world = World()
    world.go("09:00")
    ids = [world.add(prompt="hello", every="5s") for _ in range(8)]
    world.go(START)
    world.start_planner(at("09:00"))

    for identity in ids[:5]:
        if operation == "edit":
            world.edit(identity, prompt="hello", every="5s", enabled=False)
        else:
            getattr(world, operation)(identity)
    world.step()

    reason = "deleted" if operation == "delete" else "paused"
    assert [world.states(each) for each in ids[:5]] == [[f"skipped: {reason}"]] * 5
    assert [world.states(each) for each in ids[5:]] == [["queued"]] * 3
    assert starts(world)[5:] == [0, 5, 10]


@pytest.mark.mission("E8")
def test_a_limit_of_zero_lifts_that_of_agents():
    world = World(limits=Limits(max_catchup_runs=0, catchup_stagger_ms=0))
    world.go("09:00")
    for _ in range(8):
        world.add(prompt="hello", every="5s")

    restarted(world)

    # Five were dispatched in this second: that limit was left as it is.
    assert len(world.runs) == 5


@pytest.mark.mission("E8")
def test_on_a_plain_service_a_thousand_agents_may_be_active_and_any_number_of_others():
    def create(active: int, **fields: Any) -> Schedule:
        said = read_specification({"every": "1h", **fields}, key="k", now=at("09:00"))
        return rules.create(1, "k", said, at("09:00"), active=active, limits=Limits())

    with pytest.raises(Conflict) as refused:
        create(1000, prompt="hello")

    assert create(999, prompt="hello").status is create(1000, task="work").status is Status.ACTIVE
    assert str(refused.value) == (
        '1000 schedules of the preset "agent" are active and max_scheduled_jobs is 1000; '
        "pause or delete one, or raise the limit"
    )


@pytest.mark.mission("E8")
class TestASchedule:
    """Of any preset, that an edit makes one of the agents."""

    def edited(self, others: int, limits: Limits = Limits(), **words: Any) -> Schedule:  # noqa: B008
        world = World()
        before = world.schedules[world.add(every="1h", preset=words.pop("was", "horsies"))]
        facts = Facts([before._replace(**words)], limits=limits, active=others)
        agent = specification(every="1h", preset="agent")
        return rules.edit(facts, agent, at("08:00")).plans[0].schedule

    def test_is_refused_if_there_is_no_room_for_one_more_agent(self):
        with pytest.raises(Conflict, match='1000 schedules of the preset "agent" are active and'):
            self.edited(1000)

        assert self.edited(999).specification.is_agent

    def test_is_refused_too_if_it_rests_only_until_some_instant(self):
        rests = {"status": Status.PAUSED, "paused_by": "ada", "paused_until": at("12:00")}
        with pytest.raises(Conflict, match="max_scheduled_jobs is 1000"):
            self.edited(1000, **rests)

        assert self.edited(1000, **rests | {"paused_until": None}).status is Status.PAUSED

    def test_that_was_one_already_takes_no_other_place(self):
        assert self.edited(1000, was="agent").version == 2

    def test_takes_no_other_place_among_all(self):
        assert self.edited(1000, limits=Limits(max_scheduled_jobs=900)).version == 2


@pytest.mark.mission("E6", "D7")
@pytest.mark.parametrize("restarts", [1, 3])
def test_skip_runs_nothing_that_came_due_while_no_planner_was_alive(restarts: int):
    world = World()
    world.go("09:00")
    identity = world.add(every="5s", catch_up="skip")

    for _ in range(restarts):
        restarted(world)

    assert world.states(identity) == []
    assert world.rows(identity) == [(1, "missed", "outage")]


@pytest.mark.mission("D7")
def test_skip_runs_what_came_due_after_the_planner_had_started():
    world = World()
    world.go("09:00")
    identity = world.add(every="5s", catch_up="skip")
    world.go("09:00:07")
    world.start_planner(at("09:00"))
    world.go("09:00:11")
    world.step()

    assert [run.slot for run in world.runs.values()] == [at("09:00:10")]
    assert world.rows(identity) == [(1, "missed", "outage")]


@pytest.mark.mission("D7")
def test_what_is_created_after_the_start_was_never_missed():
    world = World()
    world.go("09:00")
    world.start_planner(at("08:00"))
    world.add(every="1m", first_run="now", catch_up="skip")
    world.step()

    assert [run.slot for run in world.runs.values()] == [at("09:00")]


def test_a_start_that_dies_before_it_plans_leaves_the_budget_of_the_outage_as_it_was():
    known = Outage(at("08:00"), at("08:50"), at("08:50:10"), recurring=2)

    same = outage_at_start(known, at("08:00"), at("08:51"))
    another = outage_at_start(known, at("08:50"), at("08:51"))

    assert same == Outage(at("08:00"), at("08:51"), at("08:50:10"), recurring=2)
    assert another == Outage(at("08:50"), at("08:51"), at("08:50:10"))
    assert outage_at_start(None, None, at("08:51")) == Outage(0, at("08:51"))
    ahead = known._replace(until=at("09:50"))
    assert outage_at_start(ahead, at("08:50"), at("08:51")) == Outage(at("08:50"), at("08:51"))
