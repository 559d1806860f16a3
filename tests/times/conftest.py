"""Every session starts cold: nothing that an earlier one worked out is left in a cache."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(scope="session", autouse=True)
def _cold_caches() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("quarterjack.times."):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
