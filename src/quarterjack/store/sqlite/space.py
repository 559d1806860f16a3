"""The size of a database file, and returning its free pages to the file system."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw

from quarterjack.store.sqlite.errors import as_store_error

PAGES = 200
"""At a time: moving them takes some milliseconds, for which other processes wait."""


def size_bytes(connection: apsw.Connection) -> int:
    return int(connection.pragma("page_count")) * int(connection.pragma("page_size"))


def vacuum(connection: apsw.Connection, path: Path) -> Iterator[int]:
    """Return free pages to the file system in small steps; yields how many are left."""
    left = int(connection.pragma("freelist_count"))
    before = left + 1
    while 0 < left < before:
        try:
            connection.execute(f"pragma incremental_vacuum({PAGES})").fetchall()
        except apsw.Error as error:
            raise as_store_error(error, path) from error
        before, left = left, int(connection.pragma("freelist_count"))
        yield left
