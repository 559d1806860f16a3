"""Windows: slots outside only_between or on a day of not_on."""

from __future__ import annotations

from datetime import date

import pytest

from harness.rules.in_memory_service import InMemoryService
from harness.rules.values import at
from quarterjack.times.instants import DAY, HOUR, MINUTE


def planned_slots(service: InMemoryService) -> list[int]:
    return [run.slot for run in service.runs.values()]


def test_a_plan_after_years_examines_a_bounded_number_of_spans():
    rare = {"every": "1h", "not_on": ["saturday"], "only_between": "08:30-09:30"}
    service = InMemoryService()
    identity = service.add(**rare, catch_up="run_all", max_catch_up_runs=1000)
    service.advance_to(at("08:00") + 4000 * DAY)

    (decided,) = service.plan([identity])

    assert len(decided.added) == 1000
    assert len(decided.not_run) < 2500
    assert service.not_run_rows(identity)[0][1:] == ("missed", "max_catch_up_runs")
    assert (
        sum(count for count, _, _ in service.not_run_rows(identity)) + len(decided.added)
        == 4000 * 24
    )


def test_a_window_that_was_closed_for_a_year_still_accounts_for_all_slots():
    year = range(date(2027, 1, 1).toordinal(), date(2028, 1, 1).toordinal())
    everyday = [date.fromordinal(day) for day in year]
    service = InMemoryService("2026-12-31T23:30:00Z")
    identity = service.add(every="1h", not_on=everyday, only_between="08:00-18:00")
    service.advance_to("2027-12-28T12:45:00Z")

    (decided,) = service.plan([identity])

    assert decided.added == ()
    assert (
        sum(row.count for row in decided.not_run)
        == (service.now - at("2026-12-31T23:30:00Z")) // HOUR
    )
    assert len(decided.not_run) <= 504
    assert decided.not_run[0].reason == "coalesced"


def test_a_daily_window_does_not_limit_the_number_of_caught_up_runs():
    service = InMemoryService()
    identity = service.add(
        cron="0 9 * * *",
        only_between="08:00-18:00",
        catch_up="run_all",
        max_catch_up_runs=10_000,
    )
    service.advance_to(at("08:00") + 1000 * 24 * 60 * MINUTE)
    service.plan_due()

    assert len(service.states(identity)) == 1000


def test_drop_skips_the_slot_with_the_constraint_as_its_reason():
    service = InMemoryService()
    identity = service.add(every="1h", only_between="08:00-10:00")
    service.run_until("12:00")

    assert planned_slots(service) == [at("09:00")]
    assert service.not_run_rows(identity) == [(3, "skipped", "only_between")]


def test_a_window_applies_in_the_time_zone_of_the_schedule():
    service = InMemoryService()
    identity = service.add(every="1h", only_between="18:00-20:00", timezone="Asia/Tokyo")
    service.run_until("12:00")

    assert planned_slots(service) == [at("09:00"), at("10:00")]
    assert service.not_run_rows(identity) == [(2, "skipped", "only_between")]


def test_a_day_of_not_on_has_its_own_reason():
    service = InMemoryService()
    identity = service.add(every="1h", not_on=["monday"])
    service.run_until("10:00")

    assert service.not_run_rows(identity) == [(2, "skipped", "not_on")]


def test_defer_makes_the_run_ready_when_the_window_opens():
    service = InMemoryService()
    identity = service.add(every="1h", only_between="22:00-02:00", on_constraint="defer")
    service.plan_at("09:00", "10:00")

    run = service.runs[f"{identity}-0"]
    assert (run.slot, run.ready_at) == (at("09:00"), at("22:00"))
    assert service.not_run_rows(identity) == [(1, "skipped", "overlap")]
    assert service.claim() == []
    service.advance_to("22:00")
    assert len(service.claim()) == 1


def test_within_the_window_nothing_is_deferred():
    service = InMemoryService()
    service.add(every="1h", only_between="08:00-18:00", on_constraint="defer")
    service.plan_at("09:00")

    assert [run.ready_at for run in service.runs.values()] == [at("09:00")]


def test_a_window_that_never_opens_again_defers_nothing():
    service = InMemoryService("9999-12-31T22:00:00Z")
    service.add(every="30m", only_between="08:00-18:00", on_constraint="defer")
    service.plan_at("9999-12-31T22:30:00Z")

    assert [run.ready_at - run.slot for run in service.runs.values()] == [0]


def test_manual_runs_ignore_the_window():
    service = InMemoryService()
    identity = service.add(every="1h", only_between="20:00-21:00")

    assert service.run_now(identity).ready_at == at("08:00")


@pytest.mark.mission("D6")
def test_next_day_moves_a_run_to_the_same_wall_time_of_the_next_admitted_day():
    service = InMemoryService()  # on a Monday
    identity = service.add(
        cron="0 9 * * *",
        timezone="Europe/Berlin",
        not_on=["saturday", "sunday"],
        on_constraint="next_day",
        if_running="allow",
    )
    service.plan_at(*(f"2026-11-{day}T08:00:00Z" for day in range(17, 25)))

    runs = [run for run in service.runs.values() if run.schedule_id == identity]

    assert [(run.slot, run.ready_at) for run in runs[3:7]] == [
        (at("2026-11-20T08:00:00Z"), at("2026-11-20T08:00:00Z")),
        (at("2026-11-21T08:00:00Z"), at("2026-11-23T08:00:00Z")),
        (at("2026-11-22T08:00:00Z"), at("2026-11-23T08:00:00Z")),
        (at("2026-11-23T08:00:00Z"), at("2026-11-23T08:00:00Z")),
    ]
    assert service.not_run_rows(identity) == []


def test_next_day_drops_what_is_outside_the_hours_because_no_day_admits_it():
    service = InMemoryService()
    identity = service.add(
        every="1h", only_between="09:30-11:30", not_on=["monday"], on_constraint="next_day",
        if_running="allow",
    )  # fmt: skip
    service.plan_at("09:00", "10:00", "11:00", "12:00")

    runs = [run for run in service.runs.values() if run.schedule_id == identity]

    assert [run.ready_at - run.slot for run in runs] == [DAY, DAY]
    assert service.not_run_rows(identity) == [
        (1, "skipped", "only_between"),
        (1, "skipped", "only_between"),
    ]


@pytest.mark.mission("D5", "D12")
def test_several_instants_are_caught_up_like_slots_and_then_the_schedule_is_done():
    service = InMemoryService()
    instants = [f"2026-11-16T{time}:00Z" for time in ("07:00", "09:00", "10:00", "11:00")]
    once = service.add(key="once", at=instants, catch_up="run_once")
    every = service.add(key="every", at=instants, catch_up="run_all", if_running="queue")
    service.advance_to("10:30")
    service.plan_due()

    assert [run.slot for run in service.open_runs(once)] == [at("10:00")]
    assert service.not_run_rows(once) == [(1, "missed", "coalesced")]
    assert [run.slot for run in service.open_runs(every)] == [at("09:00"), at("10:00")]

    service.run_until("12:00")

    assert [service.schedules[each].status for each in (once, every)] == ["done", "done"]
    assert service.states(every) == ["succeeded"] * 3

    service.edit(every, at=["2026-11-16T13:00:00Z", "2026-11-16T14:00:00Z"])

    assert service.schedules[every].status == "active"
    assert service.schedules[every].next_slot == at("13:00")
