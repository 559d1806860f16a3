"""Quarterjack: say when and what; every due slot becomes exactly one run."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quarterjack.errors import InvalidRecurrence, QuarterjackError
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
__all__ = [
    "After",
    "At",
    "Cron",
    "Daily",
    "Every",
    "Hourly",
    "InvalidRecurrence",
    "Monthly",
    "QuarterjackError",
    "Recurrence",
    "Weekday",
    "Weekly",
    "__version__",
    "parse",
]

_ERRORS = {"InvalidRecurrence", "QuarterjackError"}


def __getattr__(name: str) -> Any:
    """Public names are loaded when first used, so that importing this costs nothing."""
    if name == "times":
        return import_module("quarterjack.times")
    if name not in __all__:
        raise AttributeError(f"module 'quarterjack' has no attribute {name!r}")
    home = "quarterjack.errors" if name in _ERRORS else "quarterjack.times"
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return __all__
