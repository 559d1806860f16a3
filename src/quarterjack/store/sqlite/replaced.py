"""Detects that the database file was removed or replaced while it is open.

If a backup is put in its place while a program uses it, all further writes are lost, or are mixed
into the backup and corrupt it. So every group of operations checks the file, which costs a `stat`.
A file that was overwritten in place keeps its identity (device and inode), but its change counter
is lower than before; the counter is read whenever the file was modified.
"""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from quarterjack.errors import StoreError, StoreUnavailable, StoreUnusable

_CHANGE_COUNTER = slice(24, 28)
_HEADER_BYTES = 100


class OpenFile:
    """The file that a connection has open, and its WAL."""

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._absolute = path.absolute()
        self._is_file = bool(connection.filename)
        self._wal = Path(connection.filename_wal)
        self._identity = _identity(_status(self._absolute))
        self._wal_identity = _identity(_status(self._wal))
        self._modified: tuple[int, int] | None = None
        self._changes = self._change_counter() if self._is_file else 0

    def error(self) -> StoreError | None:
        """Why the file must not be used any more (unusable) or cannot be checked now (away)."""
        if not self._is_file:
            return None
        try:
            return self._difference()
        except (OSError, apsw.Error) as error:
            problem = f"cannot check the file ({error})"
            remedy = "check the disk, and the permissions of the file and its folder"
            return StoreUnavailable(f"database {self._path}: {problem}; {remedy}")

    def _difference(self) -> StoreUnusable | None:
        if (status := _status(self._absolute)) is None:
            return self._unusable("the file was removed", "put it back")
        if _identity(status) != self._identity or self._is_older(status):
            self._set_wal_aside()
            return self._unusable("the file was replaced", "if that was intended, restart")
        wal = _identity(_status(self._wal))
        self._wal_identity = self._wal_identity or wal  # the first process that writes creates it
        if wal != self._wal_identity:
            return self._unusable("its write-ahead log (-wal) was removed", "restart")
        return None

    def _is_older(self, status: os.stat_result) -> bool:
        """Whether an older copy was written over it."""
        modified = (status.st_mtime_ns, status.st_size)
        if modified == self._modified:
            return False
        if (changes := self._change_counter()) < self._changes:
            # Read again: another process may have been writing the header at that moment.
            return self._change_counter() < self._changes
        self._modified, self._changes = modified, changes
        return False

    def _change_counter(self) -> int:
        """Read through SQLite: if this process opened and closed the file by itself, that would
        release SQLite's locks."""
        _, header = self._connection.read("main", 0, 0, _HEADER_BYTES)
        return int.from_bytes(header[_CHANGE_COUNTER], "big")

    def _set_wal_aside(self) -> None:
        """Its frames belong to the previous file; SQLite would apply them to the new one."""
        if self._connection.readonly("main"):
            return
        self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        status = _status(self._wal)
        if status is not None and _identity(status) == self._wal_identity:
            self._wal.rename(f"{self._wal}.replaced")

    def _unusable(self, reason: str, remedy: str) -> StoreUnusable:
        return StoreUnusable(f"database {self._path}: {reason} while in use; {remedy}")


def _status(file: Path) -> os.stat_result | None:
    try:
        return file.stat()
    except FileNotFoundError:
        return None


def _identity(status: os.stat_result | None) -> tuple[int, int] | None:
    return None if status is None else (status.st_dev, status.st_ino)
