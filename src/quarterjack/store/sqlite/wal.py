"""The log beside the database (`-wal`). SQLite writes it back by itself, but cannot start it anew
while somebody reads at an old moment; then it grows, and stays as large as it once was."""

from __future__ import annotations

import contextlib
from pathlib import Path

import apsw

LOG_PAGES = 4000
"""So many are written back at once, 16 MiB: most of them are the same few pages again and again."""
LOG_BYTES_MAX = 32 * 2**20
"""Twice what it is when all is well."""

ALARM_BYTES = 256 * 2**20
"""A log this large is told: the disk may fill."""


def log_bytes(log: Path) -> int:
    """How large it is; a look at the folder, and no statement."""
    try:
        return log.stat().st_size
    except FileNotFoundError:
        return 0


def shorten_log(database: Path) -> None:
    """Write it back, and cut it to nothing if nobody needs it; nobody is waited for. On a
    connection of its own, for most of this hinders neither readers nor the one who writes."""
    with contextlib.suppress(apsw.Error):  # in use, or no room: it is tried again later
        connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.set_busy_timeout(0)
            connection.pragma("journal_mode")  # only now it knows that there is a log
            noted, written_back = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            if noted == written_back:
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        finally:
            connection.close()
