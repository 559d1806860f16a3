"""YAML as people mean it: `12:30` and `on` stay text, a key twice is an error, and everything
knows its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from quarterjack.errors import InvalidSpecification

_PLAIN = {"int", "float", "bool", "null"}
_BYTES_MAX = 10_000_000


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
    try:
        size = path.stat().st_size
        text = path.read_text()
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        remedy = "name a YAML file that can be read"
        raise InvalidSpecification.because("file", str(path), why, remedy) from None
    if size > _BYTES_MAX:
        remedy = f"use at most {_BYTES_MAX} bytes"
        raise InvalidSpecification.because("file", str(path), "is too long", remedy)
    return _Reading(path).document(text)


class _Reading:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: dict[tuple[str, ...], int] = {}

    def document(self, text: str) -> Document:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError

        self._yaml = YAML(typ="safe", pure=True)
        try:
            node = self._yaml.compose(text)
            values = {} if node is None else self._value(node, ())
        except YAMLError as error:
            raise self._not_yaml(error) from None
        except RecursionError:
            raise self._wrong(1, "is nested too deeply", "use fewer levels") from None
        if not isinstance(values, dict):
            raise self._wrong(1, "is no mapping", "write names and values, one to a line")
        return Document(values, self._lines)

    def _value(self, node: Any, path: tuple[str, ...]) -> Any:
        if isinstance(node.value, str):
            return self._scalar(node)
        line = node.start_mark.line + 1
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

    def _scalar(self, node: Any) -> Any:
        kind = node.tag.rpartition(":")[2]
        return self._yaml.constructor.construct_object(node) if kind in _PLAIN else node.value

    def _not_yaml(self, error: Exception) -> InvalidSpecification:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        problem = getattr(error, "problem", None) or "it cannot be read"
        return self._wrong(line, f"is not YAML: {problem}", "look at that line and those above")

    def _wrong(self, line: int, reason: str, remedy: str) -> InvalidSpecification:
        return InvalidSpecification.because("line", line, reason, remedy).within(str(self._path))
