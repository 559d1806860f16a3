"""`plugin`: an executable that takes JSON and answers with JSON, and one of its commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quarterjack.errors import InvalidSpecification
from quarterjack.rules.definition.input_checks import check_label
from quarterjack.rules.definition.target import TargetField, TargetKind


def _check_word(value: str, name: str) -> str:
    """Plugin and command form a key, `plugin/command`, so neither holds a slash."""
    if "/" in check_label(value, name):
        remedy = "use a name without one"
        raise InvalidSpecification.because(name, value, "contains a slash", remedy)
    return value


def _scope(fields: Mapping[str, Any]) -> str:
    return f"{fields['plugin']}/{fields['command']}"


KIND = TargetKind(
    "plugin",
    "plugin: echo",
    {"plugin": TargetField(str, _check_word), "command": TargetField(str, _check_word, "poll")},
    preset="ductile",
    scope=_scope,
    is_poll=lambda fields: fields["command"] == "poll",
)
