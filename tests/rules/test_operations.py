"""What a person may ask: pause, resume, edit, delete, run now, backfill, cancel."""

from __future__ import annotations

from typing import Any

import pytest

from harness.rules.world import World, at, made_by_slots, specification
from quarterjack.errors import Conflict, InvalidSpecification, WrongState
from quarterjack.rules import Ending, Facts, Kind, Limits, Reason, State, Status, create, plan
from quarterjack.times.instants import HOUR, MINUTE


def lived(**fields: object) -> tuple[World, int]:
    """A schedule whose runs of 09:00 and 10:00 succeeded; it is 10:20."""
    world = World()
    identity = world.add(**({"every": "1h"} | fields))
    world.live("10:20")
    return world, identity


class TestPause:
    @pytest.mark.mission("P4", "P3", "D11")
    def test_it_clears_the_next_run_and_keeps_the_counters(self):
        world, identity = lived()

        world.pause(identity, by="ada", reason="flaky")

        schedule = world.schedules[identity]
        assert (schedule.status, schedule.status_reason) == (Status.PAUSED, "flaky")
        assert (schedule.paused_by, schedule.paused_until) == ("ada", None)
        assert (schedule.next_slot, schedule.wake_at) == (None, None)
        assert (schedule.run_count, schedule.current_repeat) == (2, 2)
        world.come("18:00")
        assert len(world.runs) == 2
        assert world.rows(identity) == []

    @pytest.mark.mission("P4")
    def test_what_is_queued_held_or_waits_to_retry_does_nothing_any_more(self):
        world = World()
        identity = world.add(every="1h", if_running="queue", max_retries=1, retry_delay="1h")
        world.come("09:00")
        world.claim()
        world.end(f"{identity}-0", Ending.FAILED)
        world.come("10:00", "11:00")
        assert world.states(identity) == ["queued", "held", "held"]

        world.pause(identity)

        assert world.states(identity) == ["skipped: paused"] * 3

    def test_what_runs_goes_on_to_its_end(self):
        world = World()
        identity = world.add(every="1h")
        world.come("09:00")
        world.claim()
        world.pause(identity)

        world.end(f"{identity}-0")

        assert world.states(identity) == ["succeeded"]
        assert world.schedules[identity].run_count == 1

    def test_slots_before_the_pause_are_planned_first_and_so_are_told(self):
        world, identity = lived()
        world.go("12:30")

        world.pause(identity)

        assert world.states(identity) == ["succeeded", "succeeded", "skipped: paused"]
        assert world.rows(identity) == [(1, "missed", "coalesced")]

    def test_a_schedule_that_ends_in_the_same_moment_has_ended(self):
        world = World()
        identity = world.add(every="1h", end_at="2026-11-16T09:00:00Z")
        world.come("09:00")
        world.claim()
        world.end(f"{identity}-0")
        assert world.schedules[identity].status is Status.ACTIVE

        world.pause(identity)

        assert world.schedules[identity].status is Status.DONE

    @pytest.mark.mission("P3")
    def test_only_an_active_schedule_can_be_paused_and_only_a_paused_one_resumed(self):
        world, identity = lived()
        with pytest.raises(WrongState, match='schedule "s1" is active; only a paused schedule can'):
            world.resume(identity)
        world.pause(identity)
        with pytest.raises(WrongState, match='schedule "s1" is paused; only an active schedule'):
            world.pause(identity)

    @pytest.mark.mission("P3")
    @pytest.mark.parametrize("status", [Status.DONE, Status.DEAD, Status.INVALID])
    def test_what_has_ended_or_is_invalid_can_be_neither_paused_nor_resumed(self, status: Status):
        world, identity = lived()
        world.schedules[identity] = world.schedules[identity]._replace(status=status)

        with pytest.raises(WrongState, match=f'schedule "s1" is {status}; only an active'):
            world.pause(identity)
        with pytest.raises(WrongState, match=f'schedule "s1" is {status}; only a paused'):
            world.resume(identity)

    def test_it_can_end_by_itself(self):
        world, identity = lived()
        world.pause(identity, until=at("13:30"))
        assert world.schedules[identity].wake_at == at("13:30")

        world.come("13:00")
        assert world.schedules[identity].status is Status.PAUSED
        world.come("13:30")
        schedule = world.schedules[identity]
        assert (schedule.status, schedule.paused_until) == (Status.ACTIVE, None)
        assert schedule.next_slot == at("14:30")

    def test_one_that_ended_while_nobody_looked_ended_when_it_said(self):
        world, identity = lived()
        world.pause(identity, until=at("13:30"))

        world.come("16:00")

        assert [run.slot for run in made_by_slots(world, identity)][2:] == [at("15:30")]
        assert world.rows(identity) == [(1, "missed", "coalesced")]

    def test_it_cannot_end_in_the_past(self):
        world, identity = lived()

        with pytest.raises(InvalidSpecification, match="has passed; give an instant to come"):
            world.pause(identity, until=world.now)


