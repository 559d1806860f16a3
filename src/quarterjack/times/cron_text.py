"""Parser of cron expressions in two dialects; it collects every problem before it refuses one.

`standard` is common cron: lists, ranges, steps, names, macros, `L`, `W`, `#`, `?` and `H`. `posix`
is strictly IEEE Std 1003.1: numbers, lists and ranges.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from quarterjack.errors import InvalidRecurrence, Problem, Problems
from quarterjack.times.checks import invalid
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
def read_cron(
    text: str, *, dialect: str, seconds: bool, key: str | None, both_days: bool = False
) -> Fields:
    """Parse an expression. Whether its date can occur is checked without a key, with the highest
    value that `H` may choose: validity must not depend on the key."""
    texts = _split(text, dialect, seconds)
    problems = Problems()
    values = []
    for field_text, kind in zip(texts, KINDS[-len(texts) :], strict=True):
        with problems:
            values.append(_read_field(field_text, kind, dialect, key))
    problems.found = _with_swap(problems.found, texts)
    problems.raise_if_any()
    second, minute, hour, *days = [ZERO, *values] if len(values) == 5 else values
    fields = Fields(second, minute, hour, days[0], days[1], days[2], both_days)
    if key is None and not _can_occur(fields):
        raise InvalidRecurrence("", [_impossible(fields)])
    return fields


def needs_key(text: str) -> bool:
    """Whether a field contains `H`."""
    return any(item.startswith(("H", "h")) for part in text.split() for item in part.split(","))


def expand_macro(text: str) -> str:
    return MACROS.get(text.lower(), text)


def _split(text: str, dialect: str, seconds: bool) -> list[str]:
    if text.startswith("@"):
        return _macro(text, dialect).split()
    texts = text.upper().split()
    if len(texts) != 5 + seconds:
        raise _wrong_count(text, texts, seconds)
    return texts


def _macro(text: str, dialect: str) -> str:
    fields = MACROS.get(text.lower())
    if dialect == "posix":
        remedy = f'write "{fields}"' if fields else "use the five fields"
        raise invalid("macro", text, "is not POSIX", remedy)
    if fields is None:
        raise invalid("macro", text, "is unknown", f"use {', '.join(MACROS)}")
    return fields


def _wrong_count(text: str, texts: list[str], seconds: bool) -> InvalidRecurrence:
    count = len(texts)
    if re.search(r"\s,|,\s", text):
        joined = re.sub(r"\s*,\s*", ",", text)
        return invalid("cron", text, "has a blank beside a comma", f'write "{joined}"')
    if count in (6 + seconds, 7) and re.fullmatch(r"[12][0-9]{3}([-,/*0-9]*)", texts[-1]):
        remedy = "leave it out, and set start_at and end_at"
        if count == 7 and not seconds:
            remedy += "; set seconds: true, for the first field is the second"
        return invalid("cron", text, f"has a field for the year ({texts[-1]})", remedy)
    remedy = f'use "{"second " * seconds}minute hour day-of-month month day-of-week"'
    if count == 7:
        remedy += "; there is no field for the year"
    elif count == 6 and not seconds:
        remedy += ", or set seconds: true if the first field is the second"
    reason = f"has {count} field{'s' * (count > 1)} instead of {5 + seconds}"
    return invalid("cron", text, reason, remedy)


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
    problems.raise_if_any()
    if kind is WEEKDAY:
        values = {value % 7 for value in values}
    return FieldValues(text, tuple(sorted(values)), text.startswith("*"), tuple(special))


def _with_swap(problems: list[Problem], texts: list[str]) -> list[Problem]:
    """An hour above 23 next to a minute that is a valid hour: they were probably swapped."""
    minute, hour, *days = texts[-5:]
    one = len(problems) == 1 and problems[0].field == HOUR.name and problems[0].value == hour
    if one and int(hour) != 24:
        swapped = " ".join([*texts[:-5], hour, minute, *days])
        if minute.isdecimal() and int(minute) <= HOUR.high and int(hour) <= MINUTE.high:
            return [Problem(HOUR.name, hour, problems[0].reason, f'did you mean "{swapped}"?')]
    return problems


def _can_occur(fields: Fields) -> bool:
    if not fields.day.special and not fields.weekday.special and fields.day.values[0] <= 28:
        return True
    return _matches_a_day(fields.day_rule())


def _matches_a_day(rule: DayRule) -> bool:
    """Checked for every possible month: each length with each first weekday occurs in 400 years."""
    lengths = {length for month in rule.months for length in LENGTHS[month]}
    return any(rule.numbers_in(Month(w, length)) for length in lengths for w in range(7))


def _impossible(fields: Fields) -> Problem:
    day, month, weekday = fields.day.text, fields.month.text, fields.weekday.text
    on_any_weekday = replace(fields.day_rule(), weekdays=frozenset(range(7)))
    if _matches_a_day(on_any_weekday):
        remedy = "use values that can match the same day"
        return Problem(DAY.name, day, f"never falls on day of week {weekday}", remedy)
    remedy = "use a day that the month has, or L for its last day"
    return Problem(DAY.name, day, f"never occurs in month {month}", remedy)
