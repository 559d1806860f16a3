"""Where two rules meet: nothing may be lost, stuck or told wrongly there."""

from __future__ import annotations

from typing import Any

import pytest

from harness.rules.world import World, at
from quarterjack.errors import Conflict, WrongState
from quarterjack.rules import (
    Backfill,
    Ended,
    Ending,
    GateState,
    Kind,
    Limits,
    Outage,
    Outcome,
    State,
    Status,
    invalidate,
    plan,
    settle,
)
from quarterjack.times.instants import MINUTE


class TestOneShots:
    def test_a_new_instant_is_not_lost_while_the_old_run_is_still_open(self):
        world = World()
        identity = world.add(at="2026-11-16T09:00:00Z")
        world.come("09:00")
        world.claim()
        world.edit(identity, at="2026-11-16T09:10:00Z")
        world.come("09:10")
        assert world.states(identity) == ["running", "held"]

        world.go("09:20")
        world.end(f"{identity}-0")
        world.live("09:30")

        assert world.states(identity) == ["succeeded", "succeeded"]
        assert world.schedules[identity].status is Status.DONE

    def test_delete_after_run_waits_for_the_slot_that_is_still_to_come(self):
        world = World()
        identity = world.add(at="2026-11-16T09:00:00Z", delete_after_run=True)
        world.come("09:00")
        world.claim()
        world.edit(identity, at="2026-11-16T12:00:00Z", delete_after_run=True)
        world.end(f"{identity}-0")
        world.step()
        assert identity in world.schedules

        world.live("12:05")
        assert identity in world.deleted

    def test_delete_after_run_follows_the_current_definition(self):
        world = World()
        identity = world.add(at="2026-11-16T09:00:00Z", delete_after_run=True)
        world.come("09:00")
        world.claim()
        world.edit(identity, at="2026-11-16T09:00:00Z")
        world.end(f"{identity}-0")
        world.step()

        assert world.schedules[identity].status is Status.DONE

    def test_delete_after_run_waits_for_every_open_run(self):
        world = World()
        identity = world.add(at="2026-11-16T09:00:00Z", delete_after_run=True, if_running="allow")
        manual = world.run_now(identity)
        world.come("09:00")
        world.claim()
        world.end(f"{identity}-1")
        world.step()
        assert identity in world.schedules

        world.end(manual.id)
        world.step()
        assert identity in world.deleted

    def test_delete_after_run_needs_that_it_fired(self):
        world = World()
        identity = world.add(after="1h", only_between="09:00-10:00", delete_after_run=True)
        passed_it = world.schedules[identity]._replace(cursor=at("09:00"))
        world.schedules[identity] = passed_it
        world.plan([identity])

        assert world.runs == {}
        assert identity not in world.deleted
        assert world.schedules[identity].status is Status.DONE

    @pytest.mark.parametrize("words", [{"on_exhausted": "dead"}, {"on_exhausted": "pause"}])
    def test_delete_after_run_goes_before_death_and_pause(self, words: dict[str, str]):
        world = World()
        identity = world.add(at="2026-11-16T09:00:00Z", delete_after_run=True, **words)
        world.come("09:00")
        world.claim()
        world.end(f"{identity}-0", Ending.FAILED)
        world.step()

        assert identity in world.deleted

    def test_one_created_disabled_with_an_instant_in_the_past_fires_when_it_is_resumed(self):
        world = World()
        identity = world.add(at="2026-11-16T07:00:00Z", enabled=False)
        world.resume(identity)
        world.step()

        assert world.states(identity) == ["queued"]

    def test_one_that_is_due_but_not_planned_survives_a_pause(self):
        world = World()
        identity = world.add(at="2026-11-16T09:00:00Z")
        world.go("09:30")
        world.pause(identity)
        assert world.states(identity) == []

        world.go("10:00")
        world.resume(identity)
        world.step()
        assert world.states(identity) == ["queued"]

    @pytest.mark.parametrize("words", [{"timezone": "Asia/Tokyo"}, {"not_on": ["sunday"]}])
    def test_another_zone_or_window_fires_nothing_twice(self, words: dict[str, Any]):
        world = World()
        identity = world.add(after="5m")
        world.live("08:10")
        assert world.schedules[identity].status is Status.DONE

        world.edit(identity, after="5m", **words)
        world.live("08:30")

        assert len(world.runs) == 1
        assert world.schedules[identity].status is Status.DONE

    def test_another_zone_does_not_move_one_that_has_not_fired(self):
        world = World()
        identity = world.add(after="30m")
        world.go("08:10")
        world.edit(identity, after="30m", timezone="Asia/Tokyo")
        world.live("08:40")

        assert [run.slot for run in world.runs.values()] == [at("08:30")]

    def test_one_with_too_many_errors_fires_when_it_is_resumed(self):
        world = World()
        identity = world.add(at="2026-11-16T09:00:00Z", max_consecutive_errors=1)
        schedule = world.schedules[identity]
        world.schedules[identity] = schedule._replace(consecutive_errors=1)
        world.come("09:00")
        assert world.schedules[identity].status is Status.PAUSED
        assert (world.states(identity), world.rows(identity)) == ([], [])

        world.resume(identity)
        world.step()
        assert world.states(identity) == ["queued"]

    def test_an_edit_in_the_very_moment_of_its_end_goes_on(self):
        world = World()
        identity = world.add(at="2026-11-16T09:00:00Z", delete_after_run=True)
        world.come("09:00")
        world.claim()
        world.end(f"{identity}-0")

        world.edit(identity, at="2026-11-16T12:00:00Z", delete_after_run=True)

        assert world.schedules[identity].status is Status.ACTIVE
        assert world.schedules[identity].next_slot == at("12:00")


