"""Cron text: two dialects, read into fields; every problem is found before anything is refused.

`standard` is what people write today: lists, ranges, steps, names, macros, `L`, `W`, `#`, `?` and
`H`. `posix` is IEEE Std 1003.1 to the letter: numbers, lists and ranges.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from quarterjack.errors import InvalidRecurrence, Problem, Problems, shown
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

_MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
_WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
_ITEM = re.compile(r"(\*|[0-9]+|[A-Z]+)(?:-([0-9]+|[A-Z]+))?(?:/([0-9]+))?")
_HASHED = re.compile(r"H(?:\(([0-9]+)-([0-9]+)\))?(?:/([0-9]+))?")


@dataclass(frozen=True, eq=False)
class FieldKind:
    """A field's name, its numbers, the names that may stand for them, and what it takes besides."""

    name: str
    low: int
    high: int
    names: dict[str, int] = field(default_factory=dict)
    special: Callable[[str, FieldKind], DayOfMonth | None] | None = None

    @cached_property
    def whole(self) -> FieldValues:
        """What `*` names; Sunday is there once."""
        return FieldValues("*", tuple(range(self.low, self.top + 1)), open=True)

    @property
    def is_day(self) -> bool:
        return self.special is not None

    @property
    def top(self) -> int:
        """The highest number that is not a second name for another."""
        return 6 if self.name == "day of week" else self.high

    @property
    def hash_top(self) -> int:
        """`H` never picks a day that some months lack."""
        return 28 if self.name == "day of month" else self.top

    def span(self) -> str:
        names = f" or {next(iter(self.names))}-{list(self.names)[-1]}" if self.names else ""
        return f"{self.low}-{self.high}{names}"


def _special_day(item: str, kind: FieldKind) -> DayOfMonth | None:
    """`L`, `L-3`, `LW`, `15W`."""
    if item == "L":
        return lambda month: month.length
    if item == "LW":
        return lambda month: month.nearest_working_day(month.length)
    if found := re.fullmatch(r"L-([0-9]{1,2})", item):
        back = int(found[1])
        if not 1 <= back <= 30:
            raise InvalidRecurrence.because(kind.name, item, "is no day", "use L-1 to L-30")
        return lambda month: month.length - back
    if found := re.fullmatch(r"([0-9]{1,2})W", item):
        number = _number(found[1], kind)
        return lambda month: _working_day(month, number)
    return None


def _working_day(month: Month, number: int) -> int:
    return month.nearest_working_day(number) if number <= month.length else 0


def _special_weekday(item: str, kind: FieldKind) -> DayOfMonth | None:
    """`5L` is the last Friday, `5#3` the third."""
    found = re.fullmatch(r"([0-9]+|[A-Z]{3})(?:(L)|#([0-9]+))", item)
    if not found:
        return None
    weekday = _number(found[1], kind) % 7
    if found[2]:
        return lambda month: month.last_weekday(weekday)
    nth = int(found[3])
    if not 1 <= nth <= 5:
        raise InvalidRecurrence.because(kind.name, item, "is no day", "use #1 to #5")
    return lambda month: month.nth_weekday(weekday, nth)


SECOND = FieldKind("second", 0, 59)
MINUTE = FieldKind("minute", 0, 59)
HOUR = FieldKind("hour", 0, 23)
DAY = FieldKind("day of month", 1, 31, special=_special_day)
MONTH = FieldKind("month", 1, 12, {name: n for n, name in enumerate(_MONTHS, start=1)})
WEEKDAY = FieldKind("day of week", 0, 7, {name: n for n, name in enumerate(_WEEKDAYS)},
                    special=_special_weekday)  # fmt: skip
KINDS = (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY)
_POSIX_WEEKDAY = FieldKind("day of week", 0, 6)


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
    if dialect == "posix":
        problem = _not_posix(text)
        if problem:
            raise InvalidRecurrence("", [problem])
    elif text.startswith("@") and text.lower() not in MACROS:
        raise InvalidRecurrence.because("macro", text, "is unknown", f"use {', '.join(MACROS)}")
    if text.lower() in MACROS:
        return MACROS[text.lower()].split()
    texts = text.upper().split()
    if len(texts) != 5 + seconds:
        raise InvalidRecurrence("", [_wrong_count(texts, seconds)])
    return texts


