"""The part of `doctor` for SQLite: the library, the file and its disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw

from quarterjack.store.maintenance.reader import MaintenanceReader
from quarterjack.store.maintenance.results import CheckResult, fail, ok, warn
from quarterjack.store.sqlite.file import file_system_type, has_unreliable_locks
from quarterjack.store.sqlite.library import may_lose_commits
from quarterjack.store.sqlite.wal import WAL_BYTES_ALARM, wal_bytes

FREE_BYTES_MIN, FREE_BYTES_GOOD = 100 * 2**20, 2**30


def check_library() -> CheckResult:
    return _library(apsw.sqlite_lib_version())


def _library(version: str) -> CheckResult:
    remedy = "install a newer apsw, which brings its own: this one may corrupt the database"
    return fail(f"SQLite {version}", remedy, unless=not may_lose_commits(version))


def check_file(path: Path) -> Iterator[CheckResult]:
    folder, status = path.absolute().parent, path.stat()
    mode = status.st_mode & 0o777
    remedy = f"chmod 600 {path}: other users may read payloads and results"
    yield warn(f"permissions of {path}: {mode:o}", remedy, unless=not mode & 0o077)
    if not (os.access(path, os.W_OK) and os.access(folder, os.W_OK)):
        remedy = "use the user that runs the service, or give this one write permission"
        yield warn("this user cannot write the file or its folder", remedy)
    yield _file_system(file_system_type(folder))
    yield _disk_space(shutil.disk_usage(folder).free, status.st_size)
    yield _wal_size(path)


def _file_system(kind: str) -> CheckResult:
    what = f"file system {kind or 'unknown'}"
    if has_unreliable_locks(kind):
        return fail(what, "use a local disk: SQLite's locks do not work there")
    remedy = "use a disk: the database is lost when the host restarts"
    return warn(what, remedy, unless=kind not in ("tmpfs", "ramfs"))


def _disk_space(free: int, size: int) -> CheckResult:
    what = f"disk space: {free // 2**20:,} MiB free, the database has {size / 2**20:,.1f} MiB"
    if free < FREE_BYTES_MIN:
        return fail(what, "free some space: when it is full, nothing can be planned or settled")
    if free < max(FREE_BYTES_GOOD, size):
        return warn(what, "free some space, or run `quarterjack db prune`")
    return ok(what)


def _wal_size(path: Path) -> CheckResult:
    size = wal_bytes(path.resolve().with_name(f"{path.resolve().name}-wal"))
    remedy = "end programs that hold a read transaction open, such as a database browser"
    what = f"write-ahead log: {size / 2**20:,.1f} MiB"
    return warn(what, remedy, unless=size <= WAL_BYTES_ALARM)


def check_contents(reader: MaintenanceReader) -> CheckResult:
    ((found,), *_) = reader.query("quick_check")
    remedy = "stop the service and restore a backup"
    return fail(f"quick_check: {found}", remedy, unless=found == "ok")
