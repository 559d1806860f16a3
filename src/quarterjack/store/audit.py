"""Auditing: what a request changed, field by field, as a row that stays."""

from __future__ import annotations

import json
from typing import Any

from quarterjack.rules import Kind, Plan, Run, Schedule, Unreadable
from quarterjack.rules.as_json import field_json
from quarterjack.store.rows import json_text
from quarterjack.store.statements import Row
from quarterjack.store.types import Caller
from quarterjack.times.instants import to_text

_TOLD = ("status", "status_reason", "paused_by", "paused_until", "next_slot", "version")
"""What a person asks for may change these, beside the definition."""


def creation_row(number: int, schedule: Schedule, caller: Caller, now: int) -> Row:
    after = _whole(schedule)
    return (number, now, caller.by, caller.origin, caller.verb, schedule.id, None, None, after)


def request_row(
    number: int, before: Schedule, plan: Plan, run: Run | None, caller: Caller, now: int
) -> Row:
    """`run` is the one that was asked for to change, if it was one."""
    whose = (number, now, caller.by, caller.origin, caller.verb, before.id)
    if plan.deleted:
        return (*whose, None, _whole(before), None)
    was, becomes = _differing(_told(before), _told(plan.schedule))
    made = [each for each in plan.added if each.kind is Kind.MANUAL]
    for each in (*made, *_found(run, plan)):
        becomes |= {"run": each.id, "state": str(each.state)}
        becomes |= {} if each.cancel is None else {"cancel": str(each.cancel)}
    if run is not None:
        was |= {"run": run.id, "state": str(run.state)}
    run_id = made[0].id if made else run.id if run is not None else None
    return (*whose, run_id, json_text(was or None), json_text(becomes or None))


def _whole(schedule: Schedule) -> str:
    """All that a person wrote is in this version of its specification, which never changes."""
    return f'{{"key":{json.dumps(schedule.key)},"version":{schedule.version}}}'


def _told(schedule: Schedule) -> dict[str, Any]:
    told = {name: field_json(name, getattr(schedule, name)) for name in _TOLD}
    if (range_left := schedule.backfill) is not None:
        span = (range_left.cursor + 1, range_left.until)
        told["backfill"] = " to ".join(map(to_text, span))
    if isinstance(schedule.specification, Unreadable):
        return told
    return told | schedule.specification.to_json()


def _differing(before: dict[str, Any], after: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    names = [name for name in before | after if before.get(name) != after.get(name)]
    return tuple({name: side[name] for name in names if name in side} for side in (before, after))


def _found(run: Run | None, plan: Plan) -> list[Run]:
    """What became of this run."""
    touched = (*plan.released, *plan.closed, *plan.cancelled)
    return [each for each in touched if run is not None and each.id == run.id]
