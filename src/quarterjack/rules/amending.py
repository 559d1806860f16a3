"""Amending: a definition in which a person says some fields anew.

What names the slots and what is called are each exchanged whole: an `every` takes the place of a
`cron`, together with what only a cron has. A field that is null goes back to its default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quarterjack.errors import InvalidSpecification
from quarterjack.rules.fields import READERS
from quarterjack.rules.target import NAMED_BY, TARGET_FIELDS
from quarterjack.rules.validation import ALIASES, WHEN
from quarterjack.times.parse import NAMING_FIELDS, fields_beside


def amended(body: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """All fields as they are to be read again."""
    if "preset" in changes:
        remedy = "say the fields that should change"
        reason = "was spelled out when the schedule was created"
        raise InvalidSpecification.because("preset", changes["preset"], reason, remedy)
    said = {ALIASES.get(name, name) for name in changes}
    dropped = said | _of_another_recurrence(changes) | _of_another_target(changes)
    return {name: value for name, value in body.items() if name not in dropped} | dict(changes)


def _of_another_recurrence(changes: Mapping[str, Any]) -> frozenset[str]:
    """What does not fit, if other instants are named."""
    named = [name for name in NAMING_FIELDS if changes.get(name) is not None]
    if not named:
        return frozenset()
    return (WHEN - fields_beside(named[0]) - READERS.keys()) | {"first_run"}


def _of_another_target(changes: Mapping[str, Any]) -> frozenset[str]:
    """What belongs to the old one, if something else is called; or to its old word."""
    named = {"target", *NAMED_BY.values()} & changes.keys()
    polls = frozenset({"max_outstanding_polls"}) if named else frozenset()
    if isinstance(changes.get("command"), str):
        named.discard("command")  # a word for the plugin, which stays
    return TARGET_FIELDS | polls if named else polls
