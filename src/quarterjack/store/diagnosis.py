"""Diagnosis: what a person wants to know who was woken at three in the morning. It only looks."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import apsw

from quarterjack.errors import StoreError
from quarterjack.rules.words import Word
from quarterjack.store.rows import run_of
from quarterjack.store.sqlite_file import advised, file_system, is_foreign, open_to_read, schema_of
from quarterjack.store.sqlite_library import may_lose_commits
from quarterjack.store.sqlite_log import ALARM_BYTES
from quarterjack.store.steps import Row, sql
from quarterjack.times import zone_data_version
from quarterjack.times.instants import MINUTE, to_text

LATE, LONG_AGO = MINUTE, 5 * MINUTE
UNTOLD = 10 * MINUTE
FREE_BYTES_LEAST, FREE_BYTES_GOOD = 100 * 2**20, 2**30
SHOWN = 5


class Level(Word):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


class Finding(NamedTuple):
    level: Level
    what: str
    remedy: str = ""


def diagnose(path: Path, now: int) -> Iterator[Finding]:
    """Each thing that was looked at. Where there is no usable database, that is the last."""
    yield from _program()
    if not path.is_file():
        remedy = "start `quarterjack up` once, or name another with --database"
        yield Finding(Level.FAILED, f"there is no database {path}", remedy)
        return
    yield from _place(path)
    try:
        connection = open_to_read(path)
    except StoreError as error:
        yield _of_error(error)
        return
    try:
        yield from _within(connection, now)
    except apsw.Error as error:
        yield _of_error(advised(error, path))
    finally:
        connection.close()


def _of_error(error: Exception) -> Finding:
    what, _, remedy = str(error).rpartition("; ")
    return Finding(Level.FAILED, what, remedy)


def _judged(finding: Finding, *, if_bad: bool) -> Finding:
    return finding if if_bad else Finding(Level.OK, finding.what)


def _program() -> Iterator[Finding]:
    yield _sqlite(apsw.sqlite_lib_version())
    yield Finding(Level.OK, f"Python {platform.python_version()}")


def _sqlite(text: str) -> Finding:
    remedy = "install a newer apsw, which brings its own: it may damage the database"
    affected = Finding(Level.FAILED, f"SQLite {text}", remedy)
    return _judged(affected, if_bad=may_lose_commits(text))


def _place(path: Path) -> Iterator[Finding]:
    """The file, and the disk that it is on."""
    folder, status = path.absolute().parent, path.stat()
    rights = Finding(
        Level.WARNING,
        f"the rights of {path} are {status.st_mode & 0o777:o}",
        f"chmod 600 {path}: others may read what the work says",
    )
    yield _judged(rights, if_bad=bool(status.st_mode & 0o077))
    if not (os.access(path, os.W_OK) and os.access(folder, os.W_OK)):
        remedy = "use the user that runs the service, or give this one the right"
        yield Finding(Level.WARNING, "this user may not write it", remedy)
    yield _file_system(file_system(folder))
    yield _space(shutil.disk_usage(folder).free, status.st_size)
    yield _log(path)


def _file_system(kind: str) -> Finding:
    what = f"it is on {kind or 'a file system that this host does not name'}"
    if is_foreign(kind):
        return Finding(Level.FAILED, what, "use a local disk: SQLite's locks do not hold there")
    if kind in ("tmpfs", "ramfs"):
        return Finding(Level.WARNING, what, "use a disk: it is gone after a restart of the host")
    return Finding(Level.OK, what)


def _space(free: int, size: int) -> Finding:
    what = f"{free // 2**20:,} MiB are free, it takes {size / 2**20:,.1f}"
    if free < FREE_BYTES_LEAST:
        return Finding(Level.FAILED, what, "make room: without it nothing is planned or settled")
    if free < max(FREE_BYTES_GOOD, size):
        return Finding(Level.WARNING, what, "make room, or run `quarterjack db prune`")
    return Finding(Level.OK, what)


def _log(path: Path) -> Finding:
    log = path.resolve().with_name(f"{path.resolve().name}-wal")
    size = log.stat().st_size if log.exists() else 0
    remedy = "end programs that read it without pause, such as a database browser"
    large = Finding(Level.WARNING, f"its log takes {size / 2**20:,.1f} MiB", remedy)
    return _judged(large, if_bad=size > ALARM_BYTES)


def _within(connection: apsw.Connection, now: int) -> Iterator[Finding]:
    yield Finding(Level.OK, f"it opens, and is at schema {schema_of(connection)}")
    found = connection.pragma("quick_check")
    damaged = Finding(
        Level.FAILED, f"quick_check says {found}", "stop the service, restore a backup"
    )
    yield _judged(damaged, if_bad=found != "ok")
    yield _zones(connection)
    yield from _planning(connection, now)
    yield _ailing(connection)
    yield _lapsed(connection, now)
    yield _untold(connection, now)


def _ask(connection: apsw.Connection, statement: str, *values: int | str) -> Sequence[Row]:
    return connection.execute(sql(statement, "sqlite"), values).fetchall()


def _zones(connection: apsw.Connection) -> Finding:
    rows, ours = _ask(connection, "fact", "zone_data"), zone_data_version()
    stored = rows[0][0] if rows else ours
    if stored == ours:
        return Finding(Level.OK, f"zone data {ours}")
    what = f"zone data: the database has planned with {stored}, this program has {ours}"
    remedy = "start the service with this program: it works the slots out anew"
    return Finding(Level.WARNING, what, remedy)


def _planning(connection: apsw.Connection, now: int) -> Iterator[Finding]:
    """Is the clock right, and does anybody plan?"""
    ((last_look, _, _),) = _ask(connection, "planning")
    overdue = _ask(connection, "overdue_schedules", now - LATE, SHOWN + 1)
    if last_look is None:
        remedy = "start `quarterjack up`"
        yield Finding(Level.WARNING, "nobody has ever planned here", remedy)
        return
    what = f"the last look at what is due was at {to_text(last_look)}"
    if last_look > now + MINUTE:
        remedy = "set the clock: until then what is due waits, and so do leases of the dead"
        yield Finding(Level.FAILED, f"{what}, but it is {to_text(now)}", remedy)
    elif last_look > now - LONG_AGO:
        yield Finding(Level.OK, what)
    elif overdue:
        remedy = "start `quarterjack up`, or ask its /readyz why it does not plan"
        yield Finding(Level.FAILED, f"nobody plans: {what}, and schedules are due", remedy)
    else:
        yield Finding(Level.WARNING, f"nobody plans: {what}", "start `quarterjack up`")
    keys = _some([key for _, key, _ in overdue])
    remedy = "look at the log of the service, at its load and at its disk"
    late = Finding(Level.WARNING, f"overdue for more than a minute: {keys}", remedy)
    yield late if overdue else Finding(Level.OK, "no schedule is overdue")


def _ailing(connection: apsw.Connection) -> Finding:
    rows = _ask(connection, "ailing_schedules", SHOWN + 1)
    if not rows:
        return Finding(Level.OK, "no schedule is invalid or dead")
    said = _some([f"{key} ({status})" for _, key, status in rows])
    remedy = "`quarterjack show` says why; mend its definition, or delete it"
    return Finding(Level.WARNING, f"schedules that do not run any more: {said}", remedy)


def _lapsed(connection: apsw.Connection, now: int) -> Finding:
    rows = _ask(connection, "lapsed_runs", now - LONG_AGO, SHOWN + 1)
    if not rows:
        return Finding(Level.OK, "no run was left behind by its worker")
    said = _some([run_of(row).id for row in rows])
    remedy = "start `quarterjack up`: it settles them as lost, or tries again"
    return Finding(Level.WARNING, f"their leases lapsed long ago: runs {said}", remedy)


def _untold(connection: apsw.Connection, now: int) -> Finding:
    rows = _ask(connection, "unsent_notices", 1)
    if not rows or rows[0][2] > now - UNTOLD:
        return Finding(Level.OK, "no notice waits to be told")
    what = f"notices wait to be told since {to_text(rows[0][2])}"
    return Finding(Level.WARNING, what, "start `quarterjack up`, or look at its log")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (" and others" if len(names) > SHOWN else "")
