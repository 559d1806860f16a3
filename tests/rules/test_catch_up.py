"""Catch-up: which of several due slots run."""

from __future__ import annotations

from datetime import date
from time import process_time

import pytest

from harness.rules.world import World, at, hours, made_by_slots, minutes, specification
from quarterjack.rules import Facts, Limits, Reason, SlotsNotRun, Status, create, plan
from quarterjack.times.instants import DAY, HOUR, SECOND


def slots_run(world: World, identity: int) -> list[int]:
    return [run.slot for run in made_by_slots(world, identity)]


def asleep(until: str, **fields: object) -> tuple[World, int]:
    """A schedule made at 08:00, and nobody looks before then."""
    world = World()
    identity = world.add(**fields)
    world.go(until)
    world.step()
    return world, identity


@pytest.mark.mission("D7", "V5")
def test_run_once_runs_the_newest_of_all_however_late():
    world, hourly = asleep("2026-11-18T08:59:00Z", every="1h")

    assert slots_run(world, hourly) == [at("2026-11-18T08:00:00Z")]
    assert world.rows(hourly) == [(47, "missed", "coalesced")]


@pytest.mark.mission("V5", "P5")
def test_after_48_hours_down_hourly_and_daily_have_one_run_each():
    world = World("2026-11-16T00:30:00Z")
    hourly, daily = world.add(cron="0 * * * *"), world.add(cron="0 6 * * *")
    world.go("2026-11-18T00:30:00Z")

    world.step()

    assert slots_run(world, hourly) == [at("2026-11-18T00:00:00Z")]
    assert slots_run(world, daily) == [at("2026-11-17T06:00:00Z")]


@pytest.mark.mission("V5")
def test_six_missed_slots_of_every_two_hours_are_one_run_and_then_the_normal_grid():
    world, identity = asleep("20:10", cron="0 */2 * * *")

    assert slots_run(world, identity) == [at("20:00")]
    assert world.schedules[identity].next_slot == at("22:00")


@pytest.mark.mission("D7")
@pytest.mark.parametrize(("late", "runs"), [("09:00:59", 1), ("09:01:00", 1), ("09:01:01", 0)])
def test_skip_runs_the_newest_only_within_grace(late: str, runs: int):
    world, identity = asleep(late, every="1h", catch_up="skip")

    assert len(slots_run(world, identity)) == runs
    assert world.rows(identity) == ([] if runs else [(1, "missed", "grace")])
    assert world.schedules[identity].next_slot == at("10:00")


@pytest.mark.mission("H8")
def test_catch_up_off_at_5_seconds_found_52_late_is_one_run_and_the_next_slot_is_on_the_grid():
    world, identity = asleep("08:00:52", every="5s", catch_up="skip")

    assert slots_run(world, identity) == [at("08:00:50")]
    assert world.rows(identity) == [(9, "missed", "coalesced")]
    assert world.schedules[identity].next_slot == at("08:00:55")


@pytest.mark.mission("H8", "D7")
def test_run_all_runs_each_missed_slot_oldest_first_one_behind_the_other():
    world, identity = asleep("11:30", every="1h", catch_up="run_all")

    assert slots_run(world, identity) == [at("09:00"), at("10:00"), at("11:00")]
    assert world.states(identity) == ["queued", "held", "held"]
    assert all(run.caught_up for run in world.runs.values())
    world.live("11:33")
    assert world.states(identity) == ["succeeded"] * 3


def test_run_all_with_allow_holds_nothing():
    world, identity = asleep("11:30", every="1h", catch_up="run_all", if_running="allow")

    assert world.states(identity) == ["queued"] * 3


@pytest.mark.mission("D7", "H8")
def test_of_1000_missed_slots_run_all_runs_the_newest_100():
    world = World()
    identity = world.add(every="1m", catch_up="run_all")
    world.go(at("08:00") + minutes(1000))

    world.step()

    newest = [at("08:00") + minutes(n) for n in range(901, 1001)]
    assert slots_run(world, identity) == newest
    assert world.rows(identity) == [(900, "missed", "max_catch_up_runs")]


def test_max_catch_up_runs_is_a_setting():
    world, identity = asleep("11:30", every="1h", catch_up="run_all", max_catch_up_runs=1)

    assert slots_run(world, identity) == [at("11:00")]
    assert world.rows(identity) == [(2, "missed", "max_catch_up_runs")]


