"""Settings of a service: checks of what a source says, and the values that all schedules share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from quarterjack.config import Settings
from quarterjack.declare.source import Source
from quarterjack.errors import Invalid, InvalidSpecification, Problems
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
    """What all schedules of the service share, with the settings of its preset. Those with a
    problem have their defaults, so that schedules can be checked all the same."""
    for name, check in _CHECKS.items():
        try:
            check(getattr(settings, name))
        except Invalid as error:
            problems.note(error)
            settings = settings._replace(**{name: Settings._field_defaults[name]})
    preset = SERVICE_PRESETS.get(str(settings.preset), {})
    limits, retention = Limits(), Retention()
    with problems:
        limits = read_limits(settings.limits, preset.get("limits", limits))
    with problems:
        retention = _read_retention(settings.retention)
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


def _check_name(name: object) -> None:
    if name is not None:
        check_label(name, "name")


def _check_database(database: object) -> None:
    if database is not None:
        check_text(database, "database")


def _check_durability(durability: object) -> None:
    if durability not in DURABILITIES:
        raise _wrong("durability", durability, "is unknown", "use full or normal")


def _check_timezone(timezone: Any) -> None:
    if timezone is not None:
        zone_name(timezone)


def _check_defaults(defaults: object) -> None:
    if not isinstance(defaults, dict):
        raise _wrong("defaults", defaults, "is not a mapping", "write fields and values")


def _check_queues(queues: object) -> None:
    if not isinstance(queues, list | tuple) or not queues:
        raise _wrong("queues", queues, "is not a list of names", "write [default]")
    for queue in queues:
        check_label(queue, "queues")


def _check_declared_only(declared_only: object) -> None:
    if not isinstance(declared_only, bool | None):
        reason = "is neither true nor false"
        raise _wrong("declared_only", declared_only, reason, "write true or false")


def _check_lease(lease: Any) -> None:
    (least, most), length = _LEASES, read_duration(lease, "lease")
    if not least <= length <= most:
        raise _wrong("lease", lease, "is outside 1s to 1h", f"use {Settings().lease}")


_CHECKS: Mapping[str, Callable[[Any], object]] = {
    "name": _check_name,
    "database": _check_database,
    "durability": _check_durability,
    "timezone": _check_timezone,
    "preset": read_preset,
    "defaults": _check_defaults,
    "queues": _check_queues,
    "declared_only": _check_declared_only,
    "workers": lambda workers: check_integer(workers, 1, 10_000, "workers"),
    "lease": _check_lease,
    "grace": lambda grace: read_duration(grace, "grace"),
}
"""By setting; limits and retention are checked where they are read."""


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
