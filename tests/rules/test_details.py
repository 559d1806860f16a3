"""Small print: what is written down exactly, and what each step leaves for the next."""

from __future__ import annotations

import pytest

from harness.rules.world import World, at
from quarterjack.errors import InvalidSpecification, WrongState
from quarterjack.rules import (
    Ended,
    Ending,
    Gate,
    GateState,
    Kind,
    Limits,
    Outage,
    Outcome,
    Reason,
    Run,
    State,
    Status,
    backfill,
    plan,
    settle,
    to_json,
)
from quarterjack.rules.policies.overlap import in_line, next_in_line
from quarterjack.times.instants import MINUTE


class TestAnchorsAndResumes:
    def test_a_one_shot_by_delay_keeps_its_instant_over_a_pause(self):
        world = World()
        identity = world.add(after="1h")
        world.go("08:10")
        world.pause(identity)
        world.go("08:20")
        world.resume(identity)

        assert world.schedules[identity].next_slot == at("09:00")
        assert world.schedules[identity].anchor_at == at("08:00")

    def test_a_completion_schedule_counts_from_the_resume_itself(self):
        world = World()
        identity = world.add(every="1h", anchor="completion", start_at="2026-11-16T08:30:00Z")
        world.live("08:40")
        world.pause(identity)
        world.go("09:10")
        world.resume(identity)

        assert world.schedules[identity].next_slot == at("10:10")

    def test_each_completion_is_followed_by_the_slot_that_was_told(self):
        world = World()
        identity = world.add(every="10m", anchor="completion")
        told = []
        for _ in range(3):
            told.append(world.schedules[identity].next_slot)
            world.go(told[-1] or 0)
            world.step()
            world.claim()
            world.go(world.now + 3 * MINUTE)
            world.end(f"{identity}-{len(told) - 1}")

        assert [run.slot for run in world.runs.values()] == told
        assert told == [at("08:10"), at("08:23"), at("08:36")]

    def test_a_skip_counts_anew_also_while_another_run_of_its_own_goes_on(self):
        world = World()
        identity = world.add(every="10m", anchor="completion")
        world.run_now(identity)
        world.claim()
        world.come("08:10")
        assert world.schedules[identity].next_slot == at("08:20")

    def test_a_resume_clears_why_it_rested_and_opens_a_new_row(self):
        world = World()
        identity = world.add(every="10m", only_between="20:00-21:00")
        world.come("08:10")
        world.pause(identity, reason="holiday")
        assert world.schedules[identity].not_run is None
        world.go("08:15")
        world.resume(identity)
        world.come("08:25")

        assert world.schedules[identity].status_reason is None
        assert world.rows(identity) == [(1, "skipped", "only_between")] * 2

    def test_what_has_ended_has_no_row_to_join(self):
        world = World()
        identity = world.add(every="10m", only_between="20:00-21:00", on_exhausted="dead")
        world.come("08:10")
        assert world.schedules[identity].not_run is not None
        world.edit(identity, every="10m", on_exhausted="dead")
        world.come("08:20")
        world.claim()
        world.end(f"{identity}-0", Ending.FAILED)

        assert world.schedules[identity].not_run is None

    def test_a_new_definition_opens_a_new_row(self):
        world = World()
        identity = world.add(every="10m", only_between="20:00-21:00")
        world.come("08:10")
        world.edit(identity, every="5m", only_between="20:00-21:00")
        world.come("08:15")

        assert world.rows(identity) == [(1, "skipped", "only_between")] * 2


class TestGates:
    def test_the_end_of_a_probe_without_verdict_is_in_the_history(self):
        world = World()
        identity = world.add(plugin="echo", every="5m")
        world.live("08:15", work=lambda run: "failed")
        world.come("08:45")
        world.go("08:46")
        world.cancel(f"{identity}-3")
        world.come("08:50")

        change = world.gate_history[-1]
        assert (change.key, change.at, change.run_id) == ("echo/poll", at("08:46"), "1-3")
        assert (change.before, change.after) == (GateState.HALF_OPEN, GateState.OPEN)

    def test_a_run_without_a_gate_says_nothing_about_one(self):
        world = World()
        identity = world.add(every="10m")
        world.come("08:10")
        world.claim()
        world.edit(identity, every="10m", circuit_breaker={"threshold": 1})
        world.end(f"{identity}-0", Ending.FAILED)

        assert world.gates == {}


