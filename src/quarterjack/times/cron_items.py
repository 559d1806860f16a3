"""Parser of one item of a cron field: a number, a range, a step, a name, `H` or a special day."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from quarterjack.errors import InvalidRecurrence, Problem
from quarterjack.times.cached_property import cached_property
from quarterjack.times.checks import invalid
from quarterjack.times.fields import FieldValues
from quarterjack.times.months import (
    LastDay,
    LastWeekday,
    LastWorkingDay,
    NearestWorkingDay,
    NthWeekday,
    SpecialDay,
)

_MONTHS = (
    "JANUARY", "FEBRUARY", "MARCH", "APRIL", "MAY", "JUNE",
    "JULY", "AUGUST", "SEPTEMBER", "OCTOBER", "NOVEMBER", "DECEMBER",
)  # fmt: skip
_WEEKDAYS = ("SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY")
_NTH = ("", "first", "second", "third", "fourth", "fifth")
_ITEM = re.compile(r"(\*|[0-9]+|[A-Z]+)(?:-([0-9]+|[A-Z]+))?(?:/([0-9]+))?")
_HASHED = re.compile(r"H(?:\(([0-9]+)-([0-9]+)\))?(?:/([0-9]+))?")


@dataclass(frozen=True, eq=False)
class FieldKind:
    """A field's name, its numbers with their aliases, and its special days.

    `top` is the highest number that is not an alias (7 is Sunday again), `hash_top` the highest
    that `H` chooses without a range: never a day that some months lack.
    """

    name: str
    low: int
    high: int
    top: int
    hash_top: int
    names: dict[str, int] = field(default_factory=dict)
    special: Callable[[str], SpecialDay | None] | None = None
    also: str = ""

    @cached_property
    def whole(self) -> FieldValues:
        """The values of `*`."""
        return FieldValues("*", tuple(range(self.low, self.top + 1)), open=True)

    def allowed(self) -> str:
        short = list(self.names)[: self.top - self.low + 1]
        names = f" or {short[0]}-{short[-1]}" if short else ""
        return f"{self.low}-{self.high}{names}"


def _names(full: tuple[str, ...], first: int) -> dict[str, int]:
    """The first three letters of each, then the whole names."""
    short = {name[:3]: number for number, name in enumerate(full, start=first)}
    return short | {name: number for number, name in enumerate(full, start=first)}


def _special_day(item: str) -> SpecialDay | None:
    """`L`, `L-3`, `LW`, `15W`."""
    if item == "L":
        return LastDay()
    if item == "LW":
        return LastWorkingDay()
    if found := re.fullmatch(r"L-([0-9]{1,2})", item):
        back = int(found[1])
        if not 1 <= back <= 30:
            raise invalid(DAY.name, item, "is not a day", "use L-1 to L-30")
        return LastDay(back)
    if found := re.fullmatch(r"([0-9]{1,2})W", item):
        return NearestWorkingDay(_number(found[1], DAY))
    return None


def _special_weekday(item: str) -> SpecialDay | None:
    """`5L` is the last Friday, `5#3` the third."""
    found = re.fullmatch(r"([0-9]+|[A-Z]+?)(?:(L)|#([0-9]+))", item)
    if not found:
        return None
    weekday = _number(found[1], WEEKDAY) % 7
    if found[2]:
        return LastWeekday(weekday)
    nth = int(found[3])
    if not 1 <= nth <= 5:
        raise invalid(WEEKDAY.name, item, "is not a day", "use #1 to #5")
    return NthWeekday(weekday, nth)


SECOND = FieldKind("second", 0, 59, 59, 59)
MINUTE = FieldKind("minute", 0, 59, 59, 59)
HOUR = FieldKind("hour", 0, 23, 23, 23)
DAY = FieldKind("day of month", 1, 31, 31, 28, special=_special_day, also=", L, L-3, LW or 15W")
MONTH = FieldKind("month", 1, 12, 12, 12, _names(_MONTHS, 1))
WEEKDAY = FieldKind("day of week", 0, 7, 6, 6, _names(_WEEKDAYS, 0),
                    special=_special_weekday, also=", 5L or 5#3")  # fmt: skip
KINDS = (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY)
_POSIX_WEEKDAY = FieldKind("day of week", 0, 6, 6, 6)


def read_item(item: str, kind: FieldKind, key: str | None) -> range:
    """The numbers of an item that is not a special day. Without a key `H` is its highest value."""
    if item.isdecimal():
        number = _number(item, kind)
        return range(number, number + 1)
    if found := _HASHED.fullmatch(item):
        return _hashed(item, kind, key, found)
    found = _ITEM.fullmatch(item)
    if found is None:
        raise _invalid(item, kind)
    first, last, step_text = found.groups()
    if kind is DAY and first.startswith("L"):
        raise _invalid(item, kind)
    step = _step(step_text, item, kind)
    if first == "*":
        if last is not None:
            raise _invalid(item, kind)
        low, high = kind.low, kind.top
    else:
        low = _number(first, kind)
        high = _number(last, kind) if last else (kind.high if step_text else low)
        if last and kind is WEEKDAY and last.startswith("SUN"):
            high = kind.high if low else 0  # FRI-SUN ends with the week
    if low > high:
        raise _reversed(item, low, high, step, kind)
    return range(low, high + 1, step)


def read_posix_item(item: str, kind: FieldKind) -> range:
    """A number or a range."""
    kind = _POSIX_WEEKDAY if kind is WEEKDAY else kind
    first, dash, last = item.partition("-")
    if first.isdecimal() and (last.isdecimal() or not dash):
        low = _number(first, kind)
        high = _number(last, kind) if dash else low
        if low > high:
            raise _reversed(item, low, high, 1, kind)
        return range(low, high + 1)
    raise invalid(kind.name, item, "is not POSIX", _posix_remedy(item, kind))


def _posix_remedy(item: str, kind: FieldKind) -> str:
    """The equivalent in plain numbers, if the standard dialect accepts the item."""
    standard = next(each for each in KINDS if each.name == kind.name)
    try:
        numbers = read_item(item, standard, None)
        values = sorted({n % 7 if standard is WEEKDAY else n for n in numbers})
    except InvalidRecurrence:
        values = []
    if values and not item.startswith("H"):
        return f'write "{_joined(values)}"'
    return f"use numbers {kind.low}-{kind.high}, ranges and lists"


def _hashed(item: str, kind: FieldKind, key: str | None, found: re.Match[str]) -> range:
    low_text, high_text, step_text = found.groups()
    low = _number(low_text, kind) if low_text else kind.low
    high = _number(high_text, kind) if high_text else kind.hash_top
    if low > high:
        remedy = f'ranges do not wrap: use "H({low}-{kind.top})" or "H({kind.low}-{high})"'
        raise invalid(kind.name, item, "starts after it ends", remedy)
    step = _step(step_text, item, kind)
    if not step_text:
        chosen = low + _hash(key, kind) % (high - low + 1)
        return range(chosen, chosen + 1)
    return range(low + _hash(key, kind) % min(step, high - low + 1), high + 1, step)


def _hash(key: str | None, kind: FieldKind) -> int:
    """Stable over machines and versions, and different for each field."""
    if key is None:
        return -1
    from hashlib import blake2b

    named = f"{kind.name}:{key}".encode(errors="surrogatepass")
    return int.from_bytes(blake2b(named, digest_size=8).digest(), "big")


def _number(text: str, kind: FieldKind) -> int:
    if text in kind.names:
        return kind.names[text]
    if not text.isdecimal():
        raise _invalid(text, kind)
    number = int(text)
    if not kind.low <= number <= kind.high:
        remedy = f"use {kind.allowed()}"
        if kind is HOUR and number == 24:
            remedy = 'midnight is hour 0, as in "0 0 * * *"'
        # Not `because`, which would quote the number as text.
        problem = Problem(kind.name, text, f"is outside {kind.low}-{kind.high}", remedy)
        raise InvalidRecurrence("", [problem])
    return number


def _step(text: str | None, item: str, kind: FieldKind) -> int:
    step = int(text or 1)
    if step == 0:
        raise invalid(kind.name, item, "has a step of 0", "use 1 or more")
    return step


def _invalid(item: str, kind: FieldKind) -> InvalidRecurrence:
    if not item:
        return invalid(kind.name, item, "is an empty item", "remove the extra comma")
    if item.startswith("L") and "/" in item and kind is DAY:
        return invalid(kind.name, item, "has a step, which L cannot have", "use L, L-3 or LW")
    near = item if item.isalpha() else ""
    near = next((name for name in kind.names if near.startswith(name)), "")
    remedy = f'did you mean "{near}"?' if near else f"use {kind.allowed()}{kind.also}"
    return invalid(kind.name, item, "is invalid", _meant_weekday(item, kind) or remedy)


def _meant_weekday(item: str, kind: FieldKind) -> str | None:
    """The remedy for what other programs write for a weekday of the month."""
    found = re.fullmatch(r"([A-Z]+|[0-7])(?:#(L|LAST|-1)|[%#]([1-5]))", item)
    if kind is not WEEKDAY or not found or not (found[1].isdecimal() or found[1] in kind.names):
        return None
    day = _WEEKDAYS[_number(found[1], kind) % 7].title()
    if found[2]:
        return f'write "{found[1]}L" for the last {day}'
    return f'write "{found[1]}#{found[3]}" for the {_NTH[int(found[3])]} {day}'


def _reversed(item: str, low: int, high: int, step: int, kind: FieldKind) -> InvalidRecurrence:
    size = kind.top - kind.low + 1
    if step > 1:
        wrapped = range(low, high + size + 1, step)
        unwrapped = _joined(sorted({(n - kind.low) % size + kind.low for n in wrapped}))
    elif kind is WEEKDAY and low == kind.high:
        unwrapped = f"0-{high}" if high else "0"
    elif kind is WEEKDAY and high == 0:
        unwrapped = f"{low}-7"
    else:
        tail = f"{kind.low}-{high}" if high > kind.low else str(high)
        unwrapped = f"{low}-{kind.top},{tail}" if low < kind.top else f"{low},{tail}"
    remedy = f'ranges do not wrap: write "{unwrapped}"'
    return invalid(kind.name, item, "starts after it ends", remedy)


def _joined(values: list[int]) -> str:
    return ",".join(str(value) for value in values)
