"""Merges a partial edit into the stored fields of a definition.

The recurrence and the target are each replaced as a whole: a new `every` also removes `cron` and
the fields that only fit a cron. A field that is set to null returns to its default.
"""

from __future__ import annotations

from typing import Any

from quarterjack.rules.definition.fields import READERS
from quarterjack.rules.definition.input_checks import invalid
from quarterjack.rules.definition.target import Definition, TargetKinds
from quarterjack.rules.definition.validation import ALIASES, WHEN
from quarterjack.times.parse import RECURRENCE_FIELDS, fields_allowed_with, names_zone


def patched(body: Definition, changes: Definition, kinds: TargetKinds) -> dict[str, Any]:
    """All fields of the definition after the changes, to be validated again."""
    if "preset" in changes:
        reason = "cannot be changed: it was expanded into fields when the schedule was created"
        raise invalid("preset", changes["preset"], reason, "change those fields")
    changed = {ALIASES.get(name, name) for name in changes}
    dropped = changed | _of_another_recurrence(changes) | _of_another_target(body, changes, kinds)
    return {name: value for name, value in body.items() if name not in dropped} | dict(changes)


def _of_another_recurrence(changes: Definition) -> frozenset[str]:
    """The fields that do not fit the new recurrence, if there is one."""
    named = [name for name in RECURRENCE_FIELDS if changes.get(name) is not None]
    if not named:
        return frozenset()
    other = (WHEN - fields_allowed_with(named[0]) - READERS.keys()) | {"first_run"}
    return other | {"timezone"} if names_zone(named[0], changes[named[0]]) else other


def _of_another_target(body: Definition, changes: Definition, kinds: TargetKinds) -> frozenset[str]:
    """The fields of the old target, if there is a new one of another kind; of a new command of the
    same plugin only the poll limit."""
    named = {"target", *kinds.naming_fields} & changes.keys()
    if not named:
        return frozenset()
    polls = frozenset({"max_outstanding_polls"})
    is_same_kind = named == {kinds.named_by(body)} or isinstance(changes.get("command"), str)
    return polls if is_same_kind else kinds.fields | polls
