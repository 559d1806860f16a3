"""Rows of slots that did not run."""

from __future__ import annotations

from harness.rules.in_memory_service import InMemoryService
from quarterjack.rules import Ending


def test_neighbouring_slots_with_the_same_reason_share_a_row_over_many_steps():
    service = InMemoryService()
    identity = service.add(every="1m")
    service.run_until("08:01")
    service.advance_to("08:02")
    service.plan_due()
    service.claim()  # a run that takes a long time
    for minute in range(3, 10):
        service.advance_to(f"08:0{minute}")
        service.plan_due()

    assert service.not_run_rows(identity) == [(7, "skipped", "overlap")]
    service.finish(f"{identity}-1")
    service.run_until("08:11")
    service.advance_to("08:12")
    service.plan_due()
    service.claim()
    service.advance_to("08:13")
    service.plan_due()
    assert service.not_run_rows(identity) == [(7, "skipped", "overlap"), (1, "skipped", "overlap")]


def test_slots_with_different_reasons_have_separate_rows():
    service = InMemoryService()
    identity = service.add(every="1h")
    service.advance_to("09:00")
    service.plan_due()
    service.claim()
    service.advance_to("12:30")
    service.plan_due()
    service.advance_to("13:00")
    service.plan_due()

    assert service.not_run_rows(identity) == [(2, "missed", "coalesced"), (2, "skipped", "overlap")]


def test_an_ended_schedule_has_no_row_to_extend():
    service = InMemoryService()
    identity = service.add(every="10m", only_between="20:00-21:00", on_exhausted="dead")
    service.plan_at("08:10")
    assert service.schedules[identity].not_run is not None
    service.edit(identity, every="10m", on_exhausted="dead")
    service.plan_at("08:20")
    service.claim()
    service.finish(f"{identity}-0", Ending.FAILED)

    assert service.schedules[identity].not_run is None


def test_an_edit_of_the_recurrence_starts_a_new_row():
    service = InMemoryService()
    identity = service.add(every="10m", only_between="20:00-21:00")
    service.plan_at("08:10")
    service.edit(identity, every="5m", only_between="20:00-21:00")
    service.plan_at("08:15")

    assert service.not_run_rows(identity) == [(1, "skipped", "only_between")] * 2
