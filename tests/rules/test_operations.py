"""Operations that people request: create, edit, pause, resume, delete, run, retry, cancel."""

from __future__ import annotations

from typing import Any

import pytest

from harness.rules.in_memory_service import InMemoryService, made_by_slots
from harness.rules.values import at, specification
from quarterjack import rules
from quarterjack.errors import Conflict, InvalidSpecification, WrongState
from quarterjack.rules import (
    Ending,
    Facts,
    Kind,
    Limits,
    Reason,
    Schedule,
    State,
    Status,
    create,
    invalidate,
)
from quarterjack.times.instants import HOUR, MINUTE


def after_two_runs(**fields: object) -> tuple[InMemoryService, int]:
    """A schedule whose runs of 09:00 and 10:00 succeeded; it is 10:20."""
    service = InMemoryService()
    identity = service.add(**({"every": "1h"} | fields))
    service.run_until("10:20")
    return service, identity


class TestEdit:
    def test_a_corrected_schedule_that_a_person_had_paused_has_no_status_reason(self):
        service = InMemoryService()
        identity = service.add(every="1h")
        service.pause(identity, reason="holiday")
        service.schedules[identity] = service.schedules[identity]._replace(status=Status.INVALID)
        service.edit(identity, every="1h")

        assert service.schedules[identity].status_reason is None

    def test_enabled_false_pauses_in_the_name_of_the_declaration(self):
        service = InMemoryService()
        identity = service.add(every="1h")
        service.edit(identity, every="1h", enabled=False)

        assert service.schedules[identity].paused_by == "declaration"

    def test_max_scheduled_jobs_does_not_prevent_edits_of_existing_schedules(self):
        service = InMemoryService(limits=Limits(max_scheduled_jobs=1))
        active = service.add(every="1h")
        resting = service.add(every="1h", enabled=False)
        service.edit(active, every="2h")
        service.edit(resting, every="2h", enabled=False)

        assert service.schedules[resting].version == 2

    def test_a_new_at_in_the_past_moves_the_cursor_just_before_it(self):
        service = InMemoryService()
        identity = service.add(cron="0 0 1 1 *")
        service.edit(identity, at="2026-11-16T07:00:00Z")

        assert service.schedules[identity].cursor == at("07:00") - 1

    def test_an_edit_to_another_plugin_moves_only_the_open_runs_of_the_schedule(self):
        service = InMemoryService()
        fields = {"command": "sync", "every": "10m", "if_running": "queue"}
        moving = service.add(plugin="echo", **fields)
        staying = service.add(plugin="echo", **fields)
        there = service.add(plugin="other", **fields)
        service.plan_at("08:10")
        service.edit(moving, plugin="other", **fields)

        assert service.runs[f"{moving}-0"].scope == "other/sync"
        assert service.runs[f"{staying}-0"].scope == "echo/sync"
        service.plan_at("08:20")
        assert service.states(staying)[0] == "queued"
        assert service.states(moving) == ["queued", "held"]
        assert service.states(there) == ["queued", "held"]

    def test_an_edit_to_another_plugin_works_without_open_runs(self):
        service = InMemoryService()
        identity = service.add(plugin="echo", every="10m")
        service.edit(identity, plugin="other", every="10m", priority=3)

        assert service.schedules[identity].version == 2

    def test_a_new_at_fires_although_the_run_of_the_old_one_is_open(self):
        service = InMemoryService()
        identity = service.add(at="2026-11-16T09:00:00Z")
        service.plan_at("09:00")
        service.claim()
        service.edit(identity, at="2026-11-16T09:10:00Z")
        service.plan_at("09:10")
        assert service.states(identity) == ["running", "held"]

        service.advance_to("09:20")
        service.finish(f"{identity}-0")
        service.run_until("09:30")

        assert service.states(identity) == ["succeeded", "succeeded"]
        assert service.schedules[identity].status is Status.DONE

    @pytest.mark.parametrize("words", [{"timezone": "Asia/Tokyo"}, {"not_on": ["sunday"]}])
    def test_another_zone_or_window_of_a_one_shot_fires_nothing_twice(self, words: dict[str, Any]):
        service = InMemoryService()
        identity = service.add(after="5m")
        service.run_until("08:10")
        assert service.schedules[identity].status is Status.DONE

        service.edit(identity, after="5m", **words)
        service.run_until("08:30")

        assert len(service.runs) == 1
        assert service.schedules[identity].status is Status.DONE

    def test_another_zone_does_not_move_an_after(self):
        service = InMemoryService()
        identity = service.add(after="30m")
        service.advance_to("08:10")
        service.edit(identity, after="30m", timezone="Asia/Tokyo")
        service.run_until("08:40")

        assert [run.slot for run in service.runs.values()] == [at("08:30")]

    def test_a_new_at_keeps_a_schedule_active_that_is_about_to_be_done(self):
        service = InMemoryService()
        identity = service.add(at="2026-11-16T09:00:00Z", delete_after_run=True)
        service.plan_at("09:00")
        service.claim()
        service.finish(f"{identity}-0")

        service.edit(identity, at="2026-11-16T12:00:00Z", delete_after_run=True)

        assert service.schedules[identity].status is Status.ACTIVE
        assert service.schedules[identity].next_slot == at("12:00")

    def test_a_corrected_schedule_that_a_person_had_paused_stays_paused(self):
        service = InMemoryService()
        identity = service.add(every="1h")
        service.pause(identity, until=at("12:00"))
        service.schedules[identity] = service.schedules[identity]._replace(status=Status.INVALID)

        service.edit(identity, every="1h")

        schedule = service.schedules[identity]
        assert (schedule.status, schedule.paused_by) == (Status.PAUSED, "ada")
        assert (schedule.paused_until, schedule.wake_at) == (at("12:00"), at("12:00"))

    def test_an_edit_to_another_plugin_wakes_a_schedule_that_waited_for_its_runs(self):
        service = InMemoryService()
        moving = service.add(plugin="echo", command="sync", every="10m")
        once = service.add(plugin="echo", command="sync", at="2026-11-16T08:10:00Z")
        service.plan_at("08:10")
        service.claim()
        assert service.states(once) == ["held"]

        service.edit(moving, plugin="other", command="sync", every="10m")
        service.plan_due()

        assert service.states(once) == ["queued"]
        assert service.runs[f"{moving}-0"].scope == "other/sync"

    def test_enabled_false_does_not_change_the_reason_of_an_existing_pause(self):
        service = InMemoryService()
        identity = service.add(every="1h")
        service.pause(identity, reason="holiday")
        service.edit(identity, every="1h", enabled=False)

        assert service.schedules[identity].status_reason == "holiday"

    def test_an_edit_that_exceeds_max_scheduled_jobs_is_refused(self):
        service = InMemoryService(limits=Limits(max_scheduled_jobs=1))
        resting = service.add(every="1h", enabled=False)
        service.add(every="1h")

        with pytest.raises(Conflict, match="max_scheduled_jobs"):
            service.edit(resting, every="1h", enabled=True)
        service.edit(2, every="2h")

    def test_a_held_run_that_is_alone_in_its_new_scope_is_released(self):
        service = InMemoryService()
        service.add(plugin="echo", command="sync", every="10m")
        once = service.add(plugin="echo", command="sync", at="2026-11-16T08:11:00Z")
        service.plan_at("08:10")
        service.claim()
        service.plan_at("08:11")
        assert service.states(once) == ["held"]

        service.edit(once, task="work", at="2026-11-16T08:11:00Z")
        service.plan_due()

        assert service.states(once) == ["queued"]

    def test_a_corrected_one_shot_that_has_fired_does_not_fire_again(self):
        service = InMemoryService()
        identity = service.add(after="10m", if_running="allow")
        service.plan_at("08:10")
        service.claim()
        facts = service._facts([identity])
        service._commit(invalidate(facts, "its zone is gone"))
        schedule = service.schedules[identity]
        assert (schedule.status, schedule.status_reason) == (Status.INVALID, "its zone is gone")

        service.edit(identity, after="10m", if_running="allow")
        service.run_until("08:40")

        assert len(service.runs) == 1

    def test_a_corrected_schedule_that_was_declared_disabled_is_paused_again(self):
        service = InMemoryService()
        identity = service.add(every="1h", enabled=False)
        service._commit(invalidate(service._facts([identity]), "broken"))
        service.edit(identity, every="1h", enabled=False)
        schedule = service.schedules[identity]
        assert (schedule.status, schedule.status_reason) == (Status.PAUSED, "declared_disabled")

        service.edit(identity, every="1h", enabled=True)
        assert service.schedules[identity].status is Status.ACTIVE

    @pytest.mark.mission("H5")
    def test_another_recurrence_counts_from_now_after_old_slots_were_planned(self):
        service, identity = after_two_runs()
        service.advance_to("12:30")

        service.edit(identity, cron="*/10 * * * *")

        schedule = service.schedules[identity]
        assert (schedule.version, schedule.next_slot) == (2, at("12:40"))
        assert service.not_run_rows(identity) == [(1, "missed", "coalesced")]
        assert service.runs[f"{identity}-2"].version == 1

    def test_another_policy_keeps_the_slots(self):
        service, identity = after_two_runs()

        service.edit(identity, every="1h", if_running="queue", max_retries=2)

        schedule = service.schedules[identity]
        assert (schedule.next_slot, schedule.anchor_at) == (at("11:00"), at("08:00"))
        assert schedule.version == 2

    @pytest.mark.parametrize(
        "fields",
        [
            {"timezone": "Asia/Kolkata"},
            {"only_between": "08:00-20:00"},
            {"not_on": ["sunday"]},
            {"end_at": "2027-01-01T00:00:00Z"},
        ],
    )
    def test_another_zone_window_or_bound_counts_from_now(self, fields: dict[str, object]):
        service, identity = after_two_runs()

        service.edit(identity, every="1h", **fields)

        assert service.schedules[identity].next_slot == at("11:20")

    def test_a_running_run_keeps_its_specification(self):
        service = InMemoryService()
        identity = service.add(every="1h", max_retries=1, retry_delay="1m")
        service.plan_at("09:00")
        service.claim()

        service.edit(identity, every="1h", max_retries=0)
        service.finish(f"{identity}-0", Ending.FAILED)

        assert service.states(identity) == ["queued"]

    @pytest.mark.mission("P3")
    @pytest.mark.parametrize("fields", [{"at": "2026-11-16T12:00:00Z"}, {"after": "100m"}])
    def test_a_new_one_shot_revives_a_schedule_that_was_done(self, fields: dict[str, str]):
        service = InMemoryService()
        identity = service.add(at="2026-11-16T09:00:00Z")
        service.run_until("10:20")
        assert service.schedules[identity].status is Status.DONE

        service.edit(identity, **fields)

        assert service.schedules[identity].status is Status.ACTIVE
        assert service.schedules[identity].next_slot == at("12:00")
        service.run_until("12:10")
        assert service.states(identity) == ["succeeded", "succeeded"]
        assert service.schedules[identity].status is Status.DONE

    @pytest.mark.parametrize("status", [Status.DONE, Status.DEAD])
    def test_nothing_else_revives_an_ended_schedule(self, status: Status):
        service, identity = after_two_runs()
        ended = service.schedules[identity]._replace(status=status, next_slot=None, wake_at=None)
        service.schedules[identity] = ended

        service.edit(identity, every="2h")

        assert service.schedules[identity].status is status
        assert service.schedules[identity].wake_at is None

    @pytest.mark.mission("D12")
    def test_a_new_at_in_the_past_fires_at_once_but_never_the_same_slot_twice(self):
        service = InMemoryService()
        identity = service.add(at="2026-11-16T09:00:00Z")
        service.run_until("10:20")

        service.edit(identity, at="2026-11-16T10:00:00Z")
        service.run_until("10:25")
        service.edit(identity, at="2026-11-16T09:00:00Z")
        service.run_until("10:30")

        assert [run.slot for run in service.runs.values()] == [at("09:00"), at("10:00")]
        assert service.schedules[identity].status is Status.DONE

    def test_a_paused_schedule_stays_paused(self):
        service, identity = after_two_runs()
        service.pause(identity)

        service.edit(identity, cron="*/10 * * * *")

        assert service.schedules[identity].status is Status.PAUSED
        assert service.schedules[identity].wake_at is None
        service.resume(identity)
        assert service.schedules[identity].next_slot == at("10:30")

    def test_an_invalid_schedule_is_active_again_and_counts_from_now(self):
        service, identity = after_two_runs()
        broken = service.schedules[identity]._replace(
            status=Status.INVALID, status_reason="no zone"
        )
        service.schedules[identity] = broken
        service.advance_to("15:40")

        service.edit(identity, every="1h")

        schedule = service.schedules[identity]
        assert (schedule.status, schedule.status_reason) == (Status.ACTIVE, None)
        assert schedule.next_slot == at("16:40")

    def test_enabled_false_pauses_and_enabled_true_ends_that_pause(self):
        service, identity = after_two_runs(if_running="queue")
        service.plan_at("11:00")
        service.edit(identity, every="1h", enabled=False)

        schedule = service.schedules[identity]
        assert (schedule.status, schedule.status_reason) == (Status.PAUSED, "declared_disabled")
        assert service.states(identity)[-1] == "skipped: paused"

        service.advance_to("12:30")
        service.edit(identity, every="1h")
        assert service.schedules[identity].status is Status.ACTIVE
        assert service.schedules[identity].next_slot == at("13:30")

    def test_enabled_true_does_not_end_a_pause_by_a_person(self):
        service, identity = after_two_runs()
        service.pause(identity)

        service.edit(identity, every="1h", enabled=True)
        assert service.schedules[identity].status is Status.PAUSED

    def test_an_edit_to_allow_releases_held_runs(self):
        service = InMemoryService()
        identity = service.add(every="1h", if_running="queue")
        service.plan_at("09:00")
        service.claim()
        service.plan_at("10:00", "11:00")
        assert service.states(identity) == ["running", "held", "held"]

        service.edit(identity, every="1h", if_running="allow")

        assert service.states(identity) == ["running", "queued", "queued"]


