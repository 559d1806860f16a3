"""Planning: what becomes of due slots, held runs and whole schedules."""

from __future__ import annotations

import pytest

from harness.rules.in_memory_service import InMemoryService, made_by_slots
from harness.rules.values import at, hours
from quarterjack.rules import Facts, State, Status, plan
from quarterjack.times import jitter_of
from quarterjack.times.instants import SECOND


def slots_that_ran(service: InMemoryService, identity: int) -> list[int]:
    return [run.slot for run in made_by_slots(service, identity)]


def planned_at(until: str, **fields: object) -> tuple[InMemoryService, int]:
    """A schedule created at 08:00 and planned only at this instant."""
    service = InMemoryService()
    identity = service.add(**fields)
    service.advance_to(until)
    service.plan_due()
    return service, identity


def planned_slots(service: InMemoryService) -> list[int]:
    return [run.slot for run in service.runs.values()]


def test_no_slot_is_planned_twice_after_the_clock_was_set_back():
    service, identity = planned_at("09:00", every="1h")

    service.advance_to(at("09:00") - hours(2))
    service.plan([identity])
    service.advance_to(at("09:00") + 30 * SECOND)
    service.plan([identity])

    assert slots_that_ran(service, identity) == [at("09:00")]
    assert service.schedules[identity].next_slot == at("10:00")


def test_a_schedule_is_done_when_its_recurrence_ends():
    service = InMemoryService()
    identity = service.add(every="1h", end_at="2026-11-16T10:00:00Z")
    service.run_until("12:00")

    schedule = service.schedules[identity]
    assert slots_that_ran(service, identity) == [at("09:00"), at("10:00")]
    assert (schedule.status, schedule.status_reason) == ("done", "no_more_slots")


def test_a_run_of_a_slot_has_request_0_and_the_instant_of_the_plan():
    service = InMemoryService()
    identity = service.add(every="1h")
    service.advance_to("09:00:30")
    service.plan_due()

    run = service.runs[f"{identity}-0"]
    assert (run.planned_at, run.request) == (at("09:00:30"), 0)
    assert run.ready_at == at("09:00")


@pytest.mark.parametrize("caller", ["slot", "manual", "backfill"])
def test_every_run_has_the_priority_and_queue_of_its_schedule(caller: str):
    service = InMemoryService()
    identity = service.add(cron="0 * * * *", priority=7, queue="reports")
    if caller == "manual":
        service.run_now(identity)
    elif caller == "backfill":
        service.backfill(identity, "07:00", "07:00")
        service.plan_due()
    else:
        service.plan_at("09:00")

    run = service.runs[f"{identity}-0"]
    assert (run.kind, run.priority, run.queue) == (caller, 7, "reports")
    assert (run.caught_up, run.planned_at) == (False, service.now)


def test_planning_a_paused_schedule_keeps_its_wake():
    service = InMemoryService()
    identity = service.add(every="1h")
    service.pause(identity, until=at("12:00"))
    service.plan([identity])

    assert service.schedules[identity].wake_at == at("12:00")


def test_a_schedule_whose_last_slot_was_skipped_is_done_when_its_open_run_has_ended():
    service = InMemoryService()
    identity = service.add(every="10m", end_at="2026-11-16T08:10:00Z")
    manual = service.run_now(identity)
    service.claim()
    service.plan_at("08:10")
    assert service.schedules[identity].status is Status.ACTIVE

    service.finish(manual.id)
    service.plan_due()

    assert service.schedules[identity].status is Status.DONE


class TestBatch:
    def test_a_run_that_one_schedule_released_is_not_released_by_the_next(self):
        service = InMemoryService()
        fields = {"plugin": "echo", "command": "sync", "if_running": "queue"}
        one, other = service.add(every="10m", **fields), service.add(every="10m", **fields)
        service.plan_at("08:10")
        service.claim()
        service.plan_at("08:20")
        service.finish(f"{one}-0")

        first, second = service.plan([other, one])

        assert [run.schedule_id for run in first.released] == [other]
        assert (list(second.released), list(second.wakes)) == ([], [])

    def test_a_run_that_one_schedule_cancelled_is_not_cancelled_by_the_next(self):
        service = InMemoryService()
        fields = {"plugin": "echo", "command": "sync", "if_running": "cancel"}
        service.add(every="10m", **fields)
        late = [
            service.add(every="10m", start_at="2026-11-16T08:15:00Z", **fields) for _ in range(2)
        ]
        service.plan_at("08:10")
        service.claim()
        service.advance_to("08:15")

        first, second = service.plan(late)

        assert [run.id for run in first.cancelled] == ["1-0"]
        assert list(second.cancelled) == []
        assert [run.id for run in second.closed] == [run.id for run in first.added]

    def test_an_empty_batch_has_an_empty_result(self):
        service = InMemoryService()
        decided = plan(service._facts([]), service.now)

        assert (decided.plans, decided.gates, decided.gate_changes) == ([], {}, [])


