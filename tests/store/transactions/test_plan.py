"""Planning on every store."""

from __future__ import annotations

import pytest

from harness.rules.values import at
from harness.store.shortcuts import changes, clear_cache, states, write
from harness.store.stores import StoreClient, new, query
from quarterjack import rules
from quarterjack.errors import Violation
from quarterjack.rules import Facts, Plans, State, Status
from quarterjack.times.instants import SECOND


def test_a_due_slot_is_planned_once(client: StoreClient):
    client.add(every="1h")
    client.go("09:00")

    first, second = client.plan(), client.plan()

    assert (first.due_count, first.added, first.next_wake) == (1, 1, at("10:00"))
    assert (second.due_count, second.added, second.next_wake) == (0, 0, at("10:00"))
    assert states(client) == ["queued"]


def test_schedules_that_are_not_due_are_not_planned(client: StoreClient):
    client.add(every="1h")
    client.go("08:59:59")

    assert client.plan().due_count == 0


def test_a_step_plans_no_more_schedules_than_its_limit(client: StoreClient):
    client.add_all([new(f"s{number}", client.now, every="1h") for number in range(5)])
    client.go("09:00")

    assert [client.plan(limit=2).due_count for _ in range(3)] == [2, 2, 1]


@pytest.mark.fault("F46")
def test_due_schedules_are_planned_in_the_order_of_priority(client: StoreClient):
    client.add("patient", cron="1 9 * * *", priority=-1)
    client.add_all([new(f"herd{number}", client.now, cron="2 9 * * *") for number in range(4)])
    client.add("urgent", cron="3 9 * * *", priority=1)
    edited = new("herd0", client.now, cron="4 9 * * *", priority=7).specification
    client.change(2, lambda facts, now: rules.edit(facts, edited, now))
    client.plan()
    client.go("09:05")
    batches: list[list[str]] = []

    def decide(facts: Facts, now: int) -> Plans:
        batches.append([schedule.key for schedule in facts.schedules])
        return rules.plan(facts, now)

    while client(client.store.plan_due(client.now, 2, decide)).due_count == 2:
        pass

    assert batches == [["urgent", "herd0"], ["herd1", "herd2"], ["herd3", "patient"]]


def test_nothing_is_written_if_the_rule_raises(client: StoreClient):
    client.add(every="1h")
    client.go("09:00")

    def broken(facts: Facts, now: int) -> Plans:
        raise ZeroDivisionError("in the middle")

    with pytest.raises(ZeroDivisionError):
        client(client.store.plan_due(client.now, 10, broken))

    assert client.plan().added == 1


def test_a_second_run_for_the_same_slot_rolls_back_the_whole_plan(client: StoreClient):
    identity = client.add(every="1h")
    client.go("09:00")
    client.plan()
    first = client.reads.run(f"{identity}-0")[0].run
    client.go("10:00")

    def twice(facts: Facts, now: int) -> Plans:
        plans = rules.plan(facts, now)
        (plan,) = plans.plans
        same_slot = plan.schedule._replace(planned_count=9)
        run = plan.added or [first]
        again = [run[0]._replace(number=8, slot=at("09:00"), state=State.QUEUED)]
        return plans._replace(plans=[plan._replace(schedule=same_slot, added=again)])

    with pytest.raises(Violation, match=r"(?i)unique"):
        client(client.store.plan_due(client.now, 10, twice))

    assert states(client) == ["queued"]
    assert client.reads.schedule("nightly").schedule.planned_count == 1


def test_an_unreadable_specification_invalidates_only_its_schedule(client: StoreClient):
    client.add("bad", every="1h")
    client.add("good", every="1h")
    write(client, "update specifications set body = '{\"every\": 7}' where schedule_id = 1")
    clear_cache(client)
    client.go("09:00")

    client.plan()

    bad, good = client.reads.schedule("bad").schedule, client.reads.schedule("good").schedule
    assert (bad.status, good.status) == (Status.INVALID, Status.ACTIVE)
    assert "InvalidSpecification" in (bad.status_reason or "")
    assert states(client, "good") == ["queued"]
    assert states(client, "bad") == []


def test_the_status_reason_names_a_missing_specification(client: StoreClient):
    client.add(every="1h")
    write(client, "delete from specifications")
    clear_cache(client)
    client.go("09:00")

    client.plan()

    reason = client.reads.schedule("nightly").schedule.status_reason
    assert reason == "LookupError: its specification is missing"


def test_repeated_steps_with_nothing_due_write_nothing_for_a_while(client: StoreClient):
    """Or two processes on one database would wake each other for ever."""
    client.plan()
    before = changes(client)
    for _ in range(3):
        client.plan()

    assert changes(client) == before
    client.clock.instant += 20 * SECOND
    client.plan()
    assert changes(client) > before


def test_the_last_step_is_recorded_again_after_the_clock_was_set_back(client: StoreClient):
    client.go("10:00")
    client.plan()
    client.go("08:30")
    client.plan()

    assert query(client, "select last_look from planner_state") == [(at("08:30"),)]
