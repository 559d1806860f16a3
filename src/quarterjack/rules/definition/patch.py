"""Amending: a definition in which a person says some fields anew.

What names the slots and what is called are each exchanged whole: an `every` takes the place of a
`cron`, together with what only a cron has. A field that is null goes back to its default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quarterjack.errors import InvalidSpecification
from quarterjack.rules.definition.fields import READERS
from quarterjack.rules.definition.target import NAMED_BY, TARGET_FIELDS
from quarterjack.rules.definition.validation import ALIASES, WHEN
from quarterjack.times.parse import NAMING_FIELDS, fields_beside


def patched(body: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """All fields as they are to be read again."""
    if "preset" in changes:
        remedy = "say the fields that should change"
        reason = "was spelled out when the schedule was created"
        raise InvalidSpecification.because("preset", changes["preset"], reason, remedy)
    said = {ALIASES.get(name, name) for name in changes}
    dropped = said | _of_another_recurrence(changes) | _of_another_target(body, changes)
    return {name: value for name, value in body.items() if name not in dropped} | dict(changes)


def _of_another_recurrence(changes: Mapping[str, Any]) -> frozenset[str]:
    """What does not fit, if other instants are named."""
    named = [name for name in NAMING_FIELDS if changes.get(name) is not None]
    if not named:
        return frozenset()
    return (WHEN - fields_beside(named[0]) - READERS.keys()) | {"first_run"}


def _of_another_target(body: Mapping[str, Any], changes: Mapping[str, Any]) -> frozenset[str]:
    """What belongs to the old one, if a target of another kind is named; or to its old word."""
    named = {"target", *NAMED_BY.values()} & changes.keys()
    if not named:
        return frozenset()
    polls = frozenset({"max_outstanding_polls"})
    stays = named == {_named_by(body)} or isinstance(changes.get("command"), str)
    return polls if stays else TARGET_FIELDS | polls


def _named_by(body: Mapping[str, Any]) -> str:
    """The field that says what is called; a plugin's command is only a word for it."""
    return next(name for name in ("plugin", *NAMED_BY.values()) if body.get(name) is not None)