class TestOneBatch:
    def test_a_run_released_by_one_schedule_is_seen_by_the_next(self):
        world = World()
        fields = {"plugin": "echo", "command": "sync", "if_running": "queue"}
        one, other = world.add(every="10m", **fields), world.add(every="10m", **fields)
        world.come("08:10")
        world.claim()
        world.come("08:20")
        world.end(f"{one}-0")

        first, second = world.plan([other, one])

        assert [run.schedule_id for run in first.released] == [other]
        assert (list(second.released), list(second.wakes)) == ([], [])

    def test_a_run_cancelled_by_one_schedule_is_asked_once(self):
        world = World()
        fields = {"plugin": "echo", "command": "sync", "if_running": "cancel"}
        world.add(every="10m", **fields)
        late = [world.add(every="10m", start_at="2026-11-16T08:15:00Z", **fields) for _ in range(2)]
        world.come("08:10")
        world.claim()
        world.go("08:15")

        first, second = world.plan(late)

        assert [run.id for run in first.cancelled] == ["1-0"]
        assert list(second.cancelled) == []
        assert [run.id for run in second.closed] == [run.id for run in first.added]

    def test_several_attempts_of_one_schedule_are_settled_one_after_the_other(self):
        world = World()
        identity = world.add(every="10m", if_running="allow", max_consecutive_errors=2)
        world.come("08:10", "08:20", "08:30")
        world.claim()
        schedule = world.schedules[identity]
        ended = [
            Ended(run, schedule.specification, Outcome(Ending.FAILED, world.now, f"boom {n}"))
            for n, run in enumerate(world.runs.values())
        ]

        settlements = settle(ended, {identity: schedule}, {}, {}, world.now).settlements

        assert [s.schedule.error_count for s in settlements] == [1, 2, 3]
        assert [s.schedule.status for s in settlements] == ["active", "paused", "paused"]
        assert [s.closes for s in settlements] == [None, "paused", None]
        assert [s.wakes for s in settlements] == [None, None, None]
        last = settlements[0].schedule
        assert (last.last_result, last.last_failure_at) == ("error", at("08:30"))
        assert last.last_error == "boom 0"

    def test_repeats_count_only_a_schedules_own_slots(self):
        world = World()
        one = world.add(
            plugin="echo", command="sync", every="10m", if_running="allow", total_repeats=1
        )
        world.run_now(one)
        world.add(plugin="echo", command="sync", every="10m", if_running="allow")
        world.come("08:10")

        assert [run.kind for run in world.open(one)] == [Kind.MANUAL, Kind.SLOT]

    def test_a_death_hands_the_turn_to_the_next_in_line(self):
        world = World()
        fields = {"plugin": "echo", "command": "sync", "if_running": "queue"}
        dying = world.add(every="10m", on_exhausted="dead", **fields)
        other = world.add(at="2026-11-16T08:25:00Z", **fields)
        world.come("08:10")
        world.claim()
        world.come("08:20", "08:25")
        assert world.states(dying) == ["running", "held"]

        settlement = world.end(f"{dying}-0", Ending.FAILED)
        world.step()

        assert (settlement.closes, settlement.wakes) == ("inactive", other)
        assert world.states(dying) == ["failed", "skipped: inactive"]
        assert world.states(other) == ["queued"]

    def test_an_invalid_schedule_wakes_only_those_who_waited_behind_it(self):
        world = World()
        fields = {"command": "sync", "if_running": "queue", "every": "10m"}
        broken = world.add(plugin="echo", **fields)
        other = world.add(plugin="other", **fields)
        world.come("08:10")
        held = world.runs[f"{other}-0"]._replace(state=State.HELD)
        world.runs[held.id] = held
        world.schedules[broken] = world.schedules[broken]._replace(anchor_at="x")
        world.go("08:20")

        (decided,) = world.plan([broken])

        assert list(decided.wakes) == []
        assert decided.schedule.wake_at is None
        assert decided.schedule.next_slot is None


