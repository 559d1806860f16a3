"""Parser of recurrences: text such as `5m`, `0 9 * * *` or `every monday at 9am`, or a mapping as
in YAML and JSON and as `to_json` writes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from quarterjack.errors import InvalidRecurrence, Problem, Problems, quote
from quarterjack.times.checks import check_integer, check_text, invalid
from quarterjack.times.cron import Cron
from quarterjack.times.durations import DURATION_MAX, INTERVAL_NAMES, looks_like_duration
from quarterjack.times.every import Every
from quarterjack.times.instants import EPOCH, SECOND
from quarterjack.times.once import After, At
from quarterjack.times.patterns import Daily, Hourly, Monthly, Pattern, Weekly
from quarterjack.times.recurrence import Recurrence, read_common
from quarterjack.times.union import Union
from quarterjack.times.zones import zone_name

_ZONE = frozenset({"timezone", "dst_gap", "dst_fold"})
_COMMON = _ZONE | {"start_at", "end_at"}
_ANCHORED = frozenset({"created_at"})
_CRON = frozenset({"dialect", "seconds", "day_rule", "key"})

_INSTANT = re.compile(r"\d{4}-\d\d-\d\d(?:[Tt]|\Z| [\d:.]+(?:[Zz]|[+-]\d\d:\d\d)\Z)", re.ASCII)
"""Anything else that begins with a date is words, in the zone of the schedule."""


def parse(
    text_or_mapping: str | Mapping[str, Any],
    timezone: str = "UTC",
    now: datetime | None = None,
    key: str | None = None,
) -> Recurrence:
    """A recurrence from text or a mapping. Fields that it leaves open are filled in: its zone, its
    anchor (`now`), and the schedule's key, which only `H` needs."""
    if isinstance(text_or_mapping, str):
        mapping: Mapping[str, Any] = fields_of_text(text_or_mapping)
    elif isinstance(text_or_mapping, Mapping):
        mapping = text_or_mapping
    else:
        reason, remedy = "is not text or a mapping", "use cron, an interval or {'every': '5m'}"
        raise invalid("recurrence", text_or_mapping, reason, remedy)
    recurrence = _from_mapping(mapping, _Context(zone_name(timezone), now))
    filled = recurrence.with_defaults(timezone=zone_name(timezone), created_at=now, key=key)
    for part in filled.parts if isinstance(filled, Union) else (filled,):
        if isinstance(part, Cron):
            part.fields  # noqa: B018  (refuses H without a key now, not at its first use)
    return filled


def fields_of_text(text: str) -> dict[str, str]:
    """The one field that says the same: `{"every": "5m"}` for `5m`; words are a `schedule`."""
    text = check_text(text, "recurrence")
    words = text.split()
    if _looks_like_cron(words):
        return {"cron": text}
    if _INSTANT.match(text):
        return {"at": text}
    is_one_number = len(words) == 1 and (text[0].isdigit() or re.match(r"P[0-9T]", text))
    if is_one_number or text.lower() in INTERVAL_NAMES or looks_like_duration(text):
        return {"every": text}
    return {"schedule": text}


def _looks_like_cron(words: list[str]) -> bool:
    """A macro, a zone in front, or several words: one with a star, or the first two without
    letters."""
    if words[0].startswith("@") or re.match(r"(CRON_)?TZ=", words[0], re.IGNORECASE):
        return True
    starred = any("*" in word or word == "?" for word in words)
    numeric = all(re.fullmatch(r"[-0-9,/?()Hh#]+", word) for word in words[:2])
    return len(words) > 2 and (starred or numeric)


class _Context(NamedTuple):
    """What words need to know to be read."""

    timezone: str
    now: datetime | None


def _from_mapping(mapping: Mapping[str, Any], context: _Context) -> Recurrence:
    named = [name for name in _READERS if mapping.get(name) is not None]
    if len(named) != 1:
        remedy = f"use exactly one of {', '.join(RECURRENCE_FIELDS)}"
        if named:
            shown = {name: mapping[name] for name in named}
            raise invalid("recurrence", shown, f"has {' and '.join(named)}", remedy)
        raise InvalidRecurrence("", [Problem("a", "recurrence", "is missing", remedy)])
    (name,) = named
    read, allowed = _READERS[name]
    rest = {key: value for key, value in mapping.items() if key not in _READERS}
    _refuse_unknown(name, rest, allowed)
    given = {key: value for key, value in rest.items() if value is not None}
    return read(mapping[name], given, context)


