"""Fields: how each field of a schedule is read from what a person wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from quarterjack.errors import InvalidSpecification, Problems
from quarterjack.rules.definition.input_checks import check_json, check_label, check_text
from quarterjack.rules.policies.catch_up import CatchUpPolicy
from quarterjack.rules.policies.execution import Execution
from quarterjack.rules.policies.first_run import FirstRun
from quarterjack.rules.policies.gate import Breaker
from quarterjack.rules.policies.overlap import IfRunning
from quarterjack.rules.policies.retry import Backoff, OnExhausted
from quarterjack.rules.policies.windows import OnConstraint
from quarterjack.rules.text_enum import TextEnum
from quarterjack.times import Window
from quarterjack.times.durations import read_duration
from quarterjack.times.reading import read_whole_number, read_word
from quarterjack.times.zones import zone_name

_MANY = 1_000_000

_ZERO = re.compile(r"0+(?:w|d|h|m|s|ms)?", re.ASCII)

Reader = Callable[[Any, str], Any]
"""From a value and the name of its field."""


def _word(words: type[TextEnum]) -> Reader:
    known = tuple(words)
    return lambda value, field: words(read_word(value, known, field))


def _number(low: int, high: int, *instead: str) -> Reader:
    """A whole number, or a word that stands for none."""

    def read(value: object, field: str) -> int | None:
        if _is_one_of(value, instead):
            return None
        if instead and not isinstance(value, int):
            remedy = f"give a whole number, or {' or '.join(instead)}"
            raise InvalidSpecification.because(field, value, "is no number", remedy)
        return read_whole_number(value, low, high, field)

    return read


def _duration(value: object, field: str) -> int:
    return read_duration(value, field)


def _duration_or(*nothing: object) -> Reader:
    """A duration, or something that stands for none."""
    return lambda value, field: None if _is_one_of(value, nothing) else read_duration(value, field)


def _is_one_of(value: object, those: tuple[object, ...]) -> bool:
    """The very same kind of value: 0 is not False."""
    return any(type(value) is type(each) and value == each for each in those)


def _jitter(value: object, field: str) -> int:
    nothing = isinstance(value, str) and _ZERO.fullmatch(value)
    return 0 if nothing or _is_one_of(value, (0,)) else read_duration(value, field)


def _flag(value: object, field: str) -> bool:
    if isinstance(value, bool):
        return value
    remedy = "write true or false"
    raise InvalidSpecification.because(field, value, "is neither true nor false", remedy)


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
        "threshold": (3, _number(1, _MANY)),
        "reset_after": ("30m", _duration),
        "name": (None, _optional(check_label)),
    }
    if not isinstance(value, Mapping) or not value.keys() <= parts.keys():
        remedy = "write {threshold: 3, reset_after: 30m}, with a name to share it, or off"
        raise InvalidSpecification.because(field, value, "is no breaker", remedy)
    problems = Problems(InvalidSpecification)
    read: dict[str, Any] = {}
    for part, (default, reader) in parts.items():
        with problems:
            read[part] = reader(value.get(part, default), f"{field}.{part}")
    problems.refuse_if_any()
    return Breaker(**read)


def _payload(value: object, field: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidSpecification.because(field, value, "is no mapping", "give a JSON object")
    return dict(check_json(value, field))


def _tags(value: Any, field: str) -> tuple[str, ...]:
    if isinstance(value, list | tuple):
        tags = tuple(check_label(tag, field) for tag in value)
        if len(set(tags)) == len(tags):
            return tags
    remedy = "write a list of different words, such as [nightly, billing]"
    raise InvalidSpecification.because(field, value, "is no list of labels", remedy)


def _remembered(read: Reader) -> Reader:
    """What a short plain value was read as is kept, for most schedules say what others said."""
    kept = lru_cache(maxsize=1000, typed=True)(read)

    def remembered(value: Any, field: str) -> Any:
        is_short = type(value) in _PLAIN or (type(value) is str and len(value) < _SHORT)
        return kept(value, field) if is_short else read(value, field)

    return remembered


_PLAIN = frozenset({int, bool, type(None)})
_SHORT = 50

_OWN: Mapping[str, Reader] = {
    "name": _optional(check_label),
    "description": _optional(check_text),
    "tags": _tags,
    "payload": _payload,
    "timezone": lambda value, _field: zone_name(value),
}
"""Those that differ from schedule to schedule, or with the host."""

_SHARED: Mapping[str, Reader] = {
    "only_between": _hours,
    "not_on": _days,
    "on_constraint": _word(OnConstraint),
    "jitter": _jitter,
    "catch_up": _word(CatchUpPolicy),
    "grace": _duration,
    "catch_up_window": _duration_or(None, "none"),
    "max_catch_up_runs": _number(1, 10_000),
    "if_running": _word(IfRunning),
    "queue_limit": _number(1, _MANY),
    "max_retries": _number(0, _MANY, "endless"),
    "retry_delay": _duration_or(None),
    "retry_backoff": _word(Backoff),
    "slot_preempts_retry": _flag,
    "on_exhausted": _word(OnExhausted),
    "circuit_breaker": _breaker,
    "max_outstanding_polls": _number(0, _MANY),
    "max_consecutive_errors": _number(0, _MANY),
    "total_repeats": _number(0, _MANY),
    "timeout": _duration_or("none"),
    "execution": _word(Execution),
    "first_run": _word(FirstRun),
    "delete_after_run": _flag,
    "enabled": _flag,
    "priority": _number(-_MANY, _MANY),
    "queue": check_label,
}

READERS: Mapping[str, Reader] = {
    **_OWN,
    **{field: _remembered(read) for field, read in _SHARED.items()},
}
"""Every field beside the recurrence and the target."""
