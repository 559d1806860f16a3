"""Every example of the rules is lived twice: in a world in memory, and in one that has a real
store beside it and compares every row."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, params=["in memory", "on SQLite"])
def _world(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "on SQLite":
        from harness.store.stored_world import StoredWorld

        monkeypatch.setattr(request.module, "World", StoredWorld)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that make no world are run once."""
    items[:] = [item for item in items if not _is_needless(item)]


def _is_needless(item: pytest.Item) -> bool:
    on_sqlite = "on SQLite" in item.name and item.path.parent.name == "rules"
    return on_sqlite and not hasattr(item.module, "World")  # type: ignore[attr-defined]
