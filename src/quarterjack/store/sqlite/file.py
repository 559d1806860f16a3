"""The database file: opened with care, or refused with advice; never made anew where one was."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw

from quarterjack.clock import process_name
from quarterjack.errors import StoreAway, StoreError, StoreFull, StoreUnusable, Violation
from quarterjack.failpoint import failpoint
from quarterjack.store.address import without_secrets
from quarterjack.store.migrations import (
    Migration,
    migrations,
    refuse_older_schemas,
    refuse_other_schemas,
)
from quarterjack.store.sqlite.library import refuse_faulty_library
from quarterjack.store.sqlite.wal import LOG_PAGES

APPLICATION_ID = 0x514A434B
"""`QJCK`, in the header of every database of ours."""
BUSY_SECONDS = 5
CHECKED_BYTES_MAX = 64 * 2**20
"""A larger file is not read through at each start."""
STATEMENTS_KEPT = 400
"""More than there are, or some would be prepared again and again."""
DURABILITIES = ("full", "normal")
MOUNTS = Path("/proc/self/mounts")
_FOREIGN = (
    "nfs", "cifs", "smb", "9p", "afs", "ceph", "gluster", "lustre", "ncp", "coda", "fuse.",
    "vboxsf", "prl_fs",
)  # fmt: skip
"""How the kinds of file systems begin on which SQLite's locks or shared memory do not hold."""


def path_of(url: str) -> Path:
    """`sqlite:///relative.db` or `sqlite:////absolute.db`."""
    scheme, _, path = url.partition(":///")
    if scheme != "sqlite" or not path:
        remedy = (
            "write sqlite:///quarterjack.db, sqlite:////var/lib/quarterjack.db, or postgresql://"
        )
        raise StoreUnusable(f"database {without_secrets(url)}: not understood; {remedy}")
    return Path(path)


def open_database(
    path: Path,
    *,
    now: int,
    create: bool = False,
    durability: str = "full",
    steps: Sequence[Migration] | None = None,
    mounts: Path = MOUNTS,
) -> apsw.Connection:
    """A connection to a database of ours, at the schema of this program. `create` allows to make
    one where nothing is, and to bring an older one up to date."""
    wanted = migrations("sqlite") if steps is None else steps
    refuse_faulty_library()
    _refuse_odd_places(path, mounts)
    if not path.exists():
        _create(path, wanted, now, allowed=create)
    if path.stat().st_size == 0:
        remedy = "restore a backup, or remove the file if there never was one"
        raise StoreUnusable(f"database {path}: the file is empty; {remedy}")
    try:
        connection = _connected(str(path))
        _prepare(connection, path, durability)
        _bring_up_to_date(connection, path, wanted, now, allowed=create)
    except apsw.Error as error:
        raise _refusal(error, path) from error
    return connection


def open_to_read(path: Path) -> apsw.Connection:
    """A connection that cannot write, for looking at a database that is there."""
    try:
        connection = open_as_it_is(path)
        _bring_up_to_date(connection, path, migrations("sqlite"), 0, allowed=False)
    except apsw.Error as error:
        raise _refusal(error, path) from error
    return connection


