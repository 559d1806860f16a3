"""Service limits after an outage, with one node and with two nodes on one database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from harness.engine.service import SteppedService, failing
from harness.rules.values import at
from harness.store.stores import new
from quarterjack import rules
from quarterjack.rules import Limits, Status
from quarterjack.rules.definition.presets import SERVICE_PRESETS
from quarterjack.times.instants import SECOND

AGENT: Limits = SERVICE_PRESETS["agent"]["limits"]


@pytest.mark.mission("E6", "E8")
def test_two_nodes_together_catch_up_five_recurring_schedules_5_seconds_apart_oldest_first(
    make_two_nodes: Callable[[Limits], SteppedService],
):
    service = make_two_nodes(AGENT)
    for minute in range(20, 0, -1):
        service.add(f"at {minute:02}", cron=f"{minute} 9 * * *")
    service.run_until("08:30")
    service.restart_after_outage("10:30")
    service.run_until("10:35")

    assert set(service.planned_by) == {"w3", "w4"}, "both have planned"
    assert [call.key for _, call in service.calls] == [f"at {minute:02}" for minute in range(1, 6)]
    assert service.seconds_since("10:30") == [0, 5, 10, 15, 20]
    refused = [service.not_run(identity) for identity in range(1, 16)]
    assert refused == [[(1, "outage_limit")]] * 15, "the rest has a row with the reason"
    tomorrow = {service.schedule(identity).next_slot for identity in range(1, 21)}
    assert tomorrow == {at(f"2026-11-17T09:{minute:02}:00Z") for minute in range(1, 21)}


@pytest.mark.mission("E6")
def test_one_shots_are_never_lost_and_are_staggered_too(
    make_two_nodes: Callable[[Limits], SteppedService],
):
    service = make_two_nodes(AGENT)
    for number in range(8):
        service.add(f"hourly {number}", every="1h")
    for minute in range(10, 17):
        service.add(f"once {minute}", at=f"2026-11-16T09:{minute}:00Z", catch_up="skip")
    service.run_until("08:30")
    service.restart_after_outage("09:45")
    service.run_until("10:00:01")

    started = Counter(call.key.split()[0] for _, call in service.calls[:12])
    assert started == {"hourly": 5, "once": 7}
    assert service.seconds_since("09:45")[:12] == [5 * step for step in range(12)]
    done = [service.schedule(identity).status for identity in range(9, 16)]
    assert done == [Status.DONE] * 7
    assert len(service.calls) == 12 + 8, "the slots of ten are none of the budget"


@pytest.mark.mission("E6")
def test_further_restarts_do_not_renew_the_budget(
    make_two_nodes: Callable[[Limits], SteppedService],
):
    service = make_two_nodes(AGENT)
    for number in range(20):
        service.add(f"s{number}", every="1h")
    service.run_until("08:30")
    service.restart_after_outage("09:30")
    for second in (2, 4, 6):
        service.restart(f"w{second}", f"x{second}")
        service.run_until(at("09:30") + second * SECOND)
    service.run_until("09:45")

    assert len(service.calls) == 5


@pytest.mark.mission("E6")
def test_a_schedule_that_cannot_be_planned_does_not_renew_the_budget(
    make_service: Callable[..., SteppedService],
):
    """The other schedules of its batch are planned one by one."""
    service = make_service(limits=AGENT)
    for number in range(12):
        service.add(f"s{number}", every="1h")
    service.run_until("08:30")
    if service.address is None:
        service.execute(
            "create trigger picky before insert on runs when new.schedule_id = 3"
            " begin select raise(abort, 'not this one'); end"
        )
    else:
        service.execute("alter table runs add constraint picky check (schedule_id <> 3)")
    service.suspend_until("09:30")
    service.restart()
    service.run_until("09:45")

    assert service.schedule(3).status is Status.INVALID
    assert service.seconds_since("09:30") == [0, 5, 10, 15, 20]


@pytest.mark.mission("E6")
def test_an_edit_before_the_first_planner_step_uses_the_same_budget(
    make_service: Callable[..., SteppedService],
):
    """At a start the declaration is applied first, and plans under the old definitions."""
    service = make_service(limits=AGENT)
    for number in range(12):
        service.add(f"s{number}", every="1h")
    service.run_until("08:30")
    service.suspend_until("09:30")
    for identity in range(1, 9):
        changed = new(f"s{identity - 1}", service.clock.instant, every="2h").specification
        service.change(identity, rules.edit, changed)
    service.restart()
    service.run_until("09:45")

    assert service.seconds_since("09:30") == [0, 5, 10, 15, 20]


@pytest.mark.mission("E6", "E7")
def test_a_schedule_with_ten_consecutive_errors_is_paused_and_not_dispatched(
    make_two_nodes: Callable[[Limits], SteppedService],
):
    service = make_two_nodes(AGENT)
    service.add("lenient", every="1m", max_consecutive_errors=50)
    service.add("good", every="1h")
    service.work = lambda call: failing(call) if call.key == "lenient" else None
    service.run_until("08:12")
    strict = new("lenient", at("08:12"), every="1m", max_consecutive_errors=10).specification
    service.change(1, rules.edit, strict)
    service.calls.clear()
    service.restart_after_outage("09:30")
    service.run_until("09:31")

    assert [call.key for _, call in service.calls] == ["good"]
    schedule = service.schedule(1)
    assert (schedule.status, schedule.status_reason) == (Status.PAUSED, "consecutive_errors")
    assert service.not_run(1) == [(78, "consecutive_errors")]


@pytest.mark.mission("E6")
def test_one_node_catches_up_five_recurring_schedules_5_seconds_apart(
    make_service: Callable[..., SteppedService],
):
    service = make_service(limits=AGENT._replace(max_dispatch_per_tick=0))
    for number in range(8):
        service.add(f"s{number}", every="1h")
    service.run_until("08:30")
    service.add("once", at="2026-11-16T08:45:00Z")
    service.suspend_until("10:30")
    service.restart()
    service.run_until("10:31")

    starts = sorted(when for when, _ in service.calls)
    assert starts == [at("10:30") + step * 5 * SECOND for step in range(6)]
    assert "9-0" in service.started(), "a one-shot is never lost"
    skipped = [service.not_run(identity) for identity in range(1, 9)]
    assert sum(rows[-1][1] == "outage_limit" for rows in skipped if rows) == 3


def eight(second: int) -> str:
    return f"2026-11-16T08:00:0{second}Z"


@pytest.mark.mission("E6", "E8")
def test_of_eight_agent_schedules_missed_in_an_outage_of_9_seconds_five_run_5_seconds_apart(
    make_two_nodes: Callable[[Limits], SteppedService],
):
    service = make_two_nodes(Limits())
    for second in range(8, 0, -1):
        service.add(f"at {second}", preset="agent", every="1h", start_at=eight(second))
    service.run_until("08:00:00")
    service.restart_after_outage("08:00:09")
    service.run_until("08:10")

    assert [call.key for _, call in service.calls] == [f"at {second}" for second in range(1, 6)]
    assert service.seconds_since("08:00:09") == [0, 5, 10, 15, 20]
    for identity in (1, 2, 3):
        assert service.not_run(identity) == [(1, "outage_limit")]
    nine = {service.schedule(identity).next_slot for identity in range(1, 9)}
    assert nine == {at(f"09:00:0{second}") for second in range(1, 9)}


@pytest.mark.mission("E6", "E8")
def test_of_eight_missed_agent_one_shots_all_run_5_seconds_apart(
    make_two_nodes: Callable[[Limits], SteppedService],
):
    service = make_two_nodes(Limits())
    for second in range(1, 9):
        service.add(f"at {second}", preset="agent", at=eight(second))
    service.run_until("08:00:00")
    service.restart_after_outage("08:00:09")
    service.run_until("08:10")

    assert service.seconds_since("08:00:09") == [0, 5, 10, 15, 20, 25, 30, 35]
    assert {service.schedule(identity).status for identity in range(1, 9)} == {Status.DONE}


@pytest.mark.mission("E6", "E8", "D7")
def test_schedules_of_other_presets_are_caught_up_at_once_by_their_own_policy(
    make_two_nodes: Callable[[Limits], SteppedService],
):
    service = make_two_nodes(Limits())
    for second in range(1, 9):
        service.add(f"agent {second}", preset="agent", every="1h", start_at=eight(second))
        service.add(f"other {second}", every="1h", start_at=eight(second))
        service.add(f"skip {second}", every="1h", start_at=eight(second), catch_up="skip")
    service.run_until("08:00:00")
    service.restart_after_outage("08:00:09")
    service.run_until("08:10")

    keys = Counter(call.key.split()[0] for _, call in service.calls)
    assert keys == {"agent": 5, "other": 8}
    at_once = [when for when, call in service.calls if call.key.startswith("other")]
    assert set(at_once) == {at("08:00:09")}
    missed = [service.not_run(identity) for identity in range(3, 25, 3)]
    assert missed == [[(1, "outage")]] * 8


@pytest.mark.mission("E6", "D7")
def test_what_comes_due_while_another_planner_is_alive_is_not_missed(
    make_two_nodes: Callable[[Limits], SteppedService],
):
    service = make_two_nodes(Limits())
    service.add("skip", every="1h", start_at=eight(3), catch_up="skip")
    service.run_until("08:00:00")
    service.suspend_until("08:00:09")
    service.run(service._register("w3", service.store))
    service.run_until("08:00:09")

    assert [call.key for _, call in service.calls] == ["skip"], "late, and within grace"
    assert service.not_run() == []
