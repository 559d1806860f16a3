"""Checks of JSON and text from outside, before it is stored."""

from __future__ import annotations

import json
import re
from typing import Any

from quarterjack.errors import InvalidSpecification

invalid = InvalidSpecification.because
"""The error for one field: its name, its value, the reason and a remedy."""

JSON_MAX = 1_000_000
NESTED_MAX = 100
TEXT_MAX = 100_000
_JSON = "use text, numbers, true, false, null, lists, and mappings with text as keys"
_GENERATED_KEY = re.compile(r"schedule-\d+")
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""U+0000 as JSON escapes it, but not `\\u0000` in the text itself, whose backslash is escaped."""


def check_json(value: object, field: str) -> Any:
    """A deep copy, exactly as it will be read back from the database."""
    _check_shape(value, field)
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()
    except (TypeError, ValueError) as error:
        raise invalid(field, value, f"is not JSON ({error})", _JSON) from None
    if len(text) > JSON_MAX:
        raise invalid(
            field, value, f"is {len(text)} characters long as JSON", f"use at most {JSON_MAX}"
        )
    if _NUL.search(text):
        raise invalid(field, value, "contains U+0000, which a database cannot store", "remove it")
    return json.loads(text)


def _check_shape(value: object, field: str) -> None:
    """Checks depth, size and keys without recursion, before `json` sees the value. A value that
    contains itself is too deep; one that contains the same part many times is too large."""
    pending: list[tuple[object, int]] = [(value, 0)]
    count = 0
    while pending:
        each, depth = pending.pop()
        count += 1
        if depth > NESTED_MAX:
            raise invalid(field, value, "is nested too deeply", f"use at most {NESTED_MAX} levels")
        if count > JSON_MAX:
            raise invalid(field, value, "has too many values", f"use at most {JSON_MAX}")
        if isinstance(each, dict):
            if odd := [key for key in each if not isinstance(key, str)]:
                raise invalid(field, value, f"has the key {odd[0]!r}, which is not text", _JSON)
            pending += [(inner, depth + 1) for inner in each.values()]
        elif isinstance(each, list | tuple):
            pending += [(inner, depth + 1) for inner in each]


def check_text(value: object, field: str) -> str:
    """Text that is not empty, and that can be stored and displayed everywhere."""
    if not isinstance(value, str) or not value.strip():
        raise invalid(field, value, "is not text", "give text, or leave it out")
    if len(value) > TEXT_MAX:
        raise invalid(field, value, f"is {len(value)} characters long", f"use at most {TEXT_MAX}")
    other = next((each for each in value if not (each.isprintable() or each.isspace())), None)
    if other is not None:  # a control character or a lone surrogate
        reason = f"contains U+{ord(other):04X}, which is not printable"
        raise invalid(field, value, reason, "remove it")
    return value


def check_key(value: object, field: str) -> str:
    """A label that cannot be confused with an id, or with the generated key of another schedule."""
    key = check_label(value, field)
    if key != key.strip():
        raise invalid(field, value, "has blanks at its start or end", "remove them")
    if key.isdigit() or _GENERATED_KEY.fullmatch(key):
        raise invalid(field, value, "looks like an id", "use a name with a letter, or none")
    return key


def check_label(value: object, field: str) -> str:
    """Short text on one line: a name, a queue, a tag."""
    text = check_text(value, field)
    if len(text) > 200 or not text.isprintable():
        raise invalid(field, value, "is not a label", "use one line of at most 200 characters")
    return text
