"""Fields that exclude each other."""

from __future__ import annotations

from typing import Any

import pytest

from harness.rules.values import at, problems, specification
from quarterjack.errors import InvalidSpecification
from quarterjack.rules import read_specification
from quarterjack.targets.kinds import KINDS
from quarterjack.times.instants import HOUR

NOW = at("08:00")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (
            {"execution": "at_most_once", "max_retries": 3},
            'execution "at_most_once" does not go with max_retries 3; set max_retries to 0',
        ),
        (
            {"execution": "at_most_once", "max_retries": "endless"},
            "does not go with max_retries endless",
        ),
        (
            {"delete_after_run": True},
            "delete_after_run True does not go with every 5 minutes; use it with at or after",
        ),
        (
            {"first_run": "match"},
            'first_run "match" does not go with every 5 minutes; use match with cron',
        ),
        (
            {"every": None, "at": "2026-12-01T00:00:00Z", "first_run": "now"},
            'first_run "now" does not go with once at 2026-12-01T00:00:00Z',
        ),
        (
            {"max_outstanding_polls": 2},
            "max_outstanding_polls 2 needs a plugin's command poll; leave it out",
        ),
        (
            {"every": None, "cron": "0 3 * * *", "only_between": "08:00-18:00"},
            "admits no slot of every day at 03:00; widen it, or use on_constraint: defer",
        ),
        (
            {"every": None, "at": "2026-12-01T00:00:00Z", "only_between": "08:00-18:00"},
            "window {'only_between': '08:00-18:00'} admits no slot of once at 2026-12-01",
        ),
        (
            {"every": None, "cron": "0 9 * * 6", "not_on": ["saturday"]},
            "window {'not_on': ['saturday']} admits no slot",
        ),
        (
            {"every": "24h", "start_at": "2026-11-16T08:00:00Z", "only_between": "09:00-10:00"},
            "admits no slot of every 24 hours",
        ),
        (
            {"every": None, "cron": "0 3 * * *", "only_between": "08:00-18:00"}
            | {"on_constraint": "next_day"},
            "admits no slot of every day at 03:00",
        ),
        (
            {"every": None, "cron": ["0 3 * * *", "0 4 * * *"], "only_between": "08:00-18:00"},
            "admits no slot of every day at 03:00 and 04:00",
        ),
        (
            {"every": None, "at": ["2026-12-01T00:00:00Z", "2026-12-02T00:00:00Z"]}
            | {"delete_after_run": True},
            "delete_after_run True does not go with once each at",
        ),
        (
            {"every": None, "at": ["2026-12-01T00:00:00Z", "2026-12-02T00:00:00Z"]}
            | {"first_run": "match"},
            'first_run "match" does not go with once each at',
        ),
    ],
)
def test_fields_that_exclude_each_other_are_refused(fields: dict[str, Any], problem: str):
    (found,) = problems(**({"every": "5m"} | fields))

    assert problem in found


@pytest.mark.parametrize(
    "fields",
    [
        {"execution": "at_most_once"},
        {"every": None, "at": "2020-01-01T00:00:00Z", "delete_after_run": True},
        {"every": None, "cron": "0 9 * * *", "first_run": "match"},
        {"every": None, "daily": {"time": "09:00"}, "first_run": "match"},
        {"plugin": "echo", "max_outstanding_polls": 2},
        {"max_outstanding_polls": 0},
        {"every": None, "cron": "0 3 * * *", "only_between": "08:00-18:00"}
        | {"on_constraint": "defer"},
        {"every": None, "cron": "0 3 * * *", "only_between": "03:00-03:01"},
        {"every": "24h", "only_between": "08:00-08:01"},
        {"every": "24h", "only_between": "09:00-10:00"},
        {"every": None, "after": "1h", "only_between": "12:00-13:00"},
        {"every": None, "cron": "0 9 * * 6", "not_on": ["saturday"], "on_constraint": "next_day"},
        {"every": None, "cron": ["0 3 * * *", "0 9 * * *"], "only_between": "08:00-18:00"},
        {"every": None, "cron": ["0 3 * * *", "0 9 * * *"], "first_run": "match"},
        {"every": None, "at": ["2020-01-01T00:00:00Z", "2026-12-02T00:00:00Z"]}
        | {"total_repeats": 1},
        {"every": "5m", "anchor": "completion", "only_between": "22:00-23:00"},
        {"every": "5m", "end_at": "2020-01-01T00:00:00Z", "only_between": "22:00-23:00"},
        {"every": None, "after": "1h", "only_between": "09:00-10:00"},
    ],
)
def test_fields_that_fit_are_accepted(fields: dict[str, Any]):
    assert specification(**({"every": "5m"} | fields))


