"""What the tests of a store share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.store.stores import Asking, asking


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Asking]:
    with asking("SQLite", tmp_path) as caller:
        yield caller
