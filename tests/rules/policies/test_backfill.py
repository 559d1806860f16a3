"""Backfills: runs for ranges of past slots."""

from __future__ import annotations

import pytest

from harness.rules.in_memory_service import InMemoryService
from harness.rules.values import at
from quarterjack.errors import Conflict, InvalidSpecification, WrongState
from quarterjack.rules import Ending, Kind, Status, backfill
from quarterjack.times.instants import MINUTE


def after_two_runs(**fields: object) -> tuple[InMemoryService, int]:
    """A schedule whose runs of 09:00 and 10:00 succeeded; it is 10:20."""
    service = InMemoryService()
    identity = service.add(**({"every": "1h"} | fields))
    service.run_until("10:20")
    return service, identity


def test_it_continues_when_no_slot_is_left():
    service = InMemoryService()
    identity = service.add(cron="0 * * * *", end_at="2026-11-16T09:00:00Z")
    service.plan_at("09:00")
    service.claim()
    service.backfill(identity, "03:00", "05:00")
    service.finish(f"{identity}-0")
    service.run_until("09:10")

    assert service.states(identity) == ["succeeded"] * 4
    assert service.schedules[identity].status is Status.DONE


def test_a_range_in_the_future_is_refused_with_a_remedy():
    service = InMemoryService()
    identity = service.add(every="1h")
    with pytest.raises(InvalidSpecification) as caught:
        service.backfill(identity, "07:00", "09:00")
    assert str(caught.value) == (
        'backfill "2026-11-16T07:00:00Z to 2026-11-16T09:00:00Z" is not a past range; '
        "give a start, and an end that is neither before it nor in the future"
    )


def test_a_one_shot_is_refused_with_a_remedy():
    service = InMemoryService()
    identity = service.add(after="1h")
    with pytest.raises(WrongState) as caught:
        service.backfill(identity, "07:00", "08:00")
    assert str(caught.value) == (
        'schedule "s1" is once, 1h from its start, without past slots; use run instead'
    )


def test_it_includes_both_ends_of_the_range():
    service = InMemoryService()
    identity = service.add(cron="* * * * *", if_running="allow")
    facts = service._facts([identity])
    decided = backfill(facts._replace(request=7), service.now, start=at("07:30"), until=at("07:30"))
    assert decided.plans[0].schedule.backfill == (7, at("07:30") - 1, at("07:30"), False)
    assert service.backfill(identity, "07:30", "08:00") == 31
    service.plan_due()

    slots = [run.slot for run in service.runs.values()]
    assert (slots[0], slots[-1]) == (at("07:30"), at("08:00"))


def test_a_range_of_one_instant_has_at_most_one_slot():
    service = InMemoryService()
    identity = service.add(cron="* * * * *")

    assert service.backfill(identity, "07:30:00", "07:30:00") == 1
    service.schedules[identity] = service.schedules[identity]._replace(backfill=None)
    assert service.backfill(identity, "07:30:01", "07:30:01") == 0


def test_slots_that_come_due_run_before_the_rest_of_the_range():
    service = InMemoryService()
    identity = service.add(cron="*/5 * * * *")
    service.advance_to("08:01")
    service.backfill(identity, "06:00", "07:00")
    for minute in range(2, 41):  # each run takes two minutes
        service.advance_to(f"08:{minute:02}")
        service.plan_due()
        for run in service.open_runs(identity):
            if run.state == "running" and (run.started_at or 0) <= service.now - 2 * MINUTE:
                service.finish(run.id)
        service.plan_due()
        service.claim()

    slots = [run.slot for run in service.runs.values() if run.kind is Kind.SLOT]
    assert slots == [at(f"08:{minute:02}") for minute in range(5, 41, 5)]
    assert service.not_run_rows(identity) == []


def test_it_waits_for_open_runs_of_other_schedules_of_the_scope():
    service = InMemoryService()
    other = service.add(plugin="echo", command="sync", every="1h")
    yearly = service.add(plugin="echo", command="sync", cron="0 0 1 1 *")
    service.plan_at("09:00")
    service.claim()
    service.backfill(yearly, "2024-12-01T00:00:00Z", "2026-02-01T00:00:00Z")
    service.plan_due()
    assert service.schedules[yearly].wake_at == at("09:01")

    service.finish(f"{other}-0")
    service.run_until("09:05")

    assert service.states(yearly) == ["succeeded", "succeeded"]


def test_it_continues_when_the_repeats_are_used_up():
    service = InMemoryService()
    identity = service.add(cron="0 * * * *", total_repeats=1)
    service.advance_to("08:30")
    service.backfill(identity, "05:00", "07:00")
    service.schedules[identity] = service.schedules[identity]._replace(current_repeat=1)
    service.run_until("08:40")

    assert service.states(identity) == ["succeeded"] * 3
    assert service.schedules[identity].status is Status.DONE


def test_it_ends_when_the_schedule_dies():
    service = InMemoryService()
    identity = service.add(cron="0 * * * *", on_exhausted="dead")
    service.plan_at("09:00")
    service.claim()
    service.backfill(identity, "05:00", "07:00")
    service.finish(f"{identity}-0", Ending.FAILED)

    assert service.schedules[identity].status is Status.DEAD
    assert service.schedules[identity].backfill is None


