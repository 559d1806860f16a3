"""Creating and upgrading the schema."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

from harness.store.nodes import (
    open_stores,
    other_connection,
)
from quarterjack.clock import SystemClock
from quarterjack.errors import StoreUnusable
from quarterjack.store.address import address_of
from quarterjack.store.migrations import Migration, load_migrations
from quarterjack.store.postgres import schema
from quarterjack.store.postgres.store import PostgresStore
from quarterjack.targets.kinds import KINDS

MIGRATIONS = load_migrations("postgres")
LATEST = MIGRATIONS[-1].number


def test_concurrent_starts_create_the_schema_once(url: str, run: Any):
    async def start() -> int:
        async with open_stores(url, 8):
            connection = await other_connection(url)
            count = await connection.fetchval("select count(*) from migrations")
            await connection.close()
            return int(count)

    assert run(start()) == len(MIGRATIONS)


def test_it_is_created_only_if_that_is_allowed(url: str, run: Any):
    store = PostgresStore(address_of(url), SystemClock(), "node", KINDS)

    with pytest.raises(
        StoreUnusable, match="no Quarterjack schema in this database; start `quarterjack up`"
    ):
        run(store.open(create=False))


def test_the_schema_of_a_newer_program_is_refused(url: str, run: Any):
    later = [*MIGRATIONS, Migration(LATEST + 1, "more", "create table more (id bigint)")]

    async def reopen() -> None:
        address = address_of(url)
        with patch.object(schema, "load_migrations", lambda _: later):
            store = await PostgresStore(address, SystemClock(), "n", KINDS).open(create=True)
        await store.close()
        await PostgresStore(address, SystemClock(), "n", KINDS).open(create=True)

    with pytest.raises(StoreUnusable, match="use the newer program"):
        run(reopen())


def test_a_failed_migration_leaves_nothing(url: str, run: Any):
    broken = [*MIGRATIONS, Migration(LATEST + 1, "broken", "create nonsense")]

    async def reopen() -> tuple[str, int]:
        store = PostgresStore(address_of(url), SystemClock(), "n", KINDS)
        with_broken = patch.object(schema, "load_migrations", lambda _: broken)
        with with_broken, pytest.raises(StoreUnusable) as error:
            await store.open(create=True)
        other = await other_connection(url)
        query = "select count(*) from pg_namespace where nspname = $1"
        left = await other.fetchval(query, address_of(url).schema)
        await other.close()
        return str(error.value), left

    error, left = run(reopen())
    assert "syntax error" in error
    assert left == 0
