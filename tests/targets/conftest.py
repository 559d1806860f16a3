"""A stepped service for targets as a worker calls them, closed after each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.engine.service import SteppedService
from harness.store.stores import DATABASES


@pytest.fixture(params=DATABASES)
def service(request: pytest.FixtureRequest) -> Iterator[SteppedService]:
    """On each kind of database."""
    made = SteppedService(on=request.param)
    yield made
    made.close()
