"""Service limits: their settings, dispatch rate and outages."""

from __future__ import annotations

from typing import Any

import pytest

from harness.rules.in_memory_service import InMemoryService
from harness.rules.values import at
from quarterjack import rules
from quarterjack.errors import Conflict, InvalidSpecification
from quarterjack.rules import Limits, Outage, Schedule, Status, read_specification
from quarterjack.rules.definition.presets import SERVICE_PRESETS
from quarterjack.rules.policies.service_limits import (
    DispatchRate,
    current_outage,
    detected_outage,
    next_step_at,
    outage_at_start,
    read_limits,
)
from quarterjack.targets.kinds import KINDS
from quarterjack.times.instants import MINUTE, SECOND

AGENT = SERVICE_PRESETS["agent"]["limits"]


def test_a_schedule_paused_until_an_instant_counts_for_max_scheduled_jobs():
    service = InMemoryService(limits=Limits(max_scheduled_jobs=1))
    resting = service.add(every="1h")
    service.pause(resting, until=at("12:00"))
    with pytest.raises(Conflict, match="max_scheduled_jobs"):
        service.add(every="1h")

    service.resume(resting)
    assert service.schedules[resting].status is Status.ACTIVE


@pytest.mark.mission("E8")
def test_no_more_than_max_scheduled_jobs_are_active():
    service = InMemoryService(limits=Limits(max_scheduled_jobs=2))
    first = service.add(every="1h")
    service.add(every="1h")
    with pytest.raises(Conflict, match="2 schedules are active and max_scheduled_jobs is 2; pause"):
        service.add(every="1h")
    service.add(every="1h", enabled=False)

    service.pause(first)
    service.add(every="1h")
    with pytest.raises(Conflict, match="max_scheduled_jobs"):
        service.resume(first)


@pytest.mark.mission("E8")
def test_the_next_planner_step_is_no_later_than_timer_clamp_ms():
    limits = Limits(timer_clamp_ms=5000)
    now = at("09:00")

    assert next_step_at(now, None, limits) == now + 5 * SECOND
    assert next_step_at(now, now + 2 * SECOND, limits) == now + 2 * SECOND
    assert next_step_at(now, now + MINUTE, limits) == now + 5 * SECOND
    assert next_step_at(now, now - MINUTE, limits) == now


@pytest.mark.mission("E8")
def test_every_limit_can_be_set():
    result = {
        "max_scheduled_jobs": 1000,
        "max_dispatch_per_tick": 5,
        "max_catchup_runs": 5,
        "catchup_stagger_ms": 5000,
        "timer_clamp_ms": 60000,
        "max_consecutive_errors": 10,
    }

    assert read_limits(result) == AGENT == Limits(**result)
    assert read_limits({}) == Limits(timer_clamp_ms=60_000)
    assert read_limits({"max_catchup_runs": 7}, AGENT) == AGENT._replace(max_catchup_runs=7)


@pytest.mark.mission("E8")
@pytest.mark.parametrize(("limits", "errors"), [({}, 10), ({"max_consecutive_errors": 0}, 0)])
def test_0_removes_a_limit_of_the_preset(limits: dict[str, int], errors: int):
    result = {"prompt": "hello", "every": "1h"}

    specification = read_specification(
        result, kinds=KINDS, key="a", now=0, limits=read_limits(limits)
    )

    assert specification.max_consecutive_errors == errors


@pytest.mark.parametrize("limits", [5, [], "max_catchup_runs: 3"])
def test_limits_must_be_a_mapping(limits: object):
    with pytest.raises(InvalidSpecification, match="is not a mapping; write names and numbers"):
        read_limits(limits)


def test_all_wrong_limits_are_reported_at_once():
    with pytest.raises(InvalidSpecification) as caught:
        read_limits({"timer_clamp_ms": 500, "max_jobs": 3, "max_catchup_runs": -1})

    assert [str(problem) for problem in caught.value.problems] == [
        "timer_clamp_ms 500 is outside 1000-60000; use a whole number from 1000 to 60000",
        "max_jobs 3 is unknown; use max_scheduled_jobs, max_dispatch_per_tick, max_catchup_runs, "
        "catchup_stagger_ms, timer_clamp_ms, max_consecutive_errors",
        "max_catchup_runs -1 is outside 0-1000000; use a whole number from 0 to 1000000",
    ]
    assert str(caught.value).startswith("limits: 3 problems")


