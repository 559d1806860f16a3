"""Anchors: the instants from which slots are counted."""

from __future__ import annotations

import pytest

from harness.rules.in_memory_service import InMemoryService
from harness.rules.values import at
from quarterjack.rules import Ending, Status
from quarterjack.times.instants import MINUTE


def planned_slots(service: InMemoryService) -> list[int]:
    return [run.slot for run in service.runs.values()]


def test_a_completion_anchor_runs_each_slot_that_was_shown_as_next():
    service = InMemoryService()
    identity = service.add(every="10m", anchor="completion")
    shown = []
    for _ in range(3):
        shown.append(service.schedules[identity].next_slot)
        service.advance_to(shown[-1] or 0)
        service.plan_due()
        service.claim()
        service.advance_to(service.now + 3 * MINUTE)
        service.finish(f"{identity}-{len(shown) - 1}")

    assert [run.slot for run in service.runs.values()] == shown
    assert shown == [at("08:10"), at("08:23"), at("08:36")]


def test_a_skip_moves_a_completion_anchor_while_a_manual_run_is_open():
    service = InMemoryService()
    identity = service.add(every="10m", anchor="completion")
    service.run_now(identity)
    service.claim()
    service.plan_at("08:10")
    assert service.schedules[identity].next_slot == at("08:20")


def test_an_outcome_that_is_settled_late_still_wakes_a_completion_schedule():
    service = InMemoryService()
    identity = service.add(every="5m", anchor="completion")
    service.plan_at("08:05")
    service.claim()
    service.advance_to("08:06")
    ended_at = service.now
    service.advance_to("08:20")
    service.edit(identity, every="5m", anchor="completion", priority=1)
    service.plan([identity])
    service.now = ended_at
    settlement = service.finish(f"{identity}-0")
    service.advance_to("08:20")
    assert settlement.schedule.wake_at is not None
    service.plan_due()

    assert service.schedules[identity].next_slot == at("08:25")


def test_slots_count_from_creation():
    service = InMemoryService("08:07")
    service.add(every="1h")
    service.run_until("11:00")

    assert planned_slots(service) == [at("09:07"), at("10:07")]


def test_slots_count_from_start_at_which_is_the_first_slot():
    service = InMemoryService()
    service.add(every="1h", start_at="2026-11-16T08:30:00Z")
    service.run_until("10:00")

    assert planned_slots(service) == [at("08:30"), at("09:30")]


@pytest.mark.mission("P6")
def test_completion_slots_count_from_the_end_of_a_run_whatever_its_outcome():
    service = InMemoryService()
    identity = service.add(every="1h", anchor="completion", max_retries=1, retry_delay="10m")
    service.plan_at("09:00")
    service.claim()
    assert service.schedules[identity].next_slot is None

    service.advance_to("09:20")
    service.finish(f"{identity}-0", Ending.FAILED)
    assert service.schedules[identity].next_slot is None
    service.plan_at("09:30")
    service.claim()
    service.advance_to("09:45")
    service.finish(f"{identity}-0", Ending.FAILED)

    assert service.schedules[identity].next_slot == at("10:45")
    assert service.schedules[identity].wake_at == at("10:45")


def test_a_completion_slot_that_was_missed_is_followed_by_a_whole_interval():
    service = InMemoryService()
    identity = service.add(every="1h", anchor="completion", catch_up="skip")
    service.plan_at("09:17")

    assert service.not_run_rows(identity) == [(1, "missed", "grace")]
    assert service.schedules[identity].next_slot == at("10:17")


def test_no_completion_slot_follows_after_end_at():
    service = InMemoryService()
    identity = service.add(every="1h", anchor="completion", end_at="2026-11-16T09:30:00Z")
    service.run_until("10:00")

    assert planned_slots(service) == [at("09:00")]
    assert service.schedules[identity].status is Status.DONE


def test_after_counts_from_creation():
    service = InMemoryService()
    identity = service.add(after="90m")
    service.run_until("10:00")

    assert planned_slots(service) == [at("09:30")]
    assert service.schedules[identity].status is Status.DONE
