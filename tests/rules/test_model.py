"""The values: their JSON form, the tables of states, and what may be forgotten."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path

import pytest

from harness.rules.world import at, specification
from quarterjack.errors import WrongState
from quarterjack.rules import (
    Attempt,
    Backfill,
    Ending,
    Gate,
    GateChange,
    GateState,
    Horizons,
    Kind,
    Limits,
    Outcome,
    PastRun,
    Plan,
    Reason,
    Retention,
    Run,
    RunEvent,
    ScheduleEvent,
    Settlement,
    SlotsNotRun,
    State,
    Status,
    create,
    horizons,
    may_be_pruned,
    read_specification,
    to_json,
)
from quarterjack.rules.definition.validation import FIELDS
from quarterjack.rules.policies.catch_up import CatchUpPolicy
from quarterjack.rules.policies.execution import Execution
from quarterjack.rules.policies.first_run import FirstRun
from quarterjack.rules.policies.overlap import IfRunning
from quarterjack.rules.policies.retry import Backoff, OnExhausted
from quarterjack.rules.policies.windows import OnConstraint
from quarterjack.rules.states import (
    OPEN,
    RUN_MOVES,
    SCHEDULE_MOVES,
    moved_run,
    moved_schedule,
)
from quarterjack.times.instants import DAY, HOUR

NINE = "2026-11-16T09:00:00Z"
RUN = Run(42, 7, Kind.SLOT, at("09:00"), at("09:00"), at("09:00"), "42")
SCHEDULE = create(42, "nightly", specification(every="1h"), at("08:00"), active=0, limits=Limits())


class TestForms:
    def test_a_run(self):
        assert to_json(RUN) == {
            "schedule_id": 42,
            "number": 7,
            "kind": "slot",
            "slot": NINE,
            "ready_at": NINE,
            "planned_at": NINE,
            "scope": "42",
            "gate": None,
            "version": 1,
            "request": 0,
            "state": "queued",
            "reason": None,
            "priority": 0,
            "queue": "default",
            "caught_up": False,
            "attempt": 0,
            "failures": 0,
            "losses": 0,
            "worker": None,
            "started_at": None,
            "lease_until": None,
            "finished_at": None,
            "cancel": None,
            "error": None,
            "result": None,
            "repeat": 0,
        }

    def test_a_schedule_holds_its_specification(self):
        form = to_json(
            SCHEDULE._replace(not_run=SlotsNotRun(at("09:00"), at("09:00"), 1, Reason.GRACE))
        )

        assert form["specification"] == SCHEDULE.specification.to_json()
        assert form["not_run"] == {"first": NINE, "last": NINE, "count": 1, "reason": "grace"}
        assert (form["cursor"], form["next_slot"]) == ("2026-11-16T08:00:00Z", NINE)
        assert (form["status"], form["wake_at"], form["paused_until"]) == ("active", NINE, None)

    @pytest.mark.parametrize(
        ("value", "form"),
        [
            (
                Outcome(Ending.FAILED, at("09:00"), "boom", {"code": 7}),
                {"ending": "failed", "at": NINE, "error": "boom", "result": {"code": 7}}
                | {"retryable": True, "handed_back": False},
            ),
            (
                Attempt("42-7", 1, "w1", at("09:00"), Outcome(Ending.LOST, at("09:00"))),
                {"run_id": "42-7", "number": 1, "worker": "w1", "started_at": NINE}
                | {
                    "outcome": {"ending": "lost", "at": NINE, "error": None, "result": None}
                    | {"retryable": True, "handed_back": False}
                },
            ),
            (
                Gate("mail", GateState.OPEN, 3, at("09:00"), 5),
                {"key": "mail", "state": "open", "failures": 3, "until": NINE}
                | {"reset_after": 5, "probe": None, "probe_ended_at": None},
            ),
            (
                GateChange("mail", at("09:00"), GateState.CLOSED, GateState.OPEN, 3, "42-7"),
                {"key": "mail", "at": NINE, "before": "closed", "after": "open"}
                | {"failures": 3, "run_id": "42-7"},
            ),
            (
                Backfill(3, at("09:00"), at("09:00")),
                {"request": 3, "cursor": NINE, "until": NINE, "again": False},
            ),
        ],
    )
    def test_the_others(self, value: object, form: object):
        assert to_json(value) == form

    def test_plans_and_settlements_are_plain_json(self):
        plan = Plan(SCHEDULE, [RUN], [SlotsNotRun(at("09:00"), at("09:00"), 1, Reason.OVERLAP)])
        settlement = Settlement(RUN, SCHEDULE, closes=Reason.PAUSED)

        for value in (plan, settlement):
            form = to_json(value)
            assert json.loads(json.dumps(form)) == form
            assert "<" not in str(form)
        assert list(to_json(plan)) == [
            "schedule",
            "added",
            "not_run",
            "released",
            "closed",
            "cancelled",
            "closes",
            "rescoped",
            "wakes",
            "deleted",
        ]
        assert to_json(settlement)["closes"] == "paused"

    def test_a_plan_shows_its_cursor_and_wake(self):
        assert (Plan(SCHEDULE).cursor, Plan(SCHEDULE).wake_at) == (at("08:00"), at("09:00"))

    def test_a_run_is_known_by_its_schedule_and_number(self):
        assert RUN.id == "42-7"

    def test_words_are_plain_strings(self):
        assert json.dumps([Reason.OVERLAP, State.HELD]) == '["overlap", "held"]'
        assert {"overlap": 1}[Reason.OVERLAP] == 1


class TestStates:
    @pytest.mark.mission("P3")
    def test_the_drawn_transitions_of_a_schedule_and_no_others(self):
        drawn = {
            ("active", "pause"): "paused",
            ("paused", "resume"): "active",
            ("active", "finish"): "done",
            ("active", "die"): "dead",
            ("active", "invalidate"): "invalid",
            ("paused", "invalidate"): "invalid",
            ("invalid", "mend"): "active",
            ("done", "revive"): "active",
        }
        for status, event in product(Status, ScheduleEvent):
            schedule = SCHEDULE._replace(status=status)
            if (status, event) in drawn:
                assert moved_schedule(schedule, event) == drawn[status, event]
            else:
                with pytest.raises(WrongState, match=f'schedule "nightly" is {status}; '):
                    moved_schedule(schedule, event)
        assert len(SCHEDULE_MOVES) == len(drawn)

    def test_a_run_moves_only_as_the_table_says(self):
        drawn = {
            "held": {"release": "queued", "skip": "skipped", "cancel": "cancelled"}
            | {"supersede": "failed"},
            "queued": {"claim": "running", "skip": "skipped", "cancel": "cancelled"}
            | {"supersede": "failed"},
            "running": {"succeed": "succeeded", "fail": "failed", "time out": "timed_out"}
            | {"cancel": "cancelled", "lose": "lost", "try again": "queued", "hold": "held"},
        }
        for state, event in product(State, RunEvent):
            run = RUN._replace(state=state)
            expected = drawn.get(state, {}).get(event)
            if expected:
                assert moved_run(run, event) == expected
            else:
                with pytest.raises(WrongState, match=f"run 42-7 is {state} and cannot {event}; "):
                    moved_run(run, event)
        assert len(RUN_MOVES) == sum(len(moves) for moves in drawn.values())

    def test_a_closed_run_never_moves(self):
        assert {state for state, _ in RUN_MOVES} == OPEN

    def test_a_refusal_says_what_to_do(self):
        with pytest.raises(WrongState) as caught:
            moved_run(RUN._replace(state=State.LOST), RunEvent.CLAIM)
        assert str(caught.value) == (
            "run 42-7 is lost and cannot claim; only a queued run can be claimed"
        )
        with pytest.raises(WrongState) as caught:
            moved_schedule(SCHEDULE, ScheduleEvent.MEND)
        assert str(caught.value) == (
            'schedule "nightly" is active; no such step is in its table of states'
        )


class TestRetention:
    def test_the_horizons_follow_from_the_ages(self):
        now = at("09:00")

        assert horizons(Retention(DAY, None, HOUR, 2 * HOUR, None, 3 * DAY), now) == Horizons(
            now - DAY, now - HOUR, now - 2 * HOUR, None, now - 3 * DAY
        )
        assert horizons(Retention(), now).runs == now - 90 * DAY

    @pytest.mark.parametrize(
        ("changes", "pruned"),
        [
            ({"finished_at": at("09:00") - DAY - 1}, True),
            ({"finished_at": at("09:00") - DAY}, False),
            ({"finished_at": at("09:00") - DAY - 1, "number": 99}, False),
            ({"finished_at": at("09:00") - DAY - 1, "number": 98}, False),
            ({"number": 79}, True),
            ({"number": 80}, False),
            ({"number": 79, "finished_at": None}, False),
            ({"number": 79, "planned_count": None}, False),
            ({"finished_at": at("09:00") - DAY - 1, "planned_count": None}, True),
        ],
    )
    def test_a_run_may_be_forgotten_by_age_or_number_unless_it_is_needed(
        self, changes: dict[str, object], pruned: bool
    ):
        run = PastRun(42, 90, at("08:59"), 100, "42-99", "42-98")._replace(**changes)

        retention = Retention(run_age=DAY, run_count=20)
        assert may_be_pruned(run, retention, at("09:00")) is pruned

    def test_without_bounds_nothing_is_forgotten(self):
        run = PastRun(42, 0, 0, 10_000_000)

        assert not may_be_pruned(run, Retention(None, None), at("09:00"))


class TestThePageOfPolicies:
    """docs/policies.md, whose timelines are drawn by the suite, leaves nothing out."""

    PAGE = (Path(__file__).parents[2] / "docs" / "policies.md").read_text()

    def test_every_reason_is_explained(self):
        for reason in Reason:
            assert f"| `{reason}` |" in self.PAGE
            assert reason.meaning in self.PAGE

    def test_every_field_is_named(self):
        naming = {"at", "after", "cron", "every", "interval_seconds", "hourly", "daily", "weekly"}
        fields = FIELDS - naming - {"monthly"}

        assert [field for field in sorted(fields) if f"`{field}" not in self.PAGE] == []

    def test_every_value_of_a_policy_has_a_timeline(self):
        lists = [CatchUpPolicy, OnConstraint, IfRunning, Backoff, OnExhausted, Execution, FirstRun]
        drawn = re.findall(r"```timeline\n(.*?)\n\n", self.PAGE, re.DOTALL)

        missing = [
            word
            for words in lists
            for word in words
            if not any(f": {word}\n" in f"{head}\n" for head in drawn)
        ]
        assert missing == []

    def test_every_policy_is_linked_to_a_file_that_exists(self):
        files = re.findall(r"\]\(\.\./(src/[^)]+)\)", self.PAGE)

        assert len(files) > 15
        assert [file for file in files if not (Path(__file__).parents[2] / file).is_file()] == []


def test_what_is_worked_out_once_is_kept_and_says_what_it_is():
    said = read_specification({"task": "work", "every": "1h"}, key="nightly", now=0)

    assert said.text is said.text
    assert type(said).text.__doc__ == "As it is stored."