class TestInactiveSchedules:
    def test_a_manual_run_that_nobody_would_release_is_refused(self):
        world = World()
        identity = world.add(every="1h", if_running="queue")
        world.schedules[identity] = world.schedules[identity]._replace(status=Status.DONE)
        world.run_now(identity)

        with pytest.raises(Conflict, match='run 1-0 is queued and schedule "s1" must not run'):
            world.run_now(identity)

    def test_one_that_cannot_be_planned_gets_out_of_the_way(self):
        world = World()
        fields = {"plugin": "echo", "command": "sync", "every": "10m", "if_running": "queue"}
        broken, other, third = (world.add(**fields) for _ in range(3))
        world.come("08:10")
        assert [world.states(each) for each in (broken, other, third)] == [
            ["queued"],
            ["held"],
            ["held"],
        ]
        world.schedules[broken] = world.schedules[broken]._replace(anchor_at="x")

        world.come("08:20")

        assert world.schedules[broken].status is Status.INVALID
        assert world.states(broken) == ["skipped: inactive"]
        assert world.states(other)[0] == "queued"

    def test_one_that_cannot_be_planned_wakes_nobody_if_another_run_goes_on(self):
        world = World()
        fields = {"plugin": "echo", "command": "sync"}
        world.add(every="10m", **fields)
        broken = world.add(every="10m", if_running="queue", **fields)
        world.come("08:10")
        world.schedules[broken] = world.schedules[broken]._replace(anchor_at="x")

        (_, decided) = world.plan([1, broken])

        assert (decided.closes, list(decided.wakes)) == ("inactive", [])

    def test_one_that_cannot_be_planned_wakes_who_waited_behind_it(self):
        world = World()
        fields = {"plugin": "echo", "command": "sync", "if_running": "queue"}
        broken = world.add(every="10m", **fields)
        yearly = world.add(at="2026-11-16T08:10:00Z", **fields)
        world.come("08:10")
        world.schedules[broken] = world.schedules[broken]._replace(anchor_at="x")

        world.come("08:20")

        assert world.states(yearly) == ["queued"]

    def test_a_plan_that_fails_half_way_leaves_no_trace(self):
        world = World(limits=Limits(max_catchup_runs=1, max_dispatch_per_tick=9))
        identity = world.add(plugin="echo", every="5m", if_running="allow", max_outstanding_polls=0)
        world.live("08:15", work=lambda run: "failed")
        world.outage = Outage(at("08:15"), at("08:50"))
        world.go("08:50")
        broken = Backfill(1, "yesterday", at("08:00"))  # it is looked at last
        world.schedules[identity] = world.schedules[identity]._replace(backfill=broken)

        decided = plan(world._facts([identity]), world.now)

        assert decided.plans[0].schedule.status is Status.INVALID
        assert (decided.plans[0].schedule.status_reason or "").startswith("TypeError: ")
        assert (decided.gates, decided.gate_changes) == ({}, [])
        assert decided.outage == world.outage
        assert decided.pace == world.pace

    def test_cancelling_a_run_of_a_schedule_that_has_ended_wakes_who_waited(self):
        world = World()
        ended = world.add(plugin="echo", command="sync", every="10m")
        once = world.add(plugin="echo", command="sync", at="2026-11-16T08:10:00Z")
        manual = world.run_now(ended)
        world.schedules[ended] = world.schedules[ended]._replace(
            status=Status.DONE, wake_at=None, next_slot=None
        )
        world.come("08:10")
        assert world.states(once) == ["held"]

        world.cancel(manual.id)
        world.step()

        assert world.states(once) == ["queued"]

    def test_a_mended_schedule_that_a_person_had_paused_stays_paused(self):
        world = World()
        identity = world.add(every="1h")
        world.pause(identity, until=at("12:00"))
        world.schedules[identity] = world.schedules[identity]._replace(status=Status.INVALID)

        world.edit(identity, every="1h")

        schedule = world.schedules[identity]
        assert (schedule.status, schedule.paused_by) == (Status.PAUSED, "ada")
        assert (schedule.paused_until, schedule.wake_at) == (at("12:00"), at("12:00"))


