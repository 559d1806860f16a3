"""Every session starts cold: nothing that an earlier one worked out is left in a cache."""

from __future__ import annotations

import pytest

from harness.times.cold import prune


@pytest.fixture(scope="session", autouse=True)
def _cold_caches() -> None:
    prune()
