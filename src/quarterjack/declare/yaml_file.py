"""YAML as people mean it: `12:30` and `on` stay text, a key twice is an error, and everything
knows its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from quarterjack.errors import InvalidSpecification

_PLAIN = {"int", "float", "bool", "null"}
_TAGS = {
    f"tag:yaml.org,2002:{kind}" for kind in (*_PLAIN, "str", "seq", "map", "timestamp", "merge")
}
_BYTES_MAX = 10_000_000
_VALUES_MAX = 1_000_000
"""Aliases count each time: a small file can say the same thing without end."""


class Document(NamedTuple):
    """What a file says, and where it says it."""

    values: dict[str, Any]
    lines: dict[tuple[str, ...], int]
    """By path, such as `("schedules", "nightly")`."""

    def line(self, *path: str) -> int:
        """Where this is said, or the nearest thing around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_yaml(path: Path) -> Document:
    remedy = "name a YAML file that can be read"
    try:
        if not path.is_file():
            why = "is no file" if path.exists() else "does not exist"
            raise InvalidSpecification.because("file", str(path), why, remedy)
        if path.stat().st_size > _BYTES_MAX:
            shorter = f"use at most {_BYTES_MAX} bytes"
            raise InvalidSpecification.because("file", str(path), "is too long", shorter)
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError, ValueError) as error:
        if isinstance(error, InvalidSpecification):
            raise
        why = f"cannot be read ({getattr(error, 'strerror', None) or error})"
        raise InvalidSpecification.because("file", str(path), why, remedy) from None
    return _Reading(path).document(text)


class _Reading:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: dict[tuple[str, ...], int] = {}
        self._seen = 0

    def document(self, text: str) -> Document:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError

        self._yaml = YAML(typ="safe", pure=True)
        try:
            node = self._yaml.compose(text)
            values = None if node is None else self._value(node, ())
        except YAMLError as error:
            raise self._not_yaml(error) from None
        except RecursionError:
            raise self._wrong(1, "is nested too deeply", "use fewer levels") from None
        if values is None:
            remedy = "write `schedules: {}` if you mean that there are none"
            raise self._wrong(1, "says nothing", remedy)
        if not isinstance(values, dict):
            raise self._wrong(1, "is no mapping", "write names and values, one to a line")
        return Document(values, self._lines)

    def _value(self, node: Any, path: tuple[str, ...]) -> Any:
        line = node.start_mark.line + 1
        self._seen += 1
        if self._seen > _VALUES_MAX:
            raise self._wrong(line, "says too much", f"use at most {_VALUES_MAX} values")
        if node.tag not in _TAGS:
            raise self._wrong(line, f"has the tag {node.tag}", "leave tags out")
        if isinstance(node.value, str):
            return self._scalar(node, line)
        if len(path) > 100:
            raise self._wrong(line, "is nested too deeply", "use fewer levels")
        if node.tag.endswith(":seq"):
            return [self._value(each, (*path, str(i))) for i, each in enumerate(node.value)]
        found: dict[Any, Any] = {}
        for name, value in node.value:
            key = self._value(name, path)
            line = name.start_mark.line + 1
            if not isinstance(key, str | int | float | bool):
                raise self._wrong(line, "has a key that is no text", "use text")
            if key in found:
                raise self._wrong(line, f'says "{key}" twice', "remove one of them")
            own = (*path, str(key))
            self._lines[own] = line
            found[key] = self._value(value, own)
        return found

    def _scalar(self, node: Any, line: int) -> Any:
        if node.tag.rpartition(":")[2] not in _PLAIN:
            return node.value
        try:
            return self._yaml.constructor.construct_object(node)
        except (KeyError, ValueError):
            raise self._wrong(line, "holds a number that is none", "write it as text") from None

    def _not_yaml(self, error: Exception) -> InvalidSpecification:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        problem = getattr(error, "problem", None) or "it cannot be read"
        return self._wrong(line, f"is not YAML: {problem}", "look at that line and those above")

    def _wrong(self, line: int, reason: str, remedy: str) -> InvalidSpecification:
        return InvalidSpecification.because("line", line, reason, remedy).within(str(self._path))
