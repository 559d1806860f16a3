"""Where the program starts: the console script, which hands the real world to the doors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from quarterjack.cli import commands
from quarterjack.clock import SystemClock


class SystemRuntime(SystemClock):
    """What a command cannot do by itself. The wiring is loaded for what needs it."""

    environment: Mapping[str, str] = os.environ

    @property
    def user(self) -> str:
        import pwd

        try:
            return pwd.getpwuid(os.getuid()).pw_name
        except KeyError:  # a container may know no names
            return f"uid {os.getuid()}"

    def ask(self, *what: Any, **options: Any) -> Any:
        from quarterjack.service import ask

        return ask(self, *what, **options)

    def up(self, *what: Any, **options: Any) -> None:
        from quarterjack.service import up

        up(self, *what, **options)


def main() -> None:
    """`quarterjack`, and its alias `qj`."""
    commands(obj=SystemRuntime(), prog_name="quarterjack")


if __name__ == "__main__":
    main()
