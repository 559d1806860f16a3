"""`db backup`: a consistent copy of a database while it is in use.

It is written under a temporary name, checked, and then renamed, so that nobody ever sees an
incomplete one. On SQLite a read transaction is held meanwhile: otherwise each write of the service
would make the backup start again. It blocks nobody, but the WAL grows until the copy is done. On
PostgreSQL `pg_dump` writes it (`postgres/backup`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import apsw

from quarterjack.clock import process_name
from quarterjack.errors import Conflict, StoreUnusable
from quarterjack.failpoint import failpoint
from quarterjack.store.address import address_of, is_postgres
from quarterjack.store.sqlite import file
from quarterjack.store.sqlite.errors import as_store_error

PAGES = 1000


def back_up(url: str, target: Path) -> int:
    """Returns the size of the copy in bytes."""
    write = _writer(url)
    if target.exists():
        remedy = "name a new file; a backup is never overwritten"
        raise Conflict(f"backup {target}: the file exists; {remedy}")
    temporary = target.with_name(f"{target.name}.{process_name()}.new")
    try:
        file.create_private_file(temporary)
        write(temporary)
        _sync(temporary)
        failpoint("backup.written")
        _rename(temporary, target)
        file.sync_folder(target.absolute().parent)
    except FileExistsError as error:
        raise Conflict(f"backup {target}: another process has just written it") from error
    except OSError as error:
        reason, remedy = f"cannot write ({error.strerror})", "check the folder and its free space"
        raise Conflict(f"backup {target}: {reason}; {remedy}") from error
    finally:
        for suffix in ("", "-journal", "-wal", "-shm"):
            temporary.with_name(f"{temporary.name}{suffix}").unlink(missing_ok=True)
    return target.stat().st_size


def _writer(url: str) -> Callable[[Path], None]:
    if not is_postgres(url):
        return partial(_copy, file.path_of(url))
    address = address_of(url)
    from quarterjack.store.postgres.backup import dump

    return partial(dump, address)


def _rename(temporary: Path, target: Path) -> None:
    """Does not overwrite a file that was created meanwhile."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links, such as that of a USB stick
        if target.exists():
            raise
        temporary.rename(target)


def _copy(path: Path, target: Path) -> None:
    try:
        _copy_pages(path, target)
        _refuse_corrupt(target)
    except apsw.Error as error:
        raise as_store_error(error, path) from error


def _copy_pages(path: Path, target: Path) -> None:
    opened, created = file.open_any_schema(path), apsw.Connection(str(target))
    with closing(opened) as source, closing(created) as copy:
        source.execute("begin")
        source.pragma("schema_version")  # the snapshot is taken by the first read
        copy.pragma("synchronous", "off")  # synced once, when it is complete
        with copy.backup("main", source, "main") as copying:
            while not copying.done:
                copying.step(PAGES)


def _refuse_corrupt(copy: Path) -> None:
    with closing(apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        found = connection.pragma("quick_check")
    if found != "ok":
        reason = f"the copy is corrupt ({found}), and the database may be, too"
        raise StoreUnusable(f"backup: {reason}; run `quarterjack db check`")


def _sync(path: Path) -> None:
    with path.open("rb") as opened:
        os.fsync(opened.fileno())
