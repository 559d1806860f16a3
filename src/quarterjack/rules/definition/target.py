"""Target: what is called. Here only its name and shape; how each kind acts is said in `targets`.

A schedule names exactly one, by a field of its own (`task: cleanup`) or as `target: {kind, ...}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

from quarterjack.errors import InvalidSpecification
from quarterjack.rules.definition.input_checks import check_json, check_label, check_text
from quarterjack.times.reading import read_whole_number


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
NAMED_BY = {shape.kind: name for name, shape in _SHAPES.items()}
TARGET_FIELDS = frozenset(_SHAPES) | {
    "target", *(field for shape in _SHAPES.values() for field in shape.beside)
}  # fmt: skip


def read_target(mapping: Mapping[str, Any]) -> Target:
    """The one target that a mapping names, whatever else it says."""
    mapping = {
        field: value
        for field, value in mapping.items()
        if field in TARGET_FIELDS and value is not None
    }
    if "target" in mapping:
        mapping = _spelled_out(mapping)
    named = [name for name in _SHAPES if name in mapping]
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
        said = mapping.get(field)
        fields[field] = copy(default) if said is None else _read(said, wanted, field, shape)
    return Target(shape.kind, fields)


def _spelled_out(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """`target: {kind: http, url: ...}` as the fields of its kind."""
    target = mapping["target"]
    others = {field: value for field, value in mapping.items() if field != "target"}
    if others:
        remedy = "say it in one place"
        raise InvalidSpecification.because("target", mapping, "stands beside another", remedy)
    kind = target.get("kind") if isinstance(target, dict) else None
    name = NAMED_BY.get(kind) if isinstance(kind, str) else None
    if name is None:
        remedy = f"write {{kind: ...}} with one of {', '.join(NAMED_BY)}"
        raise InvalidSpecification.because("target", target, "is of no known kind", remedy)
    fields = {field: value for field, value in target.items() if field != "kind"}
    return fields if name in fields else {name: fields}


def _refuse_strangers(mapping: Mapping[str, Any], name: str, shape: _Shape) -> None:
    given = {field: mapping[field] for field in mapping if field not in {name, *shape.beside}}
    if given:
        remedy = f"write it as in {shape.example}"
        reason = f"does not go with {name}"
        fields = " and ".join(str(field) for field in given)
        raise InvalidSpecification.because(fields, given, reason, remedy)


def _read(value: Any, wanted: type, field: str, shape: _Shape) -> Any:
    if isinstance(value, tuple):
        value = list(value)
    example = f"write it as in {shape.example}"
    right = isinstance(value, wanted) and not isinstance(value, bool)
    if not right:
        reason = f"is not {_NAMES[wanted]}"
        raise InvalidSpecification.because(field, value, reason, example)
    if wanted is str:
        return check_text(value, field) if field == "prompt" else _word(value, field)
    if wanted is int:
        return read_whole_number(value, 1, _IDS_MAX, field)
    if not value and field not in shape.beside:
        raise InvalidSpecification.because(field, value, "is empty", example)
    if field == "command" and not all(isinstance(part, str) for part in value):
        raise InvalidSpecification.because(field, value, "is not a list of text", example)
    return check_json(value, field)


def _word(value: str, field: str) -> str:
    """One that may stand in a key; so a plugin's name holds no slash."""
    word = check_label(value, field)
    if field in ("plugin", "command") and "/" in word:
        remedy = "use a name without one"
        raise InvalidSpecification.because(field, value, "holds a slash", remedy)
    return word


_IDS_MAX = 2**63 - 1
_NAMES = {str: "text", list: "a list", dict: "a mapping", int: "a number"}