class TestCountersAndRuns:
    def test_failures_of_a_run_are_counted_to_the_last(self):
        world = World()
        identity = world.add(every="1h", max_retries=1, retry_delay="1m")
        world.come("09:00")
        for minute in ("09:00", "09:01"):
            world.go(minute)
            world.claim()
            world.end(f"{identity}-0", Ending.TIMED_OUT)

        run = world.runs[f"{identity}-0"]
        assert (run.failures, run.losses, run.attempt) == (2, 0, 2)
        assert run.finished_at == at("09:01")

    def test_a_cancelled_run_has_no_failure(self):
        world = World()
        identity = world.add(every="1h")
        world.come("09:00")
        world.claim()
        world.end(f"{identity}-0", Ending.CANCELLED)

        run = world.runs[f"{identity}-0"]
        assert (run.failures, run.losses) == (0, 0)
        assert world.schedules[identity].last_failure_at is None

    def test_a_manual_success_leaves_the_retries_of_the_slots_alone(self):
        world = World()
        identity = world.add(every="1h", if_running="allow", max_retries=3, retry_delay="1h")
        world.come("09:00")
        world.claim()
        world.end(f"{identity}-0", Ending.FAILED)
        manual = world.run_now(identity)
        world.claim()
        world.end(manual.id)

        assert world.schedules[identity].current_retry == 1

    def test_a_success_after_a_failure_resets_the_retries_at_once(self):
        world = World()
        identity = world.add(every="1h", max_retries=3, retry_delay="1m", total_repeats=1)
        world.come("09:00")
        world.claim()
        world.end(f"{identity}-0", Ending.FAILED)
        world.go("09:01")
        world.claim()
        settlement = world.end(f"{identity}-0")

        assert settlement.schedule.current_retry == 0

    def test_a_success_while_it_is_paused_resets_the_retries_too(self):
        world = World()
        identity = world.add(every="1h", max_retries=3, retry_delay="1m")
        world.come("09:00")
        world.claim()
        world.end(f"{identity}-0", Ending.FAILED)
        world.go("09:01")
        world.claim()
        world.pause(identity)
        world.end(f"{identity}-0")

        assert world.schedules[identity].current_retry == 0

    def test_a_person_who_paused_gives_no_reason_of_ours(self):
        world = World()
        identity = world.add(every="1h")
        world.pause(identity, reason="holiday")
        world.schedules[identity] = world.schedules[identity]._replace(status=Status.INVALID)
        world.edit(identity, every="1h")

        assert world.schedules[identity].status_reason is None

    def test_planned_at_is_when_a_person_asked(self):
        world = World()
        identity = world.add(every="1h")
        world.go("08:07")

        run = world.run_now(identity)
        assert (run.planned_at, run.request, run.gate) == (at("08:07"), 1, None)

    def test_slots_have_request_0_and_the_instant_of_the_plan(self):
        world = World()
        identity = world.add(every="1h")
        world.go("09:00:30")
        world.step()

        run = world.runs[f"{identity}-0"]
        assert (run.planned_at, run.request) == (at("09:00:30"), 0)
        assert run.ready_at == at("09:00")

    @pytest.mark.parametrize("caller", ["slot", "manual", "backfill"])
    def test_every_run_carries_what_a_worker_needs_to_find_it(self, caller: str):
        world = World()
        identity = world.add(cron="0 * * * *", priority=7, queue="reports")
        if caller == "manual":
            world.run_now(identity)
        elif caller == "backfill":
            world.backfill(identity, "07:00", "07:00")
            world.step()
        else:
            world.come("09:00")

        run = world.runs[f"{identity}-0"]
        assert (run.kind, run.priority, run.queue) == (caller, 7, "reports")
        assert (run.caught_up, run.planned_at) == (False, world.now)

    def test_a_slot_exactly_as_late_as_grace_is_no_catch_up(self):
        world = World()
        identity = world.add(every="1h", total_repeats=9)
        world.come("09:01")
        world.claim()
        world.end(f"{identity}-0")
        world.come("10:01:01")

        assert [run.caught_up for run in world.runs.values()] == [False, True]

    def test_looking_at_a_paused_schedule_does_not_make_it_forget_its_end(self):
        world = World()
        identity = world.add(every="1h")
        world.pause(identity, until=at("12:00"))
        world.plan([identity])

        assert world.schedules[identity].wake_at == at("12:00")

    def test_a_backfill_goes_on_when_no_slot_is_left(self):
        world = World()
        identity = world.add(cron="0 * * * *", end_at="2026-11-16T09:00:00Z")
        world.come("09:00")
        world.claim()
        world.backfill(identity, "03:00", "05:00")
        world.end(f"{identity}-0")
        world.live("09:10")

        assert world.states(identity) == ["succeeded"] * 4
        assert world.schedules[identity].status is Status.DONE

    def test_schedules_that_add_nothing_take_nothing_of_the_pace(self):
        world = World(limits=Limits(max_dispatch_per_tick=5))
        world.add(every="1h", only_between="20:00-21:00")
        world.add(every="1h")
        world.come("09:00")

        assert world.pace.dispatched == 1

    def test_what_no_outage_covers_is_ready_at_its_slot(self):
        for outage in (None, Outage(at("07:00"), at("07:30"))):
            world = World(limits=Limits(catchup_stagger_ms=5000))
            world.outage = outage
            world.add(every="1h", total_repeats=3)
            world.come("09:00")
            assert [run.ready_at for run in world.runs.values()] == [at("09:00")]

    def test_a_one_shot_poll_passes_its_guard_if_there_is_room(self):
        world = World()
        once = world.add(plugin="echo", at="2026-11-16T08:10:00Z", if_running="allow")
        world.go("08:10")
        (decided,) = world.plan([once])

        assert [run.state for run in decided.added] == [State.QUEUED]
        assert list(decided.released) == []

    def test_a_chain_of_polls_is_queued_at_once(self):
        world = World()
        poll = world.add(plugin="echo", every="10m", catch_up="run_all")
        world.go("08:20")
        (decided,) = world.plan([poll])

        assert [run.state for run in decided.added] == [State.QUEUED, State.HELD]
        assert list(decided.released) == []

    def test_polls_with_room_beside_each_other_are_queued_at_once(self):
        world = World()
        poll = world.add(plugin="echo", every="10m", if_running="allow", max_outstanding_polls=2)
        world.come("08:10")
        world.go("08:20")
        (decided,) = world.plan([poll])

        assert [run.state for run in decided.added] == [State.QUEUED]
        assert list(decided.released) == []

    def test_a_one_shot_before_an_open_breaker_is_planned_as_held(self):
        world = World()
        once = world.add(at="2026-11-16T08:10:00Z", circuit_breaker={"threshold": 1, "name": "m"})
        world.gates["m"] = Gate("m", GateState.OPEN, 1, at("08:30"), 30 * MINUTE)
        world.go("08:10")
        (decided,) = world.plan([once])

        assert [run.state for run in decided.added] == [State.HELD]
        assert decided.wake_at == at("08:30")


