"""SQLite's errors as errors of the store: which database, what is wrong, what to do."""

from __future__ import annotations

from pathlib import Path

import apsw

from quarterjack.errors import StoreError, StoreFull, StoreUnavailable, StoreUnusable, Violation

_LOCKED = ("locked by another program", "end that program's transaction")
_ERRORS: dict[type[StoreError], dict[type[apsw.Error], tuple[str, str]]] = {
    StoreFull: {apsw.FullError: ("the disk is full", "free some space; work resumes by itself")},
    StoreUnavailable: {
        apsw.BusyError: _LOCKED,
        apsw.LockedError: _LOCKED,
        apsw.IOError: ("disk I/O error", "check the disk and its free space"),
        apsw.InterruptError: ("a statement timed out", "check for other load on this disk"),
        apsw.ProtocolError: ("cannot lock the file", "check for programs that hold it"),
        apsw.NoMemError: ("out of memory", "give this machine more"),
    },
    StoreUnusable: {
        apsw.CorruptError: ("the file is corrupt", "restore a backup"),
        apsw.NotADBError: ("not a SQLite database", "name another file, or restore a backup"),
        apsw.ReadOnlyError: ("the file is read-only", "let this user write it"),
        apsw.PermissionsError: ("permission denied", "let this user read the file"),
        apsw.CantOpenError: ("cannot open the file", "check the permissions of it and its folder"),
    },
}


def as_store_error(error: Exception, path: Path) -> StoreError | Violation:
    if isinstance(error, apsw.ConstraintError):
        return Violation(f"database {path}: {error}")
    for kind, reasons in _ERRORS.items():
        for cause, (reason, remedy) in reasons.items():
            if isinstance(error, cause):
                return kind(f"database {path}: {reason} ({error}); {remedy}")
    return Violation(f"database {path}: {type(error).__name__}: {error}; please report this")


def as_startup_error(error: Exception, path: Path) -> StoreError:
    """While a database is opened, an error of no known kind makes it unusable."""
    translated = as_store_error(error, path)
    return StoreUnusable(str(translated)) if isinstance(translated, Violation) else translated
