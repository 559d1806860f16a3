"""Replaced: is the file at its path still the one that is open?

If somebody puts a backup in its place while a program works on it, all that is written from then on
is lost, or is mixed into the backup and damages it. So every group of operations looks, which costs
a `stat`. A file that was overwritten in place has the same identity; that its own count of changes
went back gives it away, and is looked at whenever the file was written.
"""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from quarterjack.errors import StoreAway, StoreError, StoreUnusable

_COUNT_OF_CHANGES = slice(24, 28)
_HEADER_BYTES = 100


class OpenFile:
    """The file that a connection has open."""

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._place = path.absolute()
        self._is_file = bool(connection.filename)
        self._log = Path(connection.filename_wal)
        self._identity = _identity(_status(self._place))
        self._log_identity = _identity(_status(self._log))
        self._written: tuple[int, int] | None = None
        self._changes = self._counted() if self._is_file else 0

    def replaced(self) -> StoreError | None:
        """Why it must not be used any more, or cannot be looked at now; None, if it is the same."""
        if not self._is_file:
            return None
        try:
            return self._difference()
        except (OSError, apsw.Error) as error:
            remedy = "look at the disk, and at the rights of the file and its folder"
            return StoreAway(f"database {self._path}: it cannot be looked at ({error}); {remedy}")

    def _difference(self) -> StoreUnusable | None:
        if (status := _status(self._place)) is None:
            return self._error("the file was taken away", "put it back")
        if _identity(status) != self._identity or self._went_back(status):
            self._set_log_aside()
            return self._error("the file was replaced", "if that was meant, start again")
        log = _identity(_status(self._log))
        self._log_identity = self._log_identity or log  # it is made by the first who writes
        if log != self._log_identity:
            return self._error("its log (-wal) was taken away", "start again")
        return None

    def _went_back(self, status: os.stat_result) -> bool:
        """Was an older copy written over it? Others may be writing just now, so that it counts only
        if it is still so at a second look."""
        written = (status.st_mtime_ns, status.st_size)
        if written == self._written:
            return False
        if (changes := self._counted()) < self._changes:
            return self._counted() < self._changes
        self._written, self._changes = written, changes
        return False

    def _counted(self) -> int:
        """How often the file was changed, as it says itself. SQLite reads it for us: opening and
        closing the file beside it would drop its locks."""
        _, header = self._connection.read("main", 0, 0, _HEADER_BYTES)
        return int.from_bytes(header[_COUNT_OF_CHANGES], "big")

    def _set_log_aside(self) -> None:
        """What it notes belongs to the other file, and would be mixed into this one."""
        if self._connection.readonly("main"):
            return
        self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        status = _status(self._log)
        if status is not None and _identity(status) == self._log_identity:
            self._log.rename(f"{self._log}.replaced")

    def _error(self, reason: str, remedy: str) -> StoreUnusable:
        return StoreUnusable(f"database {self._path}: {reason} while it was in use; {remedy}")


def _status(file: Path) -> os.stat_result | None:
    try:
        return file.stat()
    except FileNotFoundError:
        return None


def _identity(status: os.stat_result | None) -> tuple[int, int] | None:
    return None if status is None else (status.st_dev, status.st_ino)
