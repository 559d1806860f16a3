"""Specifications: their JSON form, hash, scope and locks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.rules.values import at, specification
from quarterjack.rules import read_specification
from quarterjack.targets.kinds import KINDS
from quarterjack.times import Cron

NOW = at("08:00")
letters = st.characters(exclude_characters="\0", exclude_categories=["Cs"])


def test_a_cached_property_keeps_its_value_and_its_docstring():
    result = read_specification({"task": "work", "every": "1h"}, kinds=KINDS, key="nightly", now=0)

    assert result.text is result.text
    assert type(result).text.__doc__ == "The stored form."


@pytest.mark.mission("H5")
def test_a_changed_definition_has_another_hash():
    one = specification(every="1h")
    same = specification(every="3600s", if_running="skip")
    other = specification(every="1h", if_running="queue")

    assert one.configuration_hash == same.configuration_hash
    assert one.configuration_hash != other.configuration_hash
    assert len(one.configuration_hash) == 32


def test_the_scope_and_gate_of_a_plugin_are_plugin_and_command():
    poll = specification(plugin="echo", every="5m")
    task = specification(every="5m", circuit_breaker={})

    assert (poll.scope(7), poll.gate_key("k")) == ("echo/poll", "echo/poll")
    assert (task.scope(7), task.gate_key("k")) == ("7", "schedule/k")
    assert specification(every="5m").gate_key("k") is None


def test_the_json_form_is_fixed_for_all_versions():
    result = specification(
        cron="0 3 * * *",
        timezone="Europe/Berlin",
        command=["pg_dump", "app"],
        timeout="2h",
        only_between="00:00-06:00",
        not_on=[0, "2026-12-24"],
        jitter="30s",
        circuit_breaker={"threshold": 5, "reset_after": "10m", "name": "db"},
        max_retries="endless",
        tags=["nightly"],
        payload={"n": 1},
        name="Backup",
    )

    assert json.loads(json.dumps(result.to_json())) == {
        "cron": "0 3 * * *",
        "dialect": "standard",
        "timezone": "Europe/Berlin",
        "dst_gap": "after",
        "dst_fold": "once",
        "only_between": "00:00-06:00",
        "not_on": ["sunday", "2026-12-24"],
        "on_constraint": "drop",
        "command": ["pg_dump", "app"],
        "payload": {"n": 1},
        "name": "Backup",
        "description": None,
        "tags": ["nightly"],
        "jitter": "30s",
        "catch_up": "run_once",
        "grace": "1m",
        "catch_up_window": None,
        "max_catch_up_runs": 100,
        "if_running": "skip",
        "queue_limit": 1000,
        "max_retries": "endless",
        "retry_delay": None,
        "retry_backoff": "exponential",
        "slot_preempts_retry": False,
        "on_exhausted": "continue",
        "circuit_breaker": {"threshold": 5, "reset_after": "10m", "name": "db"},
        "max_outstanding_polls": 0,
        "max_consecutive_errors": 0,
        "total_repeats": 0,
        "timeout": "2h",
        "execution": "at_least_once",
        "first_run": "slot",
        "delete_after_run": False,
        "enabled": True,
        "priority": 0,
        "queue": "default",
    }
    assert result.configuration_hash == "e88a14f8f164001cc0db196a0c2ddfc0"


def test_a_stored_dialect_is_not_changed_by_the_preset_of_the_service():
    stored = specification(cron="*/5 * * * *").to_json()

    again = read_specification(stored, kinds=KINDS, key="k", now=NOW, preset="posix")
    assert again.recurrence == Cron("*/5 * * * *", timezone="UTC", dst_gap="after")


def test_the_lock_keys_are_scope_and_gate():
    named = {"circuit_breaker": {"name": "mail"}}
    assert specification(every="5m").lock_keys(7) == ()
    assert specification(every="5m", **named).lock_keys(7) == ("mail",)
    assert specification(every="5m", circuit_breaker={}).lock_keys(7) == ("schedule/7",)
    assert specification(plugin="echo", every="5m").lock_keys(7) == ("echo/poll",)
    assert specification(plugin="echo", every="5m", **named).lock_keys(7) == (
        "echo/poll",
        "mail",
    )


@given(
    fields=st.fixed_dictionaries(
        {
            "every": st.sampled_from(["5m", "1d", "monthly"]),
        },
        optional={
            "plugin": st.just("echo"),
            "catch_up": st.sampled_from(["run_all", "skip"]),
            "grace": st.sampled_from(["10s", "1h30m"]),
            "catch_up_window": st.just("2h"),
            "max_retries": st.sampled_from([0, 4, "endless"]),
            "timeout": st.sampled_from(["none", "90s"]),
            "retry_delay": st.sampled_from(["5m", "90s"]),
            "timezone": st.sampled_from(["UTC", "Asia/Tokyo"]),
            "only_between": st.just("00:00-23:00"),
            "jitter": st.sampled_from([0, "10s"]),
            "circuit_breaker": st.sampled_from([{}, "off", {"name": "x"}]),
            "anchor": st.just("completion"),
            "payload": st.dictionaries(st.text(letters), st.integers()),
        },
    )
)
def test_the_json_form_reads_back_as_an_equal_specification(fields: dict[str, Any]):
    once = specification(**fields)

    again = read_specification(
        json.loads(json.dumps(once.to_json())), kinds=KINDS, key="other", now=NOW
    )

    assert again == once
    assert again.configuration_hash == once.configuration_hash
