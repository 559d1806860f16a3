"""What may be read at all: short text in one line."""

from __future__ import annotations

from quarterjack.errors import InvalidRecurrence

BYTES_MAX = 256


def readable(value: object, field: str) -> str:
    """The text, if it is one line of ASCII of at most 256 bytes; looked at before any parser."""
    if not isinstance(value, str):
        raise InvalidRecurrence.because(field, value, "is not text", "give a string")
    if len(value) > BYTES_MAX:
        reason = f"is {len(value)} characters long"
        raise InvalidRecurrence.because(field, value, reason, f"use at most {BYTES_MAX}")
    if not value.isascii():
        odd = next(letter for letter in value if not letter.isascii())
        reason = f"holds U+{ord(odd):04X}, which is not ASCII"
        raise InvalidRecurrence.because(field, value, reason, "type it with plain letters")
    if not value.strip():
        raise InvalidRecurrence.because(field, value, "is empty", "say when")
    if not value.replace("\t", " ").isprintable():
        raise InvalidRecurrence.because(field, value, "holds a control character", "remove it")
    return value
