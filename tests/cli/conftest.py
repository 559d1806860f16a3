"""What the tests of commands on PostgreSQL share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from quarterjack.store.migrations import Migration, migrations
from quarterjack.store.postgres import schema as postgres_schema


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """This program becomes a newer one, whose schema has something more."""

    def become(text: str) -> None:
        ours = migrations("postgres")
        wanted = [*ours, Migration(ours[-1].number + 1, "more", text)]
        monkeypatch.setattr(postgres_schema, "migrations", lambda dialect: wanted)

    return become
