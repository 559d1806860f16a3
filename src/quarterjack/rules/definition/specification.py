"""One immutable version of a schedule's definition, with a value for every policy.

`validation.read_specification` creates it from the fields that a person wrote. `to_json` is the
stored form, and `read_specification` also reads that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Never

from quarterjack.errors import WrongState
from quarterjack.rules.definition.presets import AGENT
from quarterjack.rules.definition.target import Target
from quarterjack.rules.policies.anchors import counts_from_completion
from quarterjack.rules.policies.catch_up import CatchUp
from quarterjack.rules.policies.execution import Execution
from quarterjack.rules.policies.first_run import FirstRun
from quarterjack.rules.policies.gate import Breaker
from quarterjack.rules.policies.overlap import IfRunning, Overlap
from quarterjack.rules.policies.retry import Retry
from quarterjack.rules.policies.windows import OnConstraint, dropping_window
from quarterjack.times import After, At, Recurrence, Union, Window
from quarterjack.times.cached_property import cached_property
from quarterjack.times.durations import duration_text


@dataclass(frozen=True, kw_only=True)
class Specification:
    """When a schedule runs, what it calls, and with which policies."""

    recurrence: Recurrence
    target: Target
    own_preset: str | None
    """The schedule's own field `preset`."""
    service_preset: str | None
    """The preset of the service, if neither the schedule nor the kind of its target has one. Stored
    beside `text`, because nodes of an older version refuse a text with an unknown field."""
    payload: Mapping[str, Any]
    name: str | None
    description: str | None
    tags: tuple[str, ...]
    timezone: str
    window: Window | None
    on_constraint: OnConstraint
    jitter: int
    catch_up: CatchUp
    overlap: Overlap
    retry: Retry
    breaker: Breaker | None
    max_outstanding_polls: int
    max_consecutive_errors: int
    total_repeats: int
    timeout: int | None
    execution: Execution
    first_run: FirstRun
    delete_after_run: bool
    enabled: bool
    priority: int
    queue: str

    @cached_property
    def once(self) -> bool:
        """Whether it is a one-shot."""
        return isinstance(self.recurrence, At | After)

    @cached_property
    def names_instants(self) -> bool:
        """Whether it is a one-shot, or a list of instants: new ones are a new beginning."""
        return self.once or (isinstance(self.recurrence, Union) and not self.recurrence.of_crons)

    @cached_property
    def dropping_window(self) -> Window | None:
        """Drops the slots that it does not admit; those that only `window` does not admit run
        later."""
        return dropping_window(self.window, self.on_constraint)

    @cached_property
    def completion(self) -> bool:
        return counts_from_completion(self.recurrence)

    @cached_property
    def allows_overlap(self) -> bool:
        return self.overlap.if_running is IfRunning.ALLOW

    @cached_property
    def preset(self) -> str | None:
        """The preset whose defaults it was read with."""
        return self.own_preset or self.target.preset or self.service_preset

    @cached_property
    def is_agent(self) -> bool:
        """Whether the limits of the preset `agent` apply to it, where the service sets none."""
        return self.preset == AGENT

    @cached_property
    def has_guards(self) -> bool:
        """Whether a policy may prevent a run even if no other run is open."""
        limited = self.total_repeats > 0 or self.max_outstanding_polls > 0
        return limited or self.breaker is not None

    @cached_property
    def reads_open_runs(self) -> bool:
        """Whether planning depends on open runs. If not, a store need not read them."""
        by_policy = self.has_guards or not self.allows_overlap or self.retry.preempted_by_slot
        ends = self.names_instants or getattr(self.recurrence, "end_at", None) is not None
        return by_policy or ends or self.completion

    @cached_property
    def shares_scope(self) -> bool:
        """Whether other schedules may have the same scope."""
        return self.target.scope is not None

    @cached_property
    def shares_locks(self) -> bool:
        """Whether it has any `lock_keys`."""
        return self.shares_scope or self.breaker is not None

    def scope(self, schedule_id: int) -> str:
        """The scope of its runs: runs with the same scope are checked for overlap."""
        return self.target.scope or str(schedule_id)

    def gate_key(self, schedule_id: int) -> str | None:
        """The key of the gate with its circuit breaker, if it has one."""
        if self.breaker is None:
            return None
        return self.breaker.name or self.target.scope or f"schedule/{schedule_id}"

    def lock_keys(self, schedule_id: int) -> tuple[str, ...]:
        """What a store locks, in this order, before it reads gates and open runs: other schedules
        with the same scope or gate may be planned or settled at the same time."""
        keys = {self.target.scope, self.gate_key(schedule_id)}
        return tuple(sorted(key for key in keys if key is not None))

    def names_the_same_slots(self, other: Specification) -> bool:
        """Whether recurrence, zone, bounds and window are the same, so an edit keeps the slots.
        For a one-shot only its instant counts."""
        if self.once:
            return self.recurrence == other.recurrence
        return self._when() == other._when()

    @cached_property
    def text(self) -> str:
        """The stored form."""
        return _json_text(self.to_json())

    @cached_property
    def configuration_hash(self) -> str:
        """Changes exactly when the definition does. The preset is not included: its fields are, and
        earlier versions did not store it."""
        text = self.text
        if self.own_preset is not None:
            body = self.to_json()
            del body["preset"]
            text = _json_text(body)
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """A flat, stable mapping of JSON values, with the fields and values that people write."""
        retry = self.retry
        own_preset = {} if self.own_preset is None else {"preset": self.own_preset}
        return (
            self._when()
            | self.target.to_json()
            | own_preset
            | {
                "payload": dict(self.payload),
                "name": self.name,
                "description": self.description,
                "tags": list(self.tags),
                "jitter": _text(self.jitter) or 0,
                "catch_up": self.catch_up.policy.value,
                "grace": _text(self.catch_up.grace),
                "catch_up_window": _text(self.catch_up.window),
                "max_catch_up_runs": self.catch_up.runs_max,
                "if_running": self.overlap.if_running.value,
                "queue_limit": self.overlap.queue_limit,
                "max_retries": "endless" if retry.retries_max is None else retry.retries_max,
                "retry_delay": _text(retry.delay) if retry.is_delay_given else None,
                "retry_backoff": retry.backoff.value,
                "slot_preempts_retry": retry.preempted_by_slot,
                "on_exhausted": retry.on_exhausted.value,
                "circuit_breaker": self._breaker(),
                "max_outstanding_polls": self.max_outstanding_polls,
                "max_consecutive_errors": self.max_consecutive_errors,
                "total_repeats": self.total_repeats,
                "timeout": _text(self.timeout) or "none",
                "execution": self.execution.value,
                "first_run": self.first_run.value,
                "delete_after_run": self.delete_after_run,
                "enabled": self.enabled,
                "priority": self.priority,
                "queue": self.queue,
            }
        )

    def _when(self) -> dict[str, Any]:
        window, when = self.window, self.recurrence.to_json()
        when.pop("key", None)  # the key of the schedule, which every reader adds again
        if "cron" in when:
            when.setdefault("dialect", "standard")  # else a preset might change it
        return when | {
            "timezone": self.timezone,
            "only_between": window.only_between if window else None,
            "not_on": list(window.not_on) if window else [],
            "on_constraint": self.on_constraint.value,
        }

    def _breaker(self) -> dict[str, Any] | str:
        if self.breaker is None:
            return "off"
        threshold, reset_after, name = self.breaker
        fields = {"threshold": threshold, "reset_after": _text(reset_after)}
        return fields if name is None else fields | {"name": name}


class Unreadable:
    """Takes the place of a stored specification that cannot be read any more. Every access raises
    the original error, so that the schedule becomes invalid when it is planned, and no other is
    affected."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __str__(self) -> str:
        return f"{type(self._error).__name__}: {self._error}"

    def __getattr__(self, name: str) -> Never:
        raise self._error


def refuse_unreadable(specification: Specification | Unreadable, key: str) -> None:
    """Raises `WrongState` for a schedule whose definition cannot be read."""
    if isinstance(specification, Unreadable):
        reason = f"cannot be read ({specification}); edit or delete it"
        raise WrongState(f'the definition of schedule "{key}" {reason}')


def _json_text(body: Mapping[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, separators=(",", ":"))


def _text(duration: int | None) -> str | None:
    return duration_text(duration) if duration else None
