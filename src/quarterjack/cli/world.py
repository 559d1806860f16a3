"""The world as the command line sees it; `app` hands over the real one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from quarterjack.declare.declaration import Declaration


class World(Protocol):
    """What a command cannot do by itself."""

    environment: Mapping[str, str]

    def now(self) -> int: ...

    def up(self, declaration: Declaration, database: str, **options: Any) -> None:
        """Run the whole service until it is told to stop."""
        ...