class TestRunNow:
    def test_planned_at_is_the_instant_of_the_request(self):
        service = InMemoryService()
        identity = service.add(every="1h")
        service.advance_to("08:07")

        run = service.run_now(identity)
        assert (run.planned_at, run.request, run.gate) == (at("08:07"), 1, None)

    def test_of_a_schedule_that_is_done_is_refused_while_a_run_is_open(self):
        service = InMemoryService()
        identity = service.add(every="1h", if_running="queue")
        service.schedules[identity] = service.schedules[identity]._replace(status=Status.DONE)
        service.run_now(identity)

        with pytest.raises(Conflict, match='run 1-0 is queued and schedule "s1" does not allow'):
            service.run_now(identity)

    def test_the_refusal_names_the_open_run_of_another_schedule(self):
        service = InMemoryService()
        service.add(plugin="echo", command="sync", every="10m")
        other = service.add(plugin="echo", command="sync", every="1h")
        service.plan_at("08:10")

        with pytest.raises(Conflict, match='run 1-0 is queued and schedule "s2" does not allow'):
            service.run_now(other)

    def test_a_due_slot_is_planned_first(self):
        service = InMemoryService()
        identity = service.add(every="10m")
        service.advance_to("08:10")

        with pytest.raises(Conflict, match='run 1-0 is queued and schedule "s1" does not allow'):
            service.run_now(identity)
        service.plan_due()
        assert service.not_run_rows(identity) == []

    def test_with_allow_a_due_slot_and_the_manual_run_both_run(self):
        service = InMemoryService()
        identity = service.add(every="10m", if_running="allow")
        service.advance_to("08:10")
        manual = service.run_now(identity)

        assert [run.kind for run in service.runs.values()] == [Kind.SLOT, Kind.MANUAL]
        assert (manual.number, service.schedules[identity].planned_count) == (1, 2)
        assert service.schedules[identity].cursor == at("08:10")

    def test_it_adds_a_manual_run_and_does_not_change_the_slots(self):
        service, identity = after_two_runs()
        before = service.schedules[identity]

        run = service.run_now(identity)

        after = service.schedules[identity]
        assert (run.kind, run.slot, run.ready_at) == (Kind.MANUAL, at("10:20"), at("10:20"))
        assert (run.id, run.request, run.state) == (f"{identity}-2", 1, "queued")
        assert after.next_slot == before.next_slot
        assert (after.planned_count, after.last_run_id) == (3, run.id)
        assert after.last_fired_at == before.last_fired_at

    def test_of_a_paused_or_invalid_schedule_is_refused(self):
        service, identity = after_two_runs()
        service.pause(identity)
        with pytest.raises(WrongState, match='schedule "s1" is paused; resume it first'):
            service.run_now(identity)
        service.schedules[identity] = service.schedules[identity]._replace(status=Status.INVALID)
        with pytest.raises(
            WrongState, match='schedule "s1" is invalid; correct its definition first'
        ):
            service.run_now(identity)

    @pytest.mark.parametrize("policy", ["skip", "cancel"])
    def test_while_a_run_is_open_is_refused(self, policy: str):
        service, identity = after_two_runs(if_running=policy)
        service.plan_at("11:00")

        with pytest.raises(Conflict, match='run 1-2 is queued and schedule "s1" does not allow'):
            service.run_now(identity)

    def test_with_queue_it_is_held_unless_queue_limit_runs_are_waiting(self):
        service, identity = after_two_runs(if_running="queue", queue_limit=2)
        service.plan_at("11:00")
        service.claim()

        assert service.run_now(identity).state == "held"
        service.advance_to("11:01")
        assert service.run_now(identity).state == "held"
        service.advance_to("11:02")
        with pytest.raises(Conflict, match='schedule "s1" already has 2 waiting runs; cancel some'):
            service.run_now(identity)

    def test_with_queue_and_no_open_run_it_starts_at_once(self):
        service, identity = after_two_runs(if_running="queue")

        assert service.run_now(identity).state == "queued"

    def test_with_allow_it_starts_while_other_runs_are_open(self):
        service, identity = after_two_runs(if_running="allow")
        service.plan_at("11:00")

        assert service.run_now(identity).state == "queued"

    @pytest.mark.parametrize("status", [Status.DONE, Status.DEAD])
    def test_an_ended_schedule_can_still_be_run(self, status: Status):
        service, identity = after_two_runs(max_retries=3, retry_delay="1m")
        service.schedules[identity] = service.schedules[identity]._replace(status=status)

        run = service.run_now(identity)
        service.claim()
        service.finish(run.id, Ending.FAILED)
        assert service.runs[run.id].state == "queued"
        service.advance_to("10:21")
        service.claim()
        service.finish(run.id, Ending.LOST, handed_back=True)
        service.claim()
        service.finish(run.id)

        assert service.runs[run.id].state == "succeeded"
        assert service.schedules[identity].status is status

    def test_a_failed_manual_run_is_retried_but_does_not_end_the_schedule(self):
        service, identity = after_two_runs(max_retries=1, retry_delay="1m", on_exhausted="dead")
        run = service.run_now(identity)
        service.claim()
        service.finish(run.id, Ending.FAILED)
        assert service.runs[run.id].state == "queued"
        service.advance_to("10:21")
        service.claim()
        service.finish(run.id, Ending.FAILED)

        schedule = service.schedules[identity]
        assert service.runs[run.id].reason is Reason.EXHAUSTED
        assert (schedule.status, schedule.current_retry) == (Status.ACTIVE, 0)
        assert schedule.error_count == 2

    def test_it_does_not_move_a_completion_anchor(self):
        service = InMemoryService()
        identity = service.add(every="1h", anchor="completion")
        run = service.run_now(identity)
        service.claim()
        service.advance_to("08:30")
        service.finish(run.id)

        assert service.schedules[identity].next_slot == at("09:00")


