"""Quarterjack: say when and what; every due slot becomes exactly one run."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quarterjack.app import Quarterjack
    from quarterjack.errors import InvalidRecurrence, QuarterjackError
    from quarterjack.targets.context import Context, Depends
    from quarterjack.targets.results import Err, Ok, Skip
    from quarterjack.times import (
        After,
        At,
        Cron,
        Daily,
        Every,
        Hourly,
        Monthly,
        Recurrence,
        Weekday,
        Weekly,
        parse,
    )

__version__ = "0.1.0"

_HOMES = {
    "quarterjack.app": ("Quarterjack",),
    "quarterjack.targets.context": ("Context", "Depends"),
    "quarterjack.targets.results": ("Err", "Ok", "Skip"),
    "quarterjack.errors": ("InvalidRecurrence", "QuarterjackError"),
    "quarterjack.times": (
        "After", "At", "Cron", "Daily", "Every", "Hourly", "Monthly", "Recurrence", "Weekday",
        "Weekly", "parse",
    ),
}  # fmt: skip
_HOME = {name: home for home, names in _HOMES.items() for name in names}
__all__ = [
    "After", "At", "Context", "Cron", "Daily", "Depends", "Err", "Every", "Hourly",
    "InvalidRecurrence", "Monthly", "Ok", "Quarterjack", "QuarterjackError", "Recurrence", "Skip",
    "Weekday", "Weekly", "__version__", "parse",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Public names are loaded when they are first used, so that importing this costs nothing."""
    if name == "times":
        return import_module("quarterjack.times")
    if name not in _HOME:
        raise AttributeError(f"module 'quarterjack' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__


if sys.platform == "win32":  # last, so that type checkers there read the rest
    remedy = "use it in WSL 2 (`wsl --install`) or in a Linux container"
    raise ImportError(f"Quarterjack does not run on Windows; {remedy}")
