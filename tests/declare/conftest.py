"""What the tests of declarations share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from harness.declare.declarations import declaration_of
from harness.store.stores import STORES, StoreClient, open_client
from quarterjack.declare.declaration import Declaration


@pytest.fixture(params=STORES)
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreClient]:
    with open_client(request.param, tmp_path) as client:
        yield client


@pytest.fixture
def declared(tmp_path: Path) -> Callable[[str], Declaration]:
    """Reads the text of a file."""
    return partial(declaration_of, tmp_path)


@pytest.fixture
def logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> pytest.LogCaptureFixture:
    monkeypatch.setattr(logging.getLogger("quarterjack"), "propagate", True)
    caplog.set_level("INFO", "quarterjack")
    return caplog