class TestPause:
    def test_an_until_in_the_past_is_refused_with_a_remedy(self):
        service = InMemoryService()
        identity = service.add(every="1h")
        with pytest.raises(InvalidSpecification) as caught:
            service.pause(identity, until=at("07:00"))
        assert str(caught.value) == (
            'until "2026-11-16T07:00:00Z" is in the past; give a future instant, or leave it out'
        )

    def test_a_one_shot_that_is_due_but_not_planned_fires_after_the_resume(self):
        service = InMemoryService()
        identity = service.add(at="2026-11-16T09:00:00Z")
        service.advance_to("09:30")
        service.pause(identity)
        assert service.states(identity) == []

        service.advance_to("10:00")
        service.resume(identity)
        service.plan_due()
        assert service.states(identity) == ["queued"]

    def test_operations_see_a_schedule_as_active_after_paused_until(self):
        service = InMemoryService()
        identity = service.add(every="1h")
        service.pause(identity, until=at("08:30"))
        service.advance_to("08:31")
        assert service.run_now(identity).state == "queued"
        service.pause(identity)

        assert service.schedules[identity].status is Status.PAUSED
        assert service.schedules[identity].paused_until is None

    @pytest.mark.mission("P4", "P3", "D11")
    def test_it_clears_the_next_run_and_keeps_the_counters(self):
        service, identity = after_two_runs()

        service.pause(identity, by="ada", reason="flaky")

        schedule = service.schedules[identity]
        assert (schedule.status, schedule.status_reason) == (Status.PAUSED, "flaky")
        assert (schedule.paused_by, schedule.paused_until) == ("ada", None)
        assert (schedule.next_slot, schedule.wake_at) == (None, None)
        assert (schedule.run_count, schedule.current_repeat) == (2, 2)
        service.plan_at("18:00")
        assert len(service.runs) == 2
        assert service.not_run_rows(identity) == []

    @pytest.mark.mission("P4")
    def test_queued_and_held_runs_and_waiting_retries_are_skipped(self):
        service = InMemoryService()
        identity = service.add(every="1h", if_running="queue", max_retries=1, retry_delay="1h")
        service.plan_at("09:00")
        service.claim()
        service.finish(f"{identity}-0", Ending.FAILED)
        service.plan_at("10:00", "11:00")
        assert service.states(identity) == ["queued", "held", "held"]

        service.pause(identity)

        assert service.states(identity) == ["skipped: paused"] * 3

    def test_a_running_run_continues(self):
        service = InMemoryService()
        identity = service.add(every="1h")
        service.plan_at("09:00")
        service.claim()
        service.pause(identity)

        service.finish(f"{identity}-0")

        assert service.states(identity) == ["succeeded"]
        assert service.schedules[identity].run_count == 1

    def test_slots_that_are_due_are_recorded_first(self):
        service, identity = after_two_runs()
        service.advance_to("12:30")

        service.pause(identity)

        assert service.states(identity) == ["succeeded", "succeeded", "skipped: paused"]
        assert service.not_run_rows(identity) == [(1, "missed", "coalesced")]

    def test_a_schedule_that_is_done_at_the_same_instant_is_done(self):
        service = InMemoryService()
        identity = service.add(every="1h", end_at="2026-11-16T09:00:00Z")
        service.plan_at("09:00")
        service.claim()
        service.finish(f"{identity}-0")
        assert service.schedules[identity].status is Status.ACTIVE

        service.pause(identity)

        assert service.schedules[identity].status is Status.DONE

    @pytest.mark.mission("P3")
    def test_only_an_active_schedule_can_be_paused_and_only_a_paused_one_resumed(self):
        service, identity = after_two_runs()
        with pytest.raises(WrongState, match='schedule "s1" is active; only a paused schedule can'):
            service.resume(identity)
        service.pause(identity)
        with pytest.raises(WrongState, match='schedule "s1" is paused; only an active schedule'):
            service.pause(identity)

    @pytest.mark.mission("P3")
    @pytest.mark.parametrize("status", [Status.DONE, Status.DEAD, Status.INVALID])
    def test_an_ended_or_invalid_schedule_can_be_neither_paused_nor_resumed(self, status: Status):
        service, identity = after_two_runs()
        service.schedules[identity] = service.schedules[identity]._replace(status=status)

        with pytest.raises(WrongState, match=f'schedule "s1" is {status}; only an active'):
            service.pause(identity)
        with pytest.raises(WrongState, match=f'schedule "s1" is {status}; only a paused'):
            service.resume(identity)

    def test_it_ends_at_paused_until(self):
        service, identity = after_two_runs()
        service.pause(identity, until=at("13:30"))
        assert service.schedules[identity].wake_at == at("13:30")

        service.plan_at("13:00")
        assert service.schedules[identity].status is Status.PAUSED
        service.plan_at("13:30")
        schedule = service.schedules[identity]
        assert (schedule.status, schedule.paused_until) == (Status.ACTIVE, None)
        assert schedule.next_slot == at("14:30")

    def test_it_ends_at_paused_until_although_the_planner_runs_later(self):
        service, identity = after_two_runs()
        service.pause(identity, until=at("13:30"))

        service.plan_at("16:00")

        assert [run.slot for run in made_by_slots(service, identity)][2:] == [at("15:30")]
        assert service.not_run_rows(identity) == [(1, "missed", "coalesced")]

    def test_it_cannot_end_in_the_past(self):
        service, identity = after_two_runs()

        with pytest.raises(InvalidSpecification, match="is in the past; give a future instant"):
            service.pause(identity, until=service.now)


