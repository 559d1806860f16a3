"""Validation: from what a person wrote to a specification, or to every problem at once.

Each field is looked up in layers: the general defaults, the preset, the service's own defaults,
and what stands in the schedule itself. `rules.fields` reads each one, `rules.combinations` says
what does not go together.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from quarterjack.errors import Invalid, InvalidSpecification, Problems, shown
from quarterjack.rules.definition.combinations import COMBINATIONS, possible_first_run
from quarterjack.rules.definition.fields import READERS
from quarterjack.rules.definition.presets import GENERAL, defaults_of, preset_of_kind, read_preset
from quarterjack.rules.definition.specification import Specification
from quarterjack.rules.definition.target import TARGET_FIELDS, Target, read_target
from quarterjack.rules.policies.catch_up import CatchUp
from quarterjack.rules.policies.limits import Limits
from quarterjack.rules.policies.overlap import Overlap
from quarterjack.rules.policies.retry import Retry, default_delay
from quarterjack.times import After, At, Recurrence, Window, parse
from quarterjack.times.durations import DURATION_MAX
from quarterjack.times.instants import SECOND
from quarterjack.times.parse import NAMING_FIELDS, fields_beside
from quarterjack.times.reading import read_whole_number
from quarterjack.times.zones import zone_name

_SECONDS_MAX = DURATION_MAX // SECOND
ALIASES = {
    "trigger_payload": "payload",
    "timeout_seconds": "timeout",
    "repeat_count": "total_repeats",
    "retry_max": "max_retries",
}
WHEN = frozenset(NAMING_FIELDS).union(*(fields_beside(name) for name in NAMING_FIELDS)) - {"key"}
_NO_DEFAULTS = TARGET_FIELDS | frozenset(NAMING_FIELDS) | {"preset", "created_at"}
FIELDS = frozenset(READERS) | TARGET_FIELDS | WHEN | {"preset"}
"""Every field that a schedule may have."""


def read_specification(
    mapping: Mapping[str, Any],
    *,
    key: str,
    now: int | None,
    preset: str | None = None,
    defaults: Mapping[str, Any] | None = None,
    limits: Limits = Limits(),  # noqa: B008
) -> Specification:
    """The specification of the schedule with this key. `preset`, `defaults` and `limits` are the
    service's; `now` is from where it counts, or None for what was stored and so was judged before.
    """
    problems = Problems(InvalidSpecification)
    own = _said(mapping, "schedule", problems)
    target: Target | None = None
    layer: Mapping[str, Any] = {}
    with problems:
        target = read_target(own)
    own_preset = service_preset = None
    with problems:
        own_preset = read_preset(own.get("preset"))
        chosen = own_preset or preset_of_kind(target.kind if target else None)
        service_preset = None if chosen else read_preset(preset)
        layer = defaults_of(chosen or service_preset, limits, is_of_service=chosen is None)
    values = {**GENERAL, **layer, **_said(defaults or {}, "defaults", problems), **own}
    recurrence: Recurrence | None = None
    with problems:
        recurrence = _read_recurrence(own, values, key)
    read: dict[str, Any] = {}
    for field, reader in READERS.items():
        try:
            read[field] = reader(values.get(field), field)
        except Invalid as error:
            problems.note(error)
    if recurrence is not None and target is not None and read.keys() == READERS.keys():
        read |= {"own_preset": own_preset, "service_preset": service_preset}
        specification = _composed(recurrence, target, read)
        for check in COMBINATIONS:
            try:
                check(specification, own, now)
            except Invalid as error:
                problems.note(error)
        if not problems.found:
            return specification
    raise InvalidSpecification(f"schedule {shown(key)}", dict.fromkeys(problems.found))


def _said(mapping: object, what: str, problems: Problems) -> dict[str, Any]:
    """What was said, under its one name; null is as good as nothing."""
    said: dict[str, Any] = {}
    if not isinstance(mapping, Mapping):
        with problems:
            remedy = "write fields and values"
            raise InvalidSpecification.because(what, mapping, "is no mapping", remedy)
        return said
    for spelled, value in mapping.items():
        field = ALIASES.get(spelled, spelled) if isinstance(spelled, str) else spelled
        try:
            _refuse_unsayable(field, spelled, value, what, said)
            if value is not None:
                said[field] = _in_seconds(value) if spelled == "timeout_seconds" else value
        except Invalid as error:
            problems.note(error)
    return said


def _refuse_unsayable(
    field: Any, spelled: Any, value: object, what: str, said: Mapping[str, Any]
) -> None:
    if field not in FIELDS:
        raise _unknown(field, value)
    if what == "defaults" and field in _NO_DEFAULTS:
        reason, remedy = "is each schedule's own", "say it there"
        raise InvalidSpecification.because(f"defaults.{field}", value, reason, remedy)
    if field in said:
        other = next(alias for alias, name in ALIASES.items() if name == field)
        reason = f"says the same as {field if spelled == other else other}"
        raise InvalidSpecification.because(spelled, value, reason, "give either one")


def _in_seconds(value: object) -> str:
    return f"{read_whole_number(value, 1, _SECONDS_MAX, 'timeout_seconds')}s"


def _unknown(name: object, value: object) -> Invalid:
    near = get_close_matches(str(name), sorted(FIELDS), n=1)
    remedy = f"did you mean {near[0]}?" if near else "see docs/policies.md for the fields"
    return InvalidSpecification.because(str(name), value, "is no field of a schedule", remedy)


def _read_recurrence(own: Mapping[str, Any], values: Mapping[str, Any], key: str) -> Recurrence:
    """What a schedule says itself must fit its kind of recurrence; defaults may."""
    named = [name for name in NAMING_FIELDS if name in own]
    fitting = fields_beside(named[0]) if named else frozenset()
    wanted = (WHEN & own.keys()) | fitting
    said = {name: value for name, value in values.items() if name in wanted}
    zone = zone_name(values["timezone"])
    if "h" in str(said.get("cron", "")).lower():  # an H needs the key
        return parse(said, timezone=zone, key=key)
    if not all(type(value) is str for value in said.values()):
        return parse(said, timezone=zone)
    return _kept_recurrence(zone, **said)


@lru_cache(maxsize=10_000)
def _kept_recurrence(zone: str, **said: str) -> Recurrence:
    """Schedules that say the same share it, and the slots that it has worked out."""
    return parse(said, timezone=zone)


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
        **{field: read[field] for field in _AS_THEY_ARE},
    )


_AS_THEY_ARE = (
    "own_preset",
    "service_preset",
    "payload",
    "name",
    "description",
    "tags",
    "timezone",
    "on_constraint",
    "max_consecutive_errors",
    "timeout",
    "execution",
    "delete_after_run",
    "enabled",
    "priority",
    "queue",
)
