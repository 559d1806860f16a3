"""Plain values: what a person may hand over to be kept is JSON and text, and nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

from quarterjack.errors import InvalidSpecification

JSON_MAX = 1_000_000
TEXT_MAX = 100_000
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""As JSON escapes it; a backslash before it may be one of the text's own."""


def plain_json(value: object, field: str) -> Any:
    """A copy that nobody else holds, as it will be read back."""
    remedy = "use text, numbers, true, false, null, lists, and mappings with text as keys"
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()
        copy = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        reason = f"is not JSON ({error})"
        raise InvalidSpecification.because(field, value, reason, remedy) from None
    if _NUL.search(text):
        reason, remedy = "holds U+0000, which a database refuses", "remove it"
        raise InvalidSpecification.because(field, value, reason, remedy)
    if copy != _listed(value):
        raise InvalidSpecification.because(field, value, "changes when it is stored", remedy)
    if len(text) > JSON_MAX:
        reason, remedy = f"is {len(text)} bytes long", f"use at most {JSON_MAX}"
        raise InvalidSpecification.because(field, value, reason, remedy)
    return copy


def _listed(value: object) -> object:
    """With lists for tuples, which JSON does not tell apart."""
    if isinstance(value, dict):
        return {key: _listed(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_listed(each) for each in value]
    return value


def plain_text(value: object, field: str) -> str:
    """Text that is not empty, and that every store and screen can take."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidSpecification.because(field, value, "is no text", "give some, or leave it out")
    if len(value) > TEXT_MAX:
        reason, remedy = f"is {len(value)} characters long", f"use at most {TEXT_MAX}"
        raise InvalidSpecification.because(field, value, reason, remedy)
    odd = next((letter for letter in value if _is_odd(letter)), None)
    if odd is not None:
        reason = f"holds U+{ord(odd):04X}, which is no letter"
        raise InvalidSpecification.because(field, value, reason, "remove it")
    return value


def _is_odd(letter: str) -> bool:
    """Control characters and lone surrogates; lines may be broken."""
    return not letter.isprintable() and not letter.isspace()


def plain_label(value: object, field: str) -> str:
    """Text on one line, and short: a name, a queue, a tag."""
    text = plain_text(value, field)
    if len(text) > 200 or not text.isprintable():
        reason, remedy = "is no label", "use one line of at most 200 letters"
        raise InvalidSpecification.because(field, value, reason, remedy)
    return text
