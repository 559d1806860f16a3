"""Service limits: what all schedules of a store share."""

from __future__ import annotations

import pytest

from harness.rules.world import World, at
from quarterjack.errors import Conflict, InvalidSpecification
from quarterjack.rules import (
    Facts,
    Limits,
    Outage,
    Pace,
    next_look,
    noticed_outage,
    read_limits,
    read_specification,
    run_now,
)
from quarterjack.rules.definition.presets import AS_A_SETTING
from quarterjack.rules.policies.limits import current_outage
from quarterjack.times.instants import MILLISECOND, MINUTE, SECOND

AGENT = AS_A_SETTING["agent"]["limits"]
AFTER_THE_OUTAGE = AGENT._replace(max_dispatch_per_tick=0)


def after_an_outage(world: World, until: str) -> None:
    last_look = world.now
    world.go(until)
    world.start_planner(last_look)
    world.step()


@pytest.mark.mission("E6", "E8")
def test_five_missed_schedules_are_caught_up_5_seconds_apart_oldest_first():
    world = World(limits=AFTER_THE_OUTAGE)
    ids = [world.add(prompt="hello", cron=f"{40 - n} * * * *") for n in range(8)]

    after_an_outage(world, "08:50")

    starts = [(run.schedule_id, run.ready_at) for run in world.runs.values()]
    oldest = list(reversed(ids))[:5]
    assert starts == [(each, at("08:50") + n * 5 * SECOND) for n, each in enumerate(oldest)]
    for identity in ids[:3]:
        assert world.rows(identity) == [(1, "missed", "outage_limit")]
        assert (world.schedules[identity].next_slot or 0) > world.now


@pytest.mark.mission("E6")
def test_one_shots_are_never_lost_those_beyond_follow_at_the_same_stagger():
    world = World(limits=AFTER_THE_OUTAGE)
    for n in range(6):
        world.add(prompt="hello", cron=f"{10 + n} * * * *")
    shots = [world.add(prompt="hello", at=f"2026-11-16T08:2{n}:00Z") for n in range(3)]

    after_an_outage(world, "08:50")

    starts = {run.schedule_id: run.ready_at for run in world.runs.values()}
    assert len(starts) == 5 + 3
    assert [starts[shot] for shot in shots] == [at("08:50") + n * 5 * SECOND for n in (5, 6, 7)]


@pytest.mark.mission("E6")
def test_there_is_one_budget_per_outage_however_many_nodes_plan():
    world = World(limits=AFTER_THE_OUTAGE)
    ids = [world.add(prompt="hello", cron=f"{10 + n} * * * *") for n in range(8)]
    world.outage = Outage(at("08:00"), at("08:50"))
    world.go("08:50")

    for identity in ids:
        world.plan([identity])

    assert len(world.runs) == 5
    assert world.outage == Outage(at("08:00"), at("08:50"), at("08:50:25"), recurring=5)


@pytest.mark.mission("E6")
def test_it_is_the_same_outage_until_a_look_is_noted():
    known = Outage(at("08:00"), at("08:50"), recurring=5)

    again = current_outage(known, at("08:00"), AGENT, at("08:51"))
    another = current_outage(known, at("08:51"), AGENT, at("09:00"))

    assert again == Outage(at("08:00"), at("08:51"), recurring=5)
    assert another == Outage(at("08:51"), at("09:00"))
    assert current_outage(known, at("08:59"), AGENT, at("09:00")) == known
    assert current_outage(None, at("08:00"), AGENT, at("09:00")) == Outage(at("08:00"), at("09:00"))
    assert current_outage(None, at("08:59"), AGENT, at("09:00")) is None


@pytest.mark.mission("E6")
def test_what_a_person_changes_after_an_outage_takes_from_its_budget():
    world = World(limits=AFTER_THE_OUTAGE._replace(max_catchup_runs=1))
    schedule = world.schedules[world.add(every="10m", if_running="allow")]
    facts = Facts([schedule], limits=world.limits, last_look=at("08:00"))
    known = Outage(at("08:00"), at("08:50"), recurring=1)

    first = run_now(facts, at("08:55"))
    second = run_now(facts._replace(outage=known), at("08:55"))
    unaware = run_now(facts._replace(limits=Limits(), outage=known), at("08:55"))

    assert first.outage == Outage(at("08:00"), at("08:55"), at("08:55:05"), recurring=1)
    assert [str(row.reason) for row in second.plans[0].not_run] == ["coalesced", "outage_limit"]
    assert unaware.outage is not None, "whoever knows no limits forgets no budget"


