"""Durations and intervals: `90s`, `1h30m`, `PT5M`, whole milliseconds; and `1d`, `2w`, `monthly`.

A duration is elapsed time. An interval is elapsed time too, unless it is written in days or weeks
alone, or as `daily`, `weekly`, `monthly`: then it is calendar time, which keeps the wall time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from quarterjack.times.checks import invalid
from quarterjack.times.instants import DAY, HOUR, MILLISECOND, MINUTE, SECOND

INTERVAL_MIN = 100 * MILLISECOND
DURATION_MAX = 36_525 * DAY

_UNITS = {"w": 7 * DAY, "d": DAY, "h": HOUR, "m": MINUTE, "s": SECOND, "ms": MILLISECOND}
_SHORT = re.compile("".join(rf"(?:(?P<{unit}>\d{{1,15}}){unit})?" for unit in _UNITS), re.ASCII)
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
    """From text, or from an integer number of milliseconds."""
    return _cached_interval(value, field) if type(value) is str else _interval(value, field)


def _interval(value: object, field: str) -> Interval:
    if isinstance(value, str) and value in _NAMED:
        return _NAMED[value]
    amounts = _amounts(value, field)
    total = _total(amounts, value, field)
    if total < INTERVAL_MIN:
        raise invalid(field, value, "is too short", "use at least 100ms")
    if amounts.keys() <= {"w", "d"}:
        return Interval(days=total // DAY)
    return Interval(elapsed=total)


_cached_interval = lru_cache(maxsize=1000)(_interval)
"""The same text is parsed when a schedule is created, stored and used."""


def read_duration(value: object, field: str) -> int:
    """Elapsed microseconds, more than 0; a day is 24 hours."""
    total = _total(_amounts(value, field), value, field)
    if not total:
        raise invalid(field, value, "is zero", "use at least 1ms")
    return total


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
    if isinstance(value, int) and not isinstance(value, bool):
        return {"ms": value}
    if isinstance(value, str) and len(value) <= 128:
        found = _SHORT.fullmatch(value) or _ISO.fullmatch(value)
        if found and (amounts := {unit: int(n) for unit, n in found.groupdict().items() if n}):
            return amounts
    raise invalid(field, value, "is not a valid duration", _remedy(value))


def _total(amounts: dict[str, int], value: object, field: str) -> int:
    total = sum(amount * _UNITS[unit] for unit, amount in amounts.items())
    if not 0 <= total <= DURATION_MAX:
        raise invalid(field, value, "is out of range", "use 0 to 100 years")
    return total


def _remedy(value: object) -> str:
    if isinstance(value, str) and value.isdigit() and value.isascii() and len(value) < 12:
        return f'add a unit, as in "{value}s" or "{value}ms"'
    if isinstance(value, float):
        return "use whole milliseconds, or text such as 1500ms"
    return "use units from large to small, such as 90s, 1h30m, 2w, 500ms or PT5M"
