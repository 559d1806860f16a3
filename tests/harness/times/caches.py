"""Clears caches, so that a test session or a measurement starts cold."""

from __future__ import annotations

import sys


def clear_caches() -> None:
    """Of `quarterjack.times`."""
    for name, module in list(sys.modules.items()):
        if name.startswith("quarterjack.times."):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
