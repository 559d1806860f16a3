"""A service of real processes in a new folder; what a failed test leaves running is killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.crash.kills import RealService


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RealService]:
    service = RealService(tmp_path)
    yield service
    service.end()
