"""Every test of a transaction runs on every store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.store.stores import STORES, StoreClient, open_client


@pytest.fixture(params=STORES)
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreClient]:
    with open_client(request.param, tmp_path) as client:
        yield client