class TestDelete:
    def test_a_deleted_schedule_has_no_next_slot(self):
        service = InMemoryService()
        identity = service.add(every="1h")
        service.delete(identity)

        assert service.deleted[identity].next_slot is None

    def test_it_keeps_the_history_and_closes_waiting_runs(self):
        service, identity = after_two_runs(if_running="queue")
        service.plan_at("12:30")

        service.delete(identity)

        assert identity in service.deleted
        assert service.deleted[identity].wake_at is None
        assert service.states(identity) == ["succeeded", "succeeded", "skipped: deleted"]

    def test_it_is_refused_while_an_attempt_is_running(self):
        service, identity = after_two_runs()
        service.plan_at("11:00")
        service.claim()

        with pytest.raises(Conflict) as caught:
            service.delete(identity)

        assert str(caught.value) == (
            'run 1-2 is running (attempt 1, worker w1) and schedule "s1" cannot be deleted; '
            "cancel it first, or wait until it has ended"
        )

    @pytest.mark.mission("P6", "D8")
    @pytest.mark.parametrize(
        ("ending", "words", "state"),
        [
            (Ending.FAILED, {}, "failed: deleted"),
            (Ending.TIMED_OUT, {}, "timed_out: deleted"),
            (Ending.LOST, {}, "lost: deleted"),
            (Ending.LOST, {"handed_back": True}, "lost: deleted"),
            (Ending.CANCELLED, {}, "cancelled: requested"),
            (Ending.SUCCEEDED, {}, "succeeded"),
        ],
    )
    @pytest.mark.parametrize("kind", [Kind.SLOT, Kind.MANUAL])
    def test_the_attempt_that_is_running_is_the_last(
        self, kind: Kind, ending: Ending, words: dict[str, Any], state: str
    ):
        service = InMemoryService()
        identity = service.add(every="1h", max_retries="endless", on_exhausted="dead")
        if kind is Kind.MANUAL:
            service.run_now(identity)
        else:
            service.plan_at("09:00")
        service.claim()
        service.delete(identity, though_running=True)
        events = len(service.gate_history)

        settlement = service.finish(f"{identity}-0", ending, **words)

        assert service.states(identity) == [state]
        assert (settlement.schedule.status, settlement.closes) == (Status.ACTIVE, None)
        assert len(service.gate_history) == events
        service.advance_to("18:00")
        assert service.plan_due() == []
        assert service.claim() == []

    def test_its_last_attempt_does_not_block_other_schedules_of_the_plugin(self):
        service = InMemoryService()
        plugin = {"plugin": "p", "circuit_breaker": {"threshold": 1, "reset_after": "10m"}}
        gone = service.add(every="1h", max_retries="endless", retry_delay="30s", **plugin)
        service.plan_at("09:00")
        service.claim()
        service.delete(gone, though_running=True)
        service.finish(f"{gone}-0", Ending.FAILED)

        other = service.add(every="1h", catch_up="run_all", **plugin)
        service.run_until("12:00")

        assert service.states(other) == ["succeeded"] * 3
        assert service.not_run_rows(other) == []

    def test_a_running_attempt_of_another_schedule_does_not_prevent_it(self):
        service = InMemoryService()
        one = service.add(plugin="echo", every="1h")
        other = service.add(plugin="echo", every="1h")
        service.plan_at("09:00")
        service.claim()

        service.delete(other)

        assert service.states(one) == ["running"]


