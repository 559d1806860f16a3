"""Where a declaration comes from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Source(Protocol):
    """What declares schedules: a YAML file, or a program."""

    @property
    def name(self) -> str:
        """As errors name it, such as the path that was given."""
        ...

    @property
    def default_name(self) -> str:
        """The name of the declaration if none is written: the file's stem, or an import path."""
        ...

    @property
    def location(self) -> str:
        """The same, for readers on another day and in another folder."""
        ...

    @property
    def values(self) -> Mapping[str, Any]:
        """Settings, and `schedules` by their keys."""
        ...

    def place(self, *path: str) -> str:
        """Where a value was written, such as `quarterjack.yaml:12`."""
        ...
