"""Space: what a database takes on the disk, and giving back what it does not need any more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw

from quarterjack.store.sqlite.file import advised

PAGES = 200
"""At once: moving so many takes some milliseconds, for which everybody else waits."""


def size_bytes(connection: apsw.Connection) -> int:
    return int(connection.pragma("page_count")) * int(connection.pragma("page_size"))


def give_back(connection: apsw.Connection, path: Path) -> Iterator[int]:
    """Free pages go back to the file system, some at a time; how many are left after each time."""
    left = int(connection.pragma("freelist_count"))
    before = left + 1
    while 0 < left < before:
        try:
            connection.execute(f"pragma incremental_vacuum({PAGES})").fetchall()
        except apsw.Error as error:
            raise advised(error, path) from error
        before, left = left, int(connection.pragma("freelist_count"))
        yield left
