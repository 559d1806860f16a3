"""JSON forms of the values of the rules."""

from __future__ import annotations

import json

import pytest

from harness.rules.values import at, specification
from quarterjack.rules import (
    Attempt,
    Backfill,
    Ending,
    Gate,
    GateChange,
    GateState,
    Kind,
    Limits,
    Outcome,
    Plan,
    Reason,
    Run,
    Settlement,
    SlotsNotRun,
    create,
)
from quarterjack.rules.audit_json import to_json

RUN = Run(42, 7, Kind.SLOT, at("09:00"), at("09:00"), at("09:00"), "42")
NINE = "2026-11-16T09:00:00Z"
SCHEDULE = create(42, "nightly", specification(every="1h"), at("08:00"), active=0, limits=Limits())


def test_lease_until_is_written_as_an_instant():
    run = Run(1, 0, Kind.SLOT, 0, 0, 0, "1", lease_until=at("09:00"))

    assert to_json(run)["lease_until"] == "2026-11-16T09:00:00Z"
    assert to_json((run,))[0]["number"] == 0


def test_a_run():
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
        "code": None,
        "repeat": 0,
    }


def test_a_schedule_contains_its_specification():
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
            Outcome(Ending.FAILED, at("09:00"), "boom", {"n": 7}, code="full", retry_after=9),
            {"ending": "failed", "at": NINE, "error": "boom", "result": {"n": 7}}
            | {"retryable": True, "handed_back": False, "code": "full", "retry_after": 9},
        ),
        (
            Attempt("42-7", 1, "w1", at("09:00"), Outcome(Ending.LOST, at("09:00"))),
            {"run_id": "42-7", "number": 1, "worker": "w1", "started_at": NINE}
            | {
                "outcome": {"ending": "lost", "at": NINE, "error": None, "result": None}
                | {"retryable": True, "handed_back": False, "code": None, "retry_after": None}
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
def test_the_other_values(value: object, form: object):
    assert to_json(value) == form


def test_plans_and_settlements_are_plain_json():
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
