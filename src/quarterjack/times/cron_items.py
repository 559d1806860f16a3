"""One item of cron's text, between two commas: a number, a range, a step, a name, a special day."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from quarterjack.errors import InvalidRecurrence, Problem
from quarterjack.times.days import DayOfMonth, Month
from quarterjack.times.fields import FieldValues

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


def read_item(item: str, kind: FieldKind, key: str) -> range:
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


def read_posix_item(item: str, kind: FieldKind) -> range:
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
        values = sorted({n % 7 if usual is WEEKDAY else n for n in read_item(item, usual, "")})
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
