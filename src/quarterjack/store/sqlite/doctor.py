"""Diagnosis of what is around a database on SQLite: the library, the file and its disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw

from quarterjack.store.maintenance.reader import MaintenanceReader
from quarterjack.store.maintenance.results import CheckResult, Level, judged
from quarterjack.store.sqlite.file import file_system, is_foreign
from quarterjack.store.sqlite.library import may_lose_commits
from quarterjack.store.sqlite.wal import ALARM_BYTES

FREE_BYTES_LEAST, FREE_BYTES_GOOD = 100 * 2**20, 2**30


def of_library() -> CheckResult:
    return _sqlite(apsw.sqlite_lib_version())


def _sqlite(text: str) -> CheckResult:
    remedy = "install a newer apsw, which brings its own: it may damage the database"
    affected = CheckResult(Level.FAILED, f"SQLite {text}", remedy)
    return judged(affected, if_bad=may_lose_commits(text))


def of_place(path: Path) -> Iterator[CheckResult]:
    """The file, and the disk that it is on."""
    folder, status = path.absolute().parent, path.stat()
    rights = CheckResult(
        Level.WARNING,
        f"the rights of {path} are {status.st_mode & 0o777:o}",
        f"chmod 600 {path}: others may read what the work says",
    )
    yield judged(rights, if_bad=bool(status.st_mode & 0o077))
    if not (os.access(path, os.W_OK) and os.access(folder, os.W_OK)):
        remedy = "use the user that runs the service, or give this one the right"
        yield CheckResult(Level.WARNING, "this user may not write it", remedy)
    yield _file_system(file_system(folder))
    yield _space(shutil.disk_usage(folder).free, status.st_size)
    yield _log(path)


def _file_system(kind: str) -> CheckResult:
    what = f"it is on {kind or 'a file system that this host does not name'}"
    if is_foreign(kind):
        return CheckResult(Level.FAILED, what, "use a local disk: SQLite's locks do not hold there")
    if kind in ("tmpfs", "ramfs"):
        return CheckResult(
            Level.WARNING, what, "use a disk: it is gone after a restart of the host"
        )
    return CheckResult(Level.OK, what)


def _space(free: int, size: int) -> CheckResult:
    what = f"{free // 2**20:,} MiB are free, it takes {size / 2**20:,.1f}"
    if free < FREE_BYTES_LEAST:
        return CheckResult(
            Level.FAILED, what, "make room: without it nothing is planned or settled"
        )
    if free < max(FREE_BYTES_GOOD, size):
        return CheckResult(Level.WARNING, what, "make room, or run `quarterjack db prune`")
    return CheckResult(Level.OK, what)


def _log(path: Path) -> CheckResult:
    log = path.resolve().with_name(f"{path.resolve().name}-wal")
    size = log.stat().st_size if log.exists() else 0
    remedy = "end programs that read it without pause, such as a database browser"
    large = CheckResult(Level.WARNING, f"its log takes {size / 2**20:,.1f} MiB", remedy)
    return judged(large, if_bad=size > ALARM_BYTES)


def of_contents(look: MaintenanceReader) -> CheckResult:
    ((found,), *_) = look.ask("quick_check")
    remedy = "stop the service, restore a backup"
    damaged = CheckResult(Level.FAILED, f"quick_check says {found}", remedy)
    return judged(damaged, if_bad=found != "ok")