class TestCompletion:
    def test_an_outcome_that_is_told_late_does_not_put_it_to_sleep(self):
        world = World()
        identity = world.add(every="5m", anchor="completion")
        world.come("08:05")
        world.claim()
        world.go("08:06")
        ended_at = world.now
        world.go("08:20")
        world.edit(identity, every="5m", anchor="completion", priority=1)
        world.plan([identity])
        world.now = ended_at
        settlement = world.end(f"{identity}-0")
        world.go("08:20")
        assert settlement.schedule.wake_at is not None
        world.step()

        assert world.schedules[identity].next_slot == at("08:25")

    def test_a_slot_skipped_at_the_very_end_leaves_the_schedule_done_once_nothing_is_open(self):
        world = World()
        identity = world.add(every="10m", end_at="2026-11-16T08:10:00Z")
        manual = world.run_now(identity)
        world.claim()
        world.come("08:10")
        assert world.schedules[identity].status is Status.ACTIVE

        world.end(manual.id)
        world.step()

        assert world.schedules[identity].status is Status.DONE


class TestHeldRuns:
    def test_with_allow_a_run_that_the_breaker_held_need_not_wait_for_an_idle_moment(self):
        world = World()
        breaker = {"threshold": 1, "reset_after": "5m"}
        identity = world.add(every="1m", if_running="allow", max_retries=1, circuit_breaker=breaker)
        world.come("08:01")
        world.claim()
        world.end(f"{identity}-0", Ending.FAILED)
        assert world.states(identity) == ["held"]
        world.live("08:10")

        assert world.states(identity)[0] == "succeeded"

    def test_an_edit_into_another_plugin_wakes_who_waited_behind_it(self):
        world = World()
        moving = world.add(plugin="echo", command="sync", every="10m")
        once = world.add(plugin="echo", command="sync", at="2026-11-16T08:10:00Z")
        world.come("08:10")
        world.claim()
        assert world.states(once) == ["held"]

        world.edit(moving, plugin="other", command="sync", every="10m")
        world.step()

        assert world.states(once) == ["queued"]
        assert world.runs[f"{moving}-0"].scope == "other/sync"

    def test_runs_of_two_versions_pass_two_gates(self):
        world = World()
        one, other = ({"threshold": 1, "reset_after": "5m", "name": name} for name in "ab")
        fields = {"every": "1m", "if_running": "allow", "max_retries": 1, "retry_delay": "1m"}
        identity = world.add(**fields, circuit_breaker=one)
        world.come("08:01")
        world.claim()
        world.end(f"{identity}-0", Ending.FAILED)
        world.edit(identity, **fields, circuit_breaker=other)
        world.come("08:02")
        world.claim()
        world.end(f"{identity}-1", Ending.FAILED)
        assert world.states(identity) == ["held", "held"]

        world.come("08:10")

        assert world.states(identity)[:2] == ["queued", "held"]
        assert (world.gates["a"].probe, world.gates["b"].probe) == (f"{identity}-0", "1-2")

    def test_a_run_that_was_asked_to_stop_keeps_its_reason(self):
        world = World()
        identity = world.add(every="1h", if_running="cancel")
        world.come("09:00")
        world.claim()
        world.cancel(f"{identity}-0")
        world.come("10:00")

        assert world.runs[f"{identity}-0"].cancel == "requested"

    def test_a_run_that_cannot_start_yet_is_no_probe(self):
        world = World()
        breaker = {"threshold": 1, "reset_after": "5m", "name": "mail"}
        quick = world.add(every="10m", circuit_breaker=breaker)
        late = world.add(
            every="10m",
            start_at="2026-11-16T08:16:00Z",
            only_between="12:00-13:00",
            on_constraint="defer",
            circuit_breaker=breaker,
        )
        world.live("08:10", work=lambda run: "failed")
        world.come("08:16")
        assert world.states(late) == ["held"]
        assert world.gates["mail"].state is GateState.OPEN

        world.come("08:20")
        assert world.gates["mail"].probe == f"{quick}-1"
        world.claim()
        world.end(f"{quick}-1")
        world.schedules[late] = world.schedules[late]._replace(wake_at=world.now)
        world.step()
        assert world.states(late) == ["queued"]
        assert world.runs[f"{late}-0"].ready_at == at("12:00")

    def test_one_that_would_be_the_probe_looks_again_when_it_is_ready(self):
        world = World()
        breaker = {"threshold": 1, "reset_after": "1m"}
        identity = world.add(every="10m", jitter="5m", key="k", circuit_breaker=breaker)
        world.come("08:10")
        world.go("08:15")
        world.claim()
        world.end(f"{identity}-0", Ending.FAILED)
        world.come("08:20")
        run = world.runs[f"{identity}-1"]
        assert (run.state, run.ready_at > world.now) == ("held", True)
        assert world.schedules[identity].wake_at == run.ready_at

        world.go(run.ready_at)
        world.step()
        assert world.runs[run.id].state == "queued"
        assert world.gates["schedule/1"].probe == run.id


