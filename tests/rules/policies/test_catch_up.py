"""Catch-up: which of several due slots run."""

from __future__ import annotations

from time import process_time

import pytest

from harness.rules.in_memory_service import InMemoryService, made_by_slots
from harness.rules.values import at, minutes, specification
from quarterjack.rules import Facts, Limits, Status, create, plan
from quarterjack.times.instants import DAY

START = "09:00:09"


def slots_that_ran(service: InMemoryService, identity: int) -> list[int]:
    return [run.slot for run in made_by_slots(service, identity)]


def planned_at(until: str, **fields: object) -> tuple[InMemoryService, int]:
    """A schedule created at 08:00 and planned only at this instant."""
    service = InMemoryService()
    identity = service.add(**fields)
    service.advance_to(until)
    service.plan_due()
    return service, identity


def restart_planner(service: InMemoryService, until: str = START) -> None:
    """The only planner is gone, and comes back then."""
    last_step_at = service.now
    service.advance_to(until)
    service.start_planner(last_step_at)
    service.plan_due()


@pytest.mark.mission("D7", "V5")
def test_run_once_runs_only_the_newest_slot_however_late():
    service, hourly = planned_at("2026-11-18T08:59:00Z", every="1h")

    assert slots_that_ran(service, hourly) == [at("2026-11-18T08:00:00Z")]
    assert service.not_run_rows(hourly) == [(47, "missed", "coalesced")]


@pytest.mark.mission("V5", "P5")
def test_after_48_hours_down_hourly_and_daily_have_one_run_each():
    service = InMemoryService("2026-11-16T00:30:00Z")
    hourly, daily = service.add(cron="0 * * * *"), service.add(cron="0 6 * * *")
    service.advance_to("2026-11-18T00:30:00Z")

    service.plan_due()

    assert slots_that_ran(service, hourly) == [at("2026-11-18T00:00:00Z")]
    assert slots_that_ran(service, daily) == [at("2026-11-17T06:00:00Z")]


@pytest.mark.mission("V5")
def test_six_missed_slots_become_one_run_and_the_next_slot_is_unchanged():
    service, identity = planned_at("20:10", cron="0 */2 * * *")

    assert slots_that_ran(service, identity) == [at("20:00")]
    assert service.schedules[identity].next_slot == at("22:00")


@pytest.mark.mission("D7")
@pytest.mark.parametrize(("late", "runs"), [("09:00:59", 1), ("09:01:00", 1), ("09:01:01", 0)])
def test_skip_runs_the_newest_slot_only_within_grace(late: str, runs: int):
    service, identity = planned_at(late, every="1h", catch_up="skip")

    assert len(slots_that_ran(service, identity)) == runs
    assert service.not_run_rows(identity) == ([] if runs else [(1, "missed", "grace")])
    assert service.schedules[identity].next_slot == at("10:00")


@pytest.mark.mission("H8")
def test_skip_with_an_interval_of_5_seconds_planned_52_seconds_late_runs_one_slot():
    service, identity = planned_at("08:00:52", every="5s", catch_up="skip")

    assert slots_that_ran(service, identity) == [at("08:00:50")]
    assert service.not_run_rows(identity) == [(9, "missed", "coalesced")]
    assert service.schedules[identity].next_slot == at("08:00:55")


@pytest.mark.mission("H8", "D7")
def test_run_all_runs_each_missed_slot_oldest_first_one_after_the_other():
    service, identity = planned_at("11:30", every="1h", catch_up="run_all")

    assert slots_that_ran(service, identity) == [at("09:00"), at("10:00"), at("11:00")]
    assert service.states(identity) == ["queued", "held", "held"]
    assert all(run.caught_up for run in service.runs.values())
    service.run_until("11:33")
    assert service.states(identity) == ["succeeded"] * 3


def test_run_all_with_allow_queues_all_runs_at_once():
    service, identity = planned_at("11:30", every="1h", catch_up="run_all", if_running="allow")

    assert service.states(identity) == ["queued"] * 3


@pytest.mark.mission("D7", "H8")
def test_of_1000_missed_slots_run_all_runs_the_newest_100():
    service = InMemoryService()
    identity = service.add(every="1m", catch_up="run_all")
    service.advance_to(at("08:00") + minutes(1000))

    service.plan_due()

    newest = [at("08:00") + minutes(n) for n in range(901, 1001)]
    assert slots_that_ran(service, identity) == newest
    assert service.not_run_rows(identity) == [(900, "missed", "max_catch_up_runs")]


def test_max_catch_up_runs_is_a_setting():
    service, identity = planned_at("11:30", every="1h", catch_up="run_all", max_catch_up_runs=1)

    assert slots_that_ran(service, identity) == [at("11:00")]
    assert service.not_run_rows(identity) == [(2, "missed", "max_catch_up_runs")]


@pytest.mark.mission("D7")
def test_planning_again_while_catching_up_adds_nothing():
    service, identity = planned_at("11:30", every="1h", catch_up="run_all")
    before = dict(service.runs)

    for _ in range(3):
        service.plan([identity])

    assert service.runs == before
    assert service.not_run_rows(identity) == []


@pytest.mark.parametrize(
    ("policy", "ran", "rows"),
    [
        ("run_all", ["10:00", "11:00"], [(1, "missed", "catch_up_window")]),
        ("run_once", ["11:00"], [(1, "missed", "catch_up_window"), (1, "missed", "coalesced")]),
    ],
)
def test_a_slot_older_than_catch_up_window_is_recorded_with_its_reason(
    policy: str, ran: list[str], rows: list[object]
):
    service, identity = planned_at("11:30", every="1h", catch_up=policy, catch_up_window="90m")

    assert slots_that_ran(service, identity) == [at(slot) for slot in ran]
    assert service.not_run_rows(identity) == rows