def _not_posix(text: str) -> Problem | None:
    if text.startswith("@"):
        written_out = MACROS.get(text.lower())
        remedy = f'write "{written_out}"' if written_out else "write the five fields"
        return Problem("macro", shown(text), "is not POSIX", remedy)
    return None


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
                values.update(_posix_item(item, kind))
            elif kind.special and (rule := kind.special(item, kind)):
                rules.append(rule)
            else:
                values.update(_item(item, kind, key))
    problems.refuse_if_any()
    if kind is WEEKDAY:
        values = {value % 7 for value in values}
    return FieldValues(text, tuple(sorted(values)), text.startswith("*"), tuple(rules))


def _item(item: str, kind: FieldKind, key: str) -> range:
    if item.isdecimal():
        number = _number(item, kind)
        return range(number, number + 1)
    if found := _HASHED.fullmatch(item):
        return _hashed(item, kind, key, found)
    found = _ITEM.fullmatch(item)
    if found is None:
        raise _not_understood(item, kind)
    first, last, step = found.groups()
    if first == "*":
        if last is not None:
            raise _not_understood(item, kind)
        low, high = kind.low, kind.top
    else:
        low = _number(first, kind)
        high = _number(last, kind) if last else (kind.high if step else low)
    if low > high:
        raise _backwards(item, low, high, kind)
    return range(low, high + 1, _step(step, item, kind))


def _posix_item(item: str, kind: FieldKind) -> range:
    kind = _POSIX_WEEKDAY if kind is WEEKDAY else kind
    first, dash, last = item.partition("-")
    if first.isdecimal() and (last.isdecimal() or not dash):
        low = _number(first, kind)
        high = _number(last, kind) if dash else low
        if low > high:
            raise _backwards(item, low, high, kind)
        return range(low, high + 1)
    raise InvalidRecurrence.because(kind.name, item, "is not POSIX", _posix_remedy(item, kind))


def _posix_remedy(item: str, kind: FieldKind) -> str:
    """The same in plain numbers, where the standard dialect can read it."""
    usual = next(usual for usual in KINDS if usual.name == kind.name)
    try:
        values = sorted({n % 7 if usual is WEEKDAY else n for n in _item(item, usual, "")})
    except InvalidRecurrence:
        values = []
    if values and not item.startswith("H"):
        return f'write "{",".join(str(value) for value in values)}"'
    return f"use numbers {kind.low}-{kind.high}, ranges and lists"


def _hashed(item: str, kind: FieldKind, key: str, found: re.Match[str]) -> range:
    low_text, high_text, step_text = found.groups()
    low = _number(low_text, kind) if low_text else kind.low
    high = _number(high_text, kind) if high_text else kind.hash_top
    if low > high:
        raise _backwards(item, low, high, kind)
    step = _step(step_text, item, kind)
    if not step_text:
        chosen = low + _hash(key, kind) % (high - low + 1)
        return range(chosen, chosen + 1)
    return range(low + _hash(key, kind) % min(step, high - low + 1), high + 1, step)


def _hash(key: str, kind: FieldKind) -> int:
    """The same on every machine and in every version; each field has its own."""
    from hashlib import blake2b

    return int.from_bytes(blake2b(f"{kind.name}:{key}".encode(), digest_size=8).digest(), "big")


def _number(text: str, kind: FieldKind) -> int:
    if text in kind.names:
        return kind.names[text]
    if not text.isdecimal():
        raise _not_understood(text, kind)
    number = int(text)
    if not kind.low <= number <= kind.high:
        remedy = f"use {kind.span()}"
        problem = Problem(kind.name, text, f"is outside {kind.low}-{kind.high}", remedy)
        raise InvalidRecurrence("", [problem])
    return number


def _step(text: str | None, item: str, kind: FieldKind) -> int:
    step = int(text or 1)
    if step == 0:
        raise InvalidRecurrence.because(kind.name, item, "has a step of 0", "step by 1 or more")
    return step


def _not_understood(item: str, kind: FieldKind) -> InvalidRecurrence:
    if not item:
        reason, remedy = "is an empty item", "remove the comma that is too many"
        return InvalidRecurrence.because(kind.name, item, reason, remedy)
    more = {
        "day of month": ", L, L-3, LW or 15W",
        "day of week": ", 5L or 5#3",
    }.get(kind.name, "")
    near = next((name for name in kind.names if item.startswith(name)), None)
    remedy = f'did you mean "{near}"?' if near else f"use {kind.span()}{more}"
    return InvalidRecurrence.because(kind.name, item, "is not understood", remedy)


def _backwards(item: str, low: int, high: int, kind: FieldKind) -> InvalidRecurrence:
    if kind is WEEKDAY and high == 0:
        remedy = f'write "{low}-7"'
    else:
        remedy = f'ranges do not wrap: write "{low}-{kind.top},{kind.low}-{high}"'
    return InvalidRecurrence.because(kind.name, item, "runs backwards", remedy)


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
