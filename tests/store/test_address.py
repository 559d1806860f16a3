"""Kinds of addresses, and how they are shown."""

from __future__ import annotations

import pytest

from quarterjack.store.address import is_postgres, without_secrets


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:////var/lib/q.db", "sqlite:////var/lib/q.db"),
        ("postgresql://db/app", "postgresql://db/app"),
        ("postgresql://ada:s3cret@db:5433/app", "postgresql://db:5433/app"),
        ("postgresql://ada:s3c@ret@db/app", "postgresql://db/app"),
        ("postgresql://ada:s3c?ret@db/app", "postgresql://db/app"),
        ("postgresql://db/app?user=ada&password=s3cret", "postgresql://db/app"),
        ("postgresql://db/app?password=s3@cret", "postgresql://db/app"),
        ("postgresql://ada:p@db/app?user=x@y&password=hu@nter2", "postgresql://db/app"),
        ("postgresql://ada@one:5432,two:5433/app", "postgresql://one:5432,two:5433/app"),
    ],
)
def test_user_and_password_are_not_shown(url: str, shown: str):
    assert without_secrets(url) == shown


@pytest.mark.parametrize(
    ("url", "expected"), [("postgresql://db", True), ("postgres://db", True), ("q.db", False)]
)
def test_both_schemes_of_postgresql_are_known(url: str, expected: bool):
    assert is_postgres(url) is expected