class TestDeleteAfterRun:
    def test_an_edit_to_a_new_instant_prevents_the_deletion(self):
        service = InMemoryService()
        identity = service.add(at="2026-11-16T09:00:00Z", delete_after_run=True)
        service.plan_at("09:00")
        service.claim()
        service.finish(f"{identity}-0")
        service.edit(identity, at="2026-11-16T12:00:00Z", delete_after_run=True)

        assert identity in service.schedules

    def test_a_new_instant_in_the_future_postpones_the_deletion(self):
        service = InMemoryService()
        identity = service.add(at="2026-11-16T09:00:00Z", delete_after_run=True)
        service.plan_at("09:00")
        service.claim()
        service.edit(identity, at="2026-11-16T12:00:00Z", delete_after_run=True)
        service.finish(f"{identity}-0")
        service.plan_due()
        assert identity in service.schedules

        service.run_until("12:05")
        assert identity in service.deleted

    def test_the_current_definition_decides(self):
        service = InMemoryService()
        identity = service.add(at="2026-11-16T09:00:00Z", delete_after_run=True)
        service.plan_at("09:00")
        service.claim()
        service.edit(identity, at="2026-11-16T09:00:00Z")
        service.finish(f"{identity}-0")
        service.plan_due()

        assert service.schedules[identity].status is Status.DONE

    def test_every_open_run_ends_first(self):
        service = InMemoryService()
        identity = service.add(at="2026-11-16T09:00:00Z", delete_after_run=True, if_running="allow")
        manual = service.run_now(identity)
        service.plan_at("09:00")
        service.claim()
        service.finish(f"{identity}-1")
        service.plan_due()
        assert identity in service.schedules

        service.finish(manual.id)
        service.plan_due()
        assert identity in service.deleted

    def test_a_schedule_that_never_fired_is_not_deleted(self):
        service = InMemoryService()
        identity = service.add(after="1h", only_between="09:00-10:00", delete_after_run=True)
        passed_it = service.schedules[identity]._replace(cursor=at("09:00"))
        service.schedules[identity] = passed_it
        service.plan([identity])

        assert service.runs == {}
        assert identity not in service.deleted
        assert service.schedules[identity].status is Status.DONE

    @pytest.mark.parametrize("words", [{"on_exhausted": "dead"}, {"on_exhausted": "pause"}])
    def test_it_takes_precedence_over_on_exhausted(self, words: dict[str, str]):
        service = InMemoryService()
        identity = service.add(at="2026-11-16T09:00:00Z", delete_after_run=True, **words)
        service.plan_at("09:00")
        service.claim()
        service.finish(f"{identity}-0", Ending.FAILED)
        service.plan_due()

        assert identity in service.deleted

    def test_an_edit_of_the_name_does_not_prevent_the_deletion(self):
        service = InMemoryService()
        identity = service.add(at="2026-11-16T09:00:00Z", delete_after_run=True)
        service.plan_at("09:00")
        service.claim()
        service.finish(f"{identity}-0")
        service.edit(identity, at="2026-11-16T09:00:00Z", delete_after_run=True, name="Later")

        assert identity in service.deleted

    @pytest.mark.mission("D12")
    @pytest.mark.parametrize("ending", [Ending.SUCCEEDED, Ending.FAILED, Ending.CANCELLED])
    def test_it_follows_the_last_attempt_however_that_ended(self, ending: Ending):
        service = InMemoryService()
        identity = service.add(at="2026-11-16T09:00:00Z", delete_after_run=True, max_retries=1)
        service.plan_at("09:00")
        service.claim()
        service.finish(f"{identity}-0", ending)
        if ending is Ending.FAILED:
            assert identity in service.schedules
            service.advance_to("09:01")
            service.claim()
            service.finish(f"{identity}-0", ending)
        service.plan_due()

        assert identity in service.deleted

    def test_it_does_not_follow_a_manual_run(self):
        service = InMemoryService()
        identity = service.add(at="2026-11-16T09:00:00Z", delete_after_run=True)
        service.run_now(identity)
        service.claim()
        service.finish(f"{identity}-0")

        assert identity in service.schedules


