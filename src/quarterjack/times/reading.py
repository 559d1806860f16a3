"""What every reader checks first: short text, whole numbers, words from a list."""

from __future__ import annotations

from quarterjack.errors import InvalidRecurrence

BYTES_MAX = 256


def read_text(value: object, field: str) -> str:
    """One line of ASCII of at most 256 bytes; looked at before any parser."""
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


def read_whole_number(value: object, low: int, high: int, field: str) -> int:
    """An integer from low to high; True and False are none."""
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return value
    remedy = f"give a whole number from {low} to {high}"
    raise InvalidRecurrence.because(field, value, f"is outside {low}-{high}", remedy)


def read_word(value: object, words: tuple[str, ...], field: str) -> str:
    """One of the words."""
    if isinstance(value, str) and value in words:
        return value
    raise InvalidRecurrence.because(field, value, "is unknown", f"write {' or '.join(words)}")