def _words(value: Any, rest: dict[str, Any], context: _Context) -> Recurrence:
    """Fields beside words say what the words leave open."""
    from quarterjack.times.words import parse_words

    given = zone_name(rest.pop("timezone")) if "timezone" in rest else None
    recurrence = parse_words(check_text(value, "schedule"), given or context.timezone, context.now)
    own = getattr(recurrence, "timezone", None)
    if given and own and own != given:
        reason = f"names another zone than timezone {quote(given)}"
        raise invalid("schedule", value, reason, "name the zone once")
    for name, said in rest.items():
        if name not in _ZONE and getattr(recurrence, name, "") is not None:
            raise invalid(name, said, "does not go with these words", "say it once")
    return recurrence.with_defaults(**rest)


def names_zone(name: str, value: Any) -> bool:
    """Whether the text of a recurrence field names its zone itself: `CRON_TZ=Asia/Tokyo 0 9 * * *`,
    or words that end with one."""
    try:
        zones = {_zone_in({name: value}, zone) for zone in ("UTC", "Asia/Tokyo")}
    except InvalidRecurrence:
        return False
    return len(zones) == 1 and None not in zones


def _zone_in(mapping: Mapping[str, Any], timezone: str) -> str | None:
    recurrence = _from_mapping(mapping, _Context(timezone, EPOCH))
    return getattr(recurrence.with_defaults(timezone=timezone), "timezone", None)


def _refuse_unknown(name: str, rest: Mapping[str, Any], allowed: frozenset[str]) -> None:
    problems = Problems()
    for field, value in rest.items():
        if field not in allowed:
            known = any(field in fields for _, fields in _READERS.values())
            reason = f"does not go with {name}" if known else "is unknown"
            remedy = f"use {', '.join(sorted(allowed))}"
            problems.note(invalid(str(field), value, reason, remedy))
    problems.raise_if_any(f"{name} recurrence")


def _interval_seconds(value: Any, rest: dict[str, Any], _context: _Context) -> Recurrence:
    seconds = check_integer(value, 1, DURATION_MAX // SECOND, "interval_seconds")
    return Every(f"{seconds}s", **rest)


def _without_zone(rest: dict[str, Any]) -> dict[str, Any]:
    """A zone is allowed with any recurrence; it does not affect a single instant."""
    for name in _ZONE & rest.keys():
        read_common(name, rest[name])
    return {name: value for name, value in rest.items() if name not in _ZONE}


def _pattern(
    kind: type[Pattern], value: Any, rest: dict[str, Any], _context: _Context
) -> Recurrence:
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

_Reader = Callable[[Any, dict[str, Any], _Context], Recurrence]

_READERS: dict[str, tuple[_Reader, frozenset[str]]] = {
    "cron": (lambda value, rest, _: Cron(value, **rest), _COMMON | _CRON),
    "every": (lambda value, rest, _: Every(value, **rest), _COMMON | _ANCHORED | {"anchor"}),
    "interval_seconds": (_interval_seconds, _COMMON | _ANCHORED | {"anchor"}),
    "at": (lambda value, rest, _: At(value, **_without_zone(rest)), _ZONE),
    "after": (lambda value, rest, _: After(value, **_without_zone(rest)), _ZONE | _ANCHORED),
    "hourly": (partial(_pattern, Hourly), _COMMON),
    "daily": (partial(_pattern, Daily), _COMMON),
    "weekly": (partial(_pattern, Weekly), _COMMON),
    "monthly": (partial(_pattern, Monthly), _COMMON),
    "schedule": (_words, _COMMON),
}
"""For each recurrence field: the parser of its value, and the fields allowed with it."""

RECURRENCE_FIELDS = tuple(_READERS)
"""Exactly one of these is required in a mapping."""


def fields_allowed_with(recurrence_field: str) -> frozenset[str]:
    return _READERS[recurrence_field][1]
