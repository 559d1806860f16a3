"""Settings of a service: checks of what a source says, and the values that all schedules share."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from quarterjack.config import Settings
from quarterjack.declare.source import Source
from quarterjack.errors import InvalidSpecification, Problems
from quarterjack.rules import Limits, Retention, ServiceSettings
from quarterjack.rules.definition.input_checks import check_label, check_text
from quarterjack.rules.definition.presets import SERVICE_PRESETS, read_preset
from quarterjack.rules.policies.service_limits import read_limits
from quarterjack.store.sqlite.file import DURABILITIES
from quarterjack.times.checks import check_integer
from quarterjack.times.durations import read_duration
from quarterjack.times.instants import SECOND
from quarterjack.times.zones import zone_name

_FIELDS = frozenset(Settings._fields) | {"schedules"}
_LEASES = (SECOND, 3600 * SECOND)


def read_settings(source: Source, problems: Problems) -> Settings:
    """The settings as written; unknown ones are a problem."""
    values = {name: value for name, value in source.values.items() if value is not None}
    for name in values.keys() - _FIELDS:
        near = get_close_matches(str(name), sorted(_FIELDS), n=1)
        remedy = f"did you mean {near[0]}?" if near else f"use {', '.join(sorted(_FIELDS))}"
        unknown = _wrong("setting", name, "is unknown", remedy)
        problems.note(unknown.within(source.place(str(name))))
    return Settings(**{name: values[name] for name in values if name in Settings._fields})


def service_settings(settings: Settings, source: Source, problems: Problems) -> ServiceSettings:
    """What all schedules of the service share, with the settings of its preset."""
    for check in (_check_texts, _check_types, _check_node):
        with problems:
            check(settings)
    preset = SERVICE_PRESETS.get(str(settings.preset), {})
    limits, retention = Limits(), Retention()
    with problems:
        limits = read_limits(settings.limits, preset.get("limits", limits))
    with problems:
        retention = _read_retention(settings.retention)
    if problems.found:
        return ServiceSettings()
    defaults = dict(settings.defaults)
    if settings.timezone is not None:
        defaults.setdefault("timezone", settings.timezone)
    declared_only = settings.declared_only
    return ServiceSettings(
        name=settings.name or source.default_name,
        file=source.location,
        preset=settings.preset,
        defaults=defaults,
        limits=limits,
        queues=tuple(settings.queues),
        declared_only=preset.get("declared_only", False)
        if declared_only is None
        else declared_only,
        retention=retention,
    )


def _check_texts(settings: Settings) -> None:
    if settings.name is not None:
        check_label(settings.name, "name")
    if settings.database is not None:
        check_text(settings.database, "database")
    if settings.timezone is not None:
        zone_name(settings.timezone)
    read_preset(settings.preset)
    if settings.durability not in DURABILITIES:
        raise _wrong("durability", settings.durability, "is unknown", "use full or normal")


def _check_types(settings: Settings) -> None:
    if not isinstance(settings.declared_only, bool | None):
        reason = "is neither true nor false"
        raise _wrong("declared_only", settings.declared_only, reason, "write true or false")
    if not isinstance(settings.defaults, dict):
        raise _wrong("defaults", settings.defaults, "is not a mapping", "write fields and values")
    queues = settings.queues
    if not isinstance(queues, list | tuple) or not queues:
        raise _wrong("queues", queues, "is not a list of names", "write [default]")
    for queue in queues:
        check_label(queue, "queues")


def _check_node(settings: Settings) -> None:
    check_integer(settings.workers, 1, 10_000, "workers")
    read_duration(settings.grace, "grace")
    lease, (least, most) = read_duration(settings.lease, "lease"), _LEASES
    if not least <= lease <= most:
        raise _wrong("lease", settings.lease, "is outside 1s to 1h", f"use {Settings().lease}")


def _read_retention(mapping: Mapping[str, Any]) -> Retention:
    """`{run_age: 90d, run_count: 10000, ...}`; `none` keeps rows for ever."""
    if not isinstance(mapping, dict):
        raise _wrong("retention", mapping, "is not a mapping", "write run_age: 90d, and so on")
    read: dict[str, int | None] = {}
    for name, value in mapping.items():
        if name not in Retention._fields:
            remedy = f"use {', '.join(Retention._fields)}"
            raise _wrong(f"retention.{name}", value, "is unknown", remedy)
        if value == "none":
            read[name] = None
        elif name == "run_count":
            read[name] = check_integer(value, 1, 100_000_000, "retention.run_count")
        else:
            read[name] = read_duration(value, f"retention.{name}")
    return Retention()._replace(**read)


def _wrong(field: str, value: object, reason: str, remedy: str) -> InvalidSpecification:
    return InvalidSpecification.because(field, value, reason, remedy)
