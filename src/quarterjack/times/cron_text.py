"""Cron text: two dialects, read into fields; every problem is found before anything is refused.

`standard` is what people write today: lists, ranges, steps, names, macros, `L`, `W`, `#`, `?` and
`H`. `posix` is IEEE Std 1003.1 to the letter: numbers, lists and ranges.
"""

from __future__ import annotations

from functools import lru_cache

from quarterjack.errors import InvalidRecurrence, Problem, Problems
from quarterjack.times.cron_items import (
    DAY,
    HOUR,
    KINDS,
    MINUTE,
    WEEKDAY,
    FieldKind,
    read_item,
    read_posix_item,
)
from quarterjack.times.days import DayOfMonth, Month
from quarterjack.times.fields import ZERO, Fields, FieldValues

DIALECTS = ("standard", "posix")
MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


@lru_cache(maxsize=4096)
def read_cron(text: str, *, dialect: str, seconds: bool, key: str | None) -> Fields:
    """The fields of an expression. `H` without a key is read as if the key were empty."""
    texts = _split(text, dialect, seconds)
    key = key or "" if needs_key(text) else ""
    problems = Problems()
    values = []
    for field_text, kind in zip(texts, KINDS[-len(texts) :], strict=True):
        with problems:
            values.append(_read_field(field_text, kind, dialect, key))
    problems.found = _with_swap(problems.found, texts)
    problems.refuse_if_any()
    fields = Fields(*([ZERO, *values] if len(values) == 5 else values))
    if not _names_a_day(fields):
        raise InvalidRecurrence("", [_impossible(texts)])
    return fields


def needs_key(text: str) -> bool:
    """Does a field hold `H`?"""
    return any(item.startswith(("H", "h")) for part in text.split() for item in part.split(","))


def written_out(text: str) -> str:
    """The five or six fields, with a macro written out."""
    return MACROS.get(text.lower(), text)


def _split(text: str, dialect: str, seconds: bool) -> list[str]:
    if text.startswith("@"):
        return _macro(text, dialect).split()
    texts = text.upper().split()
    if len(texts) != 5 + seconds:
        raise InvalidRecurrence("", [_wrong_count(texts, seconds)])
    return texts


def _macro(text: str, dialect: str) -> str:
    fields = MACROS.get(text.lower())
    if dialect == "posix":
        remedy = f'write "{fields}"' if fields else "write the five fields"
        raise InvalidRecurrence.because("macro", text, "is not POSIX", remedy)
    if fields is None:
        raise InvalidRecurrence.because("macro", text, "is unknown", f"use {', '.join(MACROS)}")
    return fields


def _wrong_count(texts: list[str], seconds: bool) -> Problem:
    order = "minute hour day-of-month month day-of-week"
    wanted = f"second {order}" if seconds else order
    remedy = f'write "{wanted}"'
    if len(texts) == 6 and not seconds:
        remedy += ", or set seconds: true if the first one is the second"
    return Problem("it", f"has {len(texts)} fields", f"and needs {5 + seconds}", remedy)


@lru_cache(maxsize=4096)
def _read_field(text: str, kind: FieldKind, dialect: str, key: str) -> FieldValues:
    if text == "*" or (text == "?" and kind.is_day and dialect == "standard"):
        return kind.whole
    values: set[int] = set()
    rules: list[DayOfMonth] = []
    problems = Problems()
    for item in text.split(","):
        with problems:
            if dialect == "posix":
                values.update(read_posix_item(item, kind))
            elif kind.special and (rule := kind.special(item, kind)):
                rules.append(rule)
            else:
                values.update(read_item(item, kind, key))
    problems.refuse_if_any()
    if kind is WEEKDAY:
        values = {value % 7 for value in values}
    return FieldValues(text, tuple(sorted(values)), text.startswith("*"), tuple(rules))


def _with_swap(problems: list[Problem], texts: list[str]) -> list[Problem]:
    """An hour beyond 23 beside a minute that could be one: they were probably swapped."""
    minute, hour, *days = texts[-5:]
    if len(problems) == 1 and problems[0].field == HOUR.name and problems[0].value == hour:
        swapped = " ".join([*texts[:-5], hour, minute, *days])
        if minute.isdecimal() and int(minute) <= HOUR.high and int(hour) <= MINUTE.high:
            return [Problem(HOUR.name, hour, problems[0].reason, f'did you mean "{swapped}"?')]
    return problems


def _names_a_day(fields: Fields) -> bool:
    """Every month comes in every shape that its length allows, within 400 years."""
    if not fields.day.rules and not fields.weekday.rules and fields.day.values[0] <= 28:
        return True
    rule = fields.day_rule()
    lengths = {length for month in rule.months for length in _LENGTHS[month]}
    return any(rule.numbers_in(Month(w, length)) for length in lengths for w in range(7))


_LENGTHS = {month: (28, 29) if month == 2 else (30 + (month in (1, 3, 5, 7, 8, 10, 12)),)
            for month in range(1, 13)}  # fmt: skip


def _impossible(texts: list[str]) -> Problem:
    day, month = texts[-3], texts[-2]
    reason = f"never comes in month {month}"
    remedy = "give a day that the month has, or L for its last"
    return Problem(DAY.name, day, reason, remedy)
