"""Read-only queries for maintenance, on either database. Each is one statement."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import apsw

from quarterjack.rules.definition.target import TargetKinds
from quarterjack.store.address import address_of, is_postgres
from quarterjack.store.specifications import Specifications
from quarterjack.store.sqlite.errors import as_store_error
from quarterjack.store.sqlite.file import open_read_only, path_of
from quarterjack.store.statements import Row, sql

if TYPE_CHECKING:
    from quarterjack.store.postgres.reader import PostgresReader

MaintenanceReader: TypeAlias = "_SqliteReader | PostgresReader"
QUERY_SECONDS_MAX = 3600
"""A check may scan whole tables, but must not wait forever."""


class _SqliteReader:
    is_pooled = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = open_read_only(path)

    def query(self, statement: str, *values: Any) -> Sequence[Row]:
        try:
            return self._connection.execute(sql(statement, "sqlite"), values).fetchall()
        except apsw.Error as error:
            raise as_store_error(error, self._path) from error

    def close(self) -> None:
        self._connection.close()


def open_maintenance_reader(url: str) -> closing[MaintenanceReader]:
    """Refuses a database that does not exist or is not at the current schema."""
    if not is_postgres(url):
        return closing(_SqliteReader(path_of(url)))
    address = address_of(url)
    from quarterjack.store.postgres.reader import PostgresReader

    specifications = Specifications(TargetKinds(()))
    return closing(PostgresReader(address, specifications, seconds=QUERY_SECONDS_MAX))
