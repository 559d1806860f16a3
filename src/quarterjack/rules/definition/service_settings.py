"""House rules: what all schedules of a service share, whoever creates or edits them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quarterjack.errors import Conflict, InvalidSpecification, StoreUnusable
from quarterjack.rules.definition.patch import patched
from quarterjack.rules.definition.specification import Specification, Unreadable
from quarterjack.rules.definition.validation import read_specification
from quarterjack.rules.policies.limits import Limits
from quarterjack.rules.policies.retention import Retention


class ServiceSettings(NamedTuple):
    """As the last start noted it; a database that no service has used yet has the defaults."""

    name: str = "default"
    file: str | None = None
    preset: str | None = None
    defaults: Mapping[str, Any] = {}
    limits: Limits = Limits()
    queues: Sequence[str] = ("default",)
    declared_only: bool = False
    retention: Retention = Retention()

    def specification(self, mapping: Mapping[str, Any], key: str, now: int | None) -> Specification:
        """A definition under the defaults of this service; with `now` it is judged as a new one."""
        said = read_specification(
            mapping,
            key=key,
            now=now,
            preset=self.preset,
            defaults=self.defaults,
            limits=self.limits,
        )
        return self._with_known_queue(said, key)

    def _with_known_queue(self, specification: Specification, key: str) -> Specification:
        if specification.queue not in self.queues:
            remedy = f"use one of {', '.join(self.queues)}, or add it to queues"
            raise InvalidSpecification.because(
                f'schedule "{key}": queue', specification.queue, "is not declared", remedy
            )
        return specification

    def patched(
        self,
        specification: Specification | Unreadable,
        changes: Mapping[str, Any],
        key: str,
        now: int,
    ) -> Specification:
        """The same definition with some fields said anew; one that cannot be read is said whole.
        What was not said stays, whatever the defaults are today; only null goes back to them. The
        preset is that of the service today, where neither the schedule nor its kind says one."""
        if isinstance(specification, Unreadable):
            return self.specification(changes, key, now)
        body = patched(specification.to_json(), changes)
        for field in [name for name, value in changes.items() if value is None]:
            body[field] = self.defaults.get(field)
        read = read_specification(body, key=key, now=now, preset=self.preset, limits=self.limits)
        return self._with_known_queue(read, key)

    def refuse_if_declared_only(self, what: str) -> None:
        if self.declared_only:
            where = self.file or f'the declaration "{self.name}"'
            raise Conflict(f"{what}: only {where} says what is scheduled here; change it there")

    def to_text(self) -> str:
        parts = {"limits": self.limits._asdict(), "retention": self.retention._asdict()}
        return json.dumps({**self._asdict(), **parts}, sort_keys=True)

    @classmethod
    def from_text(cls, text: str | None) -> ServiceSettings:
        """What another version of the program noted beyond this is ignored."""
        try:
            said = json.loads(text) if text else {}
            known = {name: said[name] for name in cls._fields if name in said}
            for name, kind in (("limits", Limits), ("retention", Retention)):
                part = known.get(name, {})
                known[name] = kind(**{each: part[each] for each in kind._fields if each in part})
            return cls(**known)
        except (AttributeError, TypeError, ValueError) as error:
            remedy = "start `quarterjack up` once, which notes them anew"
            raise StoreUnusable(f"the house rules cannot be read ({error}); {remedy}") from None
