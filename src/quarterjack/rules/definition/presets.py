"""Presets: small tables of defaults, each with the behaviour of one well-known scheduler.

The preset of a schedule is its own field `preset`, else that of the kind of its target, else that
of the service. It is expanded into fields when a specification is read, so nothing that is stored
depends on these tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quarterjack.rules.definition.input_checks import invalid
from quarterjack.rules.policies.service_limits import AGENT_LIMITS, Limits

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
    "pipelit": {"max_retries": 3, "on_exhausted": "dead", "anchor": "completion"},
    "horsies": {"if_running": "allow", "timeout": "none", "dst_gap": "skip"},
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
    "agent": {"max_consecutive_errors": 10},
}
"""Each contains only what differs from `GENERAL`."""

AGENT = "agent"

SERVICE_PRESETS: Mapping[str, Mapping[str, Any]] = {
    "horsies": {"limits": Limits(timer_clamp_ms=1_000)},
    "posix": {"declared_only": True},
    "agent": {"limits": AGENT_LIMITS},
}
"""Settings of the service that a preset also sets, when it is the preset of the service."""


def read_preset(name: object) -> str | None:
    if name is None or (isinstance(name, str) and name in PRESETS):
        return name
    raise invalid("preset", name, "is unknown", f"use {', '.join(PRESETS)}")


def defaults_of(name: str | None, limits: Limits, *, is_of_service: bool) -> Mapping[str, Any]:
    """The defaults of a preset. `limits.max_consecutive_errors` overrides it for schedules with no
    preset of their own, and for the preset `agent`, which defines that limit."""
    table = PRESETS[name] if name else {}
    errors = limits.max_consecutive_errors
    if errors is None or (name not in (None, AGENT) and not is_of_service):
        return table
    return {**table, "max_consecutive_errors": errors}