@pytest.mark.mission("D7")
def test_a_restart_while_catching_up_doubles_nothing():
    world, identity = asleep("11:30", every="1h", catch_up="run_all")
    before = dict(world.runs)

    for _ in range(3):
        world.plan([identity])

    assert world.runs == before
    assert world.rows(identity) == []


@pytest.mark.parametrize(
    ("policy", "ran", "rows"),
    [
        ("run_all", ["10:00", "11:00"], [(1, "missed", "catch_up_window")]),
        ("run_once", ["11:00"], [(1, "missed", "catch_up_window"), (1, "missed", "coalesced")]),
    ],
)
def test_a_slot_older_than_the_window_is_recorded_with_its_reason(
    policy: str, ran: list[str], rows: list[object]
):
    world, identity = asleep("11:30", every="1h", catch_up=policy, catch_up_window="90m")

    assert slots_run(world, identity) == [at(slot) for slot in ran]
    assert world.rows(identity) == rows


def test_the_window_includes_its_very_edge_and_nothing_runs_beyond_it():
    world, identity = asleep("09:30", every="1h", catch_up_window="30m")
    assert slots_run(world, identity) == [at("09:00")]

    world, identity = asleep("09:31", every="1h", catch_up_window="30m")
    assert slots_run(world, identity) == []
    assert world.rows(identity) == [(1, "missed", "catch_up_window")]


@pytest.mark.mission("D12")
@pytest.mark.parametrize("policy", ["run_once", "skip", "run_all"])
def test_a_one_shot_is_never_dropped_however_late(policy: str):
    world, identity = asleep(
        "2027-11-16T09:30:00Z",
        at="2026-11-16T09:00:00Z",
        catch_up=policy,
        catch_up_window="1m",
        grace="1s",
    )

    assert slots_run(world, identity) == [at("09:00")]
    assert world.rows(identity) == []


@pytest.mark.mission("D12")
@pytest.mark.parametrize("when", [{"at": "2020-01-01T00:00:00Z"}, {"at": "2026-11-16T08:00:00Z"}])
def test_an_at_in_the_past_that_never_fired_fires_at_once(when: dict[str, str]):
    world = World()
    identity = world.add(**when)

    world.step()
    world.claim()
    world.end(f"{identity}-0")
    world.step()

    assert world.states(identity) == ["succeeded"]
    assert world.schedules[identity].status is Status.DONE


def test_the_newest_slot_that_a_window_admits_is_the_one_that_runs():
    fields = {"every": "1h", "only_between": "08:00-18:00"}
    world, identity = asleep("21:30", **fields)

    assert slots_run(world, identity) == [at("17:00")]
    assert world.rows(identity) == [(8, "missed", "coalesced"), (4, "skipped", "only_between")]


def test_run_all_counts_only_slots_that_a_window_admits():
    world, identity = asleep(
        "2026-11-18T08:30:00Z",
        every="1h",
        only_between="09:00-11:00",
        catch_up="run_all",
        max_catch_up_runs=3,
    )

    assert slots_run(world, identity) == [
        at("2026-11-16T10:00:00Z"),
        at("2026-11-17T09:00:00Z"),
        at("2026-11-17T10:00:00Z"),
    ]
    assert world.rows(identity) == [
        (1, "missed", "max_catch_up_runs"),
        (22, "skipped", "only_between"),
        (22, "skipped", "only_between"),
    ]


def test_slots_that_nobody_looked_at_for_years_cost_a_bounded_look_at_their_window():
    rare = {"every": "1h", "not_on": ["saturday"], "only_between": "08:30-09:30"}
    world = World()
    identity = world.add(**rare, catch_up="run_all", max_catch_up_runs=1000)
    world.go(at("08:00") + 4000 * DAY)

    (decided,) = world.plan([identity])

    assert len(decided.added) == 1000
    assert len(decided.not_run) < 2500
    assert world.rows(identity)[0][1:] == ("missed", "max_catch_up_runs")
    assert sum(count for count, _, _ in world.rows(identity)) + len(decided.added) == 4000 * 24


def test_a_window_that_has_long_been_closed_is_given_up_with_all_slots_told():
    year = range(date(2027, 1, 1).toordinal(), date(2028, 1, 1).toordinal())
    everyday = [date.fromordinal(day) for day in year]
    world = World("2026-12-31T23:30:00Z")
    identity = world.add(every="1h", not_on=everyday, only_between="08:00-18:00")
    world.go("2027-12-28T12:45:00Z")

    (decided,) = world.plan([identity])

    assert decided.added == ()
    assert (
        sum(row.count for row in decided.not_run)
        == (world.now - at("2026-12-31T23:30:00Z")) // HOUR
    )
    assert len(decided.not_run) <= 504
    assert decided.not_run[0].reason == "coalesced"


