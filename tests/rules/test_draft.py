"""Drafts: a plan that fails half-way has no effect."""

from __future__ import annotations

from harness.rules.in_memory_service import InMemoryService
from harness.rules.values import at
from quarterjack.rules import Backfill, Limits, Outage, Status, plan


def test_a_plan_that_fails_half_way_changes_no_gate_and_no_budget():
    service = InMemoryService(limits=Limits(max_catchup_runs=1, max_dispatch_per_tick=9))
    identity = service.add(plugin="echo", every="5m", if_running="allow", max_outstanding_polls=0)
    service.run_until("08:15", work=lambda run: "failed")
    service.outage = Outage(at("08:15"), at("08:50"))
    service.advance_to("08:50")
    broken = Backfill(1, "yesterday", at("08:00"))  # it is read last
    service.schedules[identity] = service.schedules[identity]._replace(backfill=broken)

    decided = plan(service._facts([identity]), service.now)

    assert decided.plans[0].schedule.status is Status.INVALID
    assert (decided.plans[0].schedule.status_reason or "").startswith("TypeError: ")
    assert (decided.gates, decided.gate_changes) == ({}, [])
    assert decided.outage == service.outage
    assert decided.dispatch_rate == service.dispatch_rate
