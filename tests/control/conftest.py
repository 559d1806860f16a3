"""What the tests of control requests share: a service on each database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.control.client import ControlClient
from harness.engine.service import SteppedService
from harness.store.stores import DATABASES


@pytest.fixture(params=DATABASES)
def service(request: pytest.FixtureRequest) -> Iterator[SteppedService]:
    service = SteppedService(on=request.param)
    yield service
    service.close()


@pytest.fixture
def ada(service: SteppedService) -> ControlClient:
    return ControlClient(service)
