"""Declaration: the settings and schedules that a file declares, or every problem at once, each with
its file and line."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from quarterjack.config import Settings
from quarterjack.declare.yaml_file import Document, read_yaml
from quarterjack.engine.node import NodeConfig
from quarterjack.engine.worker import WorkerConfig
from quarterjack.errors import Invalid, InvalidSpecification, Problems
from quarterjack.rules import (
    AS_A_SETTING,
    Limits,
    Retention,
    ServiceSettings,
    Specification,
    read_limits,
)
from quarterjack.rules.definition.input_checks import check_key, check_label, check_text
from quarterjack.store.sqlite.file import DURABILITIES
from quarterjack.times.durations import read_duration
from quarterjack.times.instants import SECOND
from quarterjack.times.reading import read_whole_number

_FIELDS = frozenset(Settings._fields) | {"schedules"}
_LEASES = (SECOND, 3600 * SECOND)
_NO_PRESET: Mapping[str, Any] = {}


class Declaration(NamedTuple):
    """All that a file says."""

    path: Path
    settings: Settings
    service: ServiceSettings
    schedules: Mapping[str, Mapping[str, Any]]
    document: Document

    @property
    def limits(self) -> Limits:
        return self.service.limits

    def specification(self, key: str, now: int | None) -> Specification:
        """One of its schedules; with `now` it is judged as a new one."""
        try:
            return self.service.specification(self.schedules[key], key, now)
        except Invalid as error:
            line = self.document.line("schedules", key)
            raise error.within(f"{self.path}:{line}") from None

    def node_config(self, worker: str) -> NodeConfig:
        """How a node of this declaration works."""
        settings = self.settings
        lease = read_duration(settings.lease, "lease")
        grace = read_duration(settings.grace, "grace")
        seats = WorkerConfig(worker, tuple(settings.queues), settings.workers, lease)
        return NodeConfig(seats, self.limits, self.service.retention, grace / SECOND)


def read_declaration(path: Path) -> Declaration:
    """The declaration in this file, with every problem of it told at once."""
    document = read_yaml(path)
    problems = Problems(InvalidSpecification)
    said = {name: value for name, value in document.values.items() if value is not None}
    for name in said:
        if name not in _FIELDS:
            with problems:
                near = get_close_matches(str(name), sorted(_FIELDS), n=1)
                remedy = f"did you mean {near[0]}?" if near else f"use {', '.join(sorted(_FIELDS))}"
                line = f"line {document.line(str(name))}"
                raise InvalidSpecification.because(f"{line}:", name, "is no setting", remedy)
    schedules = said.pop("schedules", {})
    with problems:
        if not isinstance(schedules, dict):
            raise _wrong("schedules", schedules, "is no mapping", "write a name, and fields below")
    settings = Settings(**{name: said[name] for name in said if name in Settings._fields})
    for check in (_check_words, _check_numbers):
        with problems:
            check(settings)
    preset, limits = AS_A_SETTING.get(str(settings.preset), _NO_PRESET), Limits()
    with problems:
        limits = read_limits(settings.limits, preset.get("limits", Limits()))
    problems.refuse_if_any(str(path))
    service = _service_settings(path, settings, limits)
    declaration = Declaration(path, settings, service, schedules, document)
    _check_schedules(declaration)
    return declaration


def _service_settings(path: Path, settings: Settings, limits: Limits) -> ServiceSettings:
    """What its schedules share, with what the preset says of a whole service."""
    preset, declared_only = (
        AS_A_SETTING.get(str(settings.preset), _NO_PRESET),
        settings.declared_only,
    )
    if declared_only is None:
        declared_only = preset.get("declared_only", False)
    defaults = dict(settings.defaults)
    if settings.timezone is not None:
        defaults.setdefault("timezone", settings.timezone)
    return ServiceSettings(
        name=settings.name,
        file=str(path.absolute()),
        preset=settings.preset,
        defaults=defaults,
        limits=limits,
        queues=tuple(settings.queues),
        declared_only=declared_only,
        retention=_retention(settings.retention),
    )


def _check_words(settings: Settings) -> None:
    check_label(settings.name, "name")
    for field in ("database", "timezone", "preset"):
        if getattr(settings, field) is not None:
            check_text(getattr(settings, field), field)
    if settings.durability not in DURABILITIES:
        raise _wrong("durability", settings.durability, "is unknown", "use full or normal")
    if not isinstance(settings.declared_only, bool | None):
        reason = "is neither true nor false"
        raise _wrong("declared_only", settings.declared_only, reason, "write true or false")
    if not isinstance(settings.defaults, dict):
        raise _wrong("defaults", settings.defaults, "is no mapping", "write fields and values")
    queues = settings.queues
    if not isinstance(queues, list | tuple) or not queues:
        raise _wrong("queues", queues, "is no list of names", "write [default]")
    for queue in queues:
        check_label(queue, "queues")


def _check_numbers(settings: Settings) -> None:
    read_whole_number(settings.workers, 1, 10_000, "workers")
    read_duration(settings.grace, "grace")
    lease, (least, most) = read_duration(settings.lease, "lease"), _LEASES
    if not least <= lease <= most:
        raise _wrong("lease", settings.lease, "is outside 1s to 1h", "use 10s")
    _retention(settings.retention)


def _retention(said: Mapping[str, Any]) -> Retention:
    """`{run_age: 90d, run_count: 10000, ...}`; `none` keeps for ever."""
    if not isinstance(said, dict):
        raise _wrong("retention", said, "is no mapping", "write run_age: 90d, and so on")
    read: dict[str, int | None] = {}
    for name, value in said.items():
        if name not in Retention._fields:
            remedy = f"use {', '.join(Retention._fields)}"
            raise _wrong(f"retention.{name}", value, "is unknown", remedy)
        if value == "none":
            read[name] = None
        elif name == "run_count":
            read[name] = read_whole_number(value, 1, 100_000_000, "retention.run_count")
        else:
            read[name] = read_duration(value, f"retention.{name}")
    return Retention()._replace(**read)


def _check_schedules(declaration: Declaration) -> None:
    """All of them, before anything is changed."""
    problems = Problems(InvalidSpecification)
    for key in declaration.schedules:
        with problems:
            check_key(key, "schedule")
            declaration.specification(key, None)
    problems.refuse_if_any(str(declaration.path))


def _wrong(field: str, value: object, reason: str, remedy: str) -> InvalidSpecification:
    return InvalidSpecification.because(field, value, reason, remedy)
