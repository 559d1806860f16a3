"""The JSON of a schedule, on every store: next run, last slot, and the types of its fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.store.stores import STORES, StoreClient, open_client, query
from quarterjack import rules
from quarterjack.store.output_lines import Gap, Line
from quarterjack.store.types import Progress
from quarterjack.times.instants import to_text
from quarterjack.views import attempt_view, line_view, run_view, schedule_view

NINE = "2026-11-16T09:00:00Z"


@pytest.fixture(params=STORES)
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreClient]:
    with open_client(request.param, tmp_path) as client:
        yield client


def view(client: StoreClient, which: str = "nightly") -> dict[str, Any]:
    return schedule_view(client.reads.schedule(which))


def start_run(client: StoreClient, at: str) -> rules.Run:
    """Plan what is due, and claim the run."""
    client.go(at)
    client.plan()
    (claim,) = client.claim()
    return claim.run


def end_run(client: StoreClient, run: rules.Run, at: str, ending: str = "succeeded") -> None:
    client.go(at)
    client.settle((run, client.outcome(ending)))
    client.plan()


@pytest.mark.mission("D11", "P2")
class TestNextRun:
    def test_is_the_next_slot_if_no_run_is_waiting(self, client: StoreClient):
        client.add(every="1h", max_retries=3, retry_delay="5m")
        assert view(client)["next_run_at"] == NINE

        run = start_run(client, "09:00")

        assert view(client)["next_run_at"] == "2026-11-16T10:00:00Z"
        end_run(client, run, "09:01")
        assert view(client)["next_run_at"] == "2026-11-16T10:00:00Z"
        assert view(client)["retry_at"] is None

    def test_is_a_waiting_retry(self, client: StoreClient):
        client.add(every="1h", max_retries=3, retry_delay="5m")
        end_run(client, start_run(client, "09:00"), "09:01", "failed")

        found = view(client)

        assert found["next_run_at"] == found["retry_at"] == "2026-11-16T09:06:00Z"
        assert found["next_run"] == 1_794_819_960_000

    def test_of_a_one_shot_is_its_waiting_retry_and_none_after_its_success(
        self, client: StoreClient
    ):
        client.add(at=NINE, max_retries=3, retry_delay="5m")
        end_run(client, start_run(client, "09:00"), "09:01", "failed")
        assert view(client)["next_run_at"] == "2026-11-16T09:06:00Z"

        end_run(client, start_run(client, "09:06"), "09:07")

        assert (view(client)["status"], view(client)["next_run_at"]) == ("done", None)

    def test_is_also_the_waiting_retry_of_a_manual_run(self, client: StoreClient):
        client.add(every="1h", max_retries=3, retry_delay="5m")
        client.change(1, rules.run_now)
        end_run(client, start_run(client, "08:00"), "08:01", "failed")

        assert view(client)["next_run_at"] == "2026-11-16T08:06:00Z"

    def test_of_a_one_shot_is_its_run_until_that_is_ready(self, client: StoreClient):
        client.add(at=NINE, jitter="30m")
        client.go("09:00")
        client.plan()
        (found,) = client.reads.runs("nightly")
        assert found.run.ready_at > client.now

        assert view(client)["next_run_at"] == to_text(found.run.ready_at)

    def test_with_anchor_completion_is_the_start_of_the_open_run_plus_the_interval(
        self, client: StoreClient
    ):
        client.add(every="1h", anchor="completion")
        run = start_run(client, "09:00:30")

        assert view(client)["next_run_at"] == "2026-11-16T10:00:30Z"
        assert view(client)["next_run"] == 1_794_823_230_000
        end_run(client, run, "09:20")
        assert view(client)["next_run_at"] == "2026-11-16T10:20:00Z"

    def test_with_anchor_completion_is_the_open_run_until_that_has_started(
        self, client: StoreClient
    ):
        client.add(every="1h", anchor="completion", jitter="30m")
        client.go("09:00")
        client.plan()
        (found,) = client.reads.runs("nightly")
        assert found.run.ready_at > client.now

        assert view(client)["next_run_at"] == to_text(found.run.ready_at)

    def test_with_anchor_completion_is_a_waiting_retry_too(self, client: StoreClient):
        client.add(every="1h", anchor="completion", max_retries=3, retry_delay="5m")
        end_run(client, start_run(client, "09:00"), "09:20", "failed")

        assert view(client)["next_run_at"] == "2026-11-16T09:25:00Z"

    def test_of_a_deferred_one_shot_is_when_the_window_opens(self, client: StoreClient):
        client.add(at=NINE, only_between="12:00-13:00", on_constraint="defer")
        client.go("09:00")
        client.plan()

        assert view(client)["next_run_at"] == "2026-11-16T12:00:00Z"
        start_run(client, "12:00")
        assert view(client)["next_run_at"] is None

    def test_of_one_shots_that_are_staggered_after_an_outage_is_when_each_may_start(
        self, client: StoreClient
    ):
        for key in ("first", "second"):
            client.add(key, at=NINE, preset="agent")
        query(client, f"update planner_state set last_look = {client.now}")
        client.go("09:30")
        client.plan()

        assert view(client, "first")["next_run_at"] == "2026-11-16T09:30:00Z"
        assert view(client, "second")["next_run_at"] == "2026-11-16T09:30:05Z"

    def test_of_a_one_shot_held_by_an_open_breaker_is_its_held_run(self, client: StoreClient):
        client.add("opens it", every="1h", plugin="echo", circuit_breaker={"threshold": 1})
        end_run(client, start_run(client, "09:00"), "09:01", "failed")
        client.add("held", at="2026-11-16T09:02:00Z", plugin="echo")
        client.go("09:02")
        client.plan()
        assert [run.run.state for run in client.reads.runs("held")] == ["held"]

        assert view(client, "held")["next_run_at"] == "2026-11-16T09:02:00Z"

    def test_of_a_schedule_that_is_done_is_a_queued_manual_run(self, client: StoreClient):
        client.add(at=NINE)
        end_run(client, start_run(client, "09:00"), "09:01")
        client.go("09:05")

        client.change(1, rules.run_now)

        found = view(client)
        assert (found["status"], found["next_run_at"]) == ("done", "2026-11-16T09:05:00Z")

    def test_with_anchor_completion_is_a_deferred_run(self, client: StoreClient):
        client.add(
            every="1h", anchor="completion", only_between="12:00-13:00", on_constraint="defer"
        )
        client.go("09:00")
        client.plan()

        assert view(client)["next_run_at"] == "2026-11-16T12:00:00Z"

    @pytest.mark.parametrize("when", [{"every": "1h", "anchor": "completion"}, {"every": "1h"}])
    def test_is_none_while_the_schedule_is_paused(self, client: StoreClient, when: dict[str, str]):
        client.add(max_retries=3, **when)
        start_run(client, "09:00")

        client.change(1, rules.pause, by="ada")

        assert (view(client)["next_run_at"], view(client)["next_run"]) == (None, None)


@pytest.mark.mission("D11", "P4")
class TestEnabled:
    def test_is_false_while_a_schedule_is_paused(self, client: StoreClient):
        client.add(every="1h")
        assert view(client)["enabled"] is True

        client.change(1, rules.pause, by="ada")
        assert view(client)["enabled"] is False
        client.change(1, rules.resume)

        assert view(client)["enabled"] is True

    def test_is_false_for_a_schedule_that_was_declared_so_until_it_is_resumed(
        self, client: StoreClient
    ):
        client.add(every="1h", enabled=False)
        assert view(client)["enabled"] is False

        client.change(1, rules.resume)

        assert view(client)["enabled"] is True

    def test_stays_true_for_a_schedule_that_is_done(self, client: StoreClient):
        client.add(at=NINE)
        end_run(client, start_run(client, "09:00"), "09:01")

        assert (view(client)["status"], view(client)["enabled"]) == ("done", True)


@pytest.mark.mission("D11")
class TestLastSlot:
    def test_has_the_slot_and_the_instant_at_which_it_was_planned(self, client: StoreClient):
        client.add(every="1h")
        assert (view(client)["last_fired_at"], view(client)["last_slot"]) == (None, None)

        start_run(client, "09:00:07")

        assert view(client)["last_fired_at"] == "2026-11-16T09:00:07Z"
        assert view(client)["last_slot"] == NINE

    def test_is_changed_neither_by_a_manual_run_nor_by_a_slot_that_did_not_run(
        self, client: StoreClient
    ):
        client.add(every="1h")
        run = start_run(client, "09:00:07")
        client.go("10:00:03")
        client.plan()
        assert client.reads.not_run("1")[0].reason == "overlap"
        end_run(client, run, "10:10")

        client.change(1, rules.run_now)

        assert view(client)["planned_count"] == 2
        assert view(client)["last_fired_at"] == "2026-11-16T09:00:07Z"
        assert view(client)["last_slot"] == NINE


@pytest.mark.mission("P2", "E4")
class TestFieldTypes:
    @pytest.mark.parametrize(
        ("when", "schedule_type", "cron_expr"),
        [
            ({"cron": "0 9 * * *"}, "cron", "0 9 * * *"),
            ({"cron": ["0 9 * * *", "30 12 * * 1"]}, "cron", ["0 9 * * *", "30 12 * * 1"]),
            ({"schedule": "every monday at 9am"}, "cron", "0 9 * * 1"),
            ({"schedule": "every 5 minutes"}, "every", None),
            ({"at": [NINE, "2026-11-17T09:00:00Z"]}, "at", None),
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
    def test_the_type_is_one_of_four_and_typed_patterns_have_a_cron_expression(
        self, client: StoreClient, when: dict[str, Any], schedule_type: str, cron_expr: object
    ):
        client.add(**when)

        found = view(client)

        assert (found["schedule_type"], found["cron_expr"]) == (schedule_type, cron_expr)

    def test_whole_seconds_are_integers(self, client: StoreClient):
        client.add("whole", every="90s", timeout="10m")
        client.add("part", every="1500ms", timeout="2500ms")
        client.add("none", cron="0 9 * * *", timeout="none")

        def seconds(which: str) -> str:
            found = view(client, which)
            return json.dumps([found["interval_seconds"], found["timeout_seconds"]])

        assert seconds("whole") == "[90, 600]"
        assert seconds("part") == "[1.5, 2.5]"
        assert seconds("none") == "[null, null]"


class TestProgress:
    def run_view(self, client: StoreClient) -> dict[str, Any]:
        return run_view(client.reads.run("1-0")[0])

    def report(self, client: StoreClient, attempt: int, **fields: Any) -> None:
        progress = Progress(1, 0, attempt, client.now, **fields)
        client(client.store.add_output((), (), [progress]))

    def test_of_a_running_attempt_is_its_last_report(self, client: StoreClient):
        client.add(every="1h", timeout="10m")
        start_run(client, "09:00")
        assert self.run_view(client)["progress"] is None

        self.report(client, 1, fraction=0.5, text="half")

        found = {"fraction": 0.5, "text": "half", "at": NINE}
        assert self.run_view(client)["progress"] == found
        assert run_view(client.reads.runs()[0])["progress"] == found

    def test_of_an_earlier_attempt_stays_with_it(self, client: StoreClient):
        client.add(every="1h", max_retries=3, retry_delay="5m")
        run = start_run(client, "09:00")
        self.report(client, 1, fraction=0.5, text="half")
        end_run(client, run, "09:01", "failed")
        start_run(client, "09:06")

        found, (attempt,) = client.reads.run("1-0")

        assert attempt_view(attempt, found.progress[1])["progress"]["fraction"] == 0.5
        assert run_view(found)["progress"] is None

    def test_a_running_attempt_times_out_after_its_timeout_or_when_it_has_extended_it(
        self, client: StoreClient
    ):
        client.add(every="1h", timeout="10m")
        run = start_run(client, "09:00")
        assert self.run_view(client)["times_out_at"] == "2026-11-16T09:10:00Z"

        self.report(client, 1, times_out_at=client.now)

        assert self.run_view(client)["times_out_at"] == NINE
        assert self.run_view(client)["progress"] is None
        end_run(client, run, "09:01")
        assert self.run_view(client)["times_out_at"] is None

    def test_an_attempt_without_a_timeout_has_none(self, client: StoreClient):
        client.add(every="1h", timeout="none")
        start_run(client, "09:00")

        assert self.run_view(client)["times_out_at"] is None


def test_a_line_has_the_name_of_its_level_and_a_gap_its_size():
    assert line_view(Line(1, None, 30, "x")) == {
        "attempt": 1,
        "at": None,
        "level": "warning",
        "text": "x",
    }
    assert line_view(Line(1, 0, 0, ""))["at"] == "1970-01-01T00:00:00Z"
    assert line_view(Gap(2, 9)) == {"attempt": 2, "omitted": 9}