def test_runs_are_added_one_by_one_while_no_run_is_open():
    service, identity = after_two_runs(every=None, cron="0 * * * *")

    count = service.backfill(identity, "2026-11-16T03:00:00Z", "2026-11-16T06:30:00Z")
    service.plan_due()
    assert count == 4
    assert len(service.open_runs(identity)) == 1

    service.run_until("10:40")
    runs = [run for run in service.runs.values() if run.kind is Kind.BACKFILL]
    assert [run.slot for run in runs] == [at(f"0{hour}:00") for hour in (3, 4, 5, 6)]
    assert {run.request for run in runs} == {1}
    assert service.schedules[identity].backfill is None
    assert service.schedules[identity].next_slot == at("11:00")


def test_a_slot_that_comes_due_takes_precedence():
    service, identity = after_two_runs(every=None, cron="0 * * * *")
    service.backfill(identity, "2026-11-16T00:00:00Z", "2026-11-16T08:00:00Z")
    service.advance_to("11:00")
    service.plan_due()

    (run,) = service.open_runs(identity)
    assert (run.kind, run.slot) == (Kind.SLOT, at("11:00"))


def test_with_allow_runs_are_added_in_batches():
    service, identity = after_two_runs(every=None, cron="* * * * *", if_running="allow")
    start, until = "2026-11-14T22:00:00Z", "2026-11-16T06:00:00Z"
    plans = service.plan([identity])

    count = service.backfill(identity, start, until)
    plans = service.plan_due()

    assert count == 32 * 60 + 1
    assert [len(plan.added) for plan in plans] == [1000, 921]
    assert service.schedules[identity].planned_count == len(service.runs)
    assert service.schedules[identity].last_run_id == f"{identity}-{len(service.runs) - 1}"


def test_the_slots_of_every_continue_into_the_past():
    service, identity = after_two_runs(every="1d")

    count = service.backfill(identity, "2026-11-10T00:00:00Z", "2026-11-16T00:00:00Z")
    service.run_until("10:30")

    slots = [run.slot for run in service.runs.values() if run.kind is Kind.BACKFILL]
    assert count == 6
    assert slots == [at(f"2026-11-{day}T08:00:00Z") for day in range(10, 16)]


def test_an_empty_range_is_done_at_once():
    service, identity = after_two_runs(every=None, cron="0 0 1 1 *")

    assert service.backfill(identity, "2026-11-10T00:00:00Z", "2026-11-16T00:00:00Z") == 0
    service.plan_due()

    assert service.schedules[identity].backfill is None


def test_a_pause_interrupts_it_and_a_resume_continues_it():
    service, identity = after_two_runs(every=None, cron="0 * * * *")
    service.backfill(identity, "2026-11-16T03:00:00Z", "2026-11-16T04:30:00Z")
    service.pause(identity)
    service.plan_at("10:30")
    assert service.open_runs(identity) == []

    service.resume(identity)
    service.run_until("10:40")

    assert len([run for run in service.runs.values() if run.kind is Kind.BACKFILL]) == 2


def test_it_counts_for_neither_repeats_nor_errors():
    service, identity = after_two_runs(every=None, cron="0 * * * *", total_repeats=3)
    service.backfill(identity, "2026-11-16T03:00:00Z", "2026-11-16T04:00:00Z")
    service.run_until(
        "10:30", work=lambda run: "failed" if run.slot == at("03:00") else "succeeded"
    )

    schedule = service.schedules[identity]
    assert (schedule.current_repeat, schedule.consecutive_errors) == (2, 0)
    assert schedule.run_count == 3


@pytest.mark.parametrize(
    ("start", "until"),
    [("2026-11-16T05:00:00Z", "2026-11-16T04:00:00Z"), ("2026-11-16T05:00:00Z", "10:21")],
)
def test_only_a_past_range_is_accepted(start: str, until: str):
    service, identity = after_two_runs()

    with pytest.raises(InvalidSpecification, match="is not a past range; give a start, and"):
        service.backfill(identity, start, until)


def test_a_second_backfill_is_refused():
    service, identity = after_two_runs()
    service.backfill(identity, "08:00", "10:00")

    with pytest.raises(Conflict, match="already has a backfill up to 2026-11-16T10:00:00Z; wait"):
        service.backfill(identity, "08:00", "09:00")


def test_a_paused_schedule_is_refused():
    service, identity = after_two_runs()
    service.pause(identity)

    with pytest.raises(WrongState, match="is paused; only an active schedule can be backfilled"):
        service.backfill(identity, "08:00", "10:00")


@pytest.mark.parametrize(
    "fields", [{"every": None, "after": "9h"}, {"every": "1h", "anchor": "completion"}]
)
def test_a_schedule_without_past_slots_is_refused(fields: dict[str, str]):
    service, identity = after_two_runs(**fields)

    with pytest.raises(WrongState, match="without past slots; use run instead"):
        service.backfill(identity, "08:00", "10:00")
