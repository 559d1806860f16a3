"""Diagnosis: what a person wants to know who was woken at three in the morning. It only looks."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import Protocol

from quarterjack.errors import StoreError
from quarterjack.store.address import is_postgres
from quarterjack.store.maintenance.reader import MaintenanceReader, open_maintenance_reader
from quarterjack.store.maintenance.results import SHOWN, CheckResult, Level, of_error, some
from quarterjack.store.rows import run_of
from quarterjack.store.sqlite import doctor as sqlite_diagnosis
from quarterjack.store.sqlite.file import path_of
from quarterjack.times import zone_data_version
from quarterjack.times.instants import MINUTE, to_text

LATE, LONG_AGO = MINUTE, 5 * MINUTE
UNTOLD = 10 * MINUTE


class Clock(Protocol):
    def now(self) -> int: ...


def diagnose(url: str, clock: Clock) -> Iterator[CheckResult]:
    """Each thing that was looked at. Where there is no usable database, that is the last."""
    examine = _on_postgres if is_postgres(url) else _on_sqlite
    try:
        yield from examine(url, clock)
    except StoreError as error:
        yield of_error(error)


def _on_sqlite(url: str, clock: Clock) -> Iterator[CheckResult]:
    path = path_of(url)
    yield sqlite_diagnosis.of_library()
    yield _python()
    if not path.is_file():
        remedy = "start `quarterjack up` once, or name another with --database"
        yield CheckResult(Level.FAILED, f"there is no database {path}", remedy)
        return
    yield from sqlite_diagnosis.of_place(path)
    with open_maintenance_reader(url) as look:
        yield _schema(look)
        yield sqlite_diagnosis.of_contents(look)
        yield from _plans(look, clock.now())


def _on_postgres(url: str, clock: Clock) -> Iterator[CheckResult]:
    """The clock of the database decides what is late."""
    yield _python()
    with open_maintenance_reader(url) as look:
        from quarterjack.store.postgres import doctor as postgres_diagnosis

        rights = postgres_diagnosis.of_rights(look)
        yield rights
        if rights.level is Level.FAILED:
            return
        yield _schema(look)
        now, difference = postgres_diagnosis.of_clock(look, clock)
        yield difference
        yield from postgres_diagnosis.of_server(look, now)
        yield from _plans(look, now)


def _python() -> CheckResult:
    return CheckResult(Level.OK, f"Python {platform.python_version()}")


def _schema(look: MaintenanceReader) -> CheckResult:
    ((number,),) = look.ask("schema")
    return CheckResult(Level.OK, f"it opens, and is at schema {number}")


def _plans(look: MaintenanceReader, now: int) -> Iterator[CheckResult]:
    """What both databases hold."""
    yield _zones(look)
    yield from _planning(look, now)
    yield _ailing(look)
    yield _lapsed(look, now)
    yield _untold(look, now)


def _zones(look: MaintenanceReader) -> CheckResult:
    rows, ours = look.ask("metadata", "zone_data"), zone_data_version()
    stored = rows[0][0] if rows else ours
    if stored == ours:
        return CheckResult(Level.OK, f"zone data {ours}")
    what = f"zone data: the database has planned with {stored}, this program has {ours}"
    remedy = "start the service with this program: it works the slots out anew"
    return CheckResult(Level.WARNING, what, remedy)


def _planning(look: MaintenanceReader, now: int) -> Iterator[CheckResult]:
    """Is the clock right, and does anybody plan?"""
    ((last_look, *_),) = look.ask("planner_state")
    overdue = look.ask("overdue_schedules", now - LATE, SHOWN + 1)
    if last_look is None:
        remedy = "start `quarterjack up`"
        yield CheckResult(Level.WARNING, "nobody has ever planned here", remedy)
        return
    what = f"the last look at what is due was at {to_text(last_look)}"
    if last_look > now + MINUTE:
        remedy = "set the clock: until then what is due waits, and so do leases of the dead"
        yield CheckResult(Level.FAILED, f"{what}, but it is {to_text(now)}", remedy)
    elif last_look > now - LONG_AGO:
        yield CheckResult(Level.OK, what)
    elif overdue:
        remedy = "start `quarterjack up`, or ask its /readyz why it does not plan"
        yield CheckResult(Level.FAILED, f"nobody plans: {what}, and schedules are due", remedy)
    else:
        yield CheckResult(Level.WARNING, f"nobody plans: {what}", "start `quarterjack up`")
    keys = some([key for _, key, _ in overdue])
    remedy = "look at the log of the service, at its load and at its disk"
    late = CheckResult(Level.WARNING, f"overdue for more than a minute: {keys}", remedy)
    yield late if overdue else CheckResult(Level.OK, "no schedule is overdue")


def _ailing(look: MaintenanceReader) -> CheckResult:
    rows = look.ask("failing_schedules", SHOWN + 1)
    if not rows:
        return CheckResult(Level.OK, "no schedule is invalid or dead")
    said = some([f"{key} ({status})" for _, key, status in rows])
    remedy = "`quarterjack show` says why; mend its definition, or delete it"
    return CheckResult(Level.WARNING, f"schedules that do not run any more: {said}", remedy)


def _lapsed(look: MaintenanceReader, now: int) -> CheckResult:
    rows = look.ask("lapsed_runs", now - LONG_AGO, SHOWN + 1)
    if not rows:
        return CheckResult(Level.OK, "no run was left behind by its worker")
    said = some([run_of(row).id for row in rows])
    remedy = "start `quarterjack up`: it settles them as lost, or tries again"
    return CheckResult(Level.WARNING, f"their leases lapsed long ago: runs {said}", remedy)


def _untold(look: MaintenanceReader, now: int) -> CheckResult:
    rows = look.ask("unsent_notifications", 1)
    if not rows or rows[0][2] > now - UNTOLD:
        return CheckResult(Level.OK, "no notice waits to be told")
    what = f"notices wait to be told since {to_text(rows[0][2])}"
    return CheckResult(Level.WARNING, what, "start `quarterjack up`, or look at its log")
