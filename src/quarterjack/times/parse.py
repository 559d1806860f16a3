"""Any spelling of a recurrence, read: text as a person types it, or a mapping as YAML and JSON
have it, and as `to_json` writes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from datetime import datetime
from functools import partial
from typing import Any

from quarterjack.errors import InvalidRecurrence, Problems
from quarterjack.times.cron import Cron
from quarterjack.times.durations import DURATION_MAX, INTERVAL_NAMES
from quarterjack.times.every import Every
from quarterjack.times.instants import MILLISECOND, SECOND
from quarterjack.times.once import After, At
from quarterjack.times.patterns import Daily, Hourly, Monthly, Weekly
from quarterjack.times.reading import read_text, read_whole_number
from quarterjack.times.recurrence import Recurrence, WallRecurrence, read_common
from quarterjack.times.zones import zone_name

_ZONE = frozenset({"timezone", "dst_gap", "dst_fold"})
_COMMON = _ZONE | {"start_at", "end_at"}
_ANCHORED = frozenset({"created_at"})
_CRON = frozenset({"dialect", "seconds", "key"})


def parse(
    text_or_mapping: str | Mapping[str, Any],
    timezone: str = "UTC",
    now: datetime | None = None,
    key: str | None = None,
) -> Recurrence:
    """A recurrence from any spelling. What it leaves open is filled in: its zone, what it is
    anchored at (`now`), and the schedule's key, which only `H` needs."""
    if isinstance(text_or_mapping, str):
        recurrence = _from_text(text_or_mapping)
    elif isinstance(text_or_mapping, Mapping):
        recurrence = _from_mapping(text_or_mapping)
    else:
        remedy = "give text, or a mapping such as {'every': '5m'}"
        raise InvalidRecurrence.because("recurrence", text_or_mapping, "is neither", remedy)
    filled = recurrence.with_defaults(timezone=zone_name(timezone), created_at=now, key=key)
    if isinstance(filled, Cron):
        filled.fields  # noqa: B018  (H without a key is refused here, and not at its first use)
    return filled


def _from_text(text: str) -> Recurrence:
    words = read_text(text, "recurrence").split()
    only = words[0]
    if _looks_like_cron(words):
        return Cron(text)
    if re.match(r"\d{4}-\d\d-", text.strip(), re.ASCII):
        return At(text.strip())
    if len(words) == 1 and (only in INTERVAL_NAMES or only[0].isdigit() or only[0] == "P"):
        return Every(only)
    remedy = 'write cron ("0 9 * * *"), an interval ("5m", "daily") or an instant (RFC 3339)'
    raise InvalidRecurrence.because("recurrence", text, "is not understood", remedy)


def _looks_like_cron(words: list[str]) -> bool:
    """A macro, or several words of which one holds a star, or the first two are no words."""
    if words[0].startswith("@"):
        return True
    starred = any("*" in word or word == "?" for word in words)
    numeric = all(re.fullmatch(r"[-0-9,/?()Hh#]+", word) for word in words[:2])
    return len(words) > 2 and (starred or numeric)


def _from_mapping(mapping: Mapping[str, Any]) -> Recurrence:
    named = [name for name in _READERS if mapping.get(name) is not None]
    if len(named) != 1:
        found = f"has {' and '.join(named)}" if named else "names no instants"
        remedy = f"give exactly one of {', '.join(_READERS)}"
        raise InvalidRecurrence.because("recurrence", dict(mapping), found, remedy)
    (name,) = named
    read, allowed = _READERS[name]
    rest = {key: value for key, value in mapping.items() if key not in _READERS}
    _refuse_unknown(name, rest, allowed)
    return read(mapping[name], {key: value for key, value in rest.items() if value is not None})


def _refuse_unknown(name: str, rest: Mapping[str, Any], allowed: frozenset[str]) -> None:
    problems = Problems()
    for field, value in rest.items():
        if field not in allowed:
            with problems:
                known = any(field in fields for _, fields in _READERS.values())
                reason = f"does not go with {name}" if known else "is unknown"
                remedy = f"use {', '.join(sorted(allowed))}"
                raise InvalidRecurrence.because(str(field), value, reason, remedy)
    problems.refuse_if_any(f"{name} recurrence")


def _interval_seconds(value: Any, rest: dict[str, Any]) -> Recurrence:
    most = DURATION_MAX // SECOND
    seconds = read_whole_number(value, 1, most, "interval_seconds")
    return Every(seconds * (SECOND // MILLISECOND), **rest)


def _without_zone(rest: dict[str, Any]) -> dict[str, Any]:
    """A zone may stand beside any recurrence; to a single instant it changes nothing."""
    for name in _ZONE & rest.keys():
        read_common(name, rest[name])
    return {name: value for name, value in rest.items() if name not in _ZONE}


def _pattern(kind: type[WallRecurrence], value: Any, rest: dict[str, Any]) -> Recurrence:
    """A recurrence whose value is a mapping of its own fields."""
    name = kind.__name__.lower()
    remedy = f"write it as {_EXAMPLES[name]}"
    if not isinstance(value, Mapping):
        raise InvalidRecurrence.because(name, value, "is not a mapping", remedy)
    own = {each.name: each.default is MISSING for each in fields(kind) if not each.kw_only}
    problems = Problems()
    for field in value:
        if field not in own:
            with problems:
                raise InvalidRecurrence.because("field", field, "is unknown", remedy)
    for field, needed in own.items():
        if needed and field not in value:
            with problems:
                raise InvalidRecurrence.because("field", field, "is missing", remedy)
    problems.refuse_if_any(name)
    return kind(**value, **rest)


_EXAMPLES = {
    "hourly": '{"minute": 30, "second": 0}',
    "daily": '{"time": "09:00"}',
    "weekly": '{"days": ["monday"], "time": "09:00"}',
    "monthly": '{"day": 1, "time": "09:00"}',
}

_READERS: dict[str, tuple[Callable[[Any, dict[str, Any]], Recurrence], frozenset[str]]] = {
    "cron": (lambda value, rest: Cron(value, **rest), _COMMON | _CRON),
    "every": (lambda value, rest: Every(value, **rest), _COMMON | _ANCHORED | {"anchor"}),
    "interval_seconds": (_interval_seconds, _COMMON | _ANCHORED | {"anchor"}),
    "at": (lambda value, rest: At(value, **_without_zone(rest)), _ZONE),
    "after": (lambda value, rest: After(value, **_without_zone(rest)), _ZONE | _ANCHORED),
    "hourly": (partial(_pattern, Hourly), _COMMON),
    "daily": (partial(_pattern, Daily), _COMMON),
    "weekly": (partial(_pattern, Weekly), _COMMON),
    "monthly": (partial(_pattern, Monthly), _COMMON),
}
"""How the value of each naming field is read, and which fields may stand beside it."""

NAMING_FIELDS = tuple(_READERS)
"""Exactly one of these says which instants a recurrence names."""


def fields_beside(naming_field: str) -> frozenset[str]:
    """Which fields may stand beside it."""
    return _READERS[naming_field][1]
