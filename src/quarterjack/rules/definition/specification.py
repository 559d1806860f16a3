"""Specification: one immutable version of a schedule's definition, with every policy filled in.

`rules.validation` makes one from what a person wrote; `to_json` is what is stored, and the same
reader reads it back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Never

from quarterjack.errors import WrongState
from quarterjack.rules.definition.presets import AGENT, preset_of_kind
from quarterjack.rules.definition.target import Target
from quarterjack.rules.policies.anchors import counts_from_completion
from quarterjack.rules.policies.catch_up import CatchUp
from quarterjack.rules.policies.execution import Execution
from quarterjack.rules.policies.first_run import FirstRun
from quarterjack.rules.policies.gate import Breaker
from quarterjack.rules.policies.overlap import IfRunning, Overlap
from quarterjack.rules.policies.retry import Retry
from quarterjack.rules.policies.windows import OnConstraint
from quarterjack.times import After, At, Cron, Recurrence, Window
from quarterjack.times.durations import duration_text
from quarterjack.times.lazily import lazily


@dataclass(frozen=True, kw_only=True)
class Specification:
    """When, what, and by which policies."""

    recurrence: Recurrence
    target: Target
    own_preset: str | None
    """The one that it says itself."""
    service_preset: str | None
    """That of the service, if neither it nor the kind of its target says one. A store keeps it
    beside the body: nodes of an older program refuse a body with a field that they do not know."""
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

    @lazily
    def once(self) -> bool:
        """Does it name a single slot?"""
        return isinstance(self.recurrence, At | After)

    @lazily
    def completion(self) -> bool:
        return counts_from_completion(self.recurrence)

    @lazily
    def allows_overlap(self) -> bool:
        return self.overlap.if_running is IfRunning.ALLOW

    @lazily
    def preset(self) -> str | None:
        """Whose defaults it was read with."""
        return self.own_preset or preset_of_kind(self.target.kind) or self.service_preset

    @lazily
    def is_agent(self) -> bool:
        """Do the limits of the preset `agent` hold for it, where no others are given?"""
        return self.preset == AGENT

    @lazily
    def has_guards(self) -> bool:
        """Can a slot be kept from running though no run is open?"""
        limited = self.total_repeats > 0 or self.max_outstanding_polls > 0
        return limited or self.breaker is not None

    @lazily
    def reads_open_runs(self) -> bool:
        """Does planning depend on the runs that are open? If not, a store need not read them."""
        return (
            self.has_guards
            or not self.allows_overlap
            or self.once
            or self.completion
            or self.retry.preempted_by_slot
            or getattr(self.recurrence, "end_at", None) is not None
        )

    @lazily
    def shares_scope(self) -> bool:
        """Is overlap judged together with other schedules?"""
        return self.target.plugin_command is not None

    @lazily
    def shares_locks(self) -> bool:
        """Has it any `lock_keys`?"""
        return self.shares_scope or self.breaker is not None

    def scope(self, schedule_id: int) -> str:
        """Among which runs overlap is judged."""
        return (self.shares_scope and self.target.plugin_command) or str(schedule_id)

    def gate_key(self, schedule_id: int) -> str | None:
        """The gate whose breaker it shares, if it has one."""
        if self.breaker is None:
            return None
        return self.breaker.name or self.target.plugin_command or f"schedule/{schedule_id}"

    def lock_keys(self, schedule_id: int) -> tuple[str, ...]:
        """What a store locks, in this order, before it reads gates and open runs: others may plan
        or settle in the same scope, or pass the same gate, at the same time."""
        scope = self.target.plugin_command
        keys = {scope, self.gate_key(schedule_id)}
        return tuple(sorted(key for key in keys if key is not None))

    def names_the_same_slots(self, other: Specification) -> bool:
        """Are recurrence, zone, bounds and window the same? If not, an edit plans anew. A one-shot
        is the same as long as its instant is."""
        if self.once:
            return self.recurrence == other.recurrence
        return self._when() == other._when()

    @lazily
    def text(self) -> str:
        """As it is stored."""
        return _json_text(self.to_json())

    @lazily
    def configuration_hash(self) -> str:
        """Changes exactly when the definition does. A preset is no part of it: all that it says is
        spelled out, and earlier programs did not store it."""
        text = self.text
        if self.own_preset is not None:
            body = self.to_json()
            del body["preset"]
            text = _json_text(body)
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """A flat mapping of plain JSON that stays the same, in the words that people write."""
        return (
            self._when()
            | self.target.to_json()
            | ({} if self.own_preset is None else {"preset": self.own_preset})
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
                "max_retries": self._retries(),
                "retry_delay": self._given_delay(),
                "retry_backoff": self.retry.backoff.value,
                "slot_preempts_retry": self.retry.preempted_by_slot,
                "on_exhausted": self.retry.on_exhausted.value,
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
        when.pop("key", None)  # the schedule's own, and filled in again by whoever reads this
        if isinstance(self.recurrence, Cron):
            when["dialect"] = self.recurrence.dialect  # or a preset might say otherwise
        return when | {
            "timezone": self.timezone,
            "only_between": window.only_between if window else None,
            "not_on": list(window.not_on) if window else [],
            "on_constraint": self.on_constraint.value,
        }

    def _given_delay(self) -> str | None:
        """None if nobody said one, though it be what is the default now."""
        return _text(self.retry.delay) if self.retry.is_delay_given else None

    def _retries(self) -> int | str:
        return "endless" if self.retry.retries_max is None else self.retry.retries_max

    def _breaker(self) -> dict[str, Any] | str:
        if self.breaker is None:
            return "off"
        said: dict[str, Any] = {
            "threshold": self.breaker.threshold,
            "reset_after": _text(self.breaker.reset_after),
        }
        return said if self.breaker.name is None else said | {"name": self.breaker.name}


class Unreadable:
    """Stands where a stored specification cannot be read any more: whatever it is asked, it says
    why. So its schedule becomes invalid when it is planned, and harms no other."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __str__(self) -> str:
        return f"{type(self._error).__name__}: {self._error}"

    def __getattr__(self, name: str) -> Never:
        raise self._error


def refuse_unreadable(specification: Specification | Unreadable, key: str) -> None:
    """What cannot be read cannot be asked for anything but another definition."""
    if isinstance(specification, Unreadable):
        why = f"cannot be read ({specification}); edit or delete it"
        raise WrongState(f'the definition of schedule "{key}" {why}')


def _json_text(body: Mapping[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, separators=(",", ":"))


def _text(duration: int | None) -> str | None:
    return duration_text(duration) if duration else None
