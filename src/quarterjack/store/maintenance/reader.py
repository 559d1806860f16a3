"""Looking: questions to a database of either kind, for whoever takes care of it. Each is one
statement, and none can write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import apsw

from quarterjack.store.address import is_postgres, refuse_without_driver
from quarterjack.store.specifications import Specifications
from quarterjack.store.sqlite.file import advised, open_to_read, path_of
from quarterjack.store.statements import Row, sql

PATIENCE_SECONDS = 3600
"""A look at all rows takes as long as it takes; but nobody waits for ever."""


class MaintenanceReader(Protocol):
    @property
    def is_pooled(self) -> bool:
        """Does somebody stand between us and the database?"""
        ...

    def ask(self, statement: str, *values: Any) -> Sequence[Row]: ...
    def close(self) -> None: ...


class _SqliteLook:
    is_pooled = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = open_to_read(path)

    def ask(self, statement: str, *values: Any) -> Sequence[Row]:
        try:
            return self._connection.execute(sql(statement, "sqlite"), values).fetchall()
        except apsw.Error as error:
            raise advised(error, self._path) from error

    def close(self) -> None:
        self._connection.close()


@contextmanager
def open_maintenance_reader(url: str) -> Iterator[MaintenanceReader]:
    """A database that is there, at the schema of this program; any other is refused."""
    look = _look(url)
    try:
        yield look
    finally:
        look.close()


def _look(url: str) -> MaintenanceReader:
    if not is_postgres(url):
        return _SqliteLook(path_of(url))
    refuse_without_driver()
    from quarterjack.store.postgres import connection as postgres_link
    from quarterjack.store.postgres import reader as postgres_reads

    address = postgres_link.address_of(url)
    return postgres_reads.ReaderBackend(address, Specifications(), seconds=PATIENCE_SECONDS)
