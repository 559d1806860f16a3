"""From what a person wrote to a specification, or to every problem at once.

Each field is looked up in layers: the general defaults, the preset, the service's own defaults, and
the schedule itself. `fields` reads each one, `combinations` says what does not go together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from quarterjack.errors import Invalid, InvalidSpecification, Problems, quote
from quarterjack.rules.definition.combinations import COMBINATIONS, check_window, possible_first_run
from quarterjack.rules.definition.fields import DURATIONS, READERS
from quarterjack.rules.definition.input_checks import invalid
from quarterjack.rules.definition.presets import GENERAL, defaults_of, read_preset
from quarterjack.rules.definition.specification import Specification
from quarterjack.rules.definition.target import Target, TargetKinds
from quarterjack.rules.policies.catch_up import CatchUp
from quarterjack.rules.policies.overlap import Overlap
from quarterjack.rules.policies.retry import Retry, default_delay
from quarterjack.rules.policies.service_limits import Limits
from quarterjack.times import After, At, Every, Recurrence, Window, parse
from quarterjack.times.checks import check_integer
from quarterjack.times.durations import DURATION_MAX
from quarterjack.times.instants import SECOND, to_datetime
from quarterjack.times.parse import RECURRENCE_FIELDS, fields_allowed_with
from quarterjack.times.zones import zone_name

_SECONDS_MAX = DURATION_MAX // SECOND
ALIASES = {
    "trigger_payload": "payload",
    "timeout_seconds": "timeout",
    "repeat_count": "total_repeats",
    "retry_max": "max_retries",
}
WHEN = frozenset(RECURRENCE_FIELDS).union(*map(fields_allowed_with, RECURRENCE_FIELDS)) - {"key"}
_FIELDS = frozenset(READERS) | WHEN | {"preset"}
"""Beside those of the target."""
_NO_DEFAULTS = frozenset(RECURRENCE_FIELDS) | {"preset", "created_at"}


def read_specification(
    mapping: Mapping[str, Any],
    *,
    kinds: TargetKinds,
    key: str,
    now: int | None,
    preset: str | None = None,
    defaults: Mapping[str, Any] | None = None,
    limits: Limits = Limits(),  # noqa: B008
) -> Specification:
    """The specification of the schedule with this key. `preset`, `defaults` and `limits` are the
    service's. With `now` it is checked as a new one; None is for one that was accepted before."""
    problems = Problems(InvalidSpecification)
    own = _spelled_out(mapping, kinds, problems)
    target: Target | None = None
    layer: Mapping[str, Any] = {}
    with problems:
        target = kinds.read(own)
    own_preset = service_preset = None
    with problems:
        own_preset = read_preset(own.get("preset"))
        chosen = own_preset or (target and target.preset)
        service_preset = None if chosen else read_preset(preset)
        layer = defaults_of(chosen or service_preset, limits, is_of_service=chosen is None)
    values = {**GENERAL, **layer, **_defaults(defaults or {}, kinds, problems), **own}
    recurrence: Recurrence | None = None
    if not _is_misspelt(problems):
        with problems:
            recurrence = _read_recurrence(own, values, key, now)
            values["timezone"] = _zone_of(recurrence, own) or values["timezone"]
    read: dict[str, Any] = {"own_preset": own_preset, "service_preset": service_preset}
    read |= _read_fields(values, problems)
    if recurrence is not None and target is not None and read.keys() >= READERS.keys():
        specification = _composed(recurrence, target, read)
        _check_combinations(specification, own, now, problems)
        if not problems.found:
            return specification
    raise InvalidSpecification(f"schedule {quote(key)}", dict.fromkeys(problems.found))


def _read_fields(values: Mapping[str, Any], problems: Problems) -> dict[str, Any]:
    read = {}
    for field, reader in READERS.items():
        try:
            read[field] = reader(values.get(field), field)
        except Invalid as error:
            problems.note(error)
    return read


