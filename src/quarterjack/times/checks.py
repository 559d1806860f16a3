"""Checks of input values: short ASCII text, integers within a range, words from a list."""

from __future__ import annotations

from quarterjack.errors import InvalidRecurrence

LENGTH_MAX = 256

invalid = InvalidRecurrence.because
"""The error for one field: its name, its value, the reason and a remedy."""


def check_text(value: object, field: str) -> str:
    """One line of at most 256 ASCII characters, without blanks and line ends around it; checked
    before any parser sees the text."""
    if not isinstance(value, str):
        raise invalid(field, value, "is not text", "use a string")
    given, value = value, value.strip()
    if len(value) > LENGTH_MAX:
        raise invalid(field, value, f"is {len(value)} characters long", f"use at most {LENGTH_MAX}")
    if not value.isascii():
        other = next(letter for letter in value if not letter.isascii())
        reason = f"contains U+{ord(other):04X}, which is not ASCII"
        raise invalid(field, value, reason, "use ASCII characters only")
    if not value:
        raise invalid(field, given, "is empty", 'write cron such as "0 9 * * *"')
    if not value.replace("\t", " ").isprintable():
        raise invalid(field, value, "contains a control character", "remove it")
    return value


def check_integer(value: object, low: int, high: int, field: str) -> int:
    """An integer from low to high; True and False are refused."""
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if is_integer and low <= value <= high:  # type: ignore[operator]
        return value  # type: ignore[return-value]
    reason = f"is outside {low}-{high}" if is_integer else "is not a whole number"
    raise invalid(field, value, reason, f"use a whole number from {low} to {high}")


def check_choice(value: object, choices: tuple[str, ...], field: str) -> str:
    if isinstance(value, str) and value in choices:
        return value
    raise invalid(field, value, "is unknown", f"use {' or '.join(choices)}")
