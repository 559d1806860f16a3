"""Reading of single fields."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from harness.rules.values import FIELDS, at, problems, specification
from quarterjack.errors import InvalidSpecification
from quarterjack.rules import ServiceSettings, read_specification
from quarterjack.rules.definition.validation import with_units
from quarterjack.targets.kinds import KINDS
from quarterjack.times import Every
from quarterjack.times.instants import DAY, HOUR, MINUTE, SECOND

NOW = at("08:00")


@pytest.mark.parametrize("jitter", [0, "0", "0s", "00m", "0ms", None])
def test_no_jitter_can_be_written_in_many_ways(jitter: Any):
    assert specification(every="5m", jitter=jitter).jitter == 0


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"catch_up": "all"}, 'catch_up "all" is unknown; use run_once or skip or run_all'),
        ({"if_running": "kill"}, "use skip or queue or cancel or allow"),
        ({"on_exhausted": "stop"}, "use continue or dead or pause"),
        ({"retry_backoff": "linear"}, "use exponential or fixed"),
        ({"execution": "exactly_once"}, "use at_least_once or at_most_once"),
        ({"first_run": "later"}, "use slot or now or match"),
        ({"on_constraint": "wait"}, "use drop or defer or next_day"),
        ({"grace": "-5s"}, 'grace "-5s" is not a valid duration; use units from large to small'),
        ({"grace": 0}, "grace 0 is zero; use at least 1ms"),
        ({"timeout": "200y"}, 'timeout "200y" is not a valid duration'),
        ({"timeout": "99999999d"}, "is out of range; use 0 to 100 years"),
        ({"timeout_seconds": -3}, "timeout_seconds -3 is outside 1-3155760000"),
        (
            {"timeout_seconds": 5, "timeout": "5s"},
            'timeout "5s" means the same as timeout_seconds; give one of them',
        ),
        (
            {"total_repeats": 4, "repeat_count": 3},
            "repeat_count 3 means the same as total_repeats; give one of them",
        ),
        (
            {"retry_delay": 1.5},
            'retry_delay 1.5 has no unit; write text with one, such as "1500ms"',
        ),
        ({"timeout": 30}, 'timeout 30 has no unit; write "30s" or "30ms"'),
        ({"grace": "60"}, 'grace "60" has no unit; write "60s" or "60ms"'),
        ({"jitter": 5}, 'jitter 5 has no unit; write "5s" or "5ms"'),
        ({"circuit_breaker": {"reset_after": 5}}, "circuit_breaker.reset_after 5 has no unit"),
        ({"jitter": "soon"}, 'jitter "soon" is not a valid duration'),
        ({"catch_up_window": []}, "catch_up_window [] is not a valid duration"),
        ({"max_retries": -1}, "max_retries -1 is outside 0-1000000; use a whole number from"),
        ({"max_retries": "many"}, "is not a number; give a whole number, or endless"),
        ({"max_retries": True}, "max_retries True is not a whole number"),
        ({"max_catch_up_runs": 0}, "max_catch_up_runs 0 is outside 1-10000"),
        ({"max_catch_up_runs": 10_001}, "is outside 1-10000"),
        ({"queue_limit": 0}, "queue_limit 0 is outside 1-1000000"),
        ({"total_repeats": 1.0}, "total_repeats 1.0 is not a whole number"),
        ({"priority": "high"}, 'priority "high" is not a whole number'),
        ({"enabled": "yes"}, 'enabled "yes" is neither true nor false; write true or false'),
        ({"slot_preempts_retry": 1}, "slot_preempts_retry 1 is neither true nor false"),
        ({"queue": " "}, 'queue " " is not text; give text, or leave it out'),
        ({"name": 7}, "name 7 is not text"),
        ({"tags": "nightly"}, 'tags "nightly" is not a list of labels; write a list of different'),
        ({"tags": ["a", "a"]}, "is not a list of labels"),
        ({"tags": ["a", ""]}, 'tags "" is not text'),
        ({"payload": [1]}, "payload [1] is not a mapping; give a JSON object"),
        ({"payload": {"x": float("nan")}}, "is not JSON (Out of range float values"),
        ({"payload": {"x": {1, 2}}}, "is not JSON (Object of type set is not JSON"),
        ({"payload": {1: 2}}, "payload {1: 2} has the key 1, which is not text; use text, numbers"),
        ({"payload": {"x": "a\x00"}}, "contains U+0000, which a database cannot store; remove it"),
        ({"payload": {"x": "\ud800"}}, "is not JSON ('utf-8' codec can't encode"),
        ({"kwargs": {"x": {1, 2}}}, "kwargs {'x': {1, 2}} is not JSON"),
        ({"args": [float("inf")]}, "args [inf] is not JSON (Out of range float values"),
        ({"name": "a\x00b"}, "contains U+0000, which is not printable; remove it"),
        ({"name": "a\nb"}, "is not a label; use one line of at most 200 characters"),
        ({"name": "a" * 201}, "is not a label; use one line of at most 200 characters"),
        ({"description": "a" * 100_001}, "is 100001 characters long; use at most 100000"),
        ({"description": "\ud800"}, "contains U+D800, which is not printable; remove it"),
        ({"timeout_seconds": "1h30m5"}, 'timeout_seconds "1h30m5" is not a whole number'),
        ({"timeout_seconds": 10**5000}, "is outside 1-3155760000"),
        ({"circuit_breaker": 0}, "circuit_breaker 0 is not a circuit breaker"),
        ({"jitter": False}, "jitter False is not a valid duration"),
        ({"payload": {"x": "a" * 1_000_001}}, "characters long as JSON; use at most 1000000"),
        ({"only_between": "8-18"}, 'only_between "8-18" is not a time range; write it as'),
        ({"not_on": ["blursday"]}, 'not_on "blursday" is not a day; use a weekday, 0-7'),
        (
            {"circuit_breaker": 3},
            "circuit_breaker 3 is not a circuit breaker; write {threshold: 3, reset",
        ),
        ({"circuit_breaker": {"treshold": 3}}, "is not a circuit breaker"),
        ({"circuit_breaker": {"threshold": 0}}, "circuit_breaker.threshold 0 is outside 1-"),
        (
            {"circuit_breaker": {"reset_after": "x"}},
            '.reset_after "x" is not a valid duration',
        ),
        ({"circuit_breaker": {"name": ""}}, 'circuit_breaker.name "" is not text'),
        ({"preset": "cron"}, 'preset "cron" is unknown; use ductile, pipelit, horsies, posix'),
        ({"preset": 7}, "preset 7 is unknown"),
        (
            {"max_retrys": 3},
            "is an unknown field; did you mean max_retries?",
        ),
        ({"xyzzy": 3}, "xyzzy 3 is an unknown field; see docs/policies.md"),
    ],
)
def test_a_wrong_value_is_reported_with_field_value_reason_and_remedy(
    fields: dict[str, Any], problem: str
):
    (found,) = problems(every="5m", **fields)

    assert problem in found


@pytest.mark.parametrize("value", [[], {}, (), object(), 10**400, float("inf"), b"x", "\x00"])
@pytest.mark.parametrize("field", sorted(FIELDS - {"tags", "not_on", "opts", "args", "kwargs"}))
def test_a_value_of_any_other_type_is_refused_without_another_error(field: str, value: Any):
    fields = {"every": "5m", "task": "work", field: value}
    as_good_as_a_default = {("payload", "{}"), ("circuit_breaker", "{}")}
    if (field, str(value)) in as_good_as_a_default:
        assert read_specification(fields, kinds=KINDS, key="k", now=NOW).recurrence == Every("5m")
    else:
        with pytest.raises(InvalidSpecification):
            read_specification(fields, kinds=KINDS, key="k", now=NOW)


def test_a_circuit_breaker_has_defaults():
    breaker = specification(every="5m", circuit_breaker={}).breaker

    assert breaker == (3, 30 * MINUTE, None)
    assert specification(plugin="p", every="5m", circuit_breaker=False).breaker is None


def test_fields_are_read_with_their_units_and_aliases():
    result = specification(
        every="1d", grace="90s", catch_up_window="2h", retry_delay="5m", timeout="none"
    )

    assert result.catch_up.grace == 90 * SECOND
    assert result.catch_up.window == 2 * HOUR
    assert result.retry.delay == 5 * MINUTE
    assert result.timeout is None
    assert specification(every="1d").retry.delay == DAY
    assert specification(every="1d", timeout_seconds=90).timeout == 90 * SECOND
    assert specification(every="1d", trigger_payload={"a": 1}).payload == {"a": 1}


@pytest.mark.mission("P11")
def test_repeat_count_and_retry_max_are_aliases_of_total_repeats_and_max_retries():
    result = specification(every="5m", workflow_id=1, repeat_count=3, retry_max=7)

    assert (result.total_repeats, result.retry.retries_max) == (3, 7)


@pytest.mark.parametrize("field", ["grace", "jitter", "catch_up_window", "retry_delay", "timeout"])
@pytest.mark.parametrize("value", ["1h 30min", "90 minutes", timedelta(minutes=90), "PT90M"])
def test_durations_are_written_as_people_write_them(field: str, value: Any):
    body = specification(every="5m", **{field: value}).to_json()

    assert body[field] == "1h30m"


def test_stored_numbers_of_earlier_versions_are_milliseconds():
    body = specification(every="5m").to_json()
    stored = body | {"timeout": 30_000, "grace": 500, "every": 60_000, "jitter": 0}

    read = read_specification(with_units(stored), kinds=KINDS, key="k", now=None)

    assert (read.timeout, read.catch_up.grace, read.jitter) == (30 * SECOND, SECOND // 2, 0)
    assert read.recurrence == Every("1m")
    assert ServiceSettings.from_text('{"defaults": {"timeout": 30000, "jitter": 0}}').defaults == {
        "timeout": "30000ms", "jitter": 0,
    }  # fmt: skip