class TestResume:
    @pytest.mark.mission("P4")
    def test_every_starts_anew_one_interval_from_now_with_its_counters(self):
        world, identity = lived()
        world.pause(identity)
        world.go("13:17")

        world.resume(identity)

        schedule = world.schedules[identity]
        assert (schedule.status, schedule.next_slot) == (Status.ACTIVE, at("14:17"))
        assert (schedule.run_count, schedule.planned_count) == (2, 2)
        assert (schedule.status_reason, schedule.paused_by) == (None, None)
        world.live("15:30")
        assert [run.slot for run in made_by_slots(world, identity)][2:] == [
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
    def test_others_keep_their_slots_and_nothing_is_replayed(
        self, fields: dict[str, str], following: str
    ):
        world, identity = lived(**fields)
        world.pause(identity)
        world.come("13:17")

        world.resume(identity)
        world.step()

        assert world.schedules[identity].next_slot == at(following)
        assert world.open(identity) == []
        assert world.rows(identity) == []

    @pytest.mark.mission("D12")
    def test_a_one_shot_whose_instant_passed_fires_at_once(self):
        world = World()
        identity = world.add(at="2026-11-16T09:00:00Z")
        world.pause(identity)
        world.come("12:00")

        world.resume(identity)
        world.step()

        assert world.states(identity) == ["queued"]
        assert world.runs[f"{identity}-0"].slot == at("09:00")

    @pytest.mark.mission("D12")
    def test_a_one_shot_that_fired_does_not_fire_again(self):
        world = World()
        identity = world.add(at="2026-11-16T09:00:00Z", on_exhausted="pause")
        world.come("09:00")
        world.claim()
        world.end(f"{identity}-0", Ending.FAILED)
        assert world.schedules[identity].status is Status.PAUSED

        world.resume(identity)
        world.step()

        assert world.states(identity) == ["failed"]
        assert world.schedules[identity].status is Status.DONE


class TestEdit:
    @pytest.mark.mission("H5")
    def test_another_recurrence_plans_anew_from_now_and_old_slots_are_planned_first(self):
        world, identity = lived()
        world.go("12:30")

        world.edit(identity, cron="*/10 * * * *")

        schedule = world.schedules[identity]
        assert (schedule.version, schedule.next_slot) == (2, at("12:40"))
        assert world.rows(identity) == [(1, "missed", "coalesced")]
        assert world.runs[f"{identity}-2"].version == 1

    @pytest.mark.mission("H5")
    def test_a_changed_definition_has_another_hash(self):
        one = specification(every="1h")
        same = specification(every="3600s", if_running="skip")
        other = specification(every="1h", if_running="queue")

        assert one.configuration_hash == same.configuration_hash
        assert one.configuration_hash != other.configuration_hash
        assert len(one.configuration_hash) == 32

    def test_another_policy_keeps_the_grid(self):
        world, identity = lived()

        world.edit(identity, every="1h", if_running="queue", max_retries=2)

        schedule = world.schedules[identity]
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
        world, identity = lived()

        world.edit(identity, every="1h", **fields)

        assert world.schedules[identity].next_slot == at("11:20")

    def test_a_run_in_flight_keeps_its_specification(self):
        world = World()
        identity = world.add(every="1h", max_retries=1, retry_delay="1m")
        world.come("09:00")
        world.claim()

        world.edit(identity, every="1h", max_retries=0)
        world.end(f"{identity}-0", Ending.FAILED)

        assert world.states(identity) == ["queued"]

    @pytest.mark.mission("P3")
    @pytest.mark.parametrize("fields", [{"at": "2026-11-16T12:00:00Z"}, {"after": "100m"}])
    def test_a_new_one_shot_revives_what_was_done(self, fields: dict[str, str]):
        world = World()
        identity = world.add(at="2026-11-16T09:00:00Z")
        world.live("10:20")
        assert world.schedules[identity].status is Status.DONE

        world.edit(identity, **fields)

        assert world.schedules[identity].status is Status.ACTIVE
        assert world.schedules[identity].next_slot == at("12:00")
        world.live("12:10")
        assert world.states(identity) == ["succeeded", "succeeded"]
        assert world.schedules[identity].status is Status.DONE

    @pytest.mark.parametrize("status", [Status.DONE, Status.DEAD])
    def test_nothing_else_revives_what_has_ended(self, status: Status):
        world, identity = lived()
        ended = world.schedules[identity]._replace(status=status, next_slot=None, wake_at=None)
        world.schedules[identity] = ended

        world.edit(identity, every="2h")

        assert world.schedules[identity].status is status
        assert world.schedules[identity].wake_at is None

    @pytest.mark.mission("D12")
    def test_a_new_at_in_the_past_fires_at_once_but_never_the_same_slot_twice(self):
        world = World()
        identity = world.add(at="2026-11-16T09:00:00Z")
        world.live("10:20")

        world.edit(identity, at="2026-11-16T10:00:00Z")
        world.live("10:25")
        world.edit(identity, at="2026-11-16T09:00:00Z")
        world.live("10:30")

        assert [run.slot for run in world.runs.values()] == [at("09:00"), at("10:00")]
        assert world.schedules[identity].status is Status.DONE

    def test_a_paused_schedule_stays_paused(self):
        world, identity = lived()
        world.pause(identity)

        world.edit(identity, cron="*/10 * * * *")

        assert world.schedules[identity].status is Status.PAUSED
        assert world.schedules[identity].wake_at is None
        world.resume(identity)
        assert world.schedules[identity].next_slot == at("10:30")

    def test_an_invalid_schedule_is_mended_and_counts_from_now(self):
        world, identity = lived()
        broken = world.schedules[identity]._replace(status=Status.INVALID, status_reason="no zone")
        world.schedules[identity] = broken
        world.go("15:40")

        world.edit(identity, every="1h")

        schedule = world.schedules[identity]
        assert (schedule.status, schedule.status_reason) == (Status.ACTIVE, None)
        assert schedule.next_slot == at("16:40")

    def test_enabled_false_pauses_and_true_resumes_what_it_paused_itself(self):
        world, identity = lived(if_running="queue")
        world.come("11:00")
        world.edit(identity, every="1h", enabled=False)

        schedule = world.schedules[identity]
        assert (schedule.status, schedule.status_reason) == (Status.PAUSED, "declared_disabled")
        assert world.states(identity)[-1] == "skipped: paused"

        world.go("12:30")
        world.edit(identity, every="1h")
        assert world.schedules[identity].status is Status.ACTIVE
        assert world.schedules[identity].next_slot == at("13:30")

    def test_enabled_true_does_not_end_a_pause_by_a_person(self):
        world, identity = lived()
        world.pause(identity)

        world.edit(identity, every="1h", enabled=True)
        assert world.schedules[identity].status is Status.PAUSED

    def test_held_runs_are_released_when_nothing_looks_after_them_any_more(self):
        world = World()
        identity = world.add(every="1h", if_running="queue")
        world.come("09:00")
        world.claim()
        world.come("10:00", "11:00")
        assert world.states(identity) == ["running", "held", "held"]

        world.edit(identity, every="1h", if_running="allow")

        assert world.states(identity) == ["running", "queued", "queued"]


class TestDelete:
    def test_it_keeps_history_and_closes_what_waits(self):
        world, identity = lived(if_running="queue")
        world.come("12:30")

        world.delete(identity)

        assert identity in world.deleted
        assert world.deleted[identity].wake_at is None
        assert world.states(identity) == ["succeeded", "succeeded", "skipped: deleted"]

    def test_not_while_an_attempt_runs(self):
        world, identity = lived()
        world.come("11:00")
        world.claim()

        with pytest.raises(Conflict) as caught:
            world.delete(identity)

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
    def test_the_attempt_that_runs_meanwhile_is_the_last(
        self, kind: Kind, ending: Ending, words: dict[str, Any], state: str
    ):
        world = World()
        identity = world.add(every="1h", max_retries="endless", on_exhausted="dead")
        if kind is Kind.MANUAL:
            world.run_now(identity)
        else:
            world.come("09:00")
        world.claim()
        world.delete(identity, though_running=True)
        events = len(world.gate_history)

        settlement = world.end(f"{identity}-0", ending, **words)

        assert world.states(identity) == [state]
        assert (settlement.schedule.status, settlement.closes) == (Status.ACTIVE, None)
        assert len(world.gate_history) == events
        world.go("18:00")
        assert world.step() == []
        assert world.claim() == []

    def test_its_last_attempt_does_not_block_others_of_its_plugin(self):
        world = World()
        plugin = {"plugin": "p", "circuit_breaker": {"threshold": 1, "reset_after": "10m"}}
        gone = world.add(every="1h", max_retries="endless", retry_delay="30s", **plugin)
        world.come("09:00")
        world.claim()
        world.delete(gone, though_running=True)
        world.end(f"{gone}-0", Ending.FAILED)

        other = world.add(every="1h", catch_up="run_all", **plugin)
        world.live("12:00")

        assert world.states(other) == ["succeeded"] * 3
        assert world.rows(other) == []

    def test_another_schedules_attempt_does_not_matter(self):
        world = World()
        one = world.add(plugin="echo", every="1h")
        other = world.add(plugin="echo", every="1h")
        world.come("09:00")
        world.claim()

        world.delete(other)

        assert world.states(one) == ["running"]

    @pytest.mark.mission("D12")
    @pytest.mark.parametrize("ending", [Ending.SUCCEEDED, Ending.FAILED, Ending.CANCELLED])
    def test_delete_after_run_follows_the_final_settlement_whatever_it_is(self, ending: Ending):
        world = World()
        identity = world.add(at="2026-11-16T09:00:00Z", delete_after_run=True, max_retries=1)
        world.come("09:00")
        world.claim()
        world.end(f"{identity}-0", ending)
        if ending is Ending.FAILED:
            assert identity in world.schedules
            world.go("09:01")
            world.claim()
            world.end(f"{identity}-0", ending)
        world.step()

        assert identity in world.deleted

    def test_delete_after_run_does_not_follow_a_manual_run(self):
        world = World()
        identity = world.add(at="2026-11-16T09:00:00Z", delete_after_run=True)
        world.run_now(identity)
        world.claim()
        world.end(f"{identity}-0")

        assert identity in world.schedules


class TestRunNow:
    def test_it_is_a_run_like_any_other_and_moves_no_slot(self):
        world, identity = lived()
        before = world.schedules[identity]

        run = world.run_now(identity)

        after = world.schedules[identity]
        assert (run.kind, run.slot, run.ready_at) == (Kind.MANUAL, at("10:20"), at("10:20"))
        assert (run.id, run.request, run.state) == (f"{identity}-2", 1, "queued")
        assert after.next_slot == before.next_slot
        assert (after.planned_count, after.last_run_id) == (3, run.id)
        assert after.last_fired_at == before.last_fired_at

    def test_not_while_it_is_paused_or_invalid(self):
        world, identity = lived()
        world.pause(identity)
        with pytest.raises(WrongState, match='schedule "s1" is paused; resume it first'):
            world.run_now(identity)
        world.schedules[identity] = world.schedules[identity]._replace(status=Status.INVALID)
        with pytest.raises(WrongState, match='schedule "s1" is invalid; mend it first'):
            world.run_now(identity)

    @pytest.mark.parametrize("policy", ["skip", "cancel"])
    def test_not_while_it_is_running(self, policy: str):
        world, identity = lived(if_running=policy)
        world.come("11:00")

        with pytest.raises(Conflict, match='run 1-2 is queued and schedule "s1" must not run'):
            world.run_now(identity)

    def test_with_queue_it_waits_for_its_turn_as_long_as_there_is_room(self):
        world, identity = lived(if_running="queue", queue_limit=2)
        world.come("11:00")
        world.claim()

        assert world.run_now(identity).state == "held"
        world.go("11:01")
        assert world.run_now(identity).state == "held"
        world.go("11:02")
        with pytest.raises(Conflict, match='schedule "s1" has 2 runs waiting already; cancel some'):
            world.run_now(identity)

    def test_with_queue_and_nothing_open_it_starts_at_once(self):
        world, identity = lived(if_running="queue")

        assert world.run_now(identity).state == "queued"

    def test_with_allow_it_runs_beside(self):
        world, identity = lived(if_running="allow")
        world.come("11:00")

        assert world.run_now(identity).state == "queued"

    @pytest.mark.parametrize("status", [Status.DONE, Status.DEAD])
    def test_what_has_ended_can_still_be_run_by_hand(self, status: Status):
        world, identity = lived(max_retries=3, retry_delay="1m")
        world.schedules[identity] = world.schedules[identity]._replace(status=status)

        run = world.run_now(identity)
        world.claim()
        world.end(run.id, Ending.FAILED)
        assert world.runs[run.id].state == "queued"
        world.go("10:21")
        world.claim()
        world.end(run.id, Ending.LOST, handed_back=True)
        world.claim()
        world.end(run.id)

        assert world.runs[run.id].state == "succeeded"
        assert world.schedules[identity].status is status

    def test_a_manual_failure_is_retried_but_never_the_death_of_the_schedule(self):
        world, identity = lived(max_retries=1, retry_delay="1m", on_exhausted="dead")
        run = world.run_now(identity)
        world.claim()
        world.end(run.id, Ending.FAILED)
        assert world.runs[run.id].state == "queued"
        world.go("10:21")
        world.claim()
        world.end(run.id, Ending.FAILED)

        schedule = world.schedules[identity]
        assert world.runs[run.id].reason is Reason.EXHAUSTED
        assert (schedule.status, schedule.current_retry) == (Status.ACTIVE, 0)
        assert schedule.error_count == 2

    def test_a_manual_run_of_a_completion_schedule_does_not_move_its_slot(self):
        world = World()
        identity = world.add(every="1h", anchor="completion")
        run = world.run_now(identity)
        world.claim()
        world.go("08:30")
        world.end(run.id)

        assert world.schedules[identity].next_slot == at("09:00")


class TestBackfill:
    def test_a_range_is_worked_off_one_by_one_while_nothing_else_is_open(self):
        world, identity = lived(every=None, cron="0 * * * *")

        count = world.backfill(identity, "2026-11-16T03:00:00Z", "2026-11-16T06:30:00Z")
        world.step()
        assert count == 4
        assert len(world.open(identity)) == 1

        world.live("10:40")
        runs = [run for run in world.runs.values() if run.kind is Kind.BACKFILL]
        assert [run.slot for run in runs] == [at(f"0{hour}:00") for hour in (3, 4, 5, 6)]
        assert {run.request for run in runs} == {1}
        assert world.schedules[identity].backfill is None
        assert world.schedules[identity].next_slot == at("11:00")

    def test_the_slots_of_the_day_keep_their_chance(self):
        world, identity = lived(every=None, cron="0 * * * *")
        world.backfill(identity, "2026-11-16T00:00:00Z", "2026-11-16T08:00:00Z")
        world.go("11:00")
        world.step()

        (run,) = world.open(identity)
        assert (run.kind, run.slot) == (Kind.SLOT, at("11:00"))

    def test_with_allow_it_is_added_in_batches(self):
        world, identity = lived(every=None, cron="* * * * *", if_running="allow")
        start, until = "2026-11-14T22:00:00Z", "2026-11-16T06:00:00Z"
        plans = world.plan([identity])

        count = world.backfill(identity, start, until)
        plans = world.step()

        assert count == 32 * 60 + 1
        assert [len(plan.added) for plan in plans] == [1000, 921]
        assert world.schedules[identity].planned_count == len(world.runs)
        assert world.schedules[identity].last_run_id == f"{identity}-{len(world.runs) - 1}"

    def test_the_grid_of_every_goes_on_into_the_past(self):
        world, identity = lived(every="1d")

        count = world.backfill(identity, "2026-11-10T00:00:00Z", "2026-11-16T00:00:00Z")
        world.live("10:30")

        slots = [run.slot for run in world.runs.values() if run.kind is Kind.BACKFILL]
        assert count == 6
        assert slots == [at(f"2026-11-{day}T08:00:00Z") for day in range(10, 16)]

    def test_an_empty_range_is_over_at_once(self):
        world, identity = lived(every=None, cron="0 0 1 1 *")

        assert world.backfill(identity, "2026-11-10T00:00:00Z", "2026-11-16T00:00:00Z") == 0
        world.step()

        assert world.schedules[identity].backfill is None

    def test_a_pause_interrupts_it_and_a_resume_goes_on(self):
        world, identity = lived(every=None, cron="0 * * * *")
        world.backfill(identity, "2026-11-16T03:00:00Z", "2026-11-16T04:30:00Z")
        world.pause(identity)
        world.come("10:30")
        assert world.open(identity) == []

        world.resume(identity)
        world.live("10:40")

        assert len([run for run in world.runs.values() if run.kind is Kind.BACKFILL]) == 2

    def test_it_counts_for_neither_repeats_nor_errors(self):
        world, identity = lived(every=None, cron="0 * * * *", total_repeats=3)
        world.backfill(identity, "2026-11-16T03:00:00Z", "2026-11-16T04:00:00Z")
        world.live("10:30", work=lambda run: "failed" if run.slot == at("03:00") else "succeeded")

        schedule = world.schedules[identity]
        assert (schedule.current_repeat, schedule.consecutive_errors) == (2, 0)
        assert schedule.run_count == 3

    @pytest.mark.parametrize(
        ("start", "until"),
        [("2026-11-16T05:00:00Z", "2026-11-16T04:00:00Z"), ("2026-11-16T05:00:00Z", "10:21")],
    )
    def test_only_a_range_that_has_passed_can_be_filled(self, start: str, until: str):
        world, identity = lived()

        with pytest.raises(InvalidSpecification, match="is no past range; give a start, and"):
            world.backfill(identity, start, until)

    def test_one_at_a_time(self):
        world, identity = lived()
        world.backfill(identity, "08:00", "10:00")

        with pytest.raises(Conflict, match="is filled up to 2026-11-16T10:00:00Z already; wait"):
            world.backfill(identity, "08:00", "09:00")

    def test_not_while_it_is_paused(self):
        world, identity = lived()
        world.pause(identity)

        with pytest.raises(WrongState, match="is paused; only an active one runs"):
            world.backfill(identity, "08:00", "10:00")

    @pytest.mark.parametrize(
        "fields", [{"every": None, "after": "9h"}, {"every": "1h", "anchor": "completion"}]
    )
    def test_only_where_there_are_past_slots(self, fields: dict[str, str]):
        world, identity = lived(**fields)

        with pytest.raises(WrongState, match="without past slots; use run instead"):
            world.backfill(identity, "08:00", "10:00")


class TestCancel:
    def test_a_run_that_waits_is_closed_and_the_next_has_its_turn(self):
        world = World()
        identity = world.add(every="1h", catch_up="run_all")
        world.come("10:00")
        assert world.states(identity) == ["queued", "held"]

        world.cancel(f"{identity}-0")
        world.step()

        assert world.states(identity) == ["cancelled: requested", "queued"]

    def test_a_run_that_runs_is_asked_to_stop(self):
        world = World()
        identity = world.add(every="1h")
        world.come("09:00")
        world.claim()

        world.cancel(f"{identity}-0")
        assert world.runs[f"{identity}-0"].cancel is Reason.REQUESTED
        world.end(f"{identity}-0", Ending.CANCELLED)

        assert world.states(identity) == ["cancelled: requested"]
        assert world.schedules[identity].last_result is None

    def test_a_run_that_stops_by_itself_was_cancelled_by_request(self):
        world = World()
        identity = world.add(every="1h")
        world.come("09:00")
        world.claim()

        world.end(f"{identity}-0", Ending.CANCELLED)
        assert world.states(identity) == ["cancelled: requested"]

    def test_a_completion_schedule_whose_run_was_cancelled_goes_on(self):
        world = World()
        identity = world.add(every="1h", anchor="completion")
        world.come("09:00")
        world.go("09:05")

        world.cancel(f"{identity}-0")
        world.step()

        assert world.schedules[identity].next_slot == at("10:05")

    def test_a_one_shot_whose_run_was_cancelled_is_done(self):
        world = World()
        identity = world.add(at="2026-11-16T09:00:00Z")
        world.come("09:00")

        world.cancel(f"{identity}-0")
        world.step()

        assert world.schedules[identity].status is Status.DONE

    def test_a_closed_run_cannot_be_cancelled(self):
        world, identity = lived()

        with pytest.raises(WrongState, match="run 1-0 is succeeded and cannot cancel; only"):
            world.cancel(f"{identity}-0")

    def test_a_waiting_run_of_a_paused_schedule_wakes_nobody(self):
        world, identity = lived()
        run = world.run_now(identity)
        schedule = world.schedules[identity]._replace(status=Status.DEAD, wake_at=None)
        world.schedules[identity] = schedule

        world.cancel(run.id)

        assert world.schedules[identity].wake_at is None


class TestCreate:
    @pytest.mark.mission("D11", "H5")
    def test_a_new_schedule_shows_what_is_known_of_it(self):
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

    @pytest.mark.mission("D11", "H5")
    def test_its_state_follows_its_runs(self):
        world, identity = lived()

        schedule = world.schedules[identity]
        assert schedule.last_fired_at == at("10:00")
        assert (schedule.last_run_id, schedule.last_success_run_id) == ("1-1", "1-1")
        assert (schedule.last_success_at, schedule.next_slot) == (at("10:00"), at("11:00"))

    def test_one_that_is_declared_disabled_rests(self):
        world = World()
        identity = world.add(every="1h", enabled=False)

        schedule = world.schedules[identity]
        assert (schedule.status, schedule.status_reason) == (Status.PAUSED, "declared_disabled")
        assert (schedule.paused_by, schedule.wake_at) == ("declaration", None)

    def test_one_without_any_slot_is_found_done(self):
        world = World()
        identity = world.add(cron="0 * * * *", end_at="2026-11-16T07:30:00Z")
        assert world.schedules[identity].wake_at == at("08:00")

        world.step()

        schedule = world.schedules[identity]
        assert (schedule.status, schedule.status_reason) == (Status.DONE, "no_more_slots")

    def test_what_says_itself_when_it_was_created_counts_from_there(self):
        world = World()
        identity = world.add(every="1h", created_at="2026-11-16T07:40:00Z")

        assert world.schedules[identity].next_slot == at("08:40")
        assert world.schedules[identity].anchor_at == at("08:00") - 20 * MINUTE


def test_what_is_no_fault_of_a_schedule_does_not_make_it_invalid():
    """Too many open files, say, while the zones are read: it will pass."""

    class NoZones:
        once = completion = is_agent = False

        def __getattr__(self, name: str) -> None:
            raise OSError("too many open files")

    world = World()
    schedule = world.schedules[world.add(every="1h")]
    facts = Facts([schedule._replace(specification=NoZones())])

    with pytest.raises(OSError, match="too many open files"):
        plan(facts, at("09:00"))


def test_a_schedule_that_cannot_be_planned_harms_only_itself():
    world = World()
    broken, sound = world.add(every="1h"), world.add(every="1h")
    world.schedules[broken] = world.schedules[broken]._replace(anchor_at="yesterday")
    world.go("09:00")

    world.step()

    schedule = world.schedules[broken]
    assert schedule.status is Status.INVALID
    assert schedule.status_reason == ('TypeError: can only concatenate str (not "int") to str')
    assert (schedule.next_slot, schedule.wake_at) == (None, None)
    assert world.states(sound) == ["queued"]


class TestRetrying:
    def test_a_run_that_waits_is_ready_at_once(self):
        world = World()
        world.add(every="1h", max_retries=3, retry_delay="30m")
        world.come("09:00")
        world.claim()
        world.end("1-0", "failed")
        world.go("09:05")

        world.retry("1-0")

        assert (world.runs["1-0"].state, world.runs["1-0"].ready_at) == (State.QUEUED, at("09:05"))

    def test_one_that_is_ready_already_stays_as_it_is(self):
        world = World()
        world.add(every="1h", max_retries=3, retry_delay="30m")
        world.come("09:00")
        world.claim()
        world.end("1-0", "failed")
        world.go("09:45")

        world.retry("1-0")

        assert world.runs["1-0"].ready_at == at("09:30")

    @pytest.mark.parametrize("ending", ["failed", "timed_out", "cancelled", "lost"])
    def test_one_that_was_closed_gets_a_new_run_of_its_slot(self, ending: str):
        world = World()
        world.add(every="1h", execution="at_most_once")
        world.come("09:00")
        world.claim()
        world.end("1-0", ending)
        world.go("09:05")

        world.retry("1-0")

        run = world.runs["1-1"]
        assert (run.slot, run.ready_at, run.kind) == (at("09:00"), at("09:05"), "manual")
        assert world.runs["1-0"].state == ending, "what was closed stays as it was"

    def test_what_is_open_or_has_succeeded_is_refused(self):
        world = World()
        world.add(every="1h")
        world.come("09:00")
        with pytest.raises(WrongState, match="run 1-0 is queued; only one that was closed"):
            world.retry("1-0")
        world.claim()
        with pytest.raises(WrongState, match="run 1-0 is running"):
            world.retry("1-0")
        world.end("1-0")
        with pytest.raises(WrongState, match="run 1-0 is succeeded"):
            world.retry("1-0")

    def test_it_is_refused_as_a_manual_run_is(self):
        world = World()
        world.add(every="1h")
        world.come("09:00")
        world.claim()
        world.end("1-0", "failed")
        world.come("10:00")
        with pytest.raises(Conflict, match="run 1-1 is queued and schedule"):
            world.retry("1-0")
        world.claim()
        world.end("1-1")
        world.pause(1)
        with pytest.raises(WrongState, match="is paused; resume it first"):
            world.retry("1-0")