class TestResume:
    def test_a_one_shot_created_disabled_with_an_instant_in_the_past_fires_at_once(self):
        service = InMemoryService()
        identity = service.add(at="2026-11-16T07:00:00Z", enabled=False)
        service.resume(identity)
        service.plan_due()

        assert service.states(identity) == ["queued"]

    def test_a_resume_after_paused_until_counts_from_paused_until(self):
        service = InMemoryService()
        identity = service.add(every="1h")
        service.pause(identity, until=at("09:00"))
        service.advance_to("11:10")
        service.resume(identity)
        service.plan_due()

        assert [run.slot for run in service.runs.values()] == [at("11:00")]
        assert service.not_run_rows(identity) == [(1, "missed", "coalesced")]

    @pytest.mark.mission("P4")
    def test_every_counts_from_the_resume_and_keeps_its_counters(self):
        service, identity = after_two_runs()
        service.pause(identity)
        service.advance_to("13:17")

        service.resume(identity)

        schedule = service.schedules[identity]
        assert (schedule.status, schedule.next_slot) == (Status.ACTIVE, at("14:17"))
        assert (schedule.run_count, schedule.planned_count) == (2, 2)
        assert (schedule.status_reason, schedule.paused_by) == (None, None)
        service.run_until("15:30")
        assert [run.slot for run in made_by_slots(service, identity)][2:] == [
            at("14:17"),
            at("15:17"),
        ]

    @pytest.mark.parametrize(
        ("fields", "following"),
        [
            ({"every": None, "cron": "0 * * * *"}, "14:00"),
            ({"every": "1h", "start_at": "2026-11-16T08:00:00Z"}, "14:00"),
            ({"every": "1h", "anchor": "completion"}, "14:17"),
            (
                {"every": "1h", "anchor": "completion", "start_at": "2026-11-16T08:00:00Z"},
                "14:17",
            ),
        ],
    )
    def test_other_recurrences_keep_their_slots_and_nothing_is_replayed(
        self, fields: dict[str, str], following: str
    ):
        service, identity = after_two_runs(**fields)
        service.pause(identity)
        service.plan_at("13:17")

        service.resume(identity)
        service.plan_due()

        assert service.schedules[identity].next_slot == at(following)
        assert service.open_runs(identity) == []
        assert service.not_run_rows(identity) == []

    @pytest.mark.mission("D12")
    def test_a_one_shot_whose_instant_passed_fires_at_once(self):
        service = InMemoryService()
        identity = service.add(at="2026-11-16T09:00:00Z")
        service.pause(identity)
        service.plan_at("12:00")

        service.resume(identity)
        service.plan_due()

        assert service.states(identity) == ["queued"]
        assert service.runs[f"{identity}-0"].slot == at("09:00")

    @pytest.mark.mission("D12")
    def test_a_one_shot_that_fired_does_not_fire_again(self):
        service = InMemoryService()
        identity = service.add(at="2026-11-16T09:00:00Z", on_exhausted="pause")
        service.plan_at("09:00")
        service.claim()
        service.finish(f"{identity}-0", Ending.FAILED)
        assert service.schedules[identity].status is Status.PAUSED

        service.resume(identity)
        service.plan_due()

        assert service.states(identity) == ["failed"]
        assert service.schedules[identity].status is Status.DONE