class TestWhatIsToldExactly:
    def test_a_pause_into_the_past(self):
        world = World()
        identity = world.add(every="1h")
        with pytest.raises(InvalidSpecification) as caught:
            world.pause(identity, until=at("07:00"))
        assert str(caught.value) == (
            'until "2026-11-16T07:00:00Z" has passed; give an instant to come, or none'
        )

    def test_a_backfill_of_the_future(self):
        world = World()
        identity = world.add(every="1h")
        with pytest.raises(InvalidSpecification) as caught:
            world.backfill(identity, "07:00", "09:00")
        assert str(caught.value) == (
            'backfill "2026-11-16T07:00:00Z to 2026-11-16T09:00:00Z" is no past range; '
            "give a start, and an end that is neither before it nor to come"
        )

    def test_a_backfill_without_past_slots(self):
        world = World()
        identity = world.add(after="1h")
        with pytest.raises(WrongState) as caught:
            world.backfill(identity, "07:00", "08:00")
        assert str(caught.value) == (
            'schedule "s1" is once, 1h from its start, without past slots; use run instead'
        )

    def test_a_backfill_begins_and_ends_with_the_instants_it_names(self):
        world = World()
        identity = world.add(cron="* * * * *", if_running="allow")
        facts = world._facts([identity])
        decided = backfill(
            facts._replace(request=7), world.now, start=at("07:30"), until=at("07:30")
        )
        assert decided.plans[0].schedule.backfill == (7, at("07:30") - 1, at("07:30"), False)
        assert world.backfill(identity, "07:30", "08:00") == 31
        world.step()

        slots = [run.slot for run in world.runs.values()]
        assert (slots[0], slots[-1]) == (at("07:30"), at("08:00"))

    def test_a_backfill_of_one_instant_between_two_slots_is_empty(self):
        world = World()
        identity = world.add(cron="* * * * *")

        assert world.backfill(identity, "07:30:00", "07:30:00") == 1
        world.schedules[identity] = world.schedules[identity]._replace(backfill=None)
        assert world.backfill(identity, "07:30:01", "07:30:01") == 0

    def test_an_edit_that_disables_is_by_the_declaration(self):
        world = World()
        identity = world.add(every="1h")
        world.edit(identity, every="1h", enabled=False)

        assert world.schedules[identity].paused_by == "declaration"

    def test_a_deleted_schedule_has_no_next_slot(self):
        world = World()
        identity = world.add(every="1h")
        world.delete(identity)

        assert world.deleted[identity].next_slot is None

    def test_a_full_store_does_not_stop_the_edit_of_what_is_active_or_rests(self):
        world = World(limits=Limits(max_scheduled_jobs=1))
        active = world.add(every="1h")
        resting = world.add(every="1h", enabled=False)
        world.edit(active, every="2h")
        world.edit(resting, every="2h", enabled=False)

        assert world.schedules[resting].version == 2

    def test_an_edit_is_no_deletion(self):
        world = World()
        identity = world.add(at="2026-11-16T09:00:00Z", delete_after_run=True)
        world.come("09:00")
        world.claim()
        world.end(f"{identity}-0")
        world.edit(identity, at="2026-11-16T12:00:00Z", delete_after_run=True)

        assert identity in world.schedules

    def test_a_new_instant_in_the_past_leaves_the_cursor_just_before_it(self):
        world = World()
        identity = world.add(cron="0 0 1 1 *")
        world.edit(identity, at="2026-11-16T07:00:00Z")

        assert world.schedules[identity].cursor == at("07:00") - 1

    def test_a_lease_is_told_as_an_instant(self):
        run = Run(1, 0, Kind.SLOT, 0, 0, 0, "1", lease_until=at("09:00"))

        assert to_json(run)["lease_until"] == "2026-11-16T09:00:00Z"
        assert to_json((run,))[0]["number"] == 0

    def test_a_refused_step_of_a_run_says_that_there_is_none(self):
        world = World()
        identity = world.add(every="1h")
        world.run_now(identity)
        with pytest.raises(WrongState) as caught:
            world.end(f"{identity}-0")
        assert str(caught.value) == (
            "run 1-0 is queued and cannot succeed; no such step is in its table of states"
        )


