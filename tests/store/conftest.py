"""Every store keeps the same contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from store.stores import STORES, Asking, asking


@pytest.fixture(params=STORES)
def ask(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Asking]:
    with asking(request.param, tmp_path) as asked:
        yield asked
