"""The schema on PostgreSQL: made or brought up to date by one program at a time, or refused."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import asyncpg

from quarterjack.clock import SystemClock
from quarterjack.errors import StoreUnusable
from quarterjack.failpoint import failpoint
from quarterjack.store.migrations import (
    Migration,
    migrations,
    refuse_older_schemas,
    refuse_other_schemas,
)
from quarterjack.store.postgres.connection import Address, ManagedConnection, refusal

OLDEST = 140000
_ONE_AT_A_TIME = 7415_0001
"""The number of an advisory lock: who comes second waits, and finds nothing left to do."""
LOCK_SECONDS = 5
"""Whoever wants a whole table makes everybody behind him wait, and must not wait for long."""
UPGRADE_SECONDS = 24 * 3600


def upgrade(address: Address) -> tuple[int, int]:
    """Make the schema, or bring it up to date: from which to which."""
    return asyncio.run(_upgraded(address))


async def _upgraded(address: Address) -> tuple[int, int]:
    link = ManagedConnection(address, "quarterjack upgrade", UPGRADE_SECONDS, SystemClock().chance)
    try:
        return await bring_up_to_date(await link.connection(), address, allowed=True)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        raise refusal(error, address) from error
    finally:
        await link.close()


async def bring_up_to_date(
    connection: asyncpg.Connection,
    address: Address,
    *,
    allowed: bool,
    steps: Sequence[Migration] | None = None,
) -> tuple[int, int]:
    """From which schema to which. All that is missing is one transaction."""
    wanted = migrations("postgres") if steps is None else steps
    version = await connection.fetchval("select current_setting('server_version_num')::int")
    if version < OLDEST:
        remedy = f"use PostgreSQL {OLDEST // 10000} or later"
        raise StoreUnusable(f"database {address}: it is PostgreSQL {version // 10000}; {remedy}")
    stored = await _stored(connection, address, wanted)
    newest = max((each.number for each in wanted), default=0)
    if not allowed:
        if not stored:
            remedy = "start `quarterjack up` once, or name another with --database"
            raise StoreUnusable(f"database {address}: nothing of ours is there; {remedy}")
        refuse_older_schemas(address, stored, wanted)
    if stored < newest:
        try:
            stored = await _catch_up(connection, address, wanted)
        except asyncpg.InsufficientPrivilegeError as error:
            remedy = "run `quarterjack db upgrade` as their owner"
            reason = f"this user may not make or change the tables ({error})"
            raise StoreUnusable(f"database {address}: {reason}; {remedy}") from error
    return stored, newest


async def _catch_up(
    connection: asyncpg.Connection, address: Address, wanted: Sequence[Migration]
) -> int:
    """From where it was, when it was our turn."""
    async with connection.transaction():
        await connection.execute("select pg_advisory_xact_lock($1)", _ONE_AT_A_TIME)
        await connection.execute(f"set local lock_timeout = '{LOCK_SECONDS}s'")
        stored = await _stored(connection, address, wanted)
        await _migrate(connection, address, [each for each in wanted if each.number > stored])
    return stored


async def _stored(
    connection: asyncpg.Connection, address: Address, wanted: Sequence[Migration]
) -> int:
    # Asked of the catalogue itself: what `to_regclass` did not find a moment ago, it does not look
    # for again in the same transaction.
    caller = "select count(*) from pg_tables where schemaname = $1 and tablename = 'migrations'"
    if not await connection.fetchval(caller, address.schema):
        return 0
    table = f"{address.schema}.migrations"
    rows = await connection.fetch(f"select number, checksum from {table} order by number")  # noqa: S608
    return refuse_other_schemas(address, [(row[0], row[1]) for row in rows], wanted)


async def _migrate(
    connection: asyncpg.Connection, address: Address, missing: Sequence[Migration]
) -> None:
    schema = address.schema
    caller = "select count(*) from pg_namespace where nspname = $1"
    if not await connection.fetchval(caller, schema):
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
