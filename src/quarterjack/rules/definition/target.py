"""Target: what a schedule calls. Each kind says in `quarterjack.targets` how it is written; whoever
reads definitions is handed the table of kinds.

A schedule names exactly one target, by a field of its own (`task: cleanup`) or as
`target: {kind, ...}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

from quarterjack.errors import InvalidSpecification
from quarterjack.rules.definition.input_checks import check_json, check_label, check_text, invalid
from quarterjack.times.checks import check_integer

Definition = Mapping[str, Any]
"""The fields of a schedule, as a person writes them."""


@dataclass(frozen=True)
class Target:
    kind: str
    fields: Mapping[str, Any]
    scope: str | None = None
    """Shared with other schedules, whose runs must not overlap; also the key of their gate."""
    is_poll: bool = False
    preset: str | None = None
    """Whose defaults its kind brings with it."""
    payload_max: int | None = None
    """Bytes, as JSON."""
    name: str | None = None
    """What workers register by name: a task, a workflow."""

    def to_json(self) -> dict[str, Any]:
        """The fields as a person writes them beside the schedule's own."""
        return dict(self.fields)


@dataclass(frozen=True)
class TargetField:
    """A field of a kind: its type, its check, and the default of one that may be left out."""

    type: type
    check: Callable[[Any, str], Any] = check_json
    default: Any = None


@dataclass(frozen=True)
class TargetKind:
    """How one kind of target is written."""

    kind: str
    example: str
    fields: Mapping[str, TargetField]
    """The first one names the kind; the others may stand beside it."""
    preset: str | None = None
    payload_max: int | None = None
    scope: Callable[[Mapping[str, Any]], str | None] = lambda _: None
    is_poll: Callable[[Mapping[str, Any]], bool] = lambda _: False
    name: Callable[[Mapping[str, Any]], str | None] = lambda _: None

    @property
    def named_by(self) -> str:
        return next(iter(self.fields))

    def read(self, mapping: Mapping[str, Any]) -> Target:
        others = {name: mapping[name] for name in mapping if name not in self.fields}
        if others:
            names = " and ".join(map(str, others))
            raise invalid(names, others, f"does not go with {self.named_by}", self._remedy)
        fields = {name: self._field(name, mapping.get(name)) for name in self.fields}
        scope, is_poll, name = self.scope(fields), self.is_poll(fields), self.name(fields)
        return Target(self.kind, fields, scope, is_poll, self.preset, self.payload_max, name)

    def _field(self, name: str, value: Any) -> Any:
        expected = self.fields[name]
        if value is None:
            return copy(expected.default)
        if isinstance(value, tuple):
            value = list(value)
        if not isinstance(value, expected.type) or isinstance(value, bool):
            wanted = _TYPES[expected.type]
            remedy = self._remedy if name == self.named_by else f"give {wanted}"
            raise invalid(name, value, f"is not {wanted}", remedy)
        if not value and name == self.named_by and expected.type in (list, dict):
            raise invalid(name, value, "is empty", self._remedy)
        try:
            return expected.check(value, name)
        except ValueError as error:
            if isinstance(error, InvalidSpecification):
                raise
            raise invalid(name, value, str(error), self._remedy) from None

    @property
    def _remedy(self) -> str:
        return f"write it as in {self.example}"


class TargetKinds:
    """The kinds that a program knows."""

    def __init__(self, kinds: Iterable[TargetKind]) -> None:
        self._by_kind = {each.kind: each for each in kinds}
        self._by_field = {each.named_by: each for each in self._by_kind.values()}
        self.naming_fields = tuple(self._by_field)
        every = (name for each in self._by_kind.values() for name in each.fields)
        self.fields = frozenset({"target", *every})
        """All fields of a schedule that belong to its target."""

    def read(self, mapping: Mapping[str, Any]) -> Target:
        """The one target that a mapping names, whatever else it holds."""
        mapping = {
            name: value
            for name, value in mapping.items()
            if name in self.fields and value is not None
        }
        if "target" in mapping:
            mapping = self._written_out(mapping)
        return self._by_field[self.named_by(mapping)].read(mapping)

    def named_by(self, mapping: Mapping[str, Any]) -> str:
        """The field that says what is called; a plugin's `command` is only a word for it."""
        named = [name for name in self.naming_fields if mapping.get(name) is not None]
        if len(named) > 1:
            named = [each for each in named if not self._is_beside_another(each, named)]
        if len(named) == 1:
            return named[0]
        found = f"has {' and '.join(named)}" if named else "is missing"
        remedy = f"give exactly one of {', '.join(self.naming_fields)}"
        raise invalid("target", dict(mapping), found, remedy)

    def _is_beside_another(self, name: str, named: Iterable[str]) -> bool:
        return any(name in self._by_field[other].fields for other in named if other != name)

    def _written_out(self, mapping: Mapping[str, Any]) -> dict[str, Any]:
        """`target: {kind: http, url: ...}` as the fields of its kind."""
        target = mapping["target"]
        if len(mapping) > 1:
            raise invalid("target", mapping, "stands beside another", "write it in one place")
        name = target.get("kind") if isinstance(target, dict) else None
        kind = self._by_kind.get(name) if isinstance(name, str) else None
        if kind is None:
            remedy = f"write {{kind: ...}} with one of {', '.join(self._by_kind)}"
            raise invalid("target", target, "is of an unknown kind", remedy)
        fields = {name: value for name, value in target.items() if name != "kind"}
        return fields if kind.named_by in fields else {kind.named_by: fields}


LABEL = TargetField(str, check_label)
TEXT = TargetField(str, check_text)
ID = TargetField(int, lambda value, name: check_integer(value, 1, 2**63 - 1, name))
LIST = TargetField(list, default=[])
MAPPING = TargetField(dict, default={})

_TYPES = {str: "text", list: "a list", dict: "a mapping", int: "a number"}
