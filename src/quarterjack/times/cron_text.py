"""Cron text: two dialects, read into fields; every problem is found before anything is refused.

`standard` is what people write today: lists, ranges, steps, names, macros, `L`, `W`, `#`, `?` and
`H`. `posix` is IEEE Std 1003.1 to the letter: numbers, lists and ranges.
"""

from __future__ import annotations

from dataclasses import replace
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
from quarterjack.times.days import DayRule
from quarterjack.times.fields import ZERO, Fields, FieldValues
from quarterjack.times.months import LENGTHS, Month, SpecialDay

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
    """The fields of an expression. Whether they are possible is judged without a key, by the last
    choice that `H` may make: no text is right under one key and wrong under another."""
    texts = _split(text, dialect, seconds)
    problems = Problems()
    values = []
    for field_text, kind in zip(texts, KINDS[-len(texts) :], strict=True):
        with problems:
            values.append(_read_field(field_text, kind, dialect, key))
    problems.found = _with_swap(problems.found, texts)
    problems.refuse_if_any()
    fields = Fields(*([ZERO, *values] if len(values) == 5 else values))
    if key is None and not _names_a_day(fields):
        raise InvalidRecurrence("", [_impossible(fields)])
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
def _read_field(text: str, kind: FieldKind, dialect: str, key: str | None) -> FieldValues:
    if text == "*" or (text == "?" and kind.special and dialect == "standard"):
        return replace(kind.whole, text=text)
    values: set[int] = set()
    special: list[SpecialDay] = []
    problems = Problems()
    for item in text.split(","):
        with problems:
            if dialect == "posix":
                values.update(read_posix_item(item, kind))
            elif kind.special and (day := kind.special(item)):
                special.append(day)
            else:
                values.update(read_item(item, kind, key))
    problems.refuse_if_any()
    if kind is WEEKDAY:
        values = {value % 7 for value in values}
    return FieldValues(text, tuple(sorted(values)), text.startswith("*"), tuple(special))


def _with_swap(problems: list[Problem], texts: list[str]) -> list[Problem]:
    """An hour beyond 23 beside a minute that could be one: they were probably swapped."""
    minute, hour, *days = texts[-5:]
    if len(problems) == 1 and problems[0].field == HOUR.name and problems[0].value == hour:
        swapped = " ".join([*texts[:-5], hour, minute, *days])
        if minute.isdecimal() and int(minute) <= HOUR.high and int(hour) <= MINUTE.high:
            return [Problem(HOUR.name, hour, problems[0].reason, f'did you mean "{swapped}"?')]
    return problems


def _names_a_day(fields: Fields) -> bool:
    if not fields.day.special and not fields.weekday.special and fields.day.values[0] <= 28:
        return True
    return _comes(fields.day_rule())


def _comes(rule: DayRule) -> bool:
    """Every month comes in every shape that its length allows, within 400 years."""
    lengths = {length for month in rule.months for length in LENGTHS[month]}
    return any(rule.numbers_in(Month(w, length)) for length in lengths for w in range(7))


def _impossible(fields: Fields) -> Problem:
    day, month, weekday = fields.day.text, fields.month.text, fields.weekday.text
    on_any_weekday = replace(fields.day_rule(), weekdays=frozenset(range(7)))
    if _comes(on_any_weekday):
        remedy = "give two that can be the same day"
        return Problem(DAY.name, day, f"never falls on day of week {weekday}", remedy)
    remedy = "give a day that the month has, or L for its last"
    return Problem(DAY.name, day, f"never comes in month {month}", remedy)
