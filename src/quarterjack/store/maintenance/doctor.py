"""`doctor`: checks the program, the database and what is planned, and says what to do about each
problem; it only reads. What only one kind of database has is checked in `sqlite/doctor` and
`postgres/doctor`."""

from __future__ import annotations

import platform
from collections.abc import Iterator

from quarterjack.clock import Clock
from quarterjack.errors import StoreError
from quarterjack.store.address import is_postgres
from quarterjack.store.maintenance.reader import MaintenanceReader, open_maintenance_reader
from quarterjack.store.maintenance.results import SHOWN, CheckResult, Level, fail, ok, some, warn
from quarterjack.store.rows import run_of
from quarterjack.store.sqlite import doctor as sqlite_doctor
from quarterjack.store.sqlite.file import not_found, path_of
from quarterjack.times import zone_data_version
from quarterjack.times.instants import MINUTE, to_text

OVERDUE, LONG_AGO = MINUTE, 5 * MINUTE
PENDING = 10 * MINUTE


def diagnose(url: str, clock: Clock) -> Iterator[CheckResult]:
    """One result per check. If the database cannot be used, that is the last one."""
    check = _check_postgres if is_postgres(url) else _check_sqlite
    try:
        yield from check(url, clock)
    except StoreError as error:
        what, _, remedy = str(error).rpartition("; ")
        yield fail(what, remedy)


def _check_sqlite(url: str, clock: Clock) -> Iterator[CheckResult]:
    path = path_of(url)
    yield sqlite_doctor.check_library()
    yield _python()
    if not path.is_file():
        raise not_found(path)
    yield from sqlite_doctor.check_file(path)
    with open_maintenance_reader(url) as reader:
        yield _schema(reader)
        yield sqlite_doctor.check_contents(reader)
        yield from _check_plans(reader, clock.now())


def _check_postgres(url: str, clock: Clock) -> Iterator[CheckResult]:
    """The clock of the database decides what is late."""
    yield _python()
    with open_maintenance_reader(url) as reader:
        from quarterjack.store.postgres import doctor as postgres_doctor

        privileges = postgres_doctor.check_privileges(reader)
        yield privileges
        if privileges.level is Level.FAILED:
            return
        yield _schema(reader)
        now, clocks = postgres_doctor.check_clock(reader, clock)
        yield clocks
        yield from postgres_doctor.check_server(reader, now)
        yield from _check_plans(reader, now)


def _python() -> CheckResult:
    return ok(f"Python {platform.python_version()}")


def _schema(reader: MaintenanceReader) -> CheckResult:
    ((number,),) = reader.query("schema_number")
    return ok(f"database opened, at schema {number}")


def _check_plans(reader: MaintenanceReader, now: int) -> Iterator[CheckResult]:
    yield _zone_data(reader)
    yield from _planner(reader, now)
    yield _failing_schedules(reader)
    yield _expired_leases(reader, now)
    yield _notifications(reader, now)


def _zone_data(reader: MaintenanceReader) -> CheckResult:
    rows, ours = reader.query("metadata", "zone_data"), zone_data_version()
    stored = rows[0][0] if rows else ours
    if stored == ours:
        return ok(f"time zone data {ours}")
    what = f"time zone data: slots were computed with {stored}, this program has {ours}"
    return warn(what, "start the service with this program: it recomputes the slots")


def _planner(reader: MaintenanceReader, now: int) -> Iterator[CheckResult]:
    ((last_step, *_),) = reader.query("planner_state")
    overdue = reader.query("overdue_schedules", now - OVERDUE, SHOWN + 1)
    if last_step is None:
        yield warn("no planner has ever run", "start `quarterjack up`")
        return
    what = f"last planner step at {to_text(last_step)}"
    stopped = f"no planner is running: {what}"
    if last_step > now + MINUTE:
        remedy = "set the clock: until then due schedules wait, and leases do not expire"
        yield fail(f"{what}, in the future: it is {to_text(now)}", remedy)
    elif last_step > now - LONG_AGO:
        yield ok(what)
    elif overdue:
        remedy = "start `quarterjack up`, or see its /readyz for why it does not plan"
        yield fail(f"{stopped}, and schedules are due", remedy)
    else:
        yield warn(stopped, "start `quarterjack up`")
    if overdue:
        keys = some([key for _, key, _ in overdue])
        remedy = "check the log of the service, its load and its disk"
        yield warn(f"schedules overdue for more than a minute: {keys}", remedy)
    else:
        yield ok("no overdue schedules")


def _failing_schedules(reader: MaintenanceReader) -> CheckResult:
    rows = reader.query("failing_schedules", SHOWN + 1)
    if not rows:
        return ok("no invalid or dead schedules")
    keys = some([f"{key} ({status})" for _, key, status in rows])
    remedy = "see `quarterjack show` for the reason; correct the definition, or delete the schedule"
    return warn(f"invalid or dead schedules: {keys}", remedy)


def _expired_leases(reader: MaintenanceReader, now: int) -> CheckResult:
    rows = reader.query("expired_leases", now - LONG_AGO, SHOWN + 1)
    if not rows:
        return ok("no running runs with expired leases")
    runs = some([run_of(row).id for row in rows])
    remedy = "start `quarterjack up`: it settles them as lost, or retries them"
    return warn(f"running runs whose leases expired long ago: {runs}", remedy)


def _notifications(reader: MaintenanceReader, now: int) -> CheckResult:
    rows = reader.query("unsent_notifications", 1)
    if not rows or rows[0][2] > now - PENDING:
        return ok("no pending notifications")
    what = f"notifications pending since {to_text(rows[0][2])}"
    return warn(what, "start `quarterjack up`, or check its log")
