"""The stable JSON form of every value in `model`, for logs and the audit table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quarterjack.rules.definition.specification import Specification
from quarterjack.times.instants import to_text

_INSTANTS = frozenset({"slot", "next_slot", "cursor", "at", "first", "last", "since", "until"})


def to_json(value: object) -> Any:
    """A named tuple becomes a mapping of its fields, an instant RFC 3339 text ending in `Z`."""
    if isinstance(value, Specification):
        return value.to_json()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: field_json(name, getattr(value, name)) for name in value._fields}
    if isinstance(value, Mapping):
        return {str(key): to_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    return str(value) if isinstance(value, str) else value


def field_json(name: str, value: Any) -> Any:
    """One field of a named tuple; its name says whether an integer is an instant."""
    is_instant = name in _INSTANTS or name.endswith(("_at", "_until"))
    return to_text(value) if is_instant and type(value) is int else to_json(value)
