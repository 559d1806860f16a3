"""Every session starts with empty caches."""

from __future__ import annotations

import pytest

from harness.times.caches import clear_caches


@pytest.fixture(scope="session", autouse=True)
def _cold_caches() -> None:
    clear_caches()
