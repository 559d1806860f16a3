"""Opening, creating and upgrading the database file. A file that is missing, corrupt or another
program's is refused with advice; an empty database is never created where one has been."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

from quarterjack.clock import process_name
from quarterjack.errors import StoreUnusable
from quarterjack.failpoint import failpoint
from quarterjack.store.address import without_secrets
from quarterjack.store.migrations import (
    CREATE_REMEDY,
    Migration,
    load_migrations,
    missing_migrations,
)
from quarterjack.store.sqlite.errors import as_startup_error, as_store_error
from quarterjack.store.sqlite.library import refuse_faulty_library
from quarterjack.store.sqlite.wal import CHECKPOINT_PAGES

APPLICATION_ID = 0x514A434B
"""`QJCK`, in the header of every Quarterjack database."""
BUSY_SECONDS = 5
CHECKED_BYTES_MAX = 64 * 2**20
"""A larger file is not checked at each start, which would read all of it."""
CACHED_STATEMENTS = 400
"""More than there are, or some would be prepared again and again."""
DURABILITIES = ("full", "normal")
MOUNTS = Path("/proc/self/mounts")
_UNRELIABLE_LOCKS = (
    "nfs", "cifs", "smb", "9p", "afs", "ceph", "gluster", "lustre", "ncp", "coda", "fuse.",
    "vboxsf", "prl_fs",
)  # fmt: skip
"""Prefixes of file system types on which SQLite's locks or shared memory do not work."""


def path_of(url: str) -> Path:
    """`sqlite:///relative.db` or `sqlite:////absolute.db`."""
    scheme, _, path = url.partition(":///")
    if scheme != "sqlite" or not path:
        remedy = (
            "write sqlite:///quarterjack.db, sqlite:////var/lib/quarterjack.db, or postgresql://"
        )
        raise StoreUnusable(f"database {without_secrets(url)}: invalid address; {remedy}")
    return Path(path)


def open_database(
    path: Path, *, now: int, create: bool = False, durability: str = "full"
) -> apsw.Connection:
    """A connection that writes, to a database at the current schema. `create` allows to create a
    missing database and to upgrade an old one."""
    refuse_faulty_library()
    _check_location(path)
    if not path.exists():
        _create(path, now, allowed=create)
    if path.stat().st_size == 0:
        remedy = "restore a backup, or remove the file if there never was one"
        raise StoreUnusable(f"database {path}: the file is empty; {remedy}")
    try:
        connection = _connect(str(path))
        _configure(connection, path, durability)
        _upgrade_if_old(connection, path, now, allowed=create)
    except apsw.Error as error:
        raise as_startup_error(error, path) from error
    return connection


def open_read_only(path: Path) -> apsw.Connection:
    """A read-only connection to an existing database at the current schema."""
    try:
        connection = open_any_schema(path)
        _upgrade_if_old(connection, path, 0, allowed=False)
    except apsw.Error as error:
        raise as_startup_error(error, path) from error
    return connection


