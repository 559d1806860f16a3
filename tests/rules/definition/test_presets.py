"""Presets: which defaults apply to which schedule."""

from __future__ import annotations

from typing import Any

import pytest

from harness.rules.values import at, problems, specification
from quarterjack.rules import Limits, read_specification
from quarterjack.rules.definition.presets import GENERAL, PRESETS, SERVICE_PRESETS
from quarterjack.targets.kinds import KINDS

NOW = at("08:00")


@pytest.mark.parametrize(
    ("fields", "preset"),
    [
        ({"plugin": "echo"}, "ductile"),
        ({"workflow_id": 1}, "pipelit"),
        ({"prompt": "hi"}, "agent"),
        ({"task": "t"}, None),
        ({"command": ["ls"]}, None),
    ],
)
def test_without_a_preset_the_kind_of_the_target_decides(
    fields: dict[str, Any], preset: str | None
):
    result = specification(every="5m", **fields).to_json()
    meant = {**GENERAL, **(PRESETS[preset] if preset else {})}

    assert result["catch_up"] == meant["catch_up"]
    assert result["max_retries"] == meant["max_retries"]
    assert result["anchor"] == meant["anchor"]
    assert result["max_consecutive_errors"] == meant["max_consecutive_errors"]


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        (
            "ductile",
            "skip skip 0 exponential continue slot False 3/30m 0 1m after once slot",
        ),
        (
            "pipelit",
            "run_once skip 3 exponential dead completion False off 0 10m after once slot",
        ),
        (
            "horsies",
            "run_once allow 0 exponential continue slot False off 0 none skip once slot",
        ),
        (
            "posix",
            "run_once skip endless fixed continue slot True off 0 none skip twice slot",
        ),
        (
            "agent",
            "run_once skip 0 exponential continue slot False off 10 10m after once slot",
        ),
        (
            None,
            "run_once skip 0 exponential continue slot False off 0 10m after once slot",
        ),
    ],
)
def test_each_preset_has_its_own_defaults(preset: str | None, expected: str):
    result = specification(every="5m", preset=preset, timezone="UTC").to_json()
    breaker = result["circuit_breaker"]
    row = [
        result["catch_up"],
        result["if_running"],
        result["max_retries"],
        result["retry_backoff"],
        result["on_exhausted"],
        result["anchor"],
        result["slot_preempts_retry"],
        breaker if breaker == "off" else f"{breaker['threshold']}/{breaker['reset_after']}",
        result["max_consecutive_errors"],
        result["timeout"],
        result["dst_gap"],
        result["dst_fold"],
        result["first_run"],
    ]

    assert " ".join(str(each) for each in row) == expected


@pytest.mark.mission("V7")
def test_posix_is_strict_local_and_matches_at_the_first_start(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    result = specification(cron="0 9 * * 1-5", preset="posix").to_json()

    assert (result["timezone"], result["dialect"]) == ("Europe/Berlin", "posix")
    assert (result["dst_gap"], result["dst_fold"]) == ("skip", "twice")
    assert result["first_run"] == "match"
    assert problems(cron="*/5 * * * *", preset="posix", timezone="UTC")


@pytest.mark.mission("E8")
def test_a_preset_of_the_service_also_sets_limits_and_declared_only():
    assert SERVICE_PRESETS["agent"]["limits"] == Limits(1000, 5, 5, 5000, 60_000, 10)
    assert SERVICE_PRESETS["horsies"]["limits"].timer_clamp_ms == 1000
    assert SERVICE_PRESETS["posix"]["declared_only"] is True


def test_the_most_specific_source_of_a_value_wins():
    def retries(own: dict[str, Any], **service: Any) -> object:
        result = read_specification(
            {"workflow_id": 1, "every": "5m"} | own, kinds=KINDS, key="k", now=NOW, **service
        )
        return result.to_json()["max_retries"]

    assert retries({}) == 3
    assert retries({}, preset="agent") == 3, "the kind of the target is nearer than the service"
    assert retries({}, preset="agent", defaults={"max_retries": 7}) == 7
    assert retries({"preset": "posix", "timezone": "UTC"}, preset="agent") == "endless"
    assert retries({"max_retries": 1}, preset="agent", defaults={"max_retries": 7}) == 1
    assert retries({"max_retries": None}, defaults={"max_retries": 7}) == 7


@pytest.mark.mission("D10", "P6", "E8")
@pytest.mark.parametrize("service", [None, *PRESETS])
def test_presets_of_schedules_and_kinds_apply_whatever_the_service_has(service: str | None):
    limits = Limits(max_consecutive_errors=3)

    def result(**own: Any) -> list[object]:
        fields = {"every": "5m", "timezone": "UTC"} | own
        read = read_specification(
            fields, kinds=KINDS, key="k", now=NOW, preset=service, limits=limits
        )
        names = ("catch_up", "if_running", "max_retries", "max_consecutive_errors")
        return [read.preset, *(read.to_json()[name] for name in names)]

    assert result(plugin="echo") == ["ductile", "skip", "skip", 0, 0]
    assert result(workflow_id=1) == ["pipelit", "run_once", "skip", 3, 0]
    assert result(prompt="hi") == ["agent", "run_once", "skip", 0, 3]
    assert result(task="t", preset="horsies") == ["horsies", "run_once", "allow", 0, 0]
    assert result(plugin="echo", preset="posix") == ["posix", "run_once", "skip", "endless", 0]
    assert result(workflow_id=1, preset="agent") == ["agent", "run_once", "skip", 0, 3]
    table = {**GENERAL, **(PRESETS[service] if service else {})}
    for other in ({"task": "t"}, {"command": ["ls"]}):
        own = [table[name] for name in ("catch_up", "if_running", "max_retries")]
        assert result(**other) == [service, *own, 3], "the preset of the service is for these"


@pytest.mark.mission("E8")
def test_the_limit_max_consecutive_errors_is_a_default_for_schedules():
    limits = Limits(max_consecutive_errors=7)

    def errors(**own: Any) -> int:
        fields = {"task": "t", "every": "5m"} | own
        result = read_specification(fields, kinds=KINDS, key="k", now=NOW, limits=limits)
        return result.max_consecutive_errors

    assert errors() == 7
    assert errors(prompt="hi", task=None) == 7
    assert errors(max_consecutive_errors=2) == 2
