"""First run, anchors, windows and jitter: what makes a slot a run's own instant."""

from __future__ import annotations

import pytest

from harness.rules.world import World, at
from quarterjack.rules import Ending, Status
from quarterjack.times import jitter_of
from quarterjack.times.instants import SECOND


def slots_run(world: World) -> list[int]:
    return [run.slot for run in world.runs.values()]


class TestFirstRun:
    @pytest.mark.parametrize("fields", [{"every": "1h"}, {"cron": "0 * * * *"}])
    def test_by_default_the_first_slot_after_creation(self, fields: dict[str, str]):
        world = World()
        world.add(**fields)
        world.come("08:00", "09:00")

        assert slots_run(world) == [at("09:00")]

    @pytest.mark.parametrize(
        "fields",
        [
            {"every": "1h"},
            {"every": "1h", "anchor": "completion"},
            {"cron": "0 * * * *"},
            {"every": "1h", "start_at": "2026-11-16T08:00:00Z"},
        ],
    )
    def test_now_runs_at_once_and_then_at_its_slots(self, fields: dict[str, str]):
        world = World()
        world.add(**fields, first_run="now")
        world.live("08:01")
        assert slots_run(world) == [at("08:00")]

        world.live("09:10")
        assert len(slots_run(world)) == 2

    def test_now_is_not_after_the_end(self):
        """Found by the simulator, whose people copy each other's words."""
        world = World("08:00")
        identity = world.add(every="1h", first_run="now", end_at="2026-11-16T07:00:00Z")
        world.live("10:00")

        assert slots_run(world) == []
        assert world.schedules[identity].status_reason == "no_more_slots"

    @pytest.mark.mission("V7")
    @pytest.mark.parametrize(
        ("created", "cron", "runs"),
        [
            ("08:00", "0 8 * * *", ["08:00"]),
            ("08:00:59", "0 8 * * *", ["08:00"]),
            ("08:01", "0 8 * * *", []),
            ("07:59:59", "0 8 * * *", []),
            ("08:30", "*/15 * * * *", ["08:30"]),
        ],
    )
    def test_match_runs_at_once_only_what_names_the_current_minute(
        self, created: str, cron: str, runs: list[str]
    ):
        world = World(created)
        world.add(cron=cron, first_run="match")

        world.step()

        assert slots_run(world) == [at(slot) for slot in runs]

    @pytest.mark.mission("V7")
    def test_match_is_for_the_first_start_only(self):
        world = World("08:00")
        identity = world.add(cron="0 8 * * *", first_run="match")
        world.live("08:01")
        world.edit(identity, cron="1 8 * * *", first_run="match")
        world.step()

        assert slots_run(world) == [at("08:00")]


class TestAnchors:
    def test_slots_are_counted_from_creation(self):
        world = World("08:07")
        world.add(every="1h")
        world.live("11:00")

        assert slots_run(world) == [at("09:07"), at("10:07")]

    def test_or_from_start_at_which_is_itself_the_first(self):
        world = World()
        world.add(every="1h", start_at="2026-11-16T08:30:00Z")
        world.live("10:00")

        assert slots_run(world) == [at("08:30"), at("09:30")]

    @pytest.mark.mission("P6")
    def test_or_from_the_end_of_a_run_whatever_its_outcome(self):
        world = World()
        identity = world.add(every="1h", anchor="completion", max_retries=1, retry_delay="10m")
        world.come("09:00")
        world.claim()
        assert world.schedules[identity].next_slot is None

        world.go("09:20")
        world.end(f"{identity}-0", Ending.FAILED)
        assert world.schedules[identity].next_slot is None
        world.come("09:30")
        world.claim()
        world.go("09:45")
        world.end(f"{identity}-0", Ending.FAILED)

        assert world.schedules[identity].next_slot == at("10:45")
        assert world.schedules[identity].wake_at == at("10:45")

    def test_a_slot_that_was_found_too_late_is_followed_by_a_whole_interval(self):
        world = World()
        identity = world.add(every="1h", anchor="completion", catch_up="skip")
        world.come("09:17")

        assert world.rows(identity) == [(1, "missed", "grace")]
        assert world.schedules[identity].next_slot == at("10:17")

    def test_the_last_one_before_its_end_is_the_last(self):
        world = World()
        identity = world.add(every="1h", anchor="completion", end_at="2026-11-16T09:30:00Z")
        world.live("10:00")

        assert slots_run(world) == [at("09:00")]
        assert world.schedules[identity].status is Status.DONE

    def test_after_counts_from_creation(self):
        world = World()
        identity = world.add(after="90m")
        world.live("10:00")

        assert slots_run(world) == [at("09:30")]
        assert world.schedules[identity].status is Status.DONE


