"""The planner: restarts, edits, invalid schedules, and new time zone data."""

from __future__ import annotations

import pytest

from harness.engine.service import SteppedService, failing
from harness.rules.values import at
from harness.store.stores import new
from quarterjack import rules
from quarterjack.errors import InvalidSpecification
from quarterjack.rules import Status


@pytest.mark.mission("D1", "V3")
def test_one_planner_plans_all_schedules_and_their_state_survives_a_restart(
    service: SteppedService,
):
    service.add("hourly", every="1h")
    service.add("half", every="30m")
    service.run_until("09:00")
    before = [service.schedule(1)[3:], service.schedule(2)[3:]]

    service.restart()
    service.run_until("09:00")

    assert [service.schedule(1)[3:], service.schedule(2)[3:]] == before
    service.run_until("10:00")
    assert (service.slots(1), len(service.slots(2))) == ([at("09:00"), at("10:00")], 4)


@pytest.mark.mission("V3")
def test_only_the_name_of_a_task_is_stored(service: SteppedService):
    service.add(every="1h")

    assert "function" not in str(service.table("specifications"))
    assert '"task":"work"' in str(service.table("specifications"))


@pytest.mark.mission("D3")
@pytest.mark.parametrize("when", [{}, {"every": "1h", "cron": "0 * * * *"}])
def test_no_recurrence_or_several_are_an_error_that_names_the_schedule(
    service: SteppedService, when: dict[str, str]
):
    with pytest.raises(InvalidSpecification, match='schedule "nightly"'):
        service.add("nightly", **when)

    assert service.table("schedules") == []


@pytest.mark.fault("F42")
def test_new_time_zone_data_recomputes_the_next_slots(sqlite_service: SteppedService):
    service = sqlite_service
    service.add(cron="0 9 * * *", timezone="Europe/Berlin")
    service.run_until("08:00")
    service.execute("update metadata set value = '2020a' where name = 'zone_data'")
    service.execute(f"update schedules set wake_at = {at('20:00')}, next_slot = 5")
    service.restart()
    service.run_until("08:00")

    expected = at("2026-11-17T08:00:00Z")
    assert (service.schedule().next_slot, service.schedule().wake_at) == (expected, expected)
    assert service.slots() == []


@pytest.mark.fault("F13")
def test_a_schedule_that_cannot_be_planned_becomes_invalid_and_others_go_on(
    service: SteppedService,
):
    service.add("bad", every="1h")
    service.add("good", every="1h")
    service.run_until("09:00")
    # The cursor was set back by hand: the slot of nine is planned already.
    service.execute(
        f"update schedules set cursor = {at('08:30')}, wake_at = {at('09:30')} where id = 1"
    )
    service.run_until("11:00")

    assert service.schedule(1).status is Status.INVALID
    assert "unique constraint" in (service.schedule(1).status_reason or "").lower()
    assert service.slots(2) == [at("09:00"), at("10:00"), at("11:00")]


@pytest.mark.mission("D11")
def test_a_schedule_records_its_last_success_and_failure(service: SteppedService):
    service.add(every="1h")
    service.run_until("09:00")
    service.work = failing
    service.run_until("10:00")
    schedule = service.schedule()

    assert (schedule.last_fired_at, schedule.next_slot) == (at("10:00"), at("11:00"))
    assert (schedule.last_success_at, schedule.last_success_run_id) == (at("09:00"), "1-0")
    assert (schedule.last_failure_at, schedule.last_error) == (at("10:00"), "Failed: boom")
    assert schedule.status is Status.ACTIVE


@pytest.mark.mission("H5")
def test_a_changed_definition_counts_from_now_and_an_equal_one_has_the_same_hash(
    service: SteppedService,
):
    service.add(every="1h")
    service.run_until("08:30")
    stored = service.schedule().specification
    assert (
        stored.configuration_hash == new("nightly", 0, every="1h").specification.configuration_hash
    )

    changed = new("nightly", service.clock.instant, every="20m").specification
    service.change(1, rules.edit, changed)
    service.run_until("09:00")

    assert service.slots() == [at("08:50")]
    schedule = service.schedule()
    assert (schedule.version, schedule.last_run_id, schedule.run_count) == (2, "1-0", 1)