def open_any_schema(path: Path) -> apsw.Connection:
    """A read-only connection to an existing database, whatever its schema."""
    if not path.is_file() or path.stat().st_size == 0:
        raise not_found(path)
    connection = _connect(str(path), apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(BUSY_SECONDS * 1000)
    _check_application_id(connection, path)
    return connection


def not_found(path: Path) -> StoreUnusable:
    return StoreUnusable(f"database {path}: not found; {CREATE_REMEDY}")


def upgrade(path: Path, now: int) -> tuple[int, int]:
    """Upgrade an existing database; its schema before and after."""
    try:
        before = _schema_number(open_any_schema(path))
        after = _schema_number(open_database(path, now=now, create=True))
    except apsw.Error as error:
        raise as_store_error(error, path) from error
    return before, after


def _schema_number(opened: apsw.Connection) -> int:
    with closing(opened) as connection:
        return int(connection.execute("select max(number) from migrations").get)


def _check_application_id(connection: apsw.Connection, path: Path) -> None:
    if connection.pragma("application_id") != APPLICATION_ID:
        remedy = "name another file with --database"
        raise StoreUnusable(f"database {path}: it belongs to another program; {remedy}")


def memory_database(now: int) -> apsw.Connection:
    """A database in memory, for the simulator."""
    connection = _connect(":memory:")
    _migrate(connection, load_migrations("sqlite"), now)
    return connection


def _connect(name: str, flags: int = apsw.SQLITE_OPEN_READWRITE) -> apsw.Connection:
    connection = apsw.Connection(name, flags=flags, statementcachesize=CACHED_STATEMENTS)
    # A stable query plan: otherwise SQLite plans a statement again for each bound value, which
    # takes up to sixty times as long as executing it.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    return connection


def _check_location(path: Path) -> None:
    folder = path.absolute().parent
    if not folder.is_dir():
        raise StoreUnusable(f"database {path}: the folder {folder} does not exist; create it")
    if path.is_symlink() and not path.exists():
        remedy = "mount its disk, or remove the link"
        raise StoreUnusable(f"database {path}: it is a dangling symbolic link; {remedy}")
    if path.is_dir():
        raise StoreUnusable(f"database {path}: it is a folder; give the path of a file")
    kind = file_system_type(folder)
    if has_unreliable_locks(kind):
        reason = f"it is on a network or FUSE file system ({kind}), where SQLite's locks fail"
        raise StoreUnusable(f"database {path}: {reason}; use a local disk, or PostgreSQL")


def has_unreliable_locks(file_system: str) -> bool:
    return file_system == "fuse" or file_system.startswith(_UNRELIABLE_LOCKS)  # not fuseblk, a disk


def file_system_type(folder: Path) -> str:
    """Such as `ext4`; empty if the host has no list of mounts."""
    if not MOUNTS.exists():
        return ""
    real, found = folder.resolve(), ("", "")
    for line in MOUNTS.read_text(errors="replace").splitlines():
        _, point, kind, *_ = line.split(" ")
        point = point.encode().decode("unicode_escape")  # a blank is written as \040
        if real.is_relative_to(point) and len(point) >= len(found[0]):
            found = (point, kind)
    return found[1]


def _create(path: Path, now: int, *, allowed: bool) -> None:
    """Written under a temporary name and then linked to its own, so that nobody ever sees an
    incomplete file."""
    for left in (path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-journal")):
        if left.exists():
            reason = f"the file is missing, but {left.name} exists"
            remedy = f"put the file back, or restore a backup and remove {left.name}"
            raise StoreUnusable(f"database {path}: {reason}; {remedy}")
    if not allowed:
        raise not_found(path)
    temporary = path.with_name(f"{path.name}.{process_name()}.new")
    try:
        create_private_file(temporary)
        connection = apsw.Connection(str(temporary))
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("auto_vacuum", 2)  # incremental
        connection.pragma("journal_mode", "wal")
        connection.execute("vacuum").fetchall()
        _migrate(connection, load_migrations("sqlite"), now)
        connection.close()  # closing the last connection writes everything into the one file
        failpoint("create.written")
        os.link(temporary, path)
    except FileExistsError:
        pass  # another process has created it meanwhile
    except (OSError, apsw.Error) as error:
        raise as_startup_error(error, path) from error
    finally:
        for each in path.parent.glob(f"{temporary.name}*"):
            each.unlink()
    sync_folder(path.absolute().parent)


def create_private_file(path: Path) -> None:
    """An empty file that only this user can read and write."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def sync_folder(folder: Path) -> None:
    """Without this, the name of a new file may be lost in a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _configure(connection: apsw.Connection, path: Path, durability: str) -> None:
    connection.set_busy_timeout(BUSY_SECONDS * 1000)
    _check_application_id(connection, path)
    if connection.readonly("main") or not os.access(path, os.W_OK):
        remedy = "give this user permission to write the file and its folder"
        raise StoreUnusable(f"database {path}: the file is read-only; {remedy}")
    if path.stat().st_size <= CHECKED_BYTES_MAX:
        found = connection.pragma("quick_check")
        if found != "ok":
            reason = f"the file is corrupt ({found})"
            raise StoreUnusable(f"database {path}: {reason}; restore a backup")
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", durability)
    connection.pragma("temp_store", "memory")
    connection.pragma("cache_size", -64 * 1024)
    connection.wal_autocheckpoint(CHECKPOINT_PAGES)


def _upgrade_if_old(connection: apsw.Connection, path: Path, now: int, *, allowed: bool) -> None:
    migrations = load_migrations("sqlite")
    query = "select number, checksum from migrations order by number"
    applied: list[Any] = connection.execute(query).fetchall()
    if missing_migrations(path, applied, migrations, allowed=allowed):
        _migrate(connection, migrations, now)


def _migrate(connection: apsw.Connection, migrations: Sequence[Migration], now: int) -> None:
    """One transaction, so that a power cut leaves the old schema or the new one. A second process
    waits for the lock, and then finds nothing to do."""
    connection.execute("begin immediate")
    try:
        connection.execute(
            "create table if not exists migrations"
            " (number integer primary key, name text, checksum text, applied_at integer) strict"
        )
        applied = {row[0] for row in connection.execute("select number from migrations").fetchall()}
        for migration in migrations:
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
