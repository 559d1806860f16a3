"""Reads YAML as people mean it: `12:30` and `on` stay text, a key given twice is an error, and each
key has its line."""

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
"""Each use of an alias counts: aliases make a small file very large."""


class Document(NamedTuple):
    """A source of declarations (`source.Source`)."""

    path: Path
    values: dict[str, Any]
    lines: dict[tuple[str, ...], int]
    """By path, such as `("schedules", "nightly")`."""

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def default_name(self) -> str:
        return self.path.stem

    @property
    def location(self) -> str:
        return str(self.path.absolute())

    def place(self, *path: str) -> str:
        """File and line of a value, or of the nearest value around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.path}:{self.lines.get(path, 1)}"


def read_yaml(path: Path) -> Document:
    return _Parser(path).document(_read_text(path))


def _read_text(path: Path) -> str:
    try:
        if not path.is_file():
            raise _unreadable(path, "is not a file" if path.exists() else "does not exist")
        if path.stat().st_size > _BYTES_MAX:
            raise _unreadable(path, "is too long", f"use at most {_BYTES_MAX} bytes")
        return path.read_text(encoding="utf-8")
    except InvalidSpecification:
        raise
    except (OSError, UnicodeError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise _unreadable(path, f"cannot be read ({why})") from None


def _unreadable(
    path: Path,
    reason: str,
    remedy: str = "give a YAML file that can be read; an app is given as in jobs.py:app",
) -> InvalidSpecification:
    return InvalidSpecification.because("file", str(path), reason, remedy)


class _Parser:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: dict[tuple[str, ...], int] = {}
        self._count = 0

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
            raise self._wrong(1, "is empty", "write `schedules: {}` if there are no schedules")
        if not isinstance(values, dict):
            raise self._wrong(1, "is not a mapping", "write names and values, one to a line")
        return Document(self._path, values, self._lines)

    def _value(self, node: Any, path: tuple[str, ...]) -> Any:
        line = node.start_mark.line + 1
        self._count += 1
        if self._count > _VALUES_MAX:
            raise self._wrong(line, "holds too many values", f"use at most {_VALUES_MAX}")
        if node.tag not in _TAGS:
            raise self._wrong(line, f"has the tag {node.tag}", "leave tags out")
        if isinstance(node.value, str):
            return self._scalar(node, line)
        if len(path) > 100:
            raise self._wrong(line, "is nested too deeply", "use fewer levels")
        if node.tag.endswith(":seq"):
            return [self._value(each, (*path, str(i))) for i, each in enumerate(node.value)]
        return self._mapping(node, path)

    def _mapping(self, node: Any, path: tuple[str, ...]) -> dict[Any, Any]:
        values: dict[Any, Any] = {}
        for name, value in node.value:
            key = self._value(name, path)
            line = name.start_mark.line + 1
            if not isinstance(key, str | int | float | bool):
                raise self._wrong(line, "has a key that is not text", "use text")
            if key in values:
                raise self._wrong(line, f'gives "{key}" a second time', "remove one of them")
            own = (*path, str(key))
            self._lines[own] = line
            values[key] = self._value(value, own)
        return values

    def _scalar(self, node: Any, line: int) -> Any:
        if node.tag.rpartition(":")[2] not in _PLAIN:
            return node.value
        try:
            return self._yaml.constructor.construct_object(node)
        except (KeyError, ValueError):
            raise self._wrong(line, "holds an invalid number", "write it as text") from None

    def _not_yaml(self, error: Exception) -> InvalidSpecification:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        problem = getattr(error, "problem", None) or "it cannot be read"
        if "undefined alias" in problem:
            remedy = 'text that begins with * needs quotes, as in cron: "*/5 * * * *"'
            return self._wrong(line, "has a * outside quotes", remedy)
        return self._wrong(line, f"is not YAML: {problem}", "look at that line and those above")

    def _wrong(self, line: int, reason: str, remedy: str) -> InvalidSpecification:
        return InvalidSpecification.because("line", line, reason, remedy).within(str(self._path))