class TestCancel:
    def test_a_cancelled_run_of_an_ended_schedule_wakes_the_schedule_of_the_next_held_run(self):
        service = InMemoryService()
        ended = service.add(plugin="echo", command="sync", every="10m")
        once = service.add(plugin="echo", command="sync", at="2026-11-16T08:10:00Z")
        manual = service.run_now(ended)
        service.schedules[ended] = service.schedules[ended]._replace(
            status=Status.DONE, wake_at=None, next_slot=None
        )
        service.plan_at("08:10")
        assert service.states(once) == ["held"]

        service.cancel(manual.id)
        service.plan_due()

        assert service.states(once) == ["queued"]

    def test_a_run_keeps_the_reason_of_the_first_request_to_stop(self):
        service = InMemoryService()
        identity = service.add(every="1h", if_running="cancel")
        service.plan_at("09:00")
        service.claim()
        service.cancel(f"{identity}-0")
        service.plan_at("10:00")

        assert service.runs[f"{identity}-0"].cancel == "requested"

    def test_a_waiting_run_is_closed_and_the_next_one_is_released(self):
        service = InMemoryService()
        identity = service.add(every="1h", catch_up="run_all")
        service.plan_at("10:00")
        assert service.states(identity) == ["queued", "held"]

        service.cancel(f"{identity}-0")
        service.plan_due()

        assert service.states(identity) == ["cancelled: requested", "queued"]

    def test_a_running_run_is_requested_to_stop(self):
        service = InMemoryService()
        identity = service.add(every="1h")
        service.plan_at("09:00")
        service.claim()

        service.cancel(f"{identity}-0")
        assert service.runs[f"{identity}-0"].cancel is Reason.REQUESTED
        service.finish(f"{identity}-0", Ending.CANCELLED)

        assert service.states(identity) == ["cancelled: requested"]
        assert service.schedules[identity].last_result is None

    def test_a_run_that_reports_its_own_cancellation_has_the_reason_requested(self):
        service = InMemoryService()
        identity = service.add(every="1h")
        service.plan_at("09:00")
        service.claim()

        service.finish(f"{identity}-0", Ending.CANCELLED)
        assert service.states(identity) == ["cancelled: requested"]

    def test_a_completion_schedule_continues_after_its_run_was_cancelled(self):
        service = InMemoryService()
        identity = service.add(every="1h", anchor="completion")
        service.plan_at("09:00")
        service.advance_to("09:05")

        service.cancel(f"{identity}-0")
        service.plan_due()

        assert service.schedules[identity].next_slot == at("10:05")

    def test_a_one_shot_whose_run_was_cancelled_is_done(self):
        service = InMemoryService()
        identity = service.add(at="2026-11-16T09:00:00Z")
        service.plan_at("09:00")

        service.cancel(f"{identity}-0")
        service.plan_due()

        assert service.schedules[identity].status is Status.DONE

    def test_a_closed_run_cannot_be_cancelled(self):
        service, identity = after_two_runs()

        with pytest.raises(WrongState, match="run 1-0 has already succeeded; only"):
            service.cancel(f"{identity}-0")

    def test_a_waiting_run_of_a_dead_schedule_does_not_wake_it(self):
        service, identity = after_two_runs()
        run = service.run_now(identity)
        schedule = service.schedules[identity]._replace(status=Status.DEAD, wake_at=None)
        service.schedules[identity] = schedule

        service.cancel(run.id)

        assert service.schedules[identity].wake_at is None


