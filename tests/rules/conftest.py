"""Runs every test with an `InMemoryService` twice: in memory, and with a SQLite store whose rows
are compared after every step."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(autouse=True, params=["in memory", "on SQLite"])
def _store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "on SQLite":
        from harness.store.stored_world import StoredWorld

        monkeypatch.setattr(request.module, "InMemoryService", StoredWorld)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of modules without an `InMemoryService` run once."""
    items[:] = [item for item in items if not _is_repetition(item)]


def _is_repetition(item: pytest.Item) -> bool:
    on_sqlite = "on SQLite" in item.name and item.path.is_relative_to(HERE)
    return on_sqlite and not hasattr(item.module, "InMemoryService")  # type: ignore[attr-defined]
