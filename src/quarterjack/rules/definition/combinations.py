"""Combinations: fields that are right each, and impossible together."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from quarterjack.errors import InvalidSpecification
from quarterjack.rules.definition.specification import Specification
from quarterjack.rules.policies.execution import Execution
from quarterjack.rules.policies.first_run import FirstRun
from quarterjack.rules.policies.windows import OnConstraint
from quarterjack.times import After, At, Recurrence
from quarterjack.times.instants import EARLIEST
from quarterjack.times.recurrence import WallRecurrence

SLOTS_TRIED = 1000
"""How many slots a window may refuse before it seems to refuse all."""
COMMAND_PAYLOAD_MAX = 131_000
"""Bytes. It goes with a command in one variable, and Linux takes none over 128 KiB."""


def at_most_once_is_never_retried(specification: Specification, _own: object, _now: object) -> None:
    if specification.execution is not Execution.AT_MOST_ONCE:
        return
    retries = specification.to_json()["max_retries"]
    if retries != 0:
        reason = f"does not go with max_retries {retries}"
        remedy = "set max_retries to 0, or use at_least_once"
        raise InvalidSpecification.because("execution", "at_most_once", reason, remedy)


def only_one_shots_are_deleted(specification: Specification, _own: object, _now: object) -> None:
    value = specification.delete_after_run
    if value and not specification.once:
        reason = f"does not go with {specification.recurrence.describe()}"
        remedy = "use it with at or after, or leave it out"
        raise InvalidSpecification.because("delete_after_run", value, reason, remedy)


def a_first_run_can_be(specification: Specification, own: Mapping[str, Any], _now: object) -> None:
    wanted = own.get("first_run", specification.first_run)
    if wanted != specification.first_run:
        reason = f"does not go with {specification.recurrence.describe()}"
        remedy = "use match with cron, now with what recurs, or leave it out"
        raise InvalidSpecification.because("first_run", wanted, reason, remedy)


def a_one_shot_does_not_repeat(
    specification: Specification, own: Mapping[str, Any], _now: object
) -> None:
    said = own.get("total_repeats")
    if said and specification.once:
        reason = f"does not go with {specification.recurrence.describe()}"
        raise InvalidSpecification.because("total_repeats", said, reason, "leave it out")


def only_polls_are_guarded(
    specification: Specification, own: Mapping[str, Any], _now: object
) -> None:
    said = own.get("max_outstanding_polls")
    if said and not specification.target.is_poll:
        reason, remedy = "needs a plugin's command poll", "leave it out"
        raise InvalidSpecification.because("max_outstanding_polls", said, reason, remedy)


def a_command_can_take_its_payload(
    specification: Specification, _own: object, _now: object
) -> None:
    payload = specification.payload
    size = len(json.dumps(payload)) if specification.target.kind == "command" else 0
    if size > COMMAND_PAYLOAD_MAX:
        reason = f"is {size} bytes as JSON, and a command can take at most {COMMAND_PAYLOAD_MAX}"
        remedy = "put it in a file, and say where it is"
        raise InvalidSpecification.because("payload", payload, reason, remedy)


def a_window_admits_some_slot(specification: Specification, _own: object, now: int | None) -> None:
    window = specification.window
    if window is None or now is None or specification.on_constraint is OnConstraint.DEFER:
        return
    slots = specification.recurrence.slots_through(now)
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


def possible_first_run(wanted: FirstRun, recurrence: Recurrence) -> FirstRun:
    """As wanted, if the recurrence can do it: a one-shot has but one slot, and only what names
    minutes of the wall can match one."""
    fits = {
        FirstRun.SLOT: True,
        FirstRun.NOW: not isinstance(recurrence, At | After),
        FirstRun.MATCH: isinstance(recurrence, WallRecurrence),
    }
    return wanted if fits[wanted] else FirstRun.SLOT


Check = Callable[[Specification, Mapping[str, Any], int | None], None]

COMBINATIONS: tuple[Check, ...] = (
    at_most_once_is_never_retried,
    only_one_shots_are_deleted,
    a_first_run_can_be,
    a_one_shot_does_not_repeat,
    only_polls_are_guarded,
    a_command_can_take_its_payload,
    a_window_admits_some_slot,
)
"""Each takes the specification, what the schedule said itself, and from where it counts."""
