"""Plain values: what a person may hand over to be kept is JSON and text, and nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

from quarterjack.errors import InvalidSpecification

JSON_MAX = 1_000_000
NESTED_MAX = 100
TEXT_MAX = 100_000
_JSON = "use text, numbers, true, false, null, lists, and mappings with text as keys"
_NAMED_AFTER_ITS_ID = re.compile(r"schedule-\d+")
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""As JSON escapes it; a backslash before it may be one of the text's own."""


def check_json(value: object, field: str) -> Any:
    """A copy that nobody else holds, as it will be read back."""
    _refuse_odd_shapes(value, field)
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()
    except (TypeError, ValueError) as error:
        raise InvalidSpecification.because(field, value, f"is not JSON ({error})", _JSON) from None
    if _NUL.search(text):
        reason, remedy = "holds U+0000, which a database refuses", "remove it"
        raise InvalidSpecification.because(field, value, reason, remedy)
    if len(text) > JSON_MAX:
        reason, remedy = f"is {len(text)} bytes long", f"use at most {JSON_MAX}"
        raise InvalidSpecification.because(field, value, reason, remedy)
    return json.loads(text)


def _refuse_odd_shapes(value: object, field: str) -> None:
    """Looked at before any parser, and without recursion: depth, number and keys. What holds itself
    is too deep, and what holds the same thing again and again too long."""
    ahead: list[tuple[object, int]] = [(value, 0)]
    seen = 0
    while ahead:
        each, depth = ahead.pop()
        seen += 1
        if depth > NESTED_MAX or seen > JSON_MAX:
            reason, remedy = "is nested too deeply", f"use at most {NESTED_MAX} levels"
            raise InvalidSpecification.because(field, value, reason, remedy)
        if isinstance(each, dict):
            if not all(isinstance(key, str) for key in each):
                reason = "changes when it is stored"
                raise InvalidSpecification.because(field, value, reason, _JSON)
            ahead += [(inner, depth + 1) for inner in each.values()]
        elif isinstance(each, list | tuple):
            ahead += [(inner, depth + 1) for inner in each]


def check_text(value: object, field: str) -> str:
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


def check_key(value: object, field: str) -> str:
    """A label that no id is mistaken for, and that is not kept for schedules without a key."""
    key = check_label(value, field)
    if key != key.strip():
        raise InvalidSpecification.because(field, value, "has blanks around it", "remove them")
    if key.isdigit() or _NAMED_AFTER_ITS_ID.fullmatch(key):
        reason, remedy = "looks like an id", "use a name with a letter, or none"
        raise InvalidSpecification.because(field, value, reason, remedy)
    return key


def check_label(value: object, field: str) -> str:
    """Text on one line, and short: a name, a queue, a tag."""
    text = check_text(value, field)
    if len(text) > 200 or not text.isprintable():
        reason, remedy = "is no label", "use one line of at most 200 letters"
        raise InvalidSpecification.because(field, value, reason, remedy)
    return text
