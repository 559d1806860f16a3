"""The settings and schedules that a source declares, validated once; or every problem at once, each
with the place where it was written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from quarterjack.config import Settings
from quarterjack.declare.settings import read_settings, service_settings
from quarterjack.declare.source import Source
from quarterjack.engine.node import NodeConfig
from quarterjack.engine.worker import WorkerConfig
from quarterjack.errors import Invalid, InvalidSpecification, Problems
from quarterjack.rules import Limits, ServiceSettings, Specification
from quarterjack.rules.definition.input_checks import check_key, invalid
from quarterjack.targets.kinds import KINDS
from quarterjack.times.durations import read_duration
from quarterjack.times.instants import SECOND

_DECIDE_WHAT_IS_VALID = {"defaults", "preset"}
"""Settings without which a schedule cannot be checked: it may rely on what they say."""


class Declaration(NamedTuple):
    source: Source
    name: str
    """Whose schedules these are."""
    settings: Settings
    service: ServiceSettings
    specifications: Mapping[str, Specification]
    """By the keys of the schedules."""
    revision: str
    """The same for every node that was started with the same declaration, wherever it lies."""

    @property
    def place(self) -> str | None:
        """Where it lies, if it has no written name: then two with the same default name in two
        places are two declarations."""
        return self.source.location if self.settings.name is None else None

    @property
    def limits(self) -> Limits:
        return self.service.limits

    def node_config(self, worker: str) -> NodeConfig:
        settings = self.settings
        lease = read_duration(settings.lease, "lease")
        grace = read_duration(settings.grace, "grace")
        config = WorkerConfig(worker, tuple(settings.queues), settings.workers, lease)
        return NodeConfig(config, grace / SECOND, self.limits, self.service.retention)


def read_declaration(source: Source) -> Declaration:
    """The declaration of this source, or all of its problems."""
    problems = Problems(InvalidSpecification)
    settings = read_settings(source, problems)
    service = service_settings(settings, source, problems)
    schedules = source.values.get("schedules") or {}
    if not isinstance(schedules, dict):
        with problems:
            remedy = "write a name, and fields below it"
            raise invalid("schedules", schedules, "is not a mapping", remedy)
        schedules = {}
    wrong = {each.field for each in problems.found}
    specifications = {}
    if not wrong & _DECIDE_WHAT_IS_VALID:
        known = service
        if "queues" in wrong:
            known = service._replace(queues=_named_queues(schedules))
        specifications = _specifications(schedules, known, source, problems)
    problems.raise_if_any(source.name)
    revision = _revision(service, schedules)
    return Declaration(source, service.name, settings, service, specifications, revision)


def _named_queues(schedules: Mapping[str, Any]) -> Sequence[str]:
    """In place of declared ones: whether a schedule may use its queue is not known."""
    named = [each.get("queue") for each in schedules.values() if isinstance(each, dict)]
    return ("default", *(queue for queue in named if queue is not None))


def _specifications(
    schedules: Mapping[str, Any], service: ServiceSettings, source: Source, problems: Problems
) -> dict[str, Specification]:
    read = {}
    for key, mapping in schedules.items():
        try:
            check_key(key, "schedule")
            read[key] = service.specification(mapping, KINDS, key, None)
        except Invalid as error:
            problems.note(error.within(source.place("schedules", str(key))))
    return read


def _revision(service: ServiceSettings, schedules: Mapping[str, Any]) -> str:
    text = json.dumps(
        [service._replace(file=None).to_text(), schedules], sort_keys=True, default=str
    )
    return blake2b(text.encode(), digest_size=16).hexdigest()
