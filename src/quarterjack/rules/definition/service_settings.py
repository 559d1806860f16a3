"""The settings that apply to all schedules of a service, whoever creates or edits them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quarterjack.errors import Conflict, StoreUnusable
from quarterjack.rules.definition.input_checks import invalid
from quarterjack.rules.definition.patch import patched
from quarterjack.rules.definition.specification import Specification, Unreadable
from quarterjack.rules.definition.target import Definition, TargetKinds
from quarterjack.rules.definition.validation import read_specification, with_units
from quarterjack.rules.policies.retention import Retention
from quarterjack.rules.policies.service_limits import Limits


class ServiceSettings(NamedTuple):
    """Stored by the last start of the service. A database without a service has the defaults."""

    name: str = "default"
    file: str | None = None
    preset: str | None = None
    defaults: Mapping[str, Any] = {}
    limits: Limits = Limits()
    queues: Sequence[str] = ("default",)
    declared_only: bool = False
    retention: Retention = Retention()

    def specification(
        self, mapping: Definition, kinds: TargetKinds, key: str, now: int | None
    ) -> Specification:
        """Reads a definition with the defaults of this service. With `now` it is checked as a new
        one: for example, its window must admit a slot after that."""
        return self._read(mapping, kinds, key, now, self.defaults)

    def _read(
        self, body: Definition, kinds: TargetKinds, key: str, now: int | None, defaults: Definition
    ) -> Specification:
        preset, limits = self.preset, self.limits
        read = read_specification(
            body, kinds=kinds, key=key, now=now, preset=preset, defaults=defaults, limits=limits
        )
        if read.queue not in self.queues:
            field, remedy = f'schedule "{key}": queue', f"use one of {', '.join(self.queues)}"
            raise invalid(field, read.queue, "is not declared", f"{remedy}, or add it to queues")
        return read

    def patched(
        self,
        specification: Specification | Unreadable,
        changes: Definition,
        kinds: TargetKinds,
        key: str,
        now: int,
    ) -> Specification:
        """The definition with some fields changed; if it is unreadable, `changes` must be complete.
        Other fields keep their values even if the defaults have changed since; null returns a field
        to its current default. Where neither the schedule nor the kind of its target has a preset,
        the current one of the service applies."""
        if isinstance(specification, Unreadable):
            return self.specification(changes, kinds, key, now)
        body = patched(specification.to_json(), changes, kinds)
        for field in [name for name, value in changes.items() if value is None]:
            body[field] = self.defaults.get(field)
        return self._read(body, kinds, key, now, {})

    def refuse_if_declared_only(self, what: str) -> None:
        if self.declared_only:
            where = self.file or f'the declaration "{self.name}"'
            raise Conflict(f"{what}: only {where} defines schedules here; make the change there")

    def to_text(self) -> str:
        parts = {"limits": self.limits._asdict(), "retention": self.retention._asdict()}
        return json.dumps({**self._asdict(), **parts}, sort_keys=True)

    @classmethod
    def from_text(cls, text: str | None) -> ServiceSettings:
        """Fields that another version of the program has stored are ignored."""
        try:
            stored = json.loads(text) if text else {}
            known = {name: stored[name] for name in cls._fields if name in stored}
            for name, kind in (("limits", Limits), ("retention", Retention)):
                part = known.get(name, {})
                known[name] = kind(**{each: part[each] for each in kind._fields if each in part})
            known["defaults"] = with_units(known.get("defaults", {}))
            return cls(**known)
        except (AttributeError, TypeError, ValueError) as error:
            problem = f"the stored service settings cannot be read ({error})"
            remedy = "start `quarterjack up` once, which stores them again"
            raise StoreUnusable(f"{problem}; {remedy}") from None
