"""`db upgrade`: brings the schema of a database up to that of this program."""

from __future__ import annotations

from quarterjack.store.address import address_of, is_postgres
from quarterjack.store.sqlite import file


def upgrade(url: str, now: int) -> tuple[int, int]:
    """The schema before and after. On PostgreSQL a missing schema (0) is created, because the user
    who runs the service may lack the privileges to do so."""
    if not is_postgres(url):
        return file.upgrade(file.path_of(url), now)
    address = address_of(url)
    from quarterjack.store.postgres import schema

    return schema.upgrade(address)