def test_two_slots_within_grace_are_still_only_one_run_for_the_newest():
    world, identity = asleep("08:02:10", every="1m")

    assert slots_run(world, identity) == [at("08:02")]
    assert [run.caught_up for run in world.runs.values()] == [True]


def test_a_slot_on_time_is_no_catch_up():
    world, identity = asleep("09:00:30", every="1h")

    assert [run.caught_up for run in world.runs.values()] == [False]
    assert world.schedules[identity].last_fired_at == at("09:00:30")
    assert world.schedules[identity].last_slot == at("09:00")


def test_a_slot_found_later_than_grace_is_a_catch_up():
    world, _ = asleep("09:02", every="1h")

    assert [run.caught_up for run in world.runs.values()] == [True]


def test_neighbours_passed_over_for_one_reason_share_a_row_also_over_many_steps():
    world = World()
    identity = world.add(every="1m")
    world.live("08:01")
    world.go("08:02")
    world.step()
    world.claim()  # a run that takes a long time
    for minute in range(3, 10):
        world.go(f"08:0{minute}")
        world.step()

    assert world.rows(identity) == [(7, "skipped", "overlap")]
    world.end(f"{identity}-1")
    world.live("08:11")
    world.go("08:12")
    world.step()
    world.claim()
    world.go("08:13")
    world.step()
    assert world.rows(identity) == [(7, "skipped", "overlap"), (1, "skipped", "overlap")]


def test_rows_of_different_reasons_stay_apart():
    world = World()
    identity = world.add(every="1h")
    world.go("09:00")
    world.step()
    world.claim()
    world.go("12:30")
    world.step()
    world.go("13:00")
    world.step()

    assert world.rows(identity) == [(2, "missed", "coalesced"), (2, "skipped", "overlap")]


@pytest.mark.parametrize(
    "fields",
    [
        {"every": "1s"},
        {"every": "1s", "catch_up": "run_all"},
        {"every": "1s", "catch_up": "skip"},
        {"cron": "* * * * * *", "seconds": True, "timezone": "America/New_York"},
        {"every": "1s", "only_between": "03:00-03:10", "not_on": ["sunday"]},
        {"every": "1s", "catch_up": "run_all", "only_between": "03:00-03:01"},
    ],
    ids=str,
)
def test_a_year_asleep_is_planned_in_under_10_ms(fields: dict[str, object]):
    now = at("08:00")
    chosen = specification(now=now, **fields)
    schedule = create(1, "s", chosen, now, active=0, limits=Limits())
    facts = Facts([schedule])
    later = now + 365 * DAY
    plan(facts, later)  # caches are warm in a process that lives for a year
    costs = []
    for _ in range(5):
        begun = process_time()
        plan(facts, later)
        costs.append(process_time() - begun)
    decided = plan(facts, later).plans[0]

    assert min(costs) < 0.010
    total = sum(row.count for row in decided.not_run) + len(decided.added)
    assert total == 365 * 86_400
    assert len(decided.not_run) + len(decided.added) <= 700


def test_a_passed_over_row_says_what_it_stands_for():
    row = SlotsNotRun(at("09:00"), at("11:00"), 3, Reason.COALESCED)

    assert row.state == "missed"
    assert SlotsNotRun(at("09:00"), at("11:00"), 3, Reason.OVERLAP).state == "skipped"
    assert Reason.OVERLAP.meaning == "an earlier run was still open"


def test_a_clock_that_steps_back_plans_nothing_twice():
    world, identity = asleep("09:00", every="1h")

    world.go(at("09:00") - hours(2))
    world.plan([identity])
    world.go(at("09:00") + 30 * SECOND)
    world.plan([identity])

    assert slots_run(world, identity) == [at("09:00")]
    assert world.schedules[identity].next_slot == at("10:00")


def test_the_end_of_a_recurrence_is_the_end_of_the_schedule():
    world = World()
    identity = world.add(every="1h", end_at="2026-11-16T10:00:00Z")
    world.live("12:00")

    schedule = world.schedules[identity]
    assert slots_run(world, identity) == [at("09:00"), at("10:00")]
    assert (schedule.status, schedule.status_reason) == ("done", "no_more_slots")
