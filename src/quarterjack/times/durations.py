"""Durations and intervals: `90s`, `5min`, `1h 30m`, `2 hours`, `PT5M`, a `timedelta`; and `1d`,
`2w`, `monthly`.

A number without a unit is refused, because people mean seconds, minutes and milliseconds by it. A
duration is elapsed time. An interval is elapsed time too, unless it is written in days or weeks
alone, or as `daily`, `weekly`, `monthly`: then it is calendar time, which keeps the wall time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

from quarterjack.times.checks import invalid
from quarterjack.times.instants import DAY, HOUR, MILLISECOND, MINUTE, SECOND

INTERVAL_MIN = 100 * MILLISECOND
DURATION_MAX = 36_525 * DAY

_UNITS = {"w": 7 * DAY, "d": DAY, "h": HOUR, "m": MINUTE, "s": SECOND, "ms": MILLISECOND}
_SPELLINGS = {
    "w": "w|wks?|weeks?",
    "d": "d|days?",
    "h": "h|hrs?|hours?",
    "m": "(?-i:m)|mins?|minutes?",  # M would be months to some
    "s": "s|secs?|seconds?",
    "ms": "ms|msecs?|millis|milliseconds?",
}
_JOINT = r"\s*(?:,\s*)?(?:and\s+)?"
_WRITTEN = re.compile(
    "".join(
        rf"(?:(?P<{unit}>\d{{1,15}})\s*(?:{spelled})(?![a-z])(?:{_JOINT}(?=\d)|\Z))?"
        for unit, spelled in _SPELLINGS.items()
    ),
    re.ASCII | re.IGNORECASE,
)
_DECIMAL = re.compile(
    rf"(\d{{1,9}}\.\d{{1,6}})\s*(?:{'|'.join(f'({each})' for each in _SPELLINGS.values())})",
    re.ASCII | re.IGNORECASE,
)
_ISO = re.compile(
    r"P(?:(?P<w>\d{1,15})W)?(?:(?P<d>\d{1,15})D)?"
    r"(?:T(?=\d)(?:(?P<h>\d{1,15})H)?(?:(?P<m>\d{1,15})M)?(?:(?P<s>\d{1,15})S)?)?",
    re.ASCII,
)


@dataclass(frozen=True)
class Interval:
    """Time between two slots: elapsed microseconds, or calendar days, or calendar months."""

    elapsed: int = 0
    days: int = 0
    months: int = 0

    @property
    def nominal(self) -> int:
        """Approximate length in microseconds: a month counts as 30 days."""
        return self.elapsed or (self.days + 30 * self.months) * DAY

    def __str__(self) -> str:
        """`read_interval` reads it back."""
        if self.months:
            return "monthly"
        if self.days:
            return f"{self.days // 7}w" if self.days % 7 == 0 else f"{self.days}d"
        return duration_text(self.elapsed)


_NAMED = {
    "hourly": Interval(elapsed=HOUR),
    "daily": Interval(days=1),
    "weekly": Interval(days=7),
    "monthly": Interval(months=1),
}


INTERVAL_NAMES = frozenset(_NAMED)


def read_interval(value: object, field: str = "every") -> Interval:
    """From text or a `timedelta`."""
    return _cached_interval(value, field) if type(value) is str else _interval(value, field)


def _interval(value: object, field: str) -> Interval:
    if isinstance(value, str) and (named := _NAMED.get(value.strip().lower())):
        return named
    if isinstance(value, timedelta):
        return Interval(elapsed=_at_least(_of_timedelta(value, field), value, field))
    amounts = _amounts(value, field)
    total = _at_least(_total(amounts, value, field), value, field)
    if amounts.keys() <= {"w", "d"}:
        return Interval(days=total // DAY)
    return Interval(elapsed=total)


def _at_least(total: int, value: object, field: str) -> int:
    if total < INTERVAL_MIN:
        raise invalid(field, value, "is too short", "use at least 100ms")
    return total


_cached_interval = lru_cache(maxsize=1000)(_interval)
"""The same text is parsed when a schedule is created, stored and used."""


def read_duration(value: object, field: str) -> int:
    """Elapsed microseconds, more than 0; a day is 24 hours."""
    if isinstance(value, timedelta):
        total = _of_timedelta(value, field)
    elif type(value) is int and value == 0:
        total = 0  # needs no unit to be refused for what it is
    else:
        total = _total(_amounts(value, field), value, field)
    if not total:
        raise invalid(field, value, "is zero", "use at least 1ms")
    return total


def looks_like_duration(text: str) -> bool:
    """Whether it is written as one, even if its length is impossible."""
    return bool(_WRITTEN.fullmatch(text) or _ISO.fullmatch(text) or _DECIMAL.fullmatch(text))


@lru_cache(maxsize=1000)
def duration_text(elapsed: int) -> str:
    """In hours and smaller units, so that it is never read as calendar time."""
    parts = []
    for unit in ("h", "m", "s", "ms"):
        amount, elapsed = divmod(elapsed, _UNITS[unit])
        if amount:
            parts.append(f"{amount}{unit}")
    return "".join(parts)


def _amounts(value: object, field: str) -> dict[str, int]:
    """The number of each unit."""
    if isinstance(value, str) and len(value) <= 128:
        text = value.strip()
        found = _WRITTEN.fullmatch(text) or _ISO.fullmatch(text)
        if found and (amounts := {unit: int(n) for unit, n in found.groupdict().items() if n}):
            return amounts
    if number := _bare_number(value):
        raise invalid(field, value, "has no unit", f'write "{number}s" or "{number}ms"')
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise invalid(field, value, "has no unit", 'write text with one, such as "1500ms"')
    raise invalid(field, value, "is not a valid duration", _remedy(value))


def _total(amounts: dict[str, int], value: object, field: str) -> int:
    return _in_range(sum(amount * _UNITS[unit] for unit, amount in amounts.items()), value, field)


def _of_timedelta(value: timedelta, field: str) -> int:
    total = value // timedelta(microseconds=1)
    if total % MILLISECOND:
        raise invalid(field, str(value), "has fractions of a millisecond", "use whole ones")
    return _in_range(total, str(value), field)


def _in_range(total: int, value: object, field: str) -> int:
    if not 0 <= total <= DURATION_MAX:
        raise invalid(field, value, "is out of range", "use 0 to 100 years")
    return total


def _bare_number(value: object) -> str:
    """The text of a whole number of usual size; empty for all else."""
    is_usual = type(value) is int and abs(value) < 10**12
    text = str(value).strip() if is_usual or isinstance(value, str) else ""
    return text if re.fullmatch(r"-?\d{1,12}", text, re.ASCII) else ""


def _remedy(value: object) -> str:
    if isinstance(value, str) and (found := _DECIMAL.fullmatch(value.strip())):
        unit = next(each for each, text in zip(_UNITS, found.groups()[1:], strict=True) if text)
        if whole := duration_text(int(float(found[1]) * _UNITS[unit])):
            return f'use whole numbers: write "{whole}"'
    return "use units from large to small, such as 90s, 1h30m, 2w, 500ms or PT5M"
