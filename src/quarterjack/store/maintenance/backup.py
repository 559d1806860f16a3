"""Backing up: a copy of a database in use, which nobody ever sees half of.

It is written under another name, checked, and then given its own. The copy is of one moment: a
transaction that reads is held meanwhile, so that what the service writes does not make SQLite begin
again; it makes nobody wait, but the log grows until the copy is done. On PostgreSQL `postgres_dump`
writes it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import apsw

from quarterjack.clock import process_name
from quarterjack.errors import Conflict, StoreUnusable
from quarterjack.failpoint import failpoint
from quarterjack.store.address import is_postgres, refuse_without_driver
from quarterjack.store.sqlite.file import advised, open_as_it_is, path_of, sync_folder

PAGES = 1000


def back_up(url: str, target: Path) -> int:
    """The copy's size in bytes."""
    write = _written_by(url)
    if target.exists():
        remedy = "name a new file; a backup is never overwritten"
        raise Conflict(f"backup {target}: it is there already; {remedy}")
    made = target.with_name(f"{target.name}.{process_name()}.new")
    try:
        os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))  # for its user alone
        write(made)
        _sync(made)
        failpoint("backup.written")
        _give_name(made, target)
        sync_folder(target.absolute().parent)
    except FileExistsError as error:
        raise Conflict(f"backup {target}: somebody else has just written it") from error
    except OSError as error:
        remedy = "look at the folder, its rights and its space"
        raise Conflict(
            f"backup {target}: it cannot be written ({error.strerror}); {remedy}"
        ) from error
    finally:
        for suffix in ("", "-journal", "-wal", "-shm"):
            made.with_name(f"{made.name}{suffix}").unlink(missing_ok=True)
    return target.stat().st_size


def _written_by(url: str) -> Callable[[Path], None]:
    if not is_postgres(url):
        return partial(_copied, path_of(url))
    refuse_without_driver()
    from quarterjack.store.postgres import backup as postgres_dump
    from quarterjack.store.postgres import connection as postgres_link

    return partial(postgres_dump.dump, postgres_link.address_of(url))


def _give_name(made: Path, target: Path) -> None:
    """Without overwriting what may have appeared meanwhile."""
    try:
        os.link(made, target)
    except FileExistsError:
        raise
    except OSError:  # a stick or a share, on which no file has two names
        if target.exists():
            raise
        made.rename(target)


def _copied(path: Path, made: Path) -> None:
    try:
        _copy(path, made)
        _refuse_damaged(made)
    except apsw.Error as error:
        raise advised(error, path) from error


def _copy(path: Path, made: Path) -> None:
    source, copy = open_as_it_is(path), apsw.Connection(str(made))
    try:
        source.execute("begin")
        source.pragma("schema_version")  # only now the moment is fixed
        copy.pragma("synchronous", "off")  # it is synced once, when it is whole
        with copy.backup("main", source, "main") as copying:
            while not copying.done:
                copying.step(PAGES)
    finally:
        copy.close()
        source.close()


def _refuse_damaged(made: Path) -> None:
    connection = apsw.Connection(str(made), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        found = connection.pragma("quick_check")
    finally:
        connection.close()
    if found != "ok":
        reason = f"the copy is damaged ({found}), and so may be the database"
        raise StoreUnusable(f"backup: {reason}; run `quarterjack db check`")


def _sync(made: Path) -> None:
    with made.open("rb") as file:
        os.fsync(file.fileno())