def open_as_it_is(path: Path) -> apsw.Connection:
    """Whatever its schema is."""
    if not path.is_file() or path.stat().st_size == 0:
        remedy = "start `quarterjack up` once, or name another with --database"
        raise StoreUnusable(f"database {path}: there is none; {remedy}")
    connection = _connected(str(path), apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(BUSY_SECONDS * 1000)
    _refuse_strangers(connection, path)
    return connection


def upgrade(path: Path, now: int) -> tuple[int, int]:
    """Bring a database that is there up to date; from which schema to which."""
    try:
        connection = open_as_it_is(path)
        before = schema_of(connection)
        connection.close()
        connection = open_database(path, now=now, create=True)
        after = schema_of(connection)
        connection.close()
    except apsw.Error as error:
        raise advised(error, path) from error
    return before, after


def schema_of(connection: apsw.Connection) -> int:
    rows: list[tuple[Any, ...]]
    rows = connection.execute("select max(number) from migrations").fetchall()
    return int(rows[0][0])


def _refuse_strangers(connection: apsw.Connection, path: Path) -> None:
    if connection.pragma("application_id") != APPLICATION_ID:
        remedy = "name another file with --database"
        raise StoreUnusable(f"database {path}: it is another program's; {remedy}")


def memory_database(now: int) -> apsw.Connection:
    """One that is gone when it is closed: for the simulator."""
    connection = _connected(":memory:")
    _migrate(connection, migrations("sqlite"), now)
    return connection


def _connected(name: str, flags: int = apsw.SQLITE_OPEN_READWRITE) -> apsw.Connection:
    """A connection whose statements are planned once. SQLite else plans them anew for every value
    that is bound, which takes up to sixty times as long as carrying them out."""
    connection = apsw.Connection(name, flags=flags, statementcachesize=STATEMENTS_KEPT)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    return connection


def _refuse_odd_places(path: Path, mounts: Path) -> None:
    folder = path.absolute().parent
    if not folder.is_dir():
        raise StoreUnusable(f"database {path}: the folder {folder} does not exist; create it")
    if path.is_symlink() and not path.exists():
        remedy = "mount the disk that it is on, or remove the link"
        raise StoreUnusable(f"database {path}: it is a link to nothing; {remedy}")
    if path.is_dir():
        raise StoreUnusable(f"database {path}: that is a folder; name a file in it")
    kind = file_system(folder, mounts)
    if is_foreign(kind):
        where = f"it is on a file system of another host or program ({kind})"
        reason = f"{where}, where SQLite's locks do not hold"
        raise StoreUnusable(f"database {path}: {reason}; use a local disk, or PostgreSQL")


def is_foreign(kind: str) -> bool:
    """Do SQLite's locks not hold on such a file system?"""
    return kind == "fuse" or kind.startswith(_FOREIGN)  # but fuseblk is a disk


def file_system(folder: Path, mounts: Path = MOUNTS) -> str:
    """The kind of file system that this folder is on, as the host tells it."""
    if not mounts.exists():
        return ""
    real, found = folder.resolve(), ("", "")
    for line in mounts.read_text(errors="replace").splitlines():
        _, point, kind, *_ = line.split(" ")
        point = point.encode().decode("unicode_escape")  # a blank is written as \040
        if real.is_relative_to(point) and len(point) >= len(found[0]):
            found = (point, kind)
    return found[1]


def _create(path: Path, wanted: Sequence[Migration], now: int, *, allowed: bool) -> None:
    """Made whole under another name and then given its own: nobody ever sees half of it."""
    for left in (path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-journal")):
        if left.exists():
            remedy = f"put that file back, or restore a backup and remove {left.name}"
            raise StoreUnusable(f"database {path}: it is gone, but {left.name} is there; {remedy}")
    if not allowed:
        remedy = "start `quarterjack up` once, or name another with --database"
        raise StoreUnusable(f"database {path}: there is none; {remedy}")
    made = path.with_name(f"{path.name}.{process_name()}.new")
    try:
        os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))  # for its user alone
        connection = apsw.Connection(str(made))
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("auto_vacuum", 2)  # incremental
        connection.pragma("journal_mode", "wal")
        connection.execute("vacuum").fetchall()
        _migrate(connection, wanted, now)
        connection.close()  # the last one to close leaves everything in the one file
        failpoint("create.written")
        os.link(made, path)
    except FileExistsError:
        pass  # another process was quicker
    except (OSError, apsw.Error) as error:
        raise _refusal(error, path) from error
    finally:
        for each in path.parent.glob(f"{made.name}*"):
            each.unlink()
    sync_folder(path.absolute().parent)


