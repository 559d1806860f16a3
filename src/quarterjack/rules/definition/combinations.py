"""Combinations: fields that are right each, and impossible together."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from quarterjack.rules.definition.input_checks import invalid
from quarterjack.rules.definition.specification import Specification
from quarterjack.rules.policies.execution import Execution
from quarterjack.rules.policies.first_run import FirstRun
from quarterjack.times import After, At, Every, Recurrence, Union
from quarterjack.times.instants import EARLIEST, read_instant
from quarterjack.times.recurrence import WallTimeRecurrence

SLOTS_TRIED = 1000
"""A window that admits none of so many slots is taken to admit none at all."""
SLOTS_TRIED_FROM = read_instant("2020-01-01T00:00:00Z", "slot")
"""Always the same, so that validity does not depend on what time it is."""

Written = Mapping[str, Any]
"""What the schedule itself says, without defaults."""


def check_execution(specification: Specification, _written: Written) -> None:
    retries = specification.retry.retries_max
    if specification.execution is Execution.AT_MOST_ONCE and retries != 0:
        count = "endless" if retries is None else retries
        remedy = "set max_retries to 0, or use at_least_once"
        raise invalid("execution", "at_most_once", f"does not go with max_retries {count}", remedy)


def check_deletion(specification: Specification, _written: Written) -> None:
    value = specification.delete_after_run
    if value and not specification.once:
        remedy = "use it with at or after, or leave it out"
        raise invalid("delete_after_run", value, _not_with(specification), remedy)


def check_first_run(specification: Specification, written: Written) -> None:
    wanted = written.get("first_run", specification.first_run)
    if wanted != specification.first_run:
        remedy = "use match with cron, now with recurring schedules, or leave it out"
        raise invalid("first_run", wanted, _not_with(specification), remedy)


def check_repeats(specification: Specification, written: Written) -> None:
    repeats = written.get("total_repeats")
    if repeats and specification.once:
        raise invalid("total_repeats", repeats, _not_with(specification), "leave it out")


def check_poll_guard(specification: Specification, written: Written) -> None:
    polls = written.get("max_outstanding_polls")
    if polls and not specification.target.is_poll:
        reason = "needs a plugin's command poll"
        raise invalid("max_outstanding_polls", polls, reason, "leave it out")


def check_payload_size(specification: Specification, _written: Written) -> None:
    most, payload = specification.target.payload_max, specification.payload
    if most is not None and (size := len(json.dumps(payload))) > most:
        kind = specification.target.kind
        reason = f"is {size} bytes as JSON, more than the {most} that a {kind} can take"
        raise invalid("payload", payload, reason, "write it to a file, and give its path")


COMBINATIONS: tuple[Callable[[Specification, Written], None], ...] = (
    check_execution, check_deletion, check_first_run, check_repeats, check_poll_guard,
    check_payload_size,
)  # fmt: skip


def check_window(specification: Specification) -> None:
    """For a new definition: some slot must lie inside the window. Slots that count from creation
    are not checked, so that the same definition is valid at any hour."""
    window, recurrence = specification.dropping_window, specification.recurrence
    if window is None or counts_from_creation(recurrence):
        return
    slots = recurrence.slots
    slot = slots.after(EARLIEST - 1 if specification.once else SLOTS_TRIED_FROM)
    if slot is None:
        return
    for _ in range(SLOTS_TRIED):
        if slot is None or window.admits(slot):
            break
        opens = window.opens(slot)
        slot = None if opens is None else slots.after(opens - 1)
    if slot is None or not window.admits(slot):
        hours = {"only_between": window.only_between, "not_on": list(window.not_on)}
        given = {name: value for name, value in hours.items() if value}
        reason = f"admits no slot of {specification.recurrence.describe()}"
        raise invalid("window", given, reason, "widen it, or use on_constraint: defer")


def counts_from_creation(recurrence: Recurrence) -> bool:
    """Whether its slots depend on when the schedule is created."""
    return isinstance(recurrence, After | Every) and getattr(recurrence, "start_at", None) is None


def possible_first_run(wanted: FirstRun, recurrence: Recurrence) -> FirstRun:
    """As wanted, if the recurrence allows it: a one-shot has one slot only, and only a recurrence
    of wall times can match the current minute."""
    if wanted is FirstRun.MATCH:
        has_wall_times = isinstance(recurrence, WallTimeRecurrence) or (
            isinstance(recurrence, Union) and recurrence.of_crons
        )
        return wanted if has_wall_times else FirstRun.SLOT
    return FirstRun.SLOT if isinstance(recurrence, At | After) else wanted


def _not_with(specification: Specification) -> str:
    return f"does not go with {specification.recurrence.describe()}"