class TestBackfillsAndSlots:
    def test_slots_go_before_the_rest_of_the_range(self):
        world = World()
        identity = world.add(cron="*/5 * * * *")
        world.go("08:01")
        world.backfill(identity, "06:00", "07:00")
        for minute in range(2, 41):  # each run takes two minutes
            world.go(f"08:{minute:02}")
            world.step()
            for run in world.open(identity):
                if run.state == "running" and (run.started_at or 0) <= world.now - 2 * MINUTE:
                    world.end(run.id)
            world.step()
            world.claim()

        slots = [run.slot for run in world.runs.values() if run.kind is Kind.SLOT]
        assert slots == [at(f"08:{minute:02}") for minute in range(5, 41, 5)]
        assert world.rows(identity) == []

    def test_a_range_waits_for_the_run_of_a_stranger_and_looks_again(self):
        world = World()
        stranger = world.add(plugin="echo", command="sync", every="1h")
        yearly = world.add(plugin="echo", command="sync", cron="0 0 1 1 *")
        world.come("09:00")
        world.claim()
        world.backfill(yearly, "2024-12-01T00:00:00Z", "2026-02-01T00:00:00Z")
        world.step()
        assert world.schedules[yearly].wake_at == at("09:01")

        world.end(f"{stranger}-0")
        world.live("09:05")

        assert world.states(yearly) == ["succeeded", "succeeded"]

    def test_repeats_that_are_used_up_do_not_end_a_backfill(self):
        world = World()
        identity = world.add(cron="0 * * * *", total_repeats=1)
        world.go("08:30")
        world.backfill(identity, "05:00", "07:00")
        world.schedules[identity] = world.schedules[identity]._replace(current_repeat=1)
        world.live("08:40")

        assert world.states(identity) == ["succeeded"] * 3
        assert world.schedules[identity].status is Status.DONE

    def test_what_dies_has_no_range_left(self):
        world = World()
        identity = world.add(cron="0 * * * *", on_exhausted="dead")
        world.come("09:00")
        world.claim()
        world.backfill(identity, "05:00", "07:00")
        world.end(f"{identity}-0", Ending.FAILED)

        assert world.schedules[identity].status is Status.DEAD
        assert world.schedules[identity].backfill is None


