"""PostgreSQL's and the driver's errors as errors of the store: which database, what is wrong, what
to do."""

from __future__ import annotations

import asyncpg

from quarterjack.errors import (
    QuarterjackError,
    StoreError,
    StoreFull,
    StoreUnavailable,
    StoreUnusable,
    TransactionConflict,
    Violation,
)

DRIVER_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError)
_CONNECTION_LOST, _DEADLOCK = "08", "40P01"
_ERRORS: dict[type[StoreError], dict[str, tuple[str, str]]] = {
    StoreFull: {"53100": ("the disk of the server is full", "free some space")},
    StoreUnavailable: {
        _CONNECTION_LOST: ("connection lost", "work resumes when it is back"),
        "53": ("the server is out of resources", "check its connections, memory and disk"),
        "55P03": ("lock timeout: another transaction holds the lock", "end that transaction"),
        "57014": ("a statement timed out", "check for other load on the server"),
        "57P": ("the server is starting up or shutting down", "work resumes when it is back"),
        "25P0": ("idle-in-transaction timeout", "check for other load on this machine"),
        "25006": ("the server is read-only", "work resumes when it is the primary again"),
        _DEADLOCK: ("transaction conflict", "it is retried"),
    },
    StoreUnusable: {
        "28": ("authentication failed", "check user, password and pg_hba.conf"),
        "3D000": ("no such database", "create it with createdb, or name another"),
        "3F000": ("no such schema", "start `quarterjack up` once, or name another"),
        "42501": ("permission denied", "grant the privileges that docs/postgresql.md lists"),
        "42P01": ("its tables are missing", "restore a backup"),
    },
}
"""By SQLSTATE or the beginning of one; the first that matches counts."""


def is_retryable(error: BaseException) -> bool:
    """A deadlock or serialization failure, or a newer program has altered a table so that prepared
    statements are outdated."""
    outdated = (asyncpg.InvalidCachedStatementError, asyncpg.OutdatedSchemaCacheError)
    if isinstance(error, (*outdated, TransactionConflict)):
        return True
    return isinstance(error, asyncpg.PostgresError) and error.sqlstate in ("40001", _DEADLOCK)


def is_connection_lost(error: BaseException) -> bool:
    """Then it is unknown whether the statement was executed."""
    if isinstance(error, asyncpg.PostgresError):
        return _sqlstate(error).startswith((_CONNECTION_LOST, "57P", "25P0"))
    if isinstance(error, asyncpg.InterfaceError):
        return not isinstance(error, ValueError)
    # The server's message that it closes the connection may be read only by the next statement,
    # which then fails with an internal error of the driver.
    return isinstance(error, (OSError, TimeoutError, asyncpg.InternalClientError))


def _sqlstate(error: asyncpg.PostgresError) -> str:
    """Errors without a SQLSTATE are about the connection."""
    return str(error.sqlstate or _CONNECTION_LOST)


def as_store_error(error: BaseException, database: object) -> BaseException:
    """Errors that are none of the driver's are returned as they are."""
    if isinstance(error, QuarterjackError):
        return error
    if not isinstance(error, asyncpg.PostgresError):
        if not is_connection_lost(error):
            is_driver_error = isinstance(error, asyncpg.InterfaceError)
            return Violation(f"database {database}: {error}") if is_driver_error else error
        sqlstate = _CONNECTION_LOST
    else:
        sqlstate = _DEADLOCK if is_retryable(error) else _sqlstate(error)
    for kind, reasons in _ERRORS.items():
        for prefix, (reason, remedy) in reasons.items():
            if sqlstate.startswith(prefix):
                return kind(f"database {database}: {reason} ({_text(error)}); {remedy}")
    return Violation(f"database {database}: {type(error).__name__}: {error}")


def as_startup_error(error: BaseException, database: object) -> StoreError:
    """While a database is opened, an error of no known kind makes it unusable."""
    translated = as_store_error(error, database)
    if isinstance(error, OSError):  # also TimeoutError
        reason = str(error) or "no answer within the time limit"
        remedy = "check the address, and whether the server is running"
        return StoreUnavailable(f"database {database}: cannot be reached ({reason}); {remedy}")
    return translated if isinstance(translated, StoreError) else StoreUnusable(_text(translated))


def _text(error: BaseException) -> str:
    return str(error) or type(error).__name__
