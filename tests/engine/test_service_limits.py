"""Service limits, with one node and with two nodes on one database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.engine.service import SteppedService, failing
from harness.rules.values import at
from quarterjack.declare.declaration import read_declaration
from quarterjack.declare.yaml_file import read_yaml
from quarterjack.errors import Conflict
from quarterjack.rules import Limits, Status
from quarterjack.rules.definition.presets import SERVICE_PRESETS
from quarterjack.times.instants import SECOND

AGENT: Limits = SERVICE_PRESETS["agent"]["limits"]


@pytest.mark.mission("E8")
def test_five_schedules_of_preset_agent_are_dispatched_in_a_second_and_all_others(
    make_two_nodes: Callable[[Limits], SteppedService],
):
    service = make_two_nodes(Limits())
    for number in range(8):
        service.add(f"agent {number}", preset="agent", every="1h")
        service.add(f"other {number}", every="1h")
    service.run_until("09:00:05")

    seconds = Counter(
        (call.key.split()[0], (when - at("09:00")) // SECOND) for when, call in service.calls
    )
    assert seconds == {("agent", 0): 5, ("agent", 1): 3, ("other", 0): 8}


@pytest.mark.mission("E8")
@pytest.mark.parametrize(("limits", "seconds"), [(Limits(), 60), (Limits(timer_clamp_ms=2000), 2)])
def test_the_planner_polls_the_store_at_the_timer_clamp(
    make_service: Callable[..., SteppedService], limits: Limits, seconds: int
):
    service = make_service(limits=limits)
    service.add(every="12h")
    service.run_until("08:00:00")

    assert service.wakes["planner w1"] == at("08:00") + seconds * SECOND


@pytest.mark.mission("E8")
def test_two_nodes_together_dispatch_five_in_a_second(
    make_two_nodes: Callable[[Limits], SteppedService],
):
    service = make_two_nodes(Limits(max_dispatch_per_tick=5))
    for number in range(18):
        service.add(f"s{number:02}", every="1h")
    service.run_until("09:00:05")

    assert service.seconds_since("09:00") == [0] * 5 + [1] * 5 + [2] * 5 + [3] * 3
    assert set(service.planned_by) == {"w1", "w2"}
    assert {service.slots(identity)[0] for identity in range(1, 19)} == {at("09:00")}


@pytest.mark.mission("E8")
def test_a_limit_of_0_is_unlimited(make_two_nodes: Callable[[Limits], SteppedService]):
    service = make_two_nodes(Limits(0, 0, 0, 0, 60_000, 0))
    for number in range(18):
        service.add(f"s{number:02}", every="1h")
    service.run_until("09:00")
    service.restart_after_outage("10:30")

    assert service.seconds_since("09:00") == [0] * 18 + [90 * 60] * 18


@pytest.mark.mission("E7", "E8")
@pytest.mark.parametrize(("limits", "calls"), [({}, 10), ({"max_consecutive_errors": 3}, 3)])
def test_the_service_limit_of_consecutive_errors_pauses_a_schedule(
    make_service: Callable[..., SteppedService], tmp_path: Path, limits: dict[str, int], calls: int
):
    file = tmp_path / "q.yaml"
    file.write_text(f"preset: agent\nlimits: {limits}\nschedules:\n  a: {{every: 1m, task: work}}")
    declaration = read_declaration(read_yaml(file))
    service = make_service(limits=declaration.limits)
    service.add(**declaration.specifications["a"].to_json())
    service.work = failing
    service.run_until("09:00")

    assert len(service.calls) == calls
    assert service.schedule().status is Status.PAUSED


@pytest.mark.mission("E7", "E6")
def test_consecutive_errors_pause_a_schedule_and_a_success_resets_the_count(
    make_service: Callable[..., SteppedService],
):
    service = make_service(limits=AGENT)
    service.add(every="1m", max_consecutive_errors=10)
    service.work = lambda call: failing(call) if call.run_id != "1-5" else None
    service.run_until("09:00")

    schedule = service.schedule()
    assert (schedule.status, schedule.status_reason) == (Status.PAUSED, "consecutive_errors")
    assert len(service.calls) == 5 + 1 + 10
    notifications = [row[1] for row in service.table("outbox")]
    assert "schedule.paused" in notifications


@pytest.mark.mission("E8")
def test_active_schedules_and_dispatches_per_second_are_limited(
    make_service: Callable[..., SteppedService],
):
    service = make_service(limits=Limits(max_dispatch_per_tick=5, max_scheduled_jobs=12))
    for number in range(12):
        service.add(f"s{number}", every="1h")
    with pytest.raises(Conflict, match="max_scheduled_jobs is 12"):
        service.add("one too many", every="1h")
    service.run_until("09:00:05")

    seconds = [(when - at("09:00")) // SECOND for when, _ in service.calls]
    assert seconds == [0] * 5 + [1] * 5 + [2] * 2
