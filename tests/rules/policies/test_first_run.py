"""First run: when a new schedule runs for the first time."""

from __future__ import annotations

import pytest

from harness.rules.in_memory_service import InMemoryService
from harness.rules.values import at


def planned_slots(service: InMemoryService) -> list[int]:
    return [run.slot for run in service.runs.values()]


@pytest.mark.parametrize(
    ("fields", "cursor"),
    [
        ({"every": "1h"}, "08:00:30"),
        ({"at": "2026-11-16T07:00:00Z"}, "07:00"),
        ({"at": "2026-11-16T09:00:00Z"}, "08:00:30"),
        ({"every": "1h", "first_run": "now"}, "08:00:30"),
        ({"cron": "0 * * * *", "first_run": "match"}, "08:00"),
    ],
)
def test_the_cursor_of_a_new_schedule(fields: dict[str, str], cursor: str):
    service = InMemoryService("08:00:30")
    identity = service.add(**fields)

    first = cursor == "08:00:30" and fields.get("first_run") != "now"
    assert service.schedules[identity].cursor == at(cursor) - (0 if first else 1)


def test_match_runs_only_the_newest_slot_of_the_minute():
    service = InMemoryService("08:00:35")
    service.add(
        cron="*/10 * * * * *",
        seconds=True,
        first_run="match",
        catch_up="run_all",
        if_running="allow",
    )
    service.plan_due()

    assert [run.slot for run in service.runs.values()] == [at("08:00:30")]


@pytest.mark.parametrize("fields", [{"every": "1h"}, {"cron": "0 * * * *"}])
def test_by_default_the_first_slot_after_creation_runs_first(fields: dict[str, str]):
    service = InMemoryService()
    service.add(**fields)
    service.plan_at("08:00", "09:00")

    assert planned_slots(service) == [at("09:00")]


@pytest.mark.parametrize(
    "fields",
    [
        {"every": "1h"},
        {"every": "1h", "anchor": "completion"},
        {"cron": "0 * * * *"},
        {"every": "1h", "start_at": "2026-11-16T08:00:00Z"},
    ],
)
def test_now_runs_at_once_and_then_at_its_slots(fields: dict[str, str]):
    service = InMemoryService()
    service.add(**fields, first_run="now")
    service.run_until("08:01")
    assert planned_slots(service) == [at("08:00")]

    service.run_until("09:10")
    assert len(planned_slots(service)) == 2


def test_now_does_not_run_after_the_end_of_the_recurrence():
    """Found by the simulator, whose people copy each other's words."""
    service = InMemoryService("08:00")
    identity = service.add(every="1h", first_run="now", end_at="2026-11-16T07:00:00Z")
    service.run_until("10:00")

    assert planned_slots(service) == []
    assert service.schedules[identity].status_reason == "no_more_slots"


@pytest.mark.mission("V7")
@pytest.mark.parametrize(
    ("created", "cron", "runs"),
    [
        ("08:00", "0 8 * * *", ["08:00"]),
        ("08:00:59", "0 8 * * *", ["08:00"]),
        ("08:01", "0 8 * * *", []),
        ("07:59:59", "0 8 * * *", []),
        ("08:30", "*/15 * * * *", ["08:30"]),
    ],
)
def test_match_runs_at_once_only_if_the_current_minute_matches(
    created: str, cron: str, runs: list[str]
):
    service = InMemoryService(created)
    service.add(cron=cron, first_run="match")

    service.plan_due()

    assert planned_slots(service) == [at(slot) for slot in runs]


@pytest.mark.mission("V7")
def test_match_applies_only_to_new_schedules():
    service = InMemoryService("08:00")
    identity = service.add(cron="0 8 * * *", first_run="match")
    service.run_until("08:01")
    service.edit(identity, cron="1 8 * * *", first_run="match")
    service.plan_due()

    assert planned_slots(service) == [at("08:00")]
