"""Combinations: fields that are right each, and impossible together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from quarterjack.errors import InvalidSpecification
from quarterjack.rules.execution import Execution
from quarterjack.rules.first_run import FirstRun
from quarterjack.rules.specification import Specification
from quarterjack.rules.windows import OnConstraint
from quarterjack.times import Recurrence
from quarterjack.times.instants import EARLIEST
from quarterjack.times.recurrence import WallRecurrence

SLOTS_TRIED = 1000
"""How many slots a window may refuse before it seems to refuse all."""


def at_most_once_is_never_retried(specification: Specification, _own: object, _now: int) -> None:
    retries = specification.to_json()["max_retries"]
    if specification.execution is Execution.AT_MOST_ONCE and retries != 0:
        reason = f"does not go with max_retries {retries}"
        remedy = "set max_retries to 0, or use at_least_once"
        raise InvalidSpecification.because("execution", "at_most_once", reason, remedy)


def only_one_shots_are_deleted(specification: Specification, _own: object, _now: int) -> None:
    value = specification.delete_after_run
    if value and not specification.once:
        reason = f"does not go with {specification.recurrence.describe()}"
        remedy = "use it with at or after, or leave it out"
        raise InvalidSpecification.because("delete_after_run", value, reason, remedy)


def only_walls_can_match(specification: Specification, own: Mapping[str, Any], _now: int) -> None:
    wanted = own.get("first_run") == FirstRun.MATCH
    if wanted and not can_match(specification.recurrence):
        reason, remedy = "needs a recurrence whose minutes can match", "use cron, or slot or now"
        raise InvalidSpecification.because("first_run", "match", reason, remedy)


def only_polls_are_guarded(specification: Specification, own: Mapping[str, Any], _now: int) -> None:
    said = own.get("max_outstanding_polls")
    if said and not specification.target.is_poll:
        reason, remedy = "needs a plugin's command poll", "leave it out"
        raise InvalidSpecification.because("max_outstanding_polls", said, reason, remedy)


def a_window_admits_some_slot(specification: Specification, _own: object, now: int) -> None:
    window = specification.window
    if window is None or specification.on_constraint is OnConstraint.DEFER:
        return
    slots = specification.recurrence.slots_from(now)
    slot = slots.after(EARLIEST - 1 if specification.once else now)
    if slot is None:
        return
    for _ in range(SLOTS_TRIED):
        if slot is None or window.admits(slot):
            break
        opens = window.opens(slot)
        slot = None if opens is None else slots.after(opens - 1)
    if slot is None or not window.admits(slot):
        hours = {"only_between": window.only_between, "not_on": list(window.not_on)}
        said = {name: value for name, value in hours.items() if value}
        reason = f"admits no slot of {specification.recurrence.describe()}"
        remedy = "widen it, or use on_constraint: defer"
        raise InvalidSpecification.because("window", said, reason, remedy)


def can_match(recurrence: Recurrence) -> bool:
    return isinstance(recurrence, WallRecurrence)


Check = Callable[[Specification, Mapping[str, Any], int], None]

COMBINATIONS: tuple[Check, ...] = (
    at_most_once_is_never_retried,
    only_one_shots_are_deleted,
    only_walls_can_match,
    only_polls_are_guarded,
    a_window_admits_some_slot,
)
"""Each takes the specification, what the schedule said itself, and from where it counts."""
