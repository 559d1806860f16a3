"""Addresses are shown without what nobody else should know."""

from __future__ import annotations

import pytest

from quarterjack.store.address import is_postgres, without_secrets
from quarterjack.store.postgres.connection import address_of


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
def test_who_signs_in_and_with_what_is_not_shown(url: str, shown: str):
    assert without_secrets(url) == shown


def test_the_schema_is_shown_if_it_is_not_the_usual_one():
    said = "postgresql://ada@one:5432,two:5433/app?password=s3cret&schema=reports"

    assert str(address_of(said)) == "postgresql://one:5432,two:5433/app?schema=reports"
    assert str(address_of("postgres://db/app?schema=quarterjack")) == "postgres://db/app"


@pytest.mark.parametrize(
    ("url", "expected"), [("postgresql://db", True), ("postgres://db", True), ("q.db", False)]
)
def test_both_spellings_mean_postgresql(url: str, expected: bool):
    assert is_postgres(url) is expected