@pytest.mark.mission("E8")
def test_without_limits_a_thousand_agents_may_be_active_and_any_number_of_others():
    def create(active: int, **fields: Any) -> Schedule:
        result = read_specification(
            {"every": "1h", **fields}, kinds=KINDS, key="k", now=at("09:00")
        )
        return rules.create(1, "k", result, at("09:00"), active=active, limits=Limits())

    with pytest.raises(Conflict) as refused:
        create(1000, prompt="hello")

    assert create(999, prompt="hello").status is create(1000, task="work").status is Status.ACTIVE
    assert str(refused.value) == (
        '1000 schedules of the preset "agent" are active and max_scheduled_jobs is 1000; '
        "pause or delete one, or raise the limit"
    )


class TestDispatchRate:
    def test_a_schedule_without_a_run_does_not_count(self):
        service = InMemoryService(limits=Limits(max_dispatch_per_tick=5))
        service.add(every="1h", only_between="20:00-21:00")
        service.add(every="1h")
        service.plan_at("09:00")

        assert service.dispatch_rate.dispatched == 1

    def test_an_operation_on_a_postponed_schedule_postpones_no_other(self):
        limits = Limits(max_dispatch_per_tick=1)
        service = InMemoryService(limits=limits)
        ids = [service.add(every="1h") for _ in range(4)]
        service.plan_at("09:00")
        assert service.dispatch_rate.postponed == 3

        service.advance_to("09:00:02")
        service.pause(ids[3])

        assert service.dispatch_rate.at(at("09:00:02"), limits).postponed == 1

    @pytest.mark.mission("E8")
    def test_at_most_max_dispatch_per_tick_schedules_are_planned_in_a_second(self):
        service = InMemoryService(limits=Limits(max_dispatch_per_tick=5))
        ids = [service.add(every="1h") for _ in range(12)]
        service.advance_to("09:00")

        service.plan_due()
        assert [run.schedule_id for run in service.runs.values()] == ids[:5]
        waits = [service.schedules[identity].wake_at for identity in ids[5:]]
        assert waits == [at("09:00:01")] * 5 + [at("09:00:02")] * 2
        assert service.not_run_rows(ids[5]) == []

        service.advance_to("09:00:01")
        service.plan_due()
        assert len(service.runs) == 10
        service.advance_to("09:00:02")
        service.plan_due()
        assert [run.schedule_id for run in service.runs.values()] == ids
        assert {run.slot for run in service.runs.values()} == {at("09:00")}

    def test_postponed_schedules_use_the_seconds_they_were_postponed_to(self):
        limits = Limits(max_dispatch_per_tick=2)
        rate = DispatchRate(second=10, dispatched=2, postponed=5)

        assert rate.postpones_until(limits) == 13 * SECOND
        assert rate.at(10 * SECOND + 7, limits) == rate
        assert rate.at(11 * SECOND, limits) == DispatchRate(11, 0, 3)
        assert rate.at(99 * SECOND, limits) == DispatchRate(99, 0, 0)
        assert rate.at(9 * SECOND, limits) == rate, "the clock of another node is slightly behind"
        assert rate.at(0, limits) == DispatchRate(0, 0, 5), "the clock was set back"
        assert rate.at(99 * SECOND, Limits()) == rate, "without a limit nothing is counted"
        assert DispatchRate(11, 1, 3).postpones_until(limits) is None
        assert rate.postpones_until(Limits()) is None

    def test_the_count_restarts_with_each_second(self):
        service = InMemoryService(limits=Limits(max_dispatch_per_tick=1))
        one, other = (
            service.add(every="1m"),
            service.add(every="1m", start_at="2026-11-16T08:01:01Z"),
        )
        service.advance_to("08:01:01")
        service.plan([one])
        service.advance_to("08:01:02")
        service.plan([other])

        assert len(service.runs) == 2

    def test_operations_are_not_postponed(self):
        service = InMemoryService(limits=Limits(max_dispatch_per_tick=1))
        for _ in range(3):
            service.add(every="1h")
        service.advance_to("09:00")

        for identity in (1, 2, 3):
            service.pause(identity)

        assert [service.states(identity) for identity in (1, 2, 3)] == [["skipped: paused"]] * 3

    def test_no_schedule_starves_when_more_is_due_than_may_be_dispatched(self):
        service = InMemoryService(limits=Limits(max_dispatch_per_tick=2))
        ids = [service.add(every="2s") for _ in range(6)]
        for second in range(2, 122):
            service.advance_to(at("08:00") + second * SECOND)
            service.plan_due()
            for run in service.claim():
                service.finish(run.id)

        counts = [service.schedules[identity].run_count for identity in ids]
        assert min(counts) >= 25
        assert sum(counts) >= 230

    def test_a_postponed_schedule_still_releases_held_runs(self):
        service = InMemoryService(limits=Limits(max_dispatch_per_tick=1))
        first = service.add(every="10m")
        second = service.add(every="10m", if_running="queue", catch_up="run_all")
        service.advance_to("08:20")
        service.plan([second])
        service.claim()
        service.plan_at("08:30")
        service.finish(f"{second}-0")
        service.plan([first, second])

        assert service.states(second)[:2] == ["succeeded", "queued"]
        assert (service.schedules[second].wake_at or 0) > at("08:30")


