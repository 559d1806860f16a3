"""Parser of recurrences: text such as `5m` or `0 9 * * *`, or a mapping as in YAML and JSON and as
`to_json` writes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from quarterjack.errors import Problems
from quarterjack.times.checks import check_integer, check_text, invalid
from quarterjack.times.cron import Cron
from quarterjack.times.durations import DURATION_MAX, INTERVAL_NAMES
from quarterjack.times.every import Every
from quarterjack.times.instants import MILLISECOND, SECOND
from quarterjack.times.once import After, At
from quarterjack.times.patterns import Daily, Hourly, Monthly, Pattern, Weekly
from quarterjack.times.recurrence import Recurrence, read_common
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
    """A recurrence from text or a mapping. Fields that it leaves open are filled in: its zone, its
    anchor (`now`), and the schedule's key, which only `H` needs."""
    if isinstance(text_or_mapping, str):
        recurrence = _from_mapping(fields_of_text(text_or_mapping))
    elif isinstance(text_or_mapping, Mapping):
        recurrence = _from_mapping(text_or_mapping)
    else:
        reason, remedy = "is not text or a mapping", "use cron, an interval or {'every': '5m'}"
        raise invalid("recurrence", text_or_mapping, reason, remedy)
    filled = recurrence.with_defaults(timezone=zone_name(timezone), created_at=now, key=key)
    if isinstance(filled, Cron):
        filled.fields  # noqa: B018  (refuses H without a key now, not at its first use)
    return filled


def fields_of_text(text: str) -> dict[str, str]:
    """The one field that says the same: `{"every": "5m"}` for `5m`."""
    words = check_text(text, "recurrence").split()
    if _looks_like_cron(words):
        return {"cron": text}
    if re.match(r"\d{4}-\d\d-", text.strip(), re.ASCII):
        return {"at": text.strip()}
    first = words[0]
    if len(words) == 1 and (first in INTERVAL_NAMES or first[0].isdigit() or first[0] == "P"):
        return {"every": first}
    remedy = 'use cron ("0 9 * * *"), an interval ("5m", "daily") or an instant (RFC 3339)'
    raise invalid("recurrence", text, "is invalid", remedy)


def _looks_like_cron(words: list[str]) -> bool:
    """A macro, or several words: one with a star, or the first two without letters."""
    if words[0].startswith("@"):
        return True
    starred = any("*" in word or word == "?" for word in words)
    numeric = all(re.fullmatch(r"[-0-9,/?()Hh#]+", word) for word in words[:2])
    return len(words) > 2 and (starred or numeric)


def _from_mapping(mapping: Mapping[str, Any]) -> Recurrence:
    named = [name for name in _READERS if mapping.get(name) is not None]
    if len(named) != 1:
        reason = f"has {' and '.join(named)}" if named else "has no recurrence field"
        remedy = f"use exactly one of {', '.join(_READERS)}"
        raise invalid("recurrence", dict(mapping), reason, remedy)
    (name,) = named
    read, allowed = _READERS[name]
    rest = {key: value for key, value in mapping.items() if key not in _READERS}
    _refuse_unknown(name, rest, allowed)
    return read(mapping[name], {key: value for key, value in rest.items() if value is not None})


def _refuse_unknown(name: str, rest: Mapping[str, Any], allowed: frozenset[str]) -> None:
    problems = Problems()
    for field, value in rest.items():
        if field not in allowed:
            known = any(field in fields for _, fields in _READERS.values())
            reason = f"does not go with {name}" if known else "is unknown"
            remedy = f"use {', '.join(sorted(allowed))}"
            problems.note(invalid(str(field), value, reason, remedy))
    problems.raise_if_any(f"{name} recurrence")


def _interval_seconds(value: Any, rest: dict[str, Any]) -> Recurrence:
    seconds = check_integer(value, 1, DURATION_MAX // SECOND, "interval_seconds")
    return Every(seconds * (SECOND // MILLISECOND), **rest)


def _without_zone(rest: dict[str, Any]) -> dict[str, Any]:
    """A zone is allowed with any recurrence; it does not affect a single instant."""
    for name in _ZONE & rest.keys():
        read_common(name, rest[name])
    return {name: value for name, value in rest.items() if name not in _ZONE}


def _pattern(kind: type[Pattern], value: Any, rest: dict[str, Any]) -> Recurrence:
    """A recurrence whose value is a mapping of its own fields."""
    name = kind.name
    remedy = f"write it as {_EXAMPLES[name]}"
    if not isinstance(value, Mapping):
        raise invalid(name, value, "is not a mapping", remedy)
    own = kind.own_fields()
    problems = Problems()
    for field in value:
        if field not in own:
            problems.note(invalid("field", field, "is unknown", remedy))
    for field, is_required in own.items():
        if is_required and field not in value:
            problems.note(invalid("field", field, "is missing", remedy))
    problems.raise_if_any(name)
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
"""For each recurrence field: the parser of its value, and the fields allowed with it."""

RECURRENCE_FIELDS = tuple(_READERS)
"""Exactly one of these is required in a mapping."""


def fields_allowed_with(recurrence_field: str) -> frozenset[str]:
    return _READERS[recurrence_field][1]
