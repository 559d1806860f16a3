"""The values of the rules."""

from __future__ import annotations

from harness.rules.values import at, specification
from quarterjack.rules import Kind, Limits, Reason, Run, SlotsNotRun, create

SCHEDULE = create(42, "nightly", specification(every="1h"), at("08:00"), active=0, limits=Limits())
RUN = Run(42, 7, Kind.SLOT, at("09:00"), at("09:00"), at("09:00"), "42")


def test_the_reason_of_a_row_determines_whether_its_slots_are_missed_or_skipped():
    row = SlotsNotRun(at("09:00"), at("11:00"), 3, Reason.COALESCED)

    assert row.state == "missed"
    assert SlotsNotRun(at("09:00"), at("11:00"), 3, Reason.OVERLAP).state == "skipped"
    assert Reason.OVERLAP.meaning == "an earlier run was still open"


def test_the_id_of_a_run_consists_of_schedule_and_number():
    assert RUN.id == "42-7"
