"""The part of `doctor` for PostgreSQL: privileges, clock, settings and activity of the server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quarterjack.clock import Clock
from quarterjack.store.maintenance.reader import MaintenanceReader
from quarterjack.store.maintenance.results import SHOWN, CheckResult, fail, ok, some, warn
from quarterjack.store.statements import Row
from quarterjack.store.transactions.nodes import CLOCK_SKEW_MAX
from quarterjack.times.instants import MINUTE, SECOND, to_text

LONG_TRANSACTION = 5 * MINUTE
DEAD_ROWS = 10_000
"""Fewer are never reported."""
_PRIVILEGES = ("select", "insert", "update", "delete")
_RISKS = {
    "fsync": "a crash of the host may corrupt the database",
    "full_page_writes": "a crash of the host may corrupt the database",
    "synchronous_commit": "a crash of the server may lose acknowledged transactions",
    "autovacuum": "dead rows accumulate",
}
"""Settings that are on by default, and what may happen when they are off."""


def check_privileges(reader: MaintenanceReader) -> CheckResult:
    """A node needs all of them and a viewer only `select`. Anything between is a grant that is
    missing, for example after an upgrade."""
    rows = reader.query("privileges")
    remedy = "grant it as in docs/postgresql.md, and again after an upgrade by another user"
    unreadable = [table for table, may_select, *_ in rows if not may_select]
    if unreadable:
        return fail(f"missing privilege: select on {some(unreadable)}", remedy)
    if not any(allowed for row in rows for allowed in row[2:]):
        return ok("privileges: read-only")
    missing = [
        f"{privilege} on {table}"
        for table, *granted in rows
        for privilege, allowed in zip(_PRIVILEGES, granted, strict=True)
        if not allowed
    ]
    if missing:
        return warn(f"missing privileges: {some(missing)}", remedy)
    return ok("privileges: all that a node needs")


def check_clock(reader: MaintenanceReader, clock: Clock) -> tuple[int, CheckResult]:
    """The time of the database, and how far the clock of this host differs."""
    before = clock.now()
    ((now,),) = reader.query("read_clock")
    ahead = (before + clock.now()) // 2 - now
    side = "ahead of" if ahead > 0 else "behind"
    if abs(ahead) <= CLOCK_SKEW_MAX:
        return now, ok("the clocks of the database and of this host agree")
    what = f"the clock of this host is {abs(ahead) / SECOND:,.1f} s {side} the database's"
    remedy = "synchronize both: the database's decides what is due, the host's is in the log"
    return now, warn(what, remedy)


def check_server(reader: MaintenanceReader, now: int) -> Iterator[CheckResult]:
    ((version, fsync, pages, commit, autovacuum, used, limit),) = reader.query("server")
    yield ok(f"PostgreSQL {version}")
    values = zip(_RISKS, (fsync, pages, commit, autovacuum), strict=True)
    yield _settings([name for name, value in values if value == "off"])
    remedy = "close idle programs, raise max_connections, or use a pooler"
    yield warn(f"{used} of {limit} connections used", remedy, unless=used * 5 <= limit * 4)
    yield _pooler(is_pooled=reader.is_pooled)
    yield _transactions(reader.query("open_transactions"), now)
    for table in reader.query("dead_rows"):
        yield _dead_rows(*table)


def _settings(off: Sequence[str]) -> CheckResult:
    if not off:
        return ok(f"{', '.join(_RISKS)} are on")
    names = " and ".join(off)
    risks = ", and ".join(dict.fromkeys(_RISKS[name] for name in off))
    return warn(f"{names} off", f"set {names} to on: {risks}")


def _pooler(*, is_pooled: bool) -> CheckResult:
    if not is_pooled:
        return ok("connected directly, so notifications arrive")
    remedy = "connect directly if other nodes should notice changes sooner than after 5 s"
    return warn("connected through a pooler, so notifications do not arrive", remedy)


def _transactions(rows: Sequence[Row], now: int) -> CheckResult:
    """Vacuum cannot remove rows that died since an open transaction began."""
    visible = [row for row in rows if row[3] is not None]
    old = [row for row in visible if row[3] < now - LONG_TRANSACTION]
    if old:
        each = [f"{name or user} (pid {pid}) since {to_text(at)}" for pid, name, user, at in old]
        what = f"long-running transactions hold back vacuum: {some(each)}"
        ending = ", ".join(f"pg_terminate_backend({row[0]})" for row in old[:SHOWN])
        return warn(what, f"end these programs, or `select {ending}`")
    hint = ""
    if len(visible) < len(rows):
        hint = "; those of other users are visible only with pg_read_all_stats"
    return ok(f"no long-running transactions{hint}")


def _dead_rows(table: str, live: int, dead: int, vacuumed_at: int | None) -> CheckResult:
    when = "never" if vacuumed_at is None else to_text(vacuumed_at)
    what = f"{dead:,} dead rows in {table}, {live:,} live; last autovacuum: {when}"
    remedy = f"end long-running transactions, then `vacuum {table}`"
    return warn(what, remedy, unless=dead <= DEAD_ROWS or dead <= live // 2)
