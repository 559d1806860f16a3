"""The world as the command line sees it; `app` hands over the real one."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from quarterjack.control import Control
    from quarterjack.declare.declaration import Declaration

T = TypeVar("T")


class World(Protocol):
    """What a command cannot do by itself."""

    environment: Mapping[str, str]

    @property
    def user(self) -> str:
        """Who is at the keyboard."""
        ...

    def now(self) -> int: ...
    def monotonic(self) -> int: ...

    def ask(
        self,
        database: str,
        by: str,
        asking: Callable[[Control], Coroutine[Any, Any, T]],
        *,
        create: bool = False,
    ) -> T:
        """Ask something of a database. `create` allows to make one where there is none."""
        ...

    def up(self, declaration: Declaration, database: str, **options: Any) -> None:
        """Run the whole service until it is told to stop."""
        ...