class TestLimitsAndPeople:
    def test_enabled_false_changes_nothing_for_what_rests_already(self):
        world = World()
        identity = world.add(every="1h")
        world.pause(identity, reason="holiday")
        world.edit(identity, every="1h", enabled=False)

        assert world.schedules[identity].status_reason == "holiday"

    def test_an_edit_that_would_make_one_too_many_active_is_refused(self):
        world = World(limits=Limits(max_scheduled_jobs=1))
        resting = world.add(every="1h", enabled=False)
        world.add(every="1h")

        with pytest.raises(Conflict, match="max_scheduled_jobs"):
            world.edit(resting, every="1h", enabled=True)
        world.edit(2, every="2h")

    def test_a_pause_that_was_over_ends_when_it_said_also_if_a_person_resumes(self):
        world = World()
        identity = world.add(every="1h")
        world.pause(identity, until=at("09:00"))
        world.go("11:10")
        world.resume(identity)
        world.step()

        assert [run.slot for run in world.runs.values()] == [at("11:00")]
        assert world.rows(identity) == [(1, "missed", "coalesced")]

    def test_the_budget_after_an_outage_covers_every_slot_of_the_outage(self):
        world = World(limits=Limits(max_catchup_runs=1))
        ids = [world.add(every="10m", catch_up="run_all", if_running="allow") for _ in range(3)]
        world.outage = Outage(at("08:00"), at("08:55"))
        world.come("09:00")

        assert [len(world.states(identity)) for identity in ids] == [6, 1, 1]
        assert world.rows(ids[1]) == [(5, "missed", "outage_limit")]

    def test_what_people_ask_for_does_not_lengthen_the_line(self):
        limits = Limits(max_dispatch_per_tick=1)
        world = World(limits=limits)
        ids = [world.add(every="1h") for _ in range(4)]
        world.come("09:00")
        assert world.pace.postponed == 3

        world.go("09:00:02")
        world.pause(ids[3])

        assert world.pace.at(at("09:00:02"), limits).postponed == 1


class TestWhatIsTold:
    @pytest.mark.parametrize(
        ("ending", "told"),
        [
            (Ending.FAILED, "the attempt failed without a word"),
            (Ending.TIMED_OUT, "the attempt took longer than its timeout"),
        ],
    )
    def test_an_error_without_text_is_told_as_what_it_was(self, ending: Ending, told: str):
        world = World()
        identity = world.add(every="1h")
        world.come("09:00")
        world.claim()
        world.end(f"{identity}-0", ending)

        assert world.schedules[identity].last_error == told

    def test_a_run_lost_while_its_schedule_is_paused_counts_as_an_error(self):
        world = World()
        identity = world.add(every="1h")
        world.come("09:00")
        world.claim()
        world.pause(identity)
        world.end(f"{identity}-0", Ending.LOST)

        assert world.states(identity) == ["lost: inactive"]
        assert world.schedules[identity].error_count == 1

    def test_a_run_now_is_refused_by_the_name_of_the_run_in_the_way(self):
        world = World()
        world.add(plugin="echo", command="sync", every="10m")
        other = world.add(plugin="echo", command="sync", every="1h")
        world.come("08:10")

        with pytest.raises(Conflict, match='run 1-0 is queued and schedule "s2" must not run'):
            world.run_now(other)

    def test_a_daily_window_is_no_bound_on_how_many_are_caught_up(self):
        world = World()
        identity = world.add(
            cron="0 9 * * *",
            only_between="08:00-18:00",
            catch_up="run_all",
            max_catch_up_runs=10_000,
        )
        world.go(at("08:00") + 1000 * 24 * 60 * MINUTE)
        world.step()

        assert len(world.states(identity)) == 1000


def test_a_retry_told_late_becomes_the_probe_and_does_not_slip_through():
    world = World()
    breaker = {"threshold": 1, "reset_after": "1m"}
    identity = world.add(cron="10 8 * * *", max_retries=3, circuit_breaker=breaker)
    world.come("08:10")
    world.claim()
    run = world.runs[f"{identity}-0"]
    ended = Ended(run, world.versions[identity, 1], Outcome(Ending.FAILED, at("08:11")))
    schedules = {identity: world.schedules[identity]}

    decided = settle([ended], schedules, {}, {}, at("08:20"))

    (settlement,) = decided.settlements
    assert (settlement.run.state, settlement.schedule.wake_at) == ("held", at("08:20"))
    assert decided.gates["schedule/1"].until == at("08:12")


