"""Rows of the audit log: what a control request changed, field by field."""

from __future__ import annotations

import json
from typing import Any

from quarterjack.rules import Kind, Plan, Run, Schedule, Unreadable
from quarterjack.rules.audit_json import field_json
from quarterjack.store.rows import json_text
from quarterjack.store.statements import Row
from quarterjack.store.types import Caller
from quarterjack.times.instants import to_text

_STATE = ("status", "status_reason", "paused_by", "paused_until", "next_slot", "version")
"""Fields of a schedule that requests may change, besides its definition."""


def creation_row(number: int, schedule: Schedule, caller: Caller, now: int) -> Row:
    after = _version(schedule)
    return (number, now, caller.by, caller.origin, caller.verb, schedule.id, None, None, after)


def request_row(
    number: int, before: Schedule, plan: Plan, run: Run | None, caller: Caller, now: int
) -> Row:
    """`run` is the run that the request was about, if any."""
    request = (number, now, caller.by, caller.origin, caller.verb, before.id)
    if plan.deleted:
        return (*request, None, _version(before), None)
    old, new = _differences(_fields(before), _fields(plan.schedule))
    added = [each for each in plan.added if each.kind is Kind.MANUAL]
    changed = (*plan.released, *plan.closed, *plan.cancelled)
    for each in (*added, *(each for each in changed if run is not None and each.id == run.id)):
        new |= {"run": each.id, "state": str(each.state)}
        new |= {} if each.cancel is None else {"cancel": str(each.cancel)}
    if run is not None:
        old |= {"run": run.id, "state": str(run.state)}
    run_id = added[0].id if added else run.id if run is not None else None
    return (*request, run_id, json_text(old or None), json_text(new or None))


def _version(schedule: Schedule) -> str:
    """Identifies the stored version of the definition, which never changes."""
    return f'{{"key":{json.dumps(schedule.key)},"version":{schedule.version}}}'


def _fields(schedule: Schedule) -> dict[str, Any]:
    fields = {name: field_json(name, getattr(schedule, name)) for name in _STATE}
    if (backfill := schedule.backfill) is not None:
        fields["backfill"] = " to ".join(map(to_text, (backfill.cursor + 1, backfill.until)))
    if isinstance(schedule.specification, Unreadable):
        return fields
    return fields | schedule.specification.to_json()


def _differences(before: dict[str, Any], after: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    names = [name for name in before | after if before.get(name) != after.get(name)]
    return tuple({name: side[name] for name in names if name in side} for side in (before, after))