class TestOutage:
    @pytest.mark.mission("E6")
    def test_it_is_the_same_outage_until_a_planner_step_is_stored(self):
        known = Outage(at("08:00"), at("08:50"), recurring=5)

        again = current_outage(known, at("08:00"), AGENT, at("08:51"))
        another = current_outage(known, at("08:51"), AGENT, at("09:00"))

        assert again == Outage(at("08:00"), at("08:51"), recurring=5)
        assert another == Outage(at("08:51"), at("09:00"))
        assert current_outage(known, at("08:59"), AGENT, at("09:00")) == known
        assert current_outage(None, at("08:00"), AGENT, at("09:00")) == Outage(
            at("08:00"), at("09:00")
        )
        assert current_outage(None, at("08:59"), AGENT, at("09:00")) is None

    def test_it_is_detected_when_no_planner_step_ran_for_longer_than_the_gap(self):
        assert detected_outage(None, at("09:00"), MINUTE) is None
        assert detected_outage(at("08:59"), at("09:00"), MINUTE) is None
        assert detected_outage(at("08:58"), at("09:00"), MINUTE) == Outage(at("08:58"), at("09:00"))

    def test_it_covers_slots_before_its_end(self):
        outage = Outage(at("08:00"), at("09:00"))

        covered = [outage.covers(at(slot)) for slot in ("08:00", "08:30", "09:00", "09:30")]
        assert covered == [True, True, False, False]

    def test_an_outage_detected_by_a_clock_that_was_ahead_is_ignored(self):
        limits = Limits(max_catchup_runs=5, catchup_stagger_ms=5000)
        ahead = current_outage(None, at("08:00"), limits, at("10:00"))
        assert ahead is not None

        assert current_outage(ahead, at("10:00"), limits, at("08:01")) is None
        assert current_outage(ahead, at("10:00"), limits, at("10:00")) == ahead

    def test_a_second_start_before_any_plan_keeps_the_budget_of_the_outage(self):
        known = Outage(at("08:00"), at("08:50"), at("08:50:10"), recurring=2)

        same = outage_at_start(known, at("08:00"), at("08:51"))
        another = outage_at_start(known, at("08:50"), at("08:51"))

        assert same == Outage(at("08:00"), at("08:51"), at("08:50:10"), recurring=2)
        assert another == Outage(at("08:50"), at("08:51"), at("08:50:10"))
        assert outage_at_start(None, None, at("08:51")) == Outage(0, at("08:51"))
        ahead = known._replace(until=at("09:50"))
        assert outage_at_start(ahead, at("08:50"), at("08:51")) == Outage(at("08:50"), at("08:51"))
