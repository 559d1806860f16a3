"""Services for the tests of the engine, closed after each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.engine.service import SteppedService
from harness.store.stores import DATABASES
from quarterjack.engine import planner
from quarterjack.rules import Limits


@pytest.fixture(params=DATABASES)
def make_service(request: pytest.FixtureRequest) -> Iterator[Callable[..., SteppedService]]:
    """On each kind of database."""
    made: list[SteppedService] = []

    def make(*values: Any, **words: Any) -> SteppedService:
        made.append(SteppedService(*values, on=request.param, **words))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def service(make_service: Callable[..., SteppedService]) -> SteppedService:
    """On each kind of database."""
    return make_service()


@pytest.fixture
def sqlite_service() -> Iterator[SteppedService]:
    service = SteppedService()
    yield service
    service.close()


@pytest.fixture
def make_two_nodes(
    make_service: Callable[..., SteppedService], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Limits], SteppedService]:
    """Two nodes on one database, which take turns: each plans three schedules at a time."""
    monkeypatch.setattr(planner, "BATCH", 3)

    def make(limits: Limits) -> SteppedService:
        return make_service(limits=limits, workers=("w1", "w2"), folder=tmp_path)

    return make