def with_units(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Stored fields with their durations as text: earlier versions took whole milliseconds."""
    numbers = {name: f"{fields[name]}ms" for name in DURATIONS if _is_count(fields.get(name))}
    return {**fields, **numbers} if numbers else fields


def _is_count(value: object) -> bool:
    return type(value) is int and value > 0


def _check_combinations(
    specification: Specification, own: Mapping[str, Any], now: int | None, problems: Problems
) -> None:
    for check in COMBINATIONS:
        with problems:
            check(specification, own)
    if now is not None:
        with problems:
            check_window(specification)


def _defaults(mapping: object, kinds: TargetKinds, problems: Problems) -> Mapping[str, Any]:
    for field in mapping if isinstance(mapping, dict) else ():
        if field in _NO_DEFAULTS or field in kinds.fields:
            reason, remedy = "belongs to each schedule", "write it there"
            name, value = f"defaults.{field}", mapping[field]  # type: ignore[index]
            problems.note(invalid(name, value, reason, remedy))
    return _spelled_out(mapping, kinds, problems, "defaults")


def _spelled_out(
    mapping: object, kinds: TargetKinds, problems: Problems, what: str = "schedule"
) -> dict[str, Any]:
    """The fields under their own names, without those that are null."""
    fields: dict[str, Any] = {}
    if not isinstance(mapping, Mapping):
        remedy = "write fields and values"
        problems.note(invalid(what, mapping, "is not a mapping", remedy))
        return fields
    for spelled, value in mapping.items():
        field = ALIASES.get(spelled, spelled) if isinstance(spelled, str) else spelled
        try:
            _check_name(field, spelled, value, kinds, fields)
            if value is not None:
                fields[field] = _in_seconds(value) if spelled == "timeout_seconds" else value
        except Invalid as error:
            problems.note(error)
    return fields


def _check_name(
    field: Any, spelled: Any, value: object, kinds: TargetKinds, fields: Mapping[str, Any]
) -> None:
    known = _FIELDS | kinds.fields
    if field not in known:
        near = get_close_matches(str(field), sorted(known), n=1)
        remedy = f"did you mean {near[0]}?" if near else "see docs/policies.md for the fields"
        raise invalid(str(field), value, "is an unknown field", remedy)
    if field in fields:
        other = next(alias for alias, name in ALIASES.items() if name == field)
        reason = f"means the same as {field if spelled == other else other}"
        raise invalid(spelled, value, reason, "give one of them")


def _in_seconds(value: object) -> str:
    return f"{check_integer(value, 1, _SECONDS_MAX, 'timeout_seconds')}s"


def _read_recurrence(
    own: Mapping[str, Any], values: Mapping[str, Any], key: str, now: int | None
) -> Recurrence:
    """The schedule's own fields must fit its kind of recurrence; defaults that do not are left
    out."""
    named = [name for name in RECURRENCE_FIELDS if name in own]
    fitting = fields_allowed_with(named[0]) if named else frozenset()
    wanted = (WHEN & own.keys()) | (fitting - {"timezone"})
    fields = {name: value for name, value in values.items() if name in wanted}
    zone = zone_name(values["timezone"])
    if "schedule" in fields:  # words may be relative to now
        anchor = None if now is None else to_datetime(now)
        recurrence = parse(fields, timezone=zone, now=anchor, key=key)
        return _of_schedule(recurrence, values.get("anchor", "slot"))
    if "h" in str(fields.get("cron", "")).lower():  # an H needs the key
        return parse(fields, timezone=zone, key=key)
    if not all(type(value) is str for value in fields.values()):
        return parse(fields, timezone=zone)
    return _cached_recurrence(zone, **fields)


def _is_misspelt(problems: Problems) -> bool:
    """Whether an unknown field is meant to be that of the recurrence, which is then not missing."""
    meant = {f"did you mean {name}?" for name in RECURRENCE_FIELDS}
    return any(problem.remedy in meant for problem in problems.found)


def _zone_of(recurrence: Recurrence, own: Mapping[str, Any]) -> str | None:
    """The zone that the text of the recurrence names, which is then that of the schedule."""
    return None if "timezone" in own else getattr(recurrence, "timezone", None)


def _of_schedule(recurrence: Recurrence, anchor: str) -> Recurrence:
    """What words say, counted as a schedule counts: from its own anchor."""
    if isinstance(recurrence, After):
        return replace(recurrence, created_at=None)
    if isinstance(recurrence, Every):
        anchor = anchor if recurrence.anchor == "slot" else recurrence.anchor
        return replace(recurrence, created_at=None, anchor=anchor)
    return recurrence


@lru_cache(maxsize=10_000)
def _cached_recurrence(zone: str, **fields: str) -> Recurrence:
    """Schedules with the same fields share a recurrence, and the slots it has computed."""
    return parse(fields, timezone=zone)


def _composed(recurrence: Recurrence, target: Target, read: Mapping[str, Any]) -> Specification:
    """The policies from their fields."""
    window: Window | None = None
    if read["only_between"] is not None or read["not_on"]:
        window = Window(read["only_between"], read["not_on"], read["timezone"])
    return Specification(
        recurrence=recurrence,
        target=target,
        window=window,
        jitter=read["jitter"],
        catch_up=CatchUp(
            read["catch_up"], read["grace"], read["catch_up_window"], read["max_catch_up_runs"]
        ),
        overlap=Overlap(read["if_running"], read["queue_limit"]),
        retry=Retry(
            retries_max=read["max_retries"],
            delay=read["retry_delay"] or default_delay(recurrence),
            backoff=read["retry_backoff"],
            preempted_by_slot=read["slot_preempts_retry"],
            on_exhausted=read["on_exhausted"],
            is_delay_given=read["retry_delay"] is not None,
        ),
        breaker=read["circuit_breaker"],
        total_repeats=0 if isinstance(recurrence, At | After) else read["total_repeats"],
        max_outstanding_polls=read["max_outstanding_polls"] if target.is_poll else 0,
        first_run=possible_first_run(read["first_run"], recurrence),
        **{field: read[field] for field in _UNCHANGED},
    )


_UNCHANGED = (
    "own_preset", "service_preset", "payload", "name", "description", "tags", "timezone",
    "on_constraint", "max_consecutive_errors", "timeout", "execution", "delete_after_run",
    "enabled", "priority", "queue",
)  # fmt: skip