class TestInvalidSchedules:
    def test_it_does_not_wake_schedules_of_other_scopes(self):
        service = InMemoryService()
        fields = {"command": "sync", "if_running": "queue", "every": "10m"}
        broken = service.add(plugin="echo", **fields)
        other = service.add(plugin="other", **fields)
        service.plan_at("08:10")
        held = service.runs[f"{other}-0"]._replace(state=State.HELD)
        service.runs[held.id] = held
        service.schedules[broken] = service.schedules[broken]._replace(anchor_at="x")
        service.advance_to("08:20")

        (decided,) = service.plan([broken])

        assert list(decided.wakes) == []
        assert decided.schedule.wake_at is None
        assert decided.schedule.next_slot is None

    def test_its_waiting_runs_are_closed_and_the_next_held_run_is_released(self):
        service = InMemoryService()
        fields = {"plugin": "echo", "command": "sync", "every": "10m", "if_running": "queue"}
        broken, other, third = (service.add(**fields) for _ in range(3))
        service.plan_at("08:10")
        assert [service.states(each) for each in (broken, other, third)] == [
            ["queued"],
            ["held"],
            ["held"],
        ]
        service.schedules[broken] = service.schedules[broken]._replace(anchor_at="x")

        service.plan_at("08:20")

        assert service.schedules[broken].status is Status.INVALID
        assert service.states(broken) == ["skipped: inactive"]
        assert service.states(other)[0] == "queued"

    def test_it_wakes_no_schedule_while_another_run_of_the_scope_is_open(self):
        service = InMemoryService()
        fields = {"plugin": "echo", "command": "sync"}
        service.add(every="10m", **fields)
        broken = service.add(every="10m", if_running="queue", **fields)
        service.plan_at("08:10")
        service.schedules[broken] = service.schedules[broken]._replace(anchor_at="x")

        (_, decided) = service.plan([1, broken])

        assert (decided.closes, list(decided.wakes)) == ("inactive", [])

    def test_it_wakes_a_schedule_that_waited_for_its_runs(self):
        service = InMemoryService()
        fields = {"plugin": "echo", "command": "sync", "if_running": "queue"}
        broken = service.add(every="10m", **fields)
        yearly = service.add(at="2026-11-16T08:10:00Z", **fields)
        service.plan_at("08:10")
        service.schedules[broken] = service.schedules[broken]._replace(anchor_at="x")

        service.plan_at("08:20")

        assert service.states(yearly) == ["queued"]

    @pytest.mark.parametrize("deed", ["delete", "pause"])
    def test_it_can_be_deleted_and_a_pause_makes_it_invalid(self, deed: str):
        service = InMemoryService()
        identity = service.add(every="1h")
        service.schedules[identity] = service.schedules[identity]._replace(anchor_at="x")
        service.advance_to("09:00")
        if deed == "delete":
            service.delete(identity)
            assert identity in service.deleted
        else:
            service.pause(identity)
            assert service.schedules[identity].status is Status.INVALID

    def test_a_lack_of_system_resources_does_not_make_a_schedule_invalid(self):
        """Too many open files, say, while the zones are read: it will pass."""

        class NoZones:
            once = completion = is_agent = False

            def __getattr__(self, name: str) -> None:
                raise OSError("too many open files")

        service = InMemoryService()
        schedule = service.schedules[service.add(every="1h")]
        facts = Facts([schedule._replace(specification=NoZones())])

        with pytest.raises(OSError, match="too many open files"):
            plan(facts, at("09:00"))

    def test_a_schedule_that_cannot_be_planned_does_not_affect_others(self):
        service = InMemoryService()
        broken, sound = service.add(every="1h"), service.add(every="1h")
        service.schedules[broken] = service.schedules[broken]._replace(anchor_at="yesterday")
        service.advance_to("09:00")

        service.plan_due()

        schedule = service.schedules[broken]
        assert schedule.status is Status.INVALID
        assert schedule.status_reason == ('TypeError: can only concatenate str (not "int") to str')
        assert (schedule.next_slot, schedule.wake_at) == (None, None)
        assert service.states(sound) == ["queued"]


class TestJitter:
    def test_it_delays_the_run_and_never_moves_the_slot(self):
        service = InMemoryService()
        service.add(every="1h", jitter="30s", key="nightly")
        service.run_until("12:00")

        for run in service.runs.values():
            delay = jitter_of("nightly", run.slot, 30 * SECOND)
            assert run.ready_at == run.slot + delay
        assert planned_slots(service) == [at(f"{hour:02}:00") for hour in (9, 10, 11, 12)]
        assert len({run.ready_at - run.slot for run in service.runs.values()}) == 4

    def test_it_counts_from_the_opening_of_a_window(self):
        service = InMemoryService()
        service.add(
            every="1h", jitter="30s", only_between="22:00-02:00", on_constraint="defer", key="k"
        )
        service.plan_at("09:00")

        assert [run.ready_at for run in service.runs.values()] == [
            at("22:00") + jitter_of("k", at("09:00"), 30 * SECOND)
        ]