def test_a_slot_exactly_as_old_as_catch_up_window_runs():
    service, identity = planned_at("09:30", every="1h", catch_up_window="30m")
    assert slots_that_ran(service, identity) == [at("09:00")]

    service, identity = planned_at("09:31", every="1h", catch_up_window="30m")
    assert slots_that_ran(service, identity) == []
    assert service.not_run_rows(identity) == [(1, "missed", "catch_up_window")]


@pytest.mark.mission("D12")
@pytest.mark.parametrize("policy", ["run_once", "skip", "run_all"])
def test_a_one_shot_is_never_dropped_however_late(policy: str):
    service, identity = planned_at(
        "2027-11-16T09:30:00Z",
        at="2026-11-16T09:00:00Z",
        catch_up=policy,
        catch_up_window="1m",
        grace="1s",
    )

    assert slots_that_ran(service, identity) == [at("09:00")]
    assert service.not_run_rows(identity) == []


@pytest.mark.mission("D12")
@pytest.mark.parametrize("when", [{"at": "2020-01-01T00:00:00Z"}, {"at": "2026-11-16T08:00:00Z"}])
def test_a_new_at_in_the_past_fires_at_once(when: dict[str, str]):
    service = InMemoryService()
    identity = service.add(**when)

    service.plan_due()
    service.claim()
    service.finish(f"{identity}-0")
    service.plan_due()

    assert service.states(identity) == ["succeeded"]
    assert service.schedules[identity].status is Status.DONE


def test_run_once_runs_the_newest_slot_that_the_window_admits():
    fields = {"every": "1h", "only_between": "08:00-18:00"}
    service, identity = planned_at("21:30", **fields)

    assert slots_that_ran(service, identity) == [at("17:00")]
    assert service.not_run_rows(identity) == [
        (8, "missed", "coalesced"),
        (4, "skipped", "only_between"),
    ]


def test_max_catch_up_runs_counts_only_slots_that_the_window_admits():
    service, identity = planned_at(
        "2026-11-18T08:30:00Z",
        every="1h",
        only_between="09:00-11:00",
        catch_up="run_all",
        max_catch_up_runs=3,
    )

    assert slots_that_ran(service, identity) == [
        at("2026-11-16T10:00:00Z"),
        at("2026-11-17T09:00:00Z"),
        at("2026-11-17T10:00:00Z"),
    ]
    assert service.not_run_rows(identity) == [
        (1, "missed", "max_catch_up_runs"),
        (22, "skipped", "only_between"),
        (22, "skipped", "only_between"),
    ]


def test_two_slots_within_grace_become_one_run_for_the_newest():
    service, identity = planned_at("08:02:10", every="1m")

    assert slots_that_ran(service, identity) == [at("08:02")]
    assert [run.caught_up for run in service.runs.values()] == [True]


def test_a_slot_planned_within_grace_is_not_caught_up():
    service, identity = planned_at("09:00:30", every="1h")

    assert [run.caught_up for run in service.runs.values()] == [False]
    assert service.schedules[identity].last_fired_at == at("09:00:30")
    assert service.schedules[identity].last_slot == at("09:00")


def test_a_slot_planned_later_than_grace_is_caught_up():
    service, _ = planned_at("09:02", every="1h")

    assert [run.caught_up for run in service.runs.values()] == [True]


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
def test_an_outage_of_a_year_is_planned_in_under_10_ms(fields: dict[str, object]):
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


def test_a_slot_exactly_as_late_as_grace_is_not_caught_up():
    service = InMemoryService()
    identity = service.add(every="1h", total_repeats=9)
    service.plan_at("09:01")
    service.claim()
    service.finish(f"{identity}-0")
    service.plan_at("10:01:01")

    assert [run.caught_up for run in service.runs.values()] == [False, True]


@pytest.mark.mission("E6", "D7")
@pytest.mark.parametrize("restarts", [1, 3])
def test_skip_does_not_run_slots_that_came_due_while_no_planner_was_alive(restarts: int):
    service = InMemoryService()
    service.advance_to("09:00")
    identity = service.add(every="5s", catch_up="skip")

    for _ in range(restarts):
        restart_planner(service)

    assert service.states(identity) == []
    assert service.not_run_rows(identity) == [(1, "missed", "outage")]


@pytest.mark.mission("D7")
def test_skip_runs_a_slot_that_came_due_after_the_planner_had_started():
    service = InMemoryService()
    service.advance_to("09:00")
    identity = service.add(every="5s", catch_up="skip")
    service.advance_to("09:00:07")
    service.start_planner(at("09:00"))
    service.advance_to("09:00:11")
    service.plan_due()

    assert [run.slot for run in service.runs.values()] == [at("09:00:10")]
    assert service.not_run_rows(identity) == [(1, "missed", "outage")]


@pytest.mark.mission("D7")
def test_a_schedule_created_after_the_outage_has_missed_nothing():
    service = InMemoryService()
    service.advance_to("09:00")
    service.start_planner(at("08:00"))
    service.add(every="1m", first_run="now", catch_up="skip")
    service.plan_due()

    assert [run.slot for run in service.runs.values()] == [at("09:00")]
