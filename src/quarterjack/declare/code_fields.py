"""A recurrence and the keyword arguments of `app.schedule` as the fields of a schedule."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from quarterjack.errors import quote
from quarterjack.rules.definition.fields import DURATIONS
from quarterjack.rules.definition.input_checks import invalid
from quarterjack.times import Every, Recurrence, parse
from quarterjack.times.durations import duration_text
from quarterjack.times.parse import RECURRENCE_FIELDS, fields_of_text
from quarterjack.times.recurrence import read_common

_OPEN = ("timezone", "dst_gap", "dst_fold")
"""Fields that a recurrence may leave to the schedule and its defaults."""
_DATES = ("start_at", "end_at")


def recurrence_fields(when: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a recurrence, which must not contradict those of its schedule."""
    given = {name: value for name, value in fields.items() if value is not None}
    for name in RECURRENCE_FIELDS:
        if name in given:
            reason = f"is given beside the recurrence {quote(when)}"
            raise invalid(name, given[name], reason, "give one of them")
    own = _own_fields(when)
    for name in sorted(own.keys() & given.keys()):
        if _normal(name, own[name]) != _normal(name, given[name]):
            reason = f"contradicts {name} {quote(own[name])} of the recurrence"
            raise invalid(name, given[name], reason, "say it in one of the two")
    return own


def _own_fields(when: Any) -> dict[str, Any]:
    """Without what it leaves open."""
    if isinstance(when, str):
        fields = dict(fields_of_text(when))
        if "schedule" in fields:
            parse(fields)  # words are refused here, with all other problems of the program
        return fields
    if isinstance(when, Mapping):
        return with_texts(when)
    if not isinstance(when, Recurrence):
        remedy = 'use Cron("0 9 * * *"), Every("5m"), Daily("09:00") or such text'
        raise invalid("recurrence", when, "is not a recurrence", remedy)
    is_open = {name for name in _OPEN if getattr(when, name, None) is None}
    if isinstance(when, Every) and when.anchor == "slot":
        is_open.add("anchor")  # its default, which a preset may replace
    return {name: value for name, value in when.to_json().items() if name not in is_open}


def _normal(name: str, value: Any) -> Any:
    return read_common(name, value) if name in (*_OPEN, *_DATES) else value


def with_texts(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Durations may be given as `timedelta`; elsewhere they are text."""
    return {
        name: _text_of(value) if name in DURATIONS and isinstance(value, timedelta) else value
        for name, value in fields.items()
    }


def _text_of(value: timedelta) -> Any:
    """Unchanged if it is shorter than a millisecond, so that it is refused."""
    return (
        duration_text(value // timedelta(microseconds=1)) or value if value > timedelta() else value
    )
