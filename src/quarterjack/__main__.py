"""The console script: `quarterjack`, `qj` and `python -m quarterjack`."""

from __future__ import annotations

from quarterjack.cli import commands
from quarterjack.cli.runtime import Runtime


def main() -> None:
    commands(obj=Runtime(), prog_name="quarterjack")


if __name__ == "__main__":
    main()
