"""The write-ahead log (`-wal`). SQLite checkpoints it by itself, but cannot restart it while
somebody reads an old snapshot; then it grows, and never shrinks by itself."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path

import apsw

CHECKPOINT_PAGES = 4000
"""16 MiB per automatic checkpoint: most writes are to the same few pages, which are then written
back once."""
WAL_BYTES_MAX = 32 * 2**20
"""Twice its normal size; above it the log is checkpointed and truncated."""
WAL_BYTES_ALARM = 256 * 2**20
"""At this size a warning is logged: the disk may fill."""


def wal_bytes(wal: Path) -> int:
    try:
        return wal.stat().st_size
    except FileNotFoundError:
        return 0


def checkpoint(database: Path) -> None:
    """Write the log back into the file, and truncate it if nobody reads it; waits for no lock. It
    uses a connection of its own, because most of this blocks neither readers nor the writer."""
    flags = apsw.SQLITE_OPEN_READWRITE
    # An error means that it is locked, or that the disk is full: it is retried later.
    with suppress(apsw.Error), closing(apsw.Connection(str(database), flags=flags)) as connection:
        connection.set_busy_timeout(0)
        connection.pragma("journal_mode")  # reading it opens the log
        frames, written_back = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        if frames == written_back:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
