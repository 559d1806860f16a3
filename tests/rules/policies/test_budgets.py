"""Catch-up budgets after an outage."""

from __future__ import annotations

import pytest

from harness.rules.in_memory_service import InMemoryService
from harness.rules.values import at
from quarterjack.rules import Facts, Limits, Outage, run_now
from quarterjack.rules.definition.presets import SERVICE_PRESETS
from quarterjack.times.instants import MILLISECOND, SECOND

AGENT = SERVICE_PRESETS["agent"]["limits"]
CATCH_UP_LIMITS = AGENT._replace(max_dispatch_per_tick=0)
START = "09:00:09"


def plan_after_outage(service: InMemoryService, until: str) -> None:
    last_step_at = service.now
    service.advance_to(until)
    service.start_planner(last_step_at)
    service.plan_due()


def restart_planner(service: InMemoryService, until: str = START) -> None:
    """The only planner is gone, and comes back then."""
    last_step_at = service.now
    service.advance_to(until)
    service.start_planner(last_step_at)
    service.plan_due()


def start_delays(service: InMemoryService) -> list[int]:
    """How long after the restart each run may start, in seconds."""
    return [(run.ready_at - at(START)) // SECOND for run in service.runs.values()]


def test_a_slot_outside_the_outage_is_ready_at_its_instant():
    for outage in (None, Outage(at("07:00"), at("07:30"))):
        service = InMemoryService(limits=Limits(catchup_stagger_ms=5000))
        service.outage = outage
        service.add(every="1h", total_repeats=3)
        service.plan_at("09:00")
        assert [run.ready_at for run in service.runs.values()] == [at("09:00")]


def test_a_schedule_without_budget_loses_every_slot_of_the_outage():
    service = InMemoryService(limits=Limits(max_catchup_runs=1))
    ids = [service.add(every="10m", catch_up="run_all", if_running="allow") for _ in range(3)]
    service.outage = Outage(at("08:00"), at("08:55"))
    service.plan_at("09:00")

    assert [len(service.states(identity)) for identity in ids] == [6, 1, 1]
    assert service.not_run_rows(ids[1]) == [(5, "missed", "outage_limit")]


def test_undecided_slots_from_before_the_outage_count_as_missed():
    service = InMemoryService(limits=Limits(max_catchup_runs=1))
    ids = [service.add(cron="10 * * * *") for _ in range(3)]
    service.outage = Outage(at("08:10"), at("08:50"))
    service.plan_at("08:50")

    assert [len(service.states(identity)) for identity in ids] == [1, 0, 0]


def test_slots_after_the_outage_run_although_the_budget_is_used_up():
    service = InMemoryService(limits=Limits(max_catchup_runs=1))
    service.outage = Outage(at("08:15"), at("08:35"), recurring=1)
    identity = service.add(every="10m", catch_up="run_all", if_running="allow")
    service.plan_at("08:40")

    assert [run.slot for run in service.runs.values()] == [at("08:40")]
    assert service.not_run_rows(identity) == [(3, "missed", "outage_limit")]


@pytest.mark.mission("E6", "E8")
def test_five_missed_schedules_are_caught_up_5_seconds_apart_oldest_first():
    service = InMemoryService(limits=CATCH_UP_LIMITS)
    ids = [service.add(prompt="hello", cron=f"{40 - n} * * * *") for n in range(8)]

    plan_after_outage(service, "08:50")

    starts = [(run.schedule_id, run.ready_at) for run in service.runs.values()]
    oldest = list(reversed(ids))[:5]
    assert starts == [(each, at("08:50") + n * 5 * SECOND) for n, each in enumerate(oldest)]
    for identity in ids[:3]:
        assert service.not_run_rows(identity) == [(1, "missed", "outage_limit")]
        assert (service.schedules[identity].next_slot or 0) > service.now


@pytest.mark.mission("E6")
def test_one_shots_beyond_the_budget_start_later_at_the_same_stagger():
    service = InMemoryService(limits=CATCH_UP_LIMITS)
    for n in range(6):
        service.add(prompt="hello", cron=f"{10 + n} * * * *")
    shots = [service.add(prompt="hello", at=f"2026-11-16T08:2{n}:00Z") for n in range(3)]

    plan_after_outage(service, "08:50")

    starts = {run.schedule_id: run.ready_at for run in service.runs.values()}
    assert len(starts) == 5 + 3
    assert [starts[shot] for shot in shots] == [at("08:50") + n * 5 * SECOND for n in (5, 6, 7)]


@pytest.mark.mission("E6")
def test_there_is_one_budget_per_outage_however_many_nodes_plan():
    service = InMemoryService(limits=CATCH_UP_LIMITS)
    ids = [service.add(prompt="hello", cron=f"{10 + n} * * * *") for n in range(8)]
    service.outage = Outage(at("08:00"), at("08:50"))
    service.advance_to("08:50")

    for identity in ids:
        service.plan([identity])

    assert len(service.runs) == 5
    assert service.outage == Outage(at("08:00"), at("08:50"), at("08:50:25"), recurring=5)


@pytest.mark.mission("E6")
def test_an_operation_after_an_outage_uses_its_budget():
    service = InMemoryService(limits=CATCH_UP_LIMITS._replace(max_catchup_runs=1))
    schedule = service.schedules[service.add(every="10m", if_running="allow")]
    facts = Facts([schedule], limits=service.limits, last_step_at=at("08:00"))
    known = Outage(at("08:00"), at("08:50"), recurring=1)

    first = run_now(facts, at("08:55"))
    second = run_now(facts._replace(outage=known), at("08:55"))
    unaware = run_now(facts._replace(limits=Limits(), outage=known), at("08:55"))

    assert first.outage == Outage(at("08:00"), at("08:55"), at("08:55:05"), recurring=1)
    assert [str(row.reason) for row in second.plans[0].not_run] == ["coalesced", "outage_limit"]
    assert unaware.outage is not None, "an outage is kept even without limits"


@pytest.mark.mission("E6")
def test_postponed_schedules_still_start_one_stagger_apart():
    service = InMemoryService(limits=Limits(max_dispatch_per_tick=2, catchup_stagger_ms=400))
    for n in range(1, 5):
        service.add(every="10m", start_at=f"2026-11-16T08:2{n}:00Z")
    plan_after_outage(service, "08:50")
    service.advance_to("08:50:01")
    service.plan_due()

    starts = [(run.ready_at - at("08:50")) // MILLISECOND for run in service.runs.values()]
    assert starts == [0, 400, 1000, 1400]


@pytest.mark.mission("E6", "E8")
@pytest.mark.parametrize("stagger", [0, 5000])
def test_schedules_beyond_the_budget_are_not_postponed(stagger: int):
    limits = Limits(max_dispatch_per_tick=2, max_catchup_runs=2, catchup_stagger_ms=stagger)
    service = InMemoryService(limits=limits)
    recurring = [service.add(every="1h") for _ in range(6)]
    plan_after_outage(service, "09:30")

    assert [service.states(each) for each in recurring[:2]] == [["queued"]] * 2
    assert [service.not_run_rows(each) for each in recurring[2:]] == [
        [(1, "missed", "outage_limit")]
    ] * 4


@pytest.mark.mission("E6", "E8")
@pytest.mark.parametrize(("stagger", "planned_at_once"), [(499, 2), (500, 4)])
def test_schedules_are_not_postponed_if_the_stagger_keeps_the_dispatch_rate(
    stagger: int, planned_at_once: int
):
    service = InMemoryService(limits=Limits(max_dispatch_per_tick=2, catchup_stagger_ms=stagger))
    for n in range(4):
        service.add(at=f"2026-11-16T08:2{n}:00Z")
    plan_after_outage(service, "08:50")

    assert len(service.runs) == planned_at_once


@pytest.mark.mission("E6")
def test_a_slot_after_the_outage_does_not_use_its_budget():
    service = InMemoryService(limits=CATCH_UP_LIMITS)
    for n in range(6):
        service.add(prompt="hello", cron=f"{10 + n},55 * * * *")
    plan_after_outage(service, "08:50")

    service.advance_to("08:55")
    for run in list(service.runs.values()):
        service.claim()
        service.finish(run.id)
    service.plan_due()

    assert len(service.runs) == 5 + 6


@pytest.mark.mission("E6")
def test_a_slot_skipped_for_overlap_does_not_use_the_budget():
    service = InMemoryService(limits=CATCH_UP_LIMITS._replace(max_catchup_runs=1))
    busy = service.add(prompt="hello", cron="10 * * * *")
    service.run_now(busy)
    free = service.add(prompt="hello", cron="11 * * * *")

    plan_after_outage(service, "08:50")

    assert service.not_run_rows(busy) == [(1, "skipped", "overlap")]
    assert service.states(free) == ["queued"]


@pytest.mark.mission("E6")
def test_after_an_outage_of_nine_seconds_five_agents_are_caught_up():
    service = InMemoryService()
    service.advance_to("09:00")
    ids = [service.add(prompt="hello", every="5s") for _ in range(8)]

    restart_planner(service)

    assert start_delays(service) == [0, 5, 10, 15, 20]
    missed = [each for each in ids if not service.states(each)]
    assert [service.not_run_rows(each) for each in missed] == [[(1, "missed", "outage_limit")]] * 3
    assert all((service.schedules[each].next_slot or 0) > service.now for each in ids)


@pytest.mark.mission("E6")
def test_after_an_outage_of_nine_seconds_all_one_shots_of_agents_run_five_seconds_apart():
    service = InMemoryService()
    service.advance_to("09:00")
    for n in range(8):
        service.add(prompt="hello", at=f"2026-11-16T09:00:0{n + 1}Z")

    restart_planner(service)

    assert start_delays(service) == [0, 5, 10, 15, 20, 25, 30, 35]


@pytest.mark.mission("E6")
def test_runs_missed_in_a_second_outage_start_after_those_of_the_first():
    service = InMemoryService()
    service.advance_to("09:00")
    for n in range(3):
        service.add(prompt="hello", at=f"2026-11-16T09:00:0{n + 1}Z")
    later = service.add(prompt="hello", at="2026-11-16T09:00:10Z")
    restart_planner(service)

    restart_planner(service, "09:00:11")

    (run,) = [run for run in service.runs.values() if run.schedule_id == later]
    assert run.ready_at == at(START) + 15 * SECOND


@pytest.mark.mission("E6", "E8")
def test_the_budgets_of_agents_do_not_limit_other_schedules():
    service = InMemoryService()
    service.advance_to("09:00")
    for _ in range(8):
        service.add(prompt="hello", every="5s")
    others = [service.add(every="5s") for _ in range(8)]

    restart_planner(service)

    assert len(service.runs) == 5 + 8
    ready = [run.ready_at for run in service.runs.values() if run.schedule_id in others]
    assert max(ready) <= service.now


@pytest.mark.mission("E6", "E8")
def test_limits_of_the_service_apply_to_all_schedules_together():
    service = InMemoryService(limits=Limits(max_catchup_runs=3, catchup_stagger_ms=1000))
    service.advance_to("09:00")
    for _ in range(4):
        service.add(prompt="hello", every="5s")
        service.add(every="5s")

    restart_planner(service)

    assert start_delays(service) == [0, 1, 2]


@pytest.mark.mission("E6", "E8")
@pytest.mark.parametrize("operation", ["delete", "pause", "edit"])
def test_runs_closed_in_the_same_decision_do_not_use_the_budgets(operation: str):
    """As when a declaration drops or disables schedules at the start."""
    service = InMemoryService()
    service.advance_to("09:00")
    ids = [service.add(prompt="hello", every="5s") for _ in range(8)]
    service.advance_to(START)
    service.start_planner(at("09:00"))

    for identity in ids[:5]:
        if operation == "edit":
            service.edit(identity, prompt="hello", every="5s", enabled=False)
        else:
            getattr(service, operation)(identity)
    service.plan_due()

    reason = "deleted" if operation == "delete" else "paused"
    assert [service.states(each) for each in ids[:5]] == [[f"skipped: {reason}"]] * 5
    assert [service.states(each) for each in ids[5:]] == [["queued"]] * 3
    assert start_delays(service)[5:] == [0, 5, 10]


@pytest.mark.mission("E8")
def test_a_limit_of_zero_removes_that_of_agents():
    service = InMemoryService(limits=Limits(max_catchup_runs=0, catchup_stagger_ms=0))
    service.advance_to("09:00")
    for _ in range(8):
        service.add(prompt="hello", every="5s")

    restart_planner(service)

    # Five were dispatched in this second: that limit was left as it is.
    assert len(service.runs) == 5