class TestWhatASecondLookFound:
    def test_a_held_run_that_an_edit_leaves_alone_in_its_scope_has_its_turn(self):
        world = World()
        world.add(plugin="echo", command="sync", every="10m")
        once = world.add(plugin="echo", command="sync", at="2026-11-16T08:11:00Z")
        world.come("08:10")
        world.claim()
        world.come("08:11")
        assert world.states(once) == ["held"]

        world.edit(once, task="work", at="2026-11-16T08:11:00Z")
        world.step()

        assert world.states(once) == ["queued"]

    def test_fewer_repeats_are_noticed_at_once(self):
        world = World()
        identity = world.add(every="1h")
        world.live("09:10")
        world.edit(identity, every="1h", total_repeats=1)
        world.step()

        assert world.schedules[identity].status is Status.DONE

    def test_a_new_schedule_does_not_inherit_the_breaker_of_a_deleted_one(self):
        world = World()
        fields = {"every": "10m", "key": "x", "circuit_breaker": {"threshold": 1}}
        old = world.add(**fields)
        world.live("08:10", work=lambda run: "failed")
        world.delete(old)
        new = world.add(**fields)
        world.live("08:20")

        assert world.states(new) == ["succeeded"]

    def test_a_slot_that_is_due_goes_before_a_run_by_hand(self):
        world = World()
        identity = world.add(every="10m")
        world.go("08:10")

        with pytest.raises(Conflict, match='run 1-0 is queued and schedule "s1" must not run'):
            world.run_now(identity)
        world.step()
        assert world.rows(identity) == []

    def test_with_allow_both_run(self):
        world = World()
        identity = world.add(every="10m", if_running="allow")
        world.go("08:10")
        manual = world.run_now(identity)

        assert [run.kind for run in world.runs.values()] == [Kind.SLOT, Kind.MANUAL]
        assert (manual.number, world.schedules[identity].planned_count) == (1, 2)
        assert world.schedules[identity].cursor == at("08:10")

    def test_slots_from_before_the_outage_that_nobody_decided_are_part_of_it(self):
        world = World(limits=Limits(max_catchup_runs=1))
        ids = [world.add(cron="10 * * * *") for _ in range(3)]
        world.outage = Outage(at("08:10"), at("08:50"))
        world.come("08:50")

        assert [len(world.states(identity)) for identity in ids] == [1, 0, 0]

    def test_after_the_budget_is_used_up_the_slots_since_then_run(self):
        world = World(limits=Limits(max_catchup_runs=1))
        world.outage = Outage(at("08:15"), at("08:35"), recurring=1)
        identity = world.add(every="10m", catch_up="run_all", if_running="allow")
        world.come("08:40")

        assert [run.slot for run in world.runs.values()] == [at("08:40")]
        assert world.rows(identity) == [(3, "missed", "outage_limit")]

    def test_an_edit_of_its_name_does_not_keep_what_was_about_to_go(self):
        world = World()
        identity = world.add(at="2026-11-16T09:00:00Z", delete_after_run=True)
        world.come("09:00")
        world.claim()
        world.end(f"{identity}-0")
        world.edit(identity, at="2026-11-16T09:00:00Z", delete_after_run=True, name="Later")

        assert identity in world.deleted

    def test_a_mended_one_shot_that_has_fired_does_not_fire_again(self):
        world = World()
        identity = world.add(after="10m", if_running="allow")
        world.come("08:10")
        world.claim()
        facts = world._facts([identity])
        world._commit(invalidate(facts, "its zone is gone"))
        schedule = world.schedules[identity]
        assert (schedule.status, schedule.status_reason) == (Status.INVALID, "its zone is gone")

        world.edit(identity, after="10m", if_running="allow")
        world.live("08:40")

        assert len(world.runs) == 1

    def test_a_declared_pause_survives_a_time_of_being_invalid_and_can_be_ended(self):
        world = World()
        identity = world.add(every="1h", enabled=False)
        world._commit(invalidate(world._facts([identity]), "broken"))
        world.edit(identity, every="1h", enabled=False)
        schedule = world.schedules[identity]
        assert (schedule.status, schedule.status_reason) == (Status.PAUSED, "declared_disabled")

        world.edit(identity, every="1h", enabled=True)
        assert world.schedules[identity].status is Status.ACTIVE

    def test_match_takes_only_the_newest_slot_of_the_minute(self):
        world = World("08:00:35")
        world.add(
            cron="*/10 * * * * *",
            seconds=True,
            first_run="match",
            catch_up="run_all",
            if_running="allow",
        )
        world.step()

        assert [run.slot for run in world.runs.values()] == [at("08:00:30")]

    def test_a_pause_with_an_end_keeps_its_place(self):
        world = World(limits=Limits(max_scheduled_jobs=1))
        resting = world.add(every="1h")
        world.pause(resting, until=at("12:00"))
        with pytest.raises(Conflict, match="max_scheduled_jobs"):
            world.add(every="1h")

        world.resume(resting)
        assert world.schedules[resting].status is Status.ACTIVE

    def test_a_pause_that_is_over_is_over_for_people_too(self):
        world = World()
        identity = world.add(every="1h")
        world.pause(identity, until=at("08:30"))
        world.go("08:31")
        assert world.run_now(identity).state == "queued"
        world.pause(identity)

        assert world.schedules[identity].status is Status.PAUSED
        assert world.schedules[identity].paused_until is None

    @pytest.mark.parametrize("preempts", [False, True])
    def test_a_retry_that_was_closed_is_counted_no_more(self, preempts: bool):
        world = World()
        identity = world.add(
            every="1h", max_retries=3, retry_delay="2h", slot_preempts_retry=preempts
        )
        world.come("09:00")
        world.claim()
        world.end(f"{identity}-0", Ending.FAILED)
        assert world.schedules[identity].current_retry == 1
        if preempts:
            world.come("10:00")
        else:
            world.cancel(f"{identity}-0")

        assert world.schedules[identity].current_retry == 0

    def test_what_a_stopping_worker_hands_back_of_a_paused_schedule_is_no_error(self):
        world = World()
        identity = world.add(every="1h")
        world.come("09:00")
        world.claim()
        world.pause(identity)
        world.end(f"{identity}-0", Ending.LOST, handed_back=True)

        assert world.states(identity) == ["lost: inactive"]
        assert world.runs[f"{identity}-0"].losses == 0
        assert world.schedules[identity].error_count == 0

    def test_one_attempt_that_cannot_be_settled_harms_no_other(self):
        world = World()
        one, other = world.add(every="10m"), world.add(every="10m")
        world.come("08:10")
        world.claim()
        outcome = Outcome(Ending.SUCCEEDED, world.now)
        stale = world.runs[f"{one}-0"]._replace(state=State.CANCELLED)
        ended = [
            Ended(stale, world.versions[one, 1], outcome),
            Ended(world.runs[f"{other}-0"], world.versions[other, 1], outcome),
        ]

        decided = settle(ended, world.schedules, {}, {}, world.now)

        assert [each.run.schedule_id for each in decided.settlements] == [other]
        assert [(each.run.id, type(error)) for each, error in decided.refused] == [
            (f"{one}-0", WrongState)
        ]

    @pytest.mark.parametrize("deed", ["delete", "pause"])
    def test_people_can_get_rid_of_what_cannot_be_planned(self, deed: str):
        world = World()
        identity = world.add(every="1h")
        world.schedules[identity] = world.schedules[identity]._replace(anchor_at="x")
        world.go("09:00")
        if deed == "delete":
            world.delete(identity)
            assert identity in world.deleted
        else:
            world.pause(identity)
            assert world.schedules[identity].status is Status.INVALID

    def test_a_pause_in_the_moment_of_the_probe_leaves_the_breaker_open(self):
        world = World()
        identity = world.add(every="10m", circuit_breaker={"threshold": 1, "reset_after": "5m"})
        world.live("08:10", work=lambda run: "failed")
        world.go("08:20")
        world.pause(identity)
        assert world.states(identity) == ["failed", "skipped: paused"]
        world.go("08:30")
        world.resume(identity)
        world.live("08:50")

        assert world.gates["schedule/1"].state is GateState.CLOSED
