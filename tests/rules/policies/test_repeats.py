"""Repeats: a schedule is done after total_repeats successes."""

from __future__ import annotations

import pytest

from harness.rules.in_memory_service import InMemoryService
from harness.rules.values import at
from quarterjack.rules import Ending, Kind, Status


def test_only_slots_of_the_same_schedule_count():
    service = InMemoryService()
    one = service.add(
        plugin="echo", command="sync", every="10m", if_running="allow", total_repeats=1
    )
    service.run_now(one)
    service.add(plugin="echo", command="sync", every="10m", if_running="allow")
    service.plan_at("08:10")

    assert [run.kind for run in service.open_runs(one)] == [Kind.MANUAL, Kind.SLOT]


def test_an_edit_to_fewer_repeats_ends_the_schedule_at_once():
    service = InMemoryService()
    identity = service.add(every="1h")
    service.run_until("09:10")
    service.edit(identity, every="1h", total_repeats=1)
    service.plan_due()

    assert service.schedules[identity].status is Status.DONE


@pytest.mark.mission("P6")
def test_the_schedule_is_done_after_total_repeats_successes():
    service = InMemoryService()
    identity = service.add(every="1h", total_repeats=3)
    service.run_until("20:00", work=lambda run: "failed" if run.number == 1 else "succeeded")

    schedule = service.schedules[identity]
    assert service.states(identity) == ["succeeded", "failed", "succeeded", "succeeded"]
    assert (schedule.status, schedule.status_reason) == (Status.DONE, "repeats")
    assert (schedule.current_repeat, schedule.next_slot, schedule.wake_at) == (3, None, None)


def test_no_slot_is_planned_while_open_runs_may_use_up_the_repeats():
    service = InMemoryService()
    identity = service.add(every="1h", total_repeats=2, if_running="allow")
    for hour in ("09", "10", "11"):
        service.advance_to(f"{hour}:00")
        service.plan_due()
        service.claim()
    assert service.states(identity) == ["running", "running"]
    assert service.not_run_rows(identity) == [(1, "skipped", "repeats")]

    service.finish(f"{identity}-0", Ending.FAILED)
    service.advance_to("12:00")
    service.plan_due()
    assert service.states(identity) == ["failed", "running", "queued"]


def test_of_several_missed_slots_the_newest_run():
    service = InMemoryService()
    identity = service.add(every="1h", total_repeats=2, catch_up="run_all")
    service.advance_to("12:00")
    service.plan_due()

    assert [run.slot for run in service.runs.values()] == [at("11:00"), at("12:00")]
    assert service.not_run_rows(identity) == [(2, "skipped", "repeats")]


def test_manual_runs_do_not_count():
    service = InMemoryService()
    identity = service.add(every="1h", total_repeats=1)
    service.run_now(identity)
    service.claim()
    service.finish(f"{identity}-0")

    schedule = service.schedules[identity]
    assert (schedule.run_count, schedule.current_repeat) == (1, 0)
    assert schedule.status is Status.ACTIVE


def test_an_edit_below_the_number_of_successes_closes_waiting_runs():
    service = InMemoryService()
    identity = service.add(every="1h", if_running="queue")
    service.run_until("10:30")
    service.advance_to("11:00")
    service.plan_due()
    service.claim()
    service.advance_to("12:00")
    service.plan_due()
    service.edit(identity, every="1h", if_running="queue", total_repeats=2)
    service.advance_to("13:00")
    service.plan_due()

    assert service.states(identity)[2:] == ["running", "skipped: inactive"]
    assert service.schedules[identity].status is Status.DONE
