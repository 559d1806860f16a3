"""Presets: small tables of defaults, each with the ways of one seed.

A schedule's own field says its preset; else the kind of its target does, so that schedules of
several seeds live beside each other; else the service's setting. It is expanded when a
specification is read, so that nothing stored depends on these tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quarterjack.errors import InvalidSpecification
from quarterjack.rules.policies.limits import AGENT_LIMITS, Limits

GENERAL: Mapping[str, Any] = {
    "tags": (),
    "timezone": "UTC",
    "dst_gap": "after",
    "dst_fold": "once",
    "dialect": "standard",
    "anchor": "slot",
    "only_between": None,
    "not_on": (),
    "on_constraint": "drop",
    "jitter": 0,
    "catch_up": "run_once",
    "grace": "60s",
    "catch_up_window": None,
    "max_catch_up_runs": 100,
    "if_running": "skip",
    "queue_limit": 1000,
    "max_retries": 0,
    "retry_delay": None,
    "retry_backoff": "exponential",
    "slot_preempts_retry": False,
    "on_exhausted": "continue",
    "circuit_breaker": "off",
    "max_outstanding_polls": 1,
    "max_consecutive_errors": 0,
    "total_repeats": 0,
    "timeout": "600s",
    "execution": "at_least_once",
    "first_run": "slot",
    "delete_after_run": False,
    "enabled": True,
    "priority": 0,
    "queue": "default",
}

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "ductile": {
        "catch_up": "skip",
        "circuit_breaker": {"threshold": 3, "reset_after": "30m"},
        "timeout": "60s",
    },
    "pipelit": {
        "max_retries": 3,
        "on_exhausted": "dead",
        "anchor": "completion",
    },
    "horsies": {
        "if_running": "allow",
        "timeout": "none",
        "dst_gap": "skip",
    },
    "posix": {
        "max_retries": "endless",
        "retry_backoff": "fixed",
        "slot_preempts_retry": True,
        "timeout": "none",
        "timezone": "local",
        "dialect": "posix",
        "dst_gap": "skip",
        "dst_fold": "twice",
        "first_run": "match",
    },
    "agent": {
        "max_consecutive_errors": 10,
    },
}
"""Only what differs from the general defaults."""

AGENT = "agent"
_BY_TARGET = {"plugin": "ductile", "workflow": "pipelit", "prompt": AGENT}

AS_A_SETTING: Mapping[str, Mapping[str, Any]] = {
    "horsies": {"limits": Limits(timer_clamp_ms=1_000)},
    "posix": {"declared_only": True},
    "agent": {"limits": AGENT_LIMITS},
}
"""What a preset also says when the whole service has it."""


def preset_of_kind(kind: str | None) -> str | None:
    """The preset that a target of this kind brings with it."""
    return _BY_TARGET.get(kind or "")


def read_preset(name: object) -> str | None:
    if name is None:
        return None
    if isinstance(name, str) and name in PRESETS:
        return name
    remedy = f"use {', '.join(PRESETS)}"
    raise InvalidSpecification.because("preset", name, "is unknown", remedy)


def defaults_of(name: str | None, limits: Limits, *, is_of_service: bool) -> Mapping[str, Any]:
    """The table of a preset. The service's `max_consecutive_errors` holds for what has no preset of
    its own, and for `agent`, whose limit that is."""
    table = PRESETS[name] if name else {}
    errors = limits.max_consecutive_errors
    if errors is None or (name not in (None, AGENT) and not is_of_service):
        return table
    return {**table, "max_consecutive_errors": errors}