def test_total_repeats_of_a_one_shot_is_refused_unless_it_is_a_default():
    (problem,) = problems(after="5m", total_repeats=3)
    assert problem.startswith("total_repeats 3 does not go with once, 5m from its start; leave")
    by_default = read_specification(
        {"task": "t", "after": "5m"}, kinds=KINDS, key="k", now=NOW, defaults={"total_repeats": 3}
    )
    assert by_default.total_repeats == 0


@pytest.mark.fault("F52")
def test_a_command_refuses_a_payload_too_large_for_an_environment_variable():
    most = {"x": "a" * 130_991}
    more = {"x": "a" * 130_992}
    (problem,) = problems(command=["true"], every="5m", payload=more)

    assert (
        "is 131001 bytes as JSON, more than the 131000 that a command can take; write it" in problem
    )
    assert specification(command=["true"], every="5m", payload=most).payload == most
    assert specification(task="t", every="5m", payload=more).payload == more


@pytest.mark.parametrize(
    ("fields", "is_valid"),
    [
        ({"every": "1d", "only_between": "23:00-01:00"}, True),
        ({"every": "24h", "only_between": "08:00-09:00"}, True),
        ({"every": "1w", "not_on": ["monday"]}, True),
        ({"after": "17m", "only_between": "08:00-09:00"}, True),
        ({"cron": "0 9 24 12 *", "not_on": ["2026-12-24"]}, True),
        ({"cron": "0 9 * * *", "only_between": "08:00-18:00", "end_at": "2026-11-17T00:00:00Z"},
         True),
        ({"cron": "0 3 * * *", "only_between": "08:00-18:00"}, False),
        ({"cron": "0 3 * * *", "only_between": "08:00-18:00", "end_at": "2026-11-17T00:00:00Z"},
         False),
        ({"at": "2026-11-16T12:00:00Z", "only_between": "08:00-09:00"}, False),
        ({"schedule": "every day at 3am", "only_between": "08:00-18:00"}, False),
    ],
)  # fmt: skip
def test_validity_does_not_depend_on_what_time_it_is(fields: dict[str, Any], is_valid: bool):
    answers = set()
    for hour in [*range(-30, 60, 7), 40_000]:
        now = at("00:00") + hour * HOUR
        try:
            read_specification({"task": "t"} | fields, kinds=KINDS, key="k", now=now)
            answers.add("valid")
        except InvalidSpecification as error:
            answers.add(str(error))

    assert len(answers) == 1
    assert (answers == {"valid"}) == is_valid


def test_the_window_of_a_stored_definition_is_not_checked():
    stored = specification(cron="0 9 * * *").to_json() | {"only_between": "10:00-11:00"}

    assert read_specification(stored, kinds=KINDS, key="k", now=None).window
    with pytest.raises(InvalidSpecification, match="admits no slot"):
        read_specification(stored, kinds=KINDS, key="k", now=at("12:00"))


def test_max_retries_of_a_preset_is_checked_too():
    (problem,) = problems(workflow_id=1, every="5m", execution="at_most_once")

    assert "does not go with max_retries 3" in problem


def test_a_window_does_not_matter_where_there_are_no_slots():
    fields = {"task": "work", "cron": "0 9 * * *", "end_at": "1999-01-01T00:00:00Z"}

    stored = read_specification({**fields, "not_on": ["monday"]}, kinds=KINDS, key="k", now=NOW)

    assert stored.window