@pytest.mark.mission("E6")
def test_those_who_are_planned_late_still_start_one_stagger_apart():
    world = World(limits=Limits(max_dispatch_per_tick=2, catchup_stagger_ms=400))
    for n in range(1, 5):
        world.add(every="10m", start_at=f"2026-11-16T08:2{n}:00Z")
    after_an_outage(world, "08:50")
    world.go("08:50:01")
    world.step()

    starts = [(run.ready_at - at("08:50")) // MILLISECOND for run in world.runs.values()]
    assert starts == [0, 400, 1000, 1400]


@pytest.mark.mission("E6", "E8")
@pytest.mark.parametrize("stagger", [0, 5000])
def test_after_an_outage_those_beyond_its_budget_do_not_wait_for_the_pace(stagger: int):
    limits = Limits(max_dispatch_per_tick=2, max_catchup_runs=2, catchup_stagger_ms=stagger)
    world = World(limits=limits)
    recurring = [world.add(every="1h") for _ in range(6)]
    after_an_outage(world, "09:30")

    assert [world.states(each) for each in recurring[:2]] == [["queued"]] * 2
    assert [world.rows(each) for each in recurring[2:]] == [[(1, "missed", "outage_limit")]] * 4


@pytest.mark.mission("E6", "E8")
@pytest.mark.parametrize(("stagger", "planned_at_once"), [(499, 2), (500, 4)])
def test_a_stagger_that_keeps_the_pace_is_pace_enough(stagger: int, planned_at_once: int):
    world = World(limits=Limits(max_dispatch_per_tick=2, catchup_stagger_ms=stagger))
    for n in range(4):
        world.add(at=f"2026-11-16T08:2{n}:00Z")
    after_an_outage(world, "08:50")

    assert len(world.runs) == planned_at_once


@pytest.mark.mission("E6")
def test_a_slot_after_the_outage_is_none_of_its_budget():
    world = World(limits=AFTER_THE_OUTAGE)
    for n in range(6):
        world.add(prompt="hello", cron=f"{10 + n},55 * * * *")
    after_an_outage(world, "08:50")

    world.go("08:55")
    for run in list(world.runs.values()):
        world.claim()
        world.end(run.id)
    world.step()

    assert len(world.runs) == 5 + 6


@pytest.mark.mission("E6")
def test_a_run_that_overlap_forbids_takes_nothing_from_the_budget():
    world = World(limits=AFTER_THE_OUTAGE._replace(max_catchup_runs=1))
    busy = world.add(prompt="hello", cron="10 * * * *")
    world.run_now(busy)
    free = world.add(prompt="hello", cron="11 * * * *")

    after_an_outage(world, "08:50")

    assert world.rows(busy) == [(1, "skipped", "overlap")]
    assert world.states(free) == ["queued"]


def test_an_outage_is_noticed_when_nobody_looked_for_longer_than_the_gap():
    assert noticed_outage(None, at("09:00"), MINUTE) is None
    assert noticed_outage(at("08:59"), at("09:00"), MINUTE) is None
    assert noticed_outage(at("08:58"), at("09:00"), MINUTE) == Outage(at("08:58"), at("09:00"))


def test_an_outage_covers_what_came_due_while_nobody_looked():
    outage = Outage(at("08:00"), at("09:00"))

    covered = [outage.covers(at(slot)) for slot in ("08:00", "08:30", "09:00", "09:30")]
    assert covered == [True, True, False, False]


@pytest.mark.mission("E8")
def test_at_most_max_dispatch_per_tick_schedules_are_planned_in_a_second():
    world = World(limits=Limits(max_dispatch_per_tick=5))
    ids = [world.add(every="1h") for _ in range(12)]
    world.go("09:00")

    world.step()
    assert [run.schedule_id for run in world.runs.values()] == ids[:5]
    waits = [world.schedules[identity].wake_at for identity in ids[5:]]
    assert waits == [at("09:00:01")] * 5 + [at("09:00:02")] * 2
    assert world.rows(ids[5]) == []

    world.go("09:00:01")
    world.step()
    assert len(world.runs) == 10
    world.go("09:00:02")
    world.step()
    assert [run.schedule_id for run in world.runs.values()] == ids
    assert {run.slot for run in world.runs.values()} == {at("09:00")}


def test_those_who_wait_for_their_second_are_not_forgotten_when_it_comes():
    limits = Limits(max_dispatch_per_tick=2)
    pace = Pace(second=10, dispatched=2, postponed=5)

    assert pace.postpones_until(limits) == 13 * SECOND
    assert pace.at(10 * SECOND + 7, limits) == pace
    assert pace.at(11 * SECOND, limits) == Pace(11, 0, 3)
    assert pace.at(99 * SECOND, limits) == Pace(99, 0, 0)
    assert pace.at(9 * SECOND, limits) == pace, "another node's clock is a little behind"
    assert pace.at(0, limits) == Pace(0, 0, 5), "the clock was set"
    assert pace.at(99 * SECOND, Limits()) == pace, "nothing is rationed, so nothing is written"
    assert Pace(11, 1, 3).postpones_until(limits) is None
    assert pace.postpones_until(Limits()) is None


def test_the_next_second_counts_anew():
    world = World(limits=Limits(max_dispatch_per_tick=1))
    one, other = world.add(every="1m"), world.add(every="1m", start_at="2026-11-16T08:01:01Z")
    world.go("08:01:01")
    world.plan([one])
    world.go("08:01:02")
    world.plan([other])

    assert len(world.runs) == 2


def test_people_do_not_wait_for_the_pace():
    world = World(limits=Limits(max_dispatch_per_tick=1))
    for _ in range(3):
        world.add(every="1h")
    world.go("09:00")

    for identity in (1, 2, 3):
        world.pause(identity)

    assert [world.states(identity) for identity in (1, 2, 3)] == [["skipped: paused"]] * 3


@pytest.mark.mission("E8")
def test_no_more_than_max_scheduled_jobs_are_active():
    world = World(limits=Limits(max_scheduled_jobs=2))
    first = world.add(every="1h")
    world.add(every="1h")
    with pytest.raises(Conflict, match="2 schedules are active and max_scheduled_jobs is 2; pause"):
        world.add(every="1h")
    world.add(every="1h", enabled=False)

    world.pause(first)
    world.add(every="1h")
    with pytest.raises(Conflict, match="max_scheduled_jobs"):
        world.resume(first)


@pytest.mark.mission("E8")
def test_the_store_is_looked_at_no_later_than_the_clamp():
    limits = Limits(timer_clamp_ms=5000)
    now = at("09:00")

    assert next_look(now, None, limits) == now + 5 * SECOND
    assert next_look(now, now + 2 * SECOND, limits) == now + 2 * SECOND
    assert next_look(now, now + MINUTE, limits) == now + 5 * SECOND
    assert next_look(now, now - MINUTE, limits) == now


@pytest.mark.mission("E8")
def test_every_limit_can_be_set():
    said = {
        "max_scheduled_jobs": 1000,
        "max_dispatch_per_tick": 5,
        "max_catchup_runs": 5,
        "catchup_stagger_ms": 5000,
        "timer_clamp_ms": 60000,
        "max_consecutive_errors": 10,
    }

    assert read_limits(said) == AGENT == Limits(**said)
    assert read_limits({}) == Limits(timer_clamp_ms=60_000)
    assert read_limits({"max_catchup_runs": 7}, AGENT) == AGENT._replace(max_catchup_runs=7)


@pytest.mark.mission("E8")
@pytest.mark.parametrize(("limits", "errors"), [({}, 10), ({"max_consecutive_errors": 0}, 0)])
def test_0_lifts_a_limit_that_the_preset_has(limits: dict[str, int], errors: int):
    said = {"prompt": "hello", "every": "1h"}

    specification = read_specification(said, key="a", now=0, limits=read_limits(limits))

    assert specification.max_consecutive_errors == errors


@pytest.mark.parametrize("limits", [5, [], "max_catchup_runs: 3"])
def test_limits_are_a_mapping(limits: object):
    with pytest.raises(InvalidSpecification, match="is no mapping; write names and numbers"):
        read_limits(limits)


def test_nobody_starves_when_more_is_due_than_may_be_dispatched():
    world = World(limits=Limits(max_dispatch_per_tick=2))
    ids = [world.add(every="2s") for _ in range(6)]
    for second in range(2, 122):
        world.go(at("08:00") + second * SECOND)
        world.step()
        for run in world.claim():
            world.end(run.id)

    counts = [world.schedules[identity].run_count for identity in ids]
    assert min(counts) >= 25
    assert sum(counts) >= 230


def test_those_who_wait_for_the_pace_still_release_what_is_held():
    world = World(limits=Limits(max_dispatch_per_tick=1))
    first = world.add(every="10m")
    second = world.add(every="10m", if_running="queue", catch_up="run_all")
    world.go("08:20")
    world.plan([second])
    world.claim()
    world.come("08:30")
    world.end(f"{second}-0")
    world.plan([first, second])

    assert world.states(second)[:2] == ["succeeded", "queued"]
    assert (world.schedules[second].wake_at or 0) > at("08:30")


def test_wrong_limits_are_refused_all_at_once():
    with pytest.raises(InvalidSpecification) as caught:
        read_limits({"timer_clamp_ms": 500, "max_jobs": 3, "max_catchup_runs": -1})

    assert [str(problem) for problem in caught.value.problems] == [
        "timer_clamp_ms 500 is outside 1000-60000; give a whole number from 1000 to 60000",
        "max_jobs 3 is unknown; use max_scheduled_jobs, max_dispatch_per_tick, max_catchup_runs, "
        "catchup_stagger_ms, timer_clamp_ms, max_consecutive_errors",
        "max_catchup_runs -1 is outside 0-1000000; give a whole number from 0 to 1000000",
    ]
    assert str(caught.value).startswith("limits: 3 problems")


def test_an_outage_that_a_clock_ahead_has_noticed_is_forgotten():
    limits = Limits(max_catchup_runs=5, catchup_stagger_ms=5000)
    ahead = current_outage(None, at("08:00"), limits, at("10:00"))
    assert ahead is not None

    assert current_outage(ahead, at("10:00"), limits, at("08:01")) is None
    assert current_outage(ahead, at("10:00"), limits, at("10:00")) == ahead
