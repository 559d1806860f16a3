"""What is shown of a schedule: when something next starts, when its last slot was planned, and
the forms of its fields; on both stores."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.store.stores import STORES, Asking, asking, query
from quarterjack import rules
from quarterjack.times.instants import to_text
from quarterjack.views import schedule_view

NINE = "2026-11-16T09:00:00Z"


@pytest.fixture(params=STORES)
def ask(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Asking]:
    with asking(request.param, tmp_path) as caller:
        yield caller


def shown(ask: Asking, which: str = "nightly") -> dict[str, Any]:
    return schedule_view(ask.reads.schedule(which))


def start_run(ask: Asking, at: str) -> rules.Run:
    """What is due then is planned, and its attempt starts."""
    ask.go(at)
    ask.plan()
    (claim,) = ask.claim()
    return claim.run


def end_run(ask: Asking, run: rules.Run, at: str, ending: str = "succeeded") -> None:
    ask.go(at)
    ask.settle((run, ask.outcome(ending)))
    ask.plan()


@pytest.mark.mission("D11", "P2")
class TestTheNextRun:
    def test_is_the_next_slot_while_nothing_waits(self, ask: Asking):
        ask.add(every="1h", max_retries=3, retry_delay="5m")
        assert shown(ask)["next_run_at"] == NINE

        run = start_run(ask, "09:00")

        assert shown(ask)["next_run_at"] == "2026-11-16T10:00:00Z"
        end_run(ask, run, "09:01")
        assert shown(ask)["next_run_at"] == "2026-11-16T10:00:00Z"
        assert shown(ask)["retry_at"] is None

    def test_is_a_retry_that_waits(self, ask: Asking):
        ask.add(every="1h", max_retries=3, retry_delay="5m")
        end_run(ask, start_run(ask, "09:00"), "09:01", "failed")

        found = shown(ask)

        assert found["next_run_at"] == found["retry_at"] == "2026-11-16T09:06:00Z"
        assert found["next_run"] == 1_794_819_960_000

    def test_of_a_one_shot_is_the_retry_that_waits_and_nothing_once_it_has_succeeded(
        self, ask: Asking
    ):
        ask.add(at=NINE, max_retries=3, retry_delay="5m")
        end_run(ask, start_run(ask, "09:00"), "09:01", "failed")
        assert shown(ask)["next_run_at"] == "2026-11-16T09:06:00Z"

        end_run(ask, start_run(ask, "09:06"), "09:07")

        assert (shown(ask)["status"], shown(ask)["next_run_at"]) == ("done", None)

    def test_is_also_the_retry_of_a_run_that_somebody_asked_for(self, ask: Asking):
        ask.add(every="1h", max_retries=3, retry_delay="5m")
        ask.change(1, rules.run_now)
        end_run(ask, start_run(ask, "08:00"), "08:01", "failed")

        assert shown(ask)["next_run_at"] == "2026-11-16T08:06:00Z"

    def test_of_a_one_shot_is_its_run_while_that_waits_for_its_turn(self, ask: Asking):
        ask.add(at=NINE, jitter="30m")
        ask.go("09:00")
        ask.plan()
        (found,) = ask.reads.runs("nightly")
        assert found.run.ready_at > ask.now

        assert shown(ask)["next_run_at"] == to_text(found.run.ready_at)

    def test_with_the_anchor_completion_and_an_open_run_is_its_start_plus_the_interval(
        self, ask: Asking
    ):
        ask.add(every="1h", anchor="completion")
        run = start_run(ask, "09:00:30")

        assert shown(ask)["next_run_at"] == "2026-11-16T10:00:30Z"
        assert shown(ask)["next_run"] == 1_794_823_230_000
        end_run(ask, run, "09:20")
        assert shown(ask)["next_run_at"] == "2026-11-16T10:20:00Z"

    def test_with_the_anchor_completion_is_the_open_run_itself_until_that_has_started(
        self, ask: Asking
    ):
        ask.add(every="1h", anchor="completion", jitter="30m")
        ask.go("09:00")
        ask.plan()
        (found,) = ask.reads.runs("nightly")
        assert found.run.ready_at > ask.now

        assert shown(ask)["next_run_at"] == to_text(found.run.ready_at)

    def test_with_the_anchor_completion_is_a_retry_that_waits_all_the_same(self, ask: Asking):
        ask.add(every="1h", anchor="completion", max_retries=3, retry_delay="5m")
        end_run(ask, start_run(ask, "09:00"), "09:20", "failed")

        assert shown(ask)["next_run_at"] == "2026-11-16T09:25:00Z"

    def test_of_a_one_shot_that_a_window_defers_is_when_the_window_opens(self, ask: Asking):
        ask.add(at=NINE, only_between="12:00-13:00", on_constraint="defer")
        ask.go("09:00")
        ask.plan()

        assert shown(ask)["next_run_at"] == "2026-11-16T12:00:00Z"
        start_run(ask, "12:00")
        assert shown(ask)["next_run_at"] is None

    def test_of_one_shots_that_an_outage_has_staggered_is_when_each_may_start(self, ask: Asking):
        for key in ("first", "second"):
            ask.add(key, at=NINE, preset="agent")
        query(ask, f"update planner_state set last_look = {ask.now}")
        ask.go("09:30")
        ask.plan()

        assert shown(ask, "first")["next_run_at"] == "2026-11-16T09:30:00Z"
        assert shown(ask, "second")["next_run_at"] == "2026-11-16T09:30:05Z"

    def test_of_a_one_shot_that_an_open_breaker_holds_is_that_of_the_first_run_that_waits(
        self, ask: Asking
    ):
        ask.add("opens it", every="1h", plugin="echo", circuit_breaker={"threshold": 1})
        end_run(ask, start_run(ask, "09:00"), "09:01", "failed")
        ask.add("held", at="2026-11-16T09:02:00Z", plugin="echo")
        ask.go("09:02")
        ask.plan()
        assert [run.run.state for run in ask.reads.runs("held")] == ["held"]

        assert shown(ask, "held")["next_run_at"] == "2026-11-16T09:02:00Z"

    def test_of_one_that_is_done_is_a_run_that_somebody_asked_for(self, ask: Asking):
        ask.add(at=NINE)
        end_run(ask, start_run(ask, "09:00"), "09:01")
        ask.go("09:05")

        ask.change(1, rules.run_now)

        found = shown(ask)
        assert (found["status"], found["next_run_at"]) == ("done", "2026-11-16T09:05:00Z")

    def test_with_the_anchor_completion_is_that_of_a_run_that_waits(self, ask: Asking):
        ask.add(every="1h", anchor="completion", only_between="12:00-13:00", on_constraint="defer")
        ask.go("09:00")
        ask.plan()

        assert shown(ask)["next_run_at"] == "2026-11-16T12:00:00Z"

    @pytest.mark.parametrize("when", [{"every": "1h", "anchor": "completion"}, {"every": "1h"}])
    def test_is_none_while_the_schedule_is_paused(self, ask: Asking, when: dict[str, str]):
        ask.add(max_retries=3, **when)
        start_run(ask, "09:00")

        ask.change(1, rules.pause, by="ada")

        assert (shown(ask)["next_run_at"], shown(ask)["next_run"]) == (None, None)


@pytest.mark.mission("D11", "P4")
class TestEnabled:
    def test_is_false_while_a_schedule_is_paused(self, ask: Asking):
        ask.add(every="1h")
        assert shown(ask)["enabled"] is True

        ask.change(1, rules.pause, by="ada")
        assert shown(ask)["enabled"] is False
        ask.change(1, rules.resume)

        assert shown(ask)["enabled"] is True

    def test_is_false_for_one_that_was_declared_so_until_it_is_resumed(self, ask: Asking):
        ask.add(every="1h", enabled=False)
        assert shown(ask)["enabled"] is False

        ask.change(1, rules.resume)

        assert shown(ask)["enabled"] is True

    def test_stays_true_for_one_that_is_done(self, ask: Asking):
        ask.add(at=NINE)
        end_run(ask, start_run(ask, "09:00"), "09:01")

        assert (shown(ask)["status"], shown(ask)["enabled"]) == ("done", True)


@pytest.mark.mission("D11")
class TestTheLastSlot:
    def test_is_shown_beside_the_instant_at_which_it_was_planned(self, ask: Asking):
        ask.add(every="1h")
        assert (shown(ask)["last_fired_at"], shown(ask)["last_slot"]) == (None, None)

        start_run(ask, "09:00:07")

        assert shown(ask)["last_fired_at"] == "2026-11-16T09:00:07Z"
        assert shown(ask)["last_slot"] == NINE

    def test_is_moved_neither_by_a_run_that_somebody_asked_for_nor_by_a_slot_that_did_not_run(
        self, ask: Asking
    ):
        ask.add(every="1h")
        run = start_run(ask, "09:00:07")
        ask.go("10:00:03")
        ask.plan()
        assert ask.reads.not_run("1")[0].reason == "overlap"
        end_run(ask, run, "10:10")

        ask.change(1, rules.run_now)

        assert shown(ask)["planned_count"] == 2
        assert shown(ask)["last_fired_at"] == "2026-11-16T09:00:07Z"
        assert shown(ask)["last_slot"] == NINE


@pytest.mark.mission("P2", "E4")
class TestTheFormOfFields:
    @pytest.mark.parametrize(
        ("when", "schedule_type", "cron_expr"),
        [
            ({"cron": "0 9 * * *"}, "cron", "0 9 * * *"),
            ({"hourly": {"minute": 5}}, "cron", "5 * * * *"),
            ({"hourly": {"minute": 5, "second": 30}}, "cron", "30 5 * * * *"),
            ({"daily": {"time": "09:30"}}, "cron", "30 9 * * *"),
            ({"weekly": {"days": ["sunday", "friday"], "time": "09:00"}}, "cron", "0 9 * * 0,5"),
            ({"monthly": {"day": 31, "time": "00:00"}}, "cron", "0 0 31 * *"),
            ({"every": "5m"}, "every", None),
            ({"every": "daily"}, "every", None),
            ({"at": NINE}, "at", None),
            ({"after": "5m"}, "after", None),
        ],
    )
    def test_the_type_is_one_of_four_and_typed_patterns_have_their_cron_expression(
        self, ask: Asking, when: dict[str, Any], schedule_type: str, cron_expr: str | None
    ):
        ask.add(**when)

        found = shown(ask)

        assert (found["schedule_type"], found["cron_expr"]) == (schedule_type, cron_expr)

    def test_whole_seconds_are_integers(self, ask: Asking):
        ask.add("whole", every="90s", timeout="10m")
        ask.add("part", every="1500ms", timeout="2500ms")
        ask.add("none", cron="0 9 * * *", timeout="none")

        def seconds(which: str) -> str:
            found = shown(ask, which)
            return json.dumps([found["interval_seconds"], found["timeout_seconds"]])

        assert seconds("whole") == "[90, 600]"
        assert seconds("part") == "[1.5, 2.5]"
        assert seconds("none") == "[null, null]"
