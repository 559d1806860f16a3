"""Reads and checks each field of a schedule, except its recurrence and its target."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from quarterjack.errors import InvalidSpecification, Problems
from quarterjack.rules.definition.input_checks import check_json, check_label, check_text, invalid
from quarterjack.rules.policies.catch_up import CatchUpPolicy
from quarterjack.rules.policies.execution import Execution
from quarterjack.rules.policies.first_run import FirstRun
from quarterjack.rules.policies.gate import Breaker
from quarterjack.rules.policies.overlap import IfRunning
from quarterjack.rules.policies.retry import Backoff, OnExhausted
from quarterjack.rules.policies.windows import OnConstraint
from quarterjack.rules.text_enum import TextEnum
from quarterjack.times import Window
from quarterjack.times.checks import check_choice, check_integer
from quarterjack.times.durations import read_duration
from quarterjack.times.zones import zone_name

_COUNT_MAX = 1_000_000

_ZERO = re.compile(r"0+\s*(?:[a-z]+)?", re.ASCII)

Reader = Callable[[Any, str], Any]
"""Takes a value and the name of its field, for errors; returns the value to use."""


def _choice(words: type[TextEnum]) -> Reader:
    known = tuple(words)
    return lambda value, field: words(check_choice(value, known, field))


def _number(low: int, high: int, *instead: str) -> Reader:
    """A whole number, or one of the words that mean None."""

    def read(value: object, field: str) -> int | None:
        if _is_one_of(value, instead):
            return None
        if instead and not isinstance(value, int):
            remedy = f"give a whole number, or {' or '.join(instead)}"
            raise invalid(field, value, "is not a number", remedy)
        return check_integer(value, low, high, field)

    return read


def _duration_or_none(*nothing: object) -> Reader:
    """A duration, or one of the values that mean None."""
    return lambda value, field: None if _is_one_of(value, nothing) else read_duration(value, field)


def _is_one_of(value: object, those: tuple[object, ...]) -> bool:
    """Equal and of the same type: 0 is not False."""
    return any(type(value) is type(each) and value == each for each in those)


def _jitter(value: object, field: str) -> int:
    nothing = isinstance(value, str) and _ZERO.fullmatch(value)
    return 0 if nothing or _is_one_of(value, (0,)) else read_duration(value, field)


def _boolean(value: object, field: str) -> bool:
    if isinstance(value, bool):
        return value
    raise invalid(field, value, "is neither true nor false", "write true or false")


def _optional(read: Reader) -> Reader:
    return lambda value, field: None if value is None else read(value, field)


def _hours(value: object, _field: str) -> str | None:
    return None if value is None else Window(only_between=value).only_between  # type: ignore[arg-type]


def _days(value: Any, _field: str) -> tuple[Any, ...]:
    return () if _is_one_of(value, ((),)) else tuple(Window(not_on=value).not_on)


def _breaker(value: object, field: str) -> Breaker | None:
    if _is_one_of(value, (None, False, "off")):
        return None
    parts: dict[str, tuple[object, Reader]] = {
        "threshold": (3, _number(1, _COUNT_MAX)),
        "reset_after": ("30m", read_duration),
        "name": (None, _optional(check_label)),
    }
    if not isinstance(value, Mapping) or not value.keys() <= parts.keys():
        remedy = "write {threshold: 3, reset_after: 30m}, with a name to share it, or off"
        raise invalid(field, value, "is not a circuit breaker", remedy)
    problems = Problems(InvalidSpecification)
    read: dict[str, Any] = {}
    for part, (default, reader) in parts.items():
        with problems:
            read[part] = reader(value.get(part, default), f"{field}.{part}")
    problems.raise_if_any()
    return Breaker(**read)


def _payload(value: object, field: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise invalid(field, value, "is not a mapping", "give a JSON object")
    return dict(check_json(value, field))


def _tags(value: Any, field: str) -> tuple[str, ...]:
    if isinstance(value, list | tuple):
        tags = tuple(check_label(tag, field) for tag in value)
        if len(set(tags)) == len(tags):
            return tags
    remedy = "write a list of different words, such as [nightly, billing]"
    raise invalid(field, value, "is not a list of labels", remedy)


def _cached(read: Reader) -> Reader:
    """Caches the results for short values, because most schedules share them with others."""
    cached = lru_cache(maxsize=1000, typed=True)(read)

    def read_cached(value: Any, field: str) -> Any:
        kind = type(value)
        is_short = kind in _SIMPLE_TYPES or (kind is str and len(value) < _CACHED_LENGTH_MAX)
        return cached(value, field) if is_short else read(value, field)

    return read_cached


_SIMPLE_TYPES = frozenset({int, bool, type(None)})
_CACHED_LENGTH_MAX = 50

_UNCACHED_READERS: Mapping[str, Reader] = {
    "name": _optional(check_label),
    "description": _optional(check_text),
    "tags": _tags,
    "payload": _payload,
    "timezone": lambda value, _field: zone_name(value),
}
"""These values differ between schedules, or (`timezone: local`) depend on the host."""

_CACHED_READERS: Mapping[str, Reader] = {
    "only_between": _hours,
    "not_on": _days,
    "on_constraint": _choice(OnConstraint),
    "jitter": _jitter,
    "catch_up": _choice(CatchUpPolicy),
    "grace": read_duration,
    "catch_up_window": _duration_or_none(None, "none"),
    "max_catch_up_runs": _number(1, 10_000),
    "if_running": _choice(IfRunning),
    "queue_limit": _number(1, _COUNT_MAX),
    "max_retries": _number(0, _COUNT_MAX, "endless"),
    "retry_delay": _duration_or_none(None),
    "retry_backoff": _choice(Backoff),
    "slot_preempts_retry": _boolean,
    "on_exhausted": _choice(OnExhausted),
    "circuit_breaker": _breaker,
    "max_outstanding_polls": _number(0, _COUNT_MAX),
    "max_consecutive_errors": _number(0, _COUNT_MAX),
    "total_repeats": _number(0, _COUNT_MAX),
    "timeout": _duration_or_none("none"),
    "execution": _choice(Execution),
    "first_run": _choice(FirstRun),
    "delete_after_run": _boolean,
    "enabled": _boolean,
    "priority": _number(-_COUNT_MAX, _COUNT_MAX),
    "queue": check_label,
}

DURATIONS = frozenset(
    {"every", "after", "jitter", "grace", "catch_up_window", "retry_delay", "timeout"}
)
"""The fields of a definition that are durations."""

READERS: Mapping[str, Reader] = {
    **_UNCACHED_READERS,
    **{field: _cached(read) for field, read in _CACHED_READERS.items()},
}
"""Every field except those of the recurrence and the target."""