class TestCreate:
    @pytest.mark.mission("D11", "H5")
    def test_a_new_schedule_has_a_next_slot_and_empty_counters(self):
        now = at("08:00")
        schedule = create(7, "nightly", specification(every="1h"), now, active=0, limits=Limits())

        assert (schedule.status, schedule.next_slot, schedule.wake_at) == (
            Status.ACTIVE,
            now + HOUR,
            now + HOUR,
        )
        assert (schedule.last_fired_at, schedule.last_success_at) == (None, None)
        assert (schedule.last_run_id, schedule.last_success_run_id) == (None, None)
        assert (schedule.run_count, schedule.planned_count, schedule.version) == (0, 0, 1)

    def test_a_schedule_with_enabled_false_is_paused(self):
        service = InMemoryService()
        identity = service.add(every="1h", enabled=False)

        schedule = service.schedules[identity]
        assert (schedule.status, schedule.status_reason) == (Status.PAUSED, "declared_disabled")
        assert (schedule.paused_by, schedule.wake_at) == ("declaration", None)

    def test_a_schedule_without_any_slot_is_done_after_one_planner_step(self):
        service = InMemoryService()
        identity = service.add(cron="0 * * * *", end_at="2026-11-16T07:30:00Z")
        assert service.schedules[identity].wake_at == at("08:00")

        service.plan_due()

        schedule = service.schedules[identity]
        assert (schedule.status, schedule.status_reason) == (Status.DONE, "no_more_slots")

    def test_slots_count_from_a_given_created_at(self):
        service = InMemoryService()
        identity = service.add(every="1h", created_at="2026-11-16T07:40:00Z")

        assert service.schedules[identity].next_slot == at("08:40")
        assert service.schedules[identity].anchor_at == at("08:00") - 20 * MINUTE


class TestRetryRun:
    def test_a_waiting_retry_is_ready_at_once(self):
        service = InMemoryService()
        service.add(every="1h", max_retries=3, retry_delay="30m")
        service.plan_at("09:00")
        service.claim()
        service.finish("1-0", "failed")
        service.advance_to("09:05")

        service.retry("1-0")

        assert (service.runs["1-0"].state, service.runs["1-0"].ready_at) == (
            State.QUEUED,
            at("09:05"),
        )

    def test_a_retry_that_is_already_ready_does_not_change(self):
        service = InMemoryService()
        service.add(every="1h", max_retries=3, retry_delay="30m")
        service.plan_at("09:00")
        service.claim()
        service.finish("1-0", "failed")
        service.advance_to("09:45")

        service.retry("1-0")

        assert service.runs["1-0"].ready_at == at("09:30")

    @pytest.mark.parametrize("ending", ["failed", "timed_out", "cancelled", "lost"])
    def test_a_closed_run_gets_a_new_run_for_the_same_slot(self, ending: str):
        service = InMemoryService()
        service.add(every="1h", execution="at_most_once")
        service.plan_at("09:00")
        service.claim()
        service.finish("1-0", ending)
        service.advance_to("09:05")

        service.retry("1-0")

        run = service.runs["1-1"]
        assert (run.slot, run.ready_at, run.kind) == (at("09:00"), at("09:05"), "manual")
        assert service.runs["1-0"].state == ending, "a closed run does not change"

    def test_an_open_or_succeeded_run_is_refused(self):
        service = InMemoryService()
        service.add(every="1h")
        service.plan_at("09:00")
        with pytest.raises(WrongState, match="run 1-0 is queued; only a run that ended"):
            service.retry("1-0")
        service.claim()
        with pytest.raises(WrongState, match="run 1-0 is running"):
            service.retry("1-0")
        service.finish("1-0")
        with pytest.raises(WrongState, match="run 1-0 has already succeeded"):
            service.retry("1-0")

    def test_it_is_refused_like_a_manual_run(self):
        service = InMemoryService()
        service.add(every="1h")
        service.plan_at("09:00")
        service.claim()
        service.finish("1-0", "failed")
        service.plan_at("10:00")
        with pytest.raises(Conflict, match="run 1-1 is queued and schedule"):
            service.retry("1-0")
        service.claim()
        service.finish("1-1")
        service.pause(1)
        with pytest.raises(WrongState, match="is paused; resume it first"):
            service.retry("1-0")


@pytest.mark.mission("E8")
class TestEditToAgent:
    """An edit that gives a schedule the preset `agent`."""

    def edited(self, others: int, limits: Limits = Limits(), **words: Any) -> Schedule:  # noqa: B008
        service = InMemoryService()
        before = service.schedules[service.add(every="1h", preset=words.pop("was", "horsies"))]
        facts = Facts([before._replace(**words)], limits=limits, active=others)
        agent = specification(every="1h", preset="agent")
        return rules.edit(facts, agent, at("08:00")).plans[0].schedule

    def test_is_refused_if_there_is_no_room_for_one_more_agent(self):
        with pytest.raises(Conflict, match='1000 schedules of the preset "agent" are active and'):
            self.edited(1000)

        assert self.edited(999).specification.is_agent

    def test_is_also_refused_if_the_schedule_is_paused_until_an_instant(self):
        rests = {"status": Status.PAUSED, "paused_by": "ada", "paused_until": at("12:00")}
        with pytest.raises(Conflict, match="max_scheduled_jobs is 1000"):
            self.edited(1000, **rests)

        assert self.edited(1000, **rests | {"paused_until": None}).status is Status.PAUSED

    def test_does_not_count_a_schedule_twice_that_was_an_agent_before(self):
        assert self.edited(1000, was="agent").version == 2

    def test_does_not_count_a_schedule_twice_under_a_limit_for_all(self):
        assert self.edited(1000, limits=Limits(max_scheduled_jobs=900)).version == 2
