"""Target: what is called. Here only its name and shape; how each kind acts is said in `targets`.

A schedule names exactly one, by a field of its own (`task: cleanup`) or as `target: {kind, ...}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quarterjack.errors import InvalidSpecification


@dataclass(frozen=True)
class Target:
    """One kind, and the fields that say what exactly."""

    kind: str
    fields: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The fields as a person writes them beside the schedule's own."""
        return dict(self.fields)

    @property
    def plugin_command(self) -> str | None:
        """`plugin/command`: among whose runs overlap is judged, and the key of their gate."""
        if self.kind != "plugin":
            return None
        return f"{self.fields['plugin']}/{self.fields['command']}"

    @property
    def is_poll(self) -> bool:
        return self.kind == "plugin" and self.fields["command"] == "poll"


@dataclass(frozen=True)
class _Shape:
    kind: str
    wanted: type
    example: str
    beside: Mapping[str, tuple[type, Any]]
    """Fields that may stand beside the naming one: of which type, and the default."""


_SHAPES = {
    "task": _Shape("task", str, "task: cleanup", {"args": (list, []), "kwargs": (dict, {})}),
    "plugin": _Shape("plugin", str, "plugin: echo", {"command": (str, "poll")}),
    "command": _Shape("command", list, "command: [pg_dump, app]", {}),
    "http": _Shape("http", dict, "http: {method: POST, url: https://example.org}", {}),
    "prompt": _Shape(
        "prompt", str, "prompt: Check the queue", {"model": (str, None), "opts": (dict, {})}
    ),
    "workflow_id": _Shape("workflow", int, "workflow_id: 1", {"trigger_node_id": (str, None)}),
    "rq": _Shape("rq", dict, "rq: {function: app.work, queue: default}", {}),
    "celery": _Shape("celery", dict, "celery: {task: app.work, queue: default}", {}),
}
_NAMED_BY = {shape.kind: name for name, shape in _SHAPES.items()}
TARGET_FIELDS = frozenset(_SHAPES) | {
    "target", *(field for shape in _SHAPES.values() for field in shape.beside)
}  # fmt: skip


def read_target(mapping: Mapping[str, Any]) -> Target:
    """The one target that a mapping names, whatever else it says."""
    mapping = {field: mapping[field] for field in TARGET_FIELDS & mapping.keys()}
    if mapping.get("target") is not None:
        mapping = _spelled_out(mapping)
    named = [name for name in _SHAPES if mapping.get(name) is not None]
    if "plugin" in named and "command" in named:
        named.remove("command")
    if len(named) != 1:
        found = f"has {' and '.join(named)}" if named else "names nothing to do"
        remedy = f"give exactly one of {', '.join(_SHAPES)}"
        raise InvalidSpecification.because("target", dict(mapping), found, remedy)
    name = named[0]
    shape = _SHAPES[name]
    _refuse_strangers(mapping, name, shape)
    fields = {name: _read(mapping[name], shape.wanted, name, shape)}
    for field, (wanted, default) in shape.beside.items():
        value = mapping.get(field)
        fields[field] = default if value is None else _read(value, wanted, field, shape)
    return Target(shape.kind, fields)


def _spelled_out(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """`target: {kind: http, url: ...}` as the fields of its kind."""
    target = mapping["target"]
    others = {field: value for field, value in mapping.items() if field != "target"}
    if others:
        remedy = "say it in one place"
        raise InvalidSpecification.because("target", mapping, "stands beside another", remedy)
    kind = target.get("kind") if isinstance(target, dict) else None
    name = _NAMED_BY.get(kind) if isinstance(kind, str) else None
    if name is None:
        remedy = f"write {{kind: ...}} with one of {', '.join(_NAMED_BY)}"
        raise InvalidSpecification.because("target", target, "is of no known kind", remedy)
    fields = {field: value for field, value in target.items() if field != "kind"}
    return fields if name in fields else {name: fields}


def _refuse_strangers(mapping: Mapping[str, Any], name: str, shape: _Shape) -> None:
    strangers = sorted(mapping.keys() - shape.beside.keys() - {name})
    given = {field: mapping[field] for field in strangers if mapping[field] is not None}
    if given:
        remedy = f"write it as in {shape.example}"
        reason = f"does not go with {name}"
        raise InvalidSpecification.because(" and ".join(given), given, reason, remedy)


def _read(value: Any, wanted: type, field: str, shape: _Shape) -> Any:
    right = isinstance(value, wanted) and not isinstance(value, bool)
    if right and wanted is list and field == "command":
        right = all(isinstance(part, str) for part in value)
    if right and (value or field in shape.beside):
        return value
    names = {str: "text", list: "a list of text", dict: "a mapping", int: "a number"}
    reason = f"is not {names[wanted]}" if not right else "is empty"
    raise InvalidSpecification.because(field, value, reason, f"write it as in {shape.example}")
