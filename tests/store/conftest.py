"""What the tests of a store share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.store.stores import StoreClient, open_client


@pytest.fixture
def client(tmp_path: Path) -> Iterator[StoreClient]:
    with open_client("SQLite", tmp_path) as client:
        yield client