def sync_folder(folder: Path) -> None:
    """So that the name of a new file survives a power cut, too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _prepare(connection: apsw.Connection, path: Path, durability: str) -> None:
    connection.set_busy_timeout(BUSY_SECONDS * 1000)
    _refuse_strangers(connection, path)
    if connection.readonly("main") or not os.access(path, os.W_OK):
        remedy = "give this user the right to write the file and its folder"
        raise StoreUnusable(f"database {path}: it can only be read; {remedy}")
    if path.stat().st_size <= CHECKED_BYTES_MAX:
        found = connection.pragma("quick_check")
        if found != "ok":
            raise StoreUnusable(f"database {path}: it is damaged ({found}); restore a backup")
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", durability)
    connection.pragma("temp_store", "memory")
    connection.pragma("cache_size", -64 * 1024)
    connection.wal_autocheckpoint(LOG_PAGES)


def _bring_up_to_date(
    connection: apsw.Connection,
    path: Path,
    wanted: Sequence[Migration],
    now: int,
    *,
    allowed: bool,
) -> None:
    applied = connection.execute("select number, checksum from migrations order by number")
    rows: list[Any] = applied.fetchall()
    stored = refuse_other_schemas(path, rows, wanted)
    if not allowed:
        refuse_older_schemas(path, stored, wanted)
    elif stored < max((each.number for each in wanted), default=0):
        _migrate(connection, wanted, now)


def _migrate(connection: apsw.Connection, wanted: Sequence[Migration], now: int) -> None:
    """All that are missing in one transaction: after a power cut it is the old schema or the new
    one. Whoever comes second waits, and finds nothing left to do."""
    connection.execute("begin immediate")
    try:
        connection.execute(
            "create table if not exists migrations"
            " (number integer primary key, name text, checksum text, applied_at integer) strict"
        )
        applied = {row[0] for row in connection.execute("select number from migrations").fetchall()}
        for migration in wanted:
            if migration.number not in applied:
                _apply(connection, migration, now)
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise


def _apply(connection: apsw.Connection, migration: Migration, now: int) -> None:
    row = (migration.number, migration.name, migration.checksum, now)
    connection.execute("insert into migrations values (?, ?, ?, ?)", row)
    for _ in connection.execute(migration.text):
        pass
    failpoint("migration.written")


_AWAY = {
    apsw.BusyError: ("another program has locked it", "end that program's transaction"),
    apsw.LockedError: ("another program has locked it", "end that program's transaction"),
    apsw.FullError: ("the disk is full", "make room; work goes on by itself"),
    apsw.IOError: ("the disk does not answer as it should", "look at the disk and its space"),
    apsw.InterruptError: ("a statement took too long", "look for other load on this disk"),
    apsw.ProtocolError: ("its locks cannot be had", "look for programs that hold it"),
    apsw.NoMemError: ("there is no memory left", "give this machine more"),
}
_UNUSABLE = {
    apsw.CorruptError: ("it is damaged", "restore a backup"),
    apsw.NotADBError: ("it is not a SQLite database", "name another, or restore a backup"),
    apsw.ReadOnlyError: ("it can only be read", "give this user the right to write it"),
    apsw.PermissionsError: ("it may not be read", "give this user the right to"),
    apsw.CantOpenError: ("it cannot be opened", "look at the rights of the file and its folder"),
}


def advised(error: Exception, path: Path) -> StoreError | Violation:
    """The same error in our words: what is wrong with which database, and what to do."""
    if isinstance(error, apsw.ConstraintError):
        return Violation(f"database {path}: {error}")
    for kind, (reason, remedy) in _AWAY.items():
        if isinstance(error, kind):
            away = StoreFull if kind is apsw.FullError else StoreAway
            return away(f"database {path}: {reason} ({error}); {remedy}")
    for kind, (reason, remedy) in _UNUSABLE.items():
        if isinstance(error, kind):
            return StoreUnusable(f"database {path}: {reason} ({error}); {remedy}")
    return Violation(f"database {path}: {type(error).__name__}: {error}; please report this")


def _refusal(error: Exception, path: Path) -> StoreError:
    """The same at a start: whatever will not pass by itself is for a person to look at."""
    told = advised(error, path)
    return StoreUnusable(str(told)) if isinstance(told, Violation) else told
