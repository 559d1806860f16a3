"""The schema on PostgreSQL: created or upgraded by one program at a time, or refused."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import asyncpg

from quarterjack.errors import NoSchema, StoreUnusable
from quarterjack.failpoint import failpoint
from quarterjack.store.address import Address
from quarterjack.store.migrations import (
    CREATE_REMEDY,
    Migration,
    load_migrations,
    missing_migrations,
)
from quarterjack.store.postgres.connection import connected

VERSION_MIN = 140000
_ADVISORY_LOCK = 7415_0001
"""Taken by an upgrade: a second program waits, and then finds nothing to do."""
LOCK_SECONDS = 5
"""Everybody else queues behind a program that waits for a table lock, so it must not wait long."""
UPGRADE_SECONDS = 24 * 3600


def upgrade(address: Address) -> tuple[int, int]:
    """Create or upgrade the schema; its number before (0 for none) and after."""

    async def run() -> tuple[int, int]:
        async with connected(address, "quarterjack upgrade", UPGRADE_SECONDS) as connection:
            return await upgrade_if_old(connection, address, allowed=True)

    return asyncio.run(run())


async def upgrade_if_old(
    connection: asyncpg.Connection, address: Address, *, allowed: bool
) -> tuple[int, int]:
    """Apply all missing migrations in one transaction; the schema before and after."""
    migrations = load_migrations("postgres")
    version = await connection.fetchval("select current_setting('server_version_num')::int")
    if version < VERSION_MIN:
        remedy = f"use PostgreSQL {VERSION_MIN // 10000} or later"
        raise StoreUnusable(f"database {address}: it is PostgreSQL {version // 10000}; {remedy}")
    applied = await _applied(connection, address.schema)
    if not applied and not allowed:
        reason = "no Quarterjack schema in this database"
        raise NoSchema(f"database {address}: {reason}; {CREATE_REMEDY}")
    if missing_migrations(address, applied, migrations, allowed=allowed):
        try:
            applied = await _migrate(connection, address, migrations)
        except asyncpg.InsufficientPrivilegeError as error:
            remedy = "run `quarterjack db upgrade` as the owner of the tables"
            reason = f"this user may not create or alter tables ({error})"
            raise StoreUnusable(f"database {address}: {reason}; {remedy}") from error
    return applied[-1][0] if applied else 0, migrations[-1].number


async def _migrate(
    connection: asyncpg.Connection, address: Address, migrations: Sequence[Migration]
) -> list[tuple[int, str]]:
    """Returns what had been applied when the lock was taken."""
    async with connection.transaction():
        await connection.execute("select pg_advisory_xact_lock($1)", _ADVISORY_LOCK)
        await connection.execute(f"set local lock_timeout = '{LOCK_SECONDS}s'")
        applied = await _applied(connection, address.schema)
        missing = missing_migrations(address, applied, migrations, allowed=True)
        await _apply(connection, address.schema, missing)
        return applied


async def _applied(connection: asyncpg.Connection, schema: str) -> list[tuple[int, str]]:
    # From the catalog itself: `to_regclass` caches that a table was not found, until the end of the
    # transaction.
    query = "select count(*) from pg_tables where schemaname = $1 and tablename = 'migrations'"
    if not await connection.fetchval(query, schema):
        return []
    query = f"select number, checksum from {schema}.migrations order by number"  # noqa: S608
    return [(row[0], row[1]) for row in await connection.fetch(query)]


async def _apply(connection: asyncpg.Connection, schema: str, missing: Sequence[Migration]) -> None:
    query = "select count(*) from pg_namespace where nspname = $1"
    if not await connection.fetchval(query, schema):
        await connection.execute(f"create schema {schema}")
    await connection.execute(f"set local search_path = {schema}")
    await connection.execute(
        "create table if not exists migrations"
        " (number bigint primary key, name text, checksum text, applied_at timestamptz)"
    )
    for migration in missing:
        row = (migration.number, migration.name, migration.checksum)
        await connection.execute("insert into migrations values ($1, $2, $3, now())", *row)
        await connection.execute(migration.text, timeout=UPGRADE_SECONDS)
        failpoint("migration.written")