class TestFirstCursors:
    @pytest.mark.parametrize(
        ("fields", "cursor"),
        [
            ({"every": "1h"}, "08:00:30"),
            ({"at": "2026-11-16T07:00:00Z"}, "07:00"),
            ({"at": "2026-11-16T09:00:00Z"}, "08:00:30"),
            ({"every": "1h", "first_run": "now"}, "08:00:30"),
            ({"cron": "0 * * * *", "first_run": "match"}, "08:00"),
        ],
    )
    def test_every_slot_up_to_there_counts_as_decided(self, fields: dict[str, str], cursor: str):
        world = World("08:00:30")
        identity = world.add(**fields)

        first = cursor == "08:00:30" and fields.get("first_run") != "now"
        assert world.schedules[identity].cursor == at(cursor) - (0 if first else 1)


class TestTheLine:
    def test_runs_stand_in_the_order_of_their_slots_then_schedules_then_numbers(self):
        runs = [
            Run(owner, number, Kind.SLOT, slot, 0, 0, "x", state=State.HELD)
            for slot, owner, number in [(9, 1, 1), (5, 2, 0), (5, 1, 7), (5, 1, 3), (7, 1, 0)]
        ]

        line = [(run.slot, run.schedule_id, run.number) for run in in_line(runs)]
        assert line == sorted(line)
        assert next_in_line(runs) == in_line(runs)[0]
        assert next_in_line([]) is None

    def test_an_edit_of_a_plugin_brings_only_its_own_runs_along(self):
        world = World()
        fields = {"command": "sync", "every": "10m", "if_running": "queue"}
        moving = world.add(plugin="echo", **fields)
        staying = world.add(plugin="echo", **fields)
        there = world.add(plugin="other", **fields)
        world.come("08:10")
        world.edit(moving, plugin="other", **fields)

        assert world.runs[f"{moving}-0"].scope == "other/sync"
        assert world.runs[f"{staying}-0"].scope == "echo/sync"
        world.come("08:20")
        assert world.states(staying)[0] == "queued"
        assert world.states(moving) == ["queued", "held"]
        assert world.states(there) == ["queued", "held"]

    def test_an_edit_of_a_plugin_without_open_runs_brings_none(self):
        world = World()
        identity = world.add(plugin="echo", every="10m")
        world.edit(identity, plugin="other", every="10m", priority=3)

        assert world.schedules[identity].version == 2


def test_plans_of_no_schedules_are_none():
    world = World()
    decided = plan(world._facts([]), world.now)

    assert (decided.plans, decided.gates, decided.gate_changes) == ([], {}, [])


def test_too_many_errors_close_what_waits_as_paused():
    world = World()
    identity = world.add(every="10m", if_running="queue", max_consecutive_errors=3)
    world.come("08:10")
    world.claim()
    world.come("08:20")
    schedule = world.schedules[identity]
    world.schedules[identity] = schedule._replace(consecutive_errors=3)
    world.come("08:30")

    assert world.states(identity) == ["running", "skipped: paused"]
    assert world.schedules[identity].status is Status.PAUSED
    assert world.rows(identity) == [(1, "skipped", Reason.CONSECUTIVE_ERRORS)]