class TestWindows:
    def test_drop_passes_over_with_the_constraint_as_its_reason(self):
        world = World()
        identity = world.add(every="1h", only_between="08:00-10:00")
        world.live("12:00")

        assert slots_run(world) == [at("09:00")]
        assert world.rows(identity) == [(3, "skipped", "only_between")]

    def test_it_is_judged_in_the_zone_of_the_schedule(self):
        world = World()
        identity = world.add(every="1h", only_between="18:00-20:00", timezone="Asia/Tokyo")
        world.live("12:00")

        assert slots_run(world) == [at("09:00"), at("10:00")]
        assert world.rows(identity) == [(2, "skipped", "only_between")]

    def test_a_day_off_is_another_reason(self):
        world = World()
        identity = world.add(every="1h", not_on=["monday"])
        world.live("10:00")

        assert world.rows(identity) == [(2, "skipped", "not_on")]

    def test_defer_makes_the_run_ready_when_the_window_opens(self):
        world = World()
        identity = world.add(every="1h", only_between="22:00-02:00", on_constraint="defer")
        world.come("09:00", "10:00")

        run = world.runs[f"{identity}-0"]
        assert (run.slot, run.ready_at) == (at("09:00"), at("22:00"))
        assert world.rows(identity) == [(1, "skipped", "overlap")]
        assert world.claim() == []
        world.go("22:00")
        assert len(world.claim()) == 1

    def test_within_the_window_nothing_is_deferred(self):
        world = World()
        world.add(every="1h", only_between="08:00-18:00", on_constraint="defer")
        world.come("09:00")

        assert [run.ready_at for run in world.runs.values()] == [at("09:00")]

    def test_a_window_that_never_opens_again_defers_nothing(self):
        world = World("9999-12-31T22:00:00Z")
        world.add(every="30m", only_between="08:00-18:00", on_constraint="defer")
        world.come("9999-12-31T22:30:00Z")

        assert [run.ready_at - run.slot for run in world.runs.values()] == [0]

    def test_manual_runs_ignore_the_window(self):
        world = World()
        identity = world.add(every="1h", only_between="20:00-21:00")

        assert world.run_now(identity).ready_at == at("08:00")


class TestJitter:
    def test_it_moves_the_run_and_never_the_slot(self):
        world = World()
        world.add(every="1h", jitter="30s", key="nightly")
        world.live("12:00")

        for run in world.runs.values():
            delay = jitter_of("nightly", run.slot, 30 * SECOND)
            assert run.ready_at == run.slot + delay
        assert slots_run(world) == [at(f"{hour:02}:00") for hour in (9, 10, 11, 12)]
        assert len({run.ready_at - run.slot for run in world.runs.values()}) == 4

    def test_it_counts_from_the_opening_of_a_window(self):
        world = World()
        world.add(
            every="1h", jitter="30s", only_between="22:00-02:00", on_constraint="defer", key="k"
        )
        world.come("09:00")

        assert [run.ready_at for run in world.runs.values()] == [
            at("22:00") + jitter_of("k", at("09:00"), 30 * SECOND)
        ]
