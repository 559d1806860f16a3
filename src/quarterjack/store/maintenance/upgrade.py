"""Upgrading: the schema of a database is made to be that of this program."""

from __future__ import annotations

from quarterjack.store.address import is_postgres, refuse_without_driver
from quarterjack.store.sqlite import file as sqlite_file


def upgrade(url: str, now: int) -> tuple[int, int]:
    """From which schema to which. On PostgreSQL 0 is none: it is made, for those who run the
    service may lack the right to."""
    if not is_postgres(url):
        return sqlite_file.upgrade(sqlite_file.path_of(url), now)
    refuse_without_driver()
    from quarterjack.store.postgres import connection as postgres_link
    from quarterjack.store.postgres import schema as postgres_schema

    return postgres_schema.upgrade(postgres_link.address_of(url))
