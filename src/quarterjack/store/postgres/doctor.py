"""Diagnosis of what is around a database on PostgreSQL: the server, and what it allows us."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from quarterjack.store.maintenance.reader import MaintenanceReader
from quarterjack.store.maintenance.results import SHOWN, CheckResult, Level, judged, some
from quarterjack.store.statements import Row
from quarterjack.store.transactions.nodes import CLOCKS_APART
from quarterjack.times.instants import MINUTE, SECOND, to_text

LONG_OPEN = 5 * MINUTE
DEAD_ROWS = 10_000
"""Fewer are never worth a word."""
_PRIVILEGES = ("select", "insert", "update", "delete")
_RISKS = {
    "fsync": "a crash of the host may damage it",
    "full_page_writes": "a crash of the host may damage it",
    "synchronous_commit": "a crash of the server may lose what was acknowledged",
    "autovacuum": "dead rows pile up",
}
"""Settings that are on in every server that is to be relied on."""


class Clock(Protocol):
    def now(self) -> int: ...


def of_rights(look: MaintenanceReader) -> CheckResult:
    """All of what a node does, or only looking; what is between comes from a grant that was
    forgotten, such as after an upgrade."""
    rows = look.ask("rights")
    remedy = "grant it as docs/postgresql.md says, and anew after an upgrade by another user"
    unread = [table for table, may_read, *_ in rows if not may_read]
    if unread:
        return CheckResult(Level.FAILED, f"this user may not read {some(unread)}", remedy)
    if not any(allowed for row in rows for allowed in row[2:]):
        return CheckResult(Level.OK, "this user may look, and change nothing")
    missing = [f"{privilege} {table}" for table, *may in rows for privilege in _refused(may)]
    if missing:
        return CheckResult(Level.WARNING, f"this user may not {some(missing)}", remedy)
    return CheckResult(Level.OK, "this user may do what a node does")


def _refused(may: Row) -> list[str]:
    return [name for name, allowed in zip(_PRIVILEGES, may, strict=True) if not allowed]


def of_clock(look: MaintenanceReader, clock: Clock) -> tuple[int, CheckResult]:
    """What time it is there, and whether it is the same here."""
    before = clock.now()
    ((now,),) = look.ask("read_clock")
    ahead = (before + clock.now()) // 2 - now
    side = "ahead of" if ahead > 0 else "behind"
    if abs(ahead) <= CLOCKS_APART:
        return now, CheckResult(Level.OK, "the clocks of the database and of this host agree")
    what = f"the clock of this host is {abs(ahead) / SECOND:,.1f} s {side} the database's"
    remedy = "set the clocks of both: the database's decides what is due, the host's is in the log"
    return now, CheckResult(Level.WARNING, what, remedy)


def of_server(look: MaintenanceReader, now: int) -> Iterator[CheckResult]:
    ((version, fsync, pages, commit, autovacuum, used, most),) = look.ask("server")
    yield CheckResult(Level.OK, f"PostgreSQL {version}")
    said = zip(_RISKS, (fsync, pages, commit, autovacuum), strict=True)
    yield _settings({name: value for name, value in said if value == "off"})
    yield _connections(used, most)
    yield _hints(is_pooled=look.is_pooled)
    yield _transactions(look.ask("open_transactions"), now)
    for table in look.ask("dead_rows"):
        yield _dead_rows(*table)


def _settings(off: dict[str, str]) -> CheckResult:
    if not off:
        return CheckResult(Level.OK, f"{', '.join(_RISKS)} are on")
    risks = ", and ".join(dict.fromkeys(_RISKS[name] for name in off))
    remedy = f"set {' and '.join(off)} to on: {risks}"
    return CheckResult(Level.WARNING, f"{' and '.join(off)} off", remedy)


def _connections(used: int, most: int) -> CheckResult:
    remedy = "end programs that only hold one, raise max_connections, or put a pool in between"
    many = CheckResult(Level.WARNING, f"{used} of {most} connections are used", remedy)
    return judged(many, if_bad=used * 5 > most * 4)


def _hints(*, is_pooled: bool) -> CheckResult:
    if not is_pooled:
        return CheckResult(Level.OK, "hints arrive: this connection is its own")
    what = "hints do not arrive: a pool gives this connection to others, too"
    remedy = "name the server itself if 5 s are too long until others notice what is asked"
    return CheckResult(Level.WARNING, what, remedy)


def _transactions(rows: Sequence[Row], now: int) -> CheckResult:
    """One that is open keeps vacuum from removing whatever has died since."""
    seen = [row for row in rows if row[3] is not None]
    old = [row for row in seen if row[3] < now - LONG_OPEN]
    if old:
        said = [f"{name or user} (pid {pid}) since {to_text(at)}" for pid, name, user, at in old]
        what = f"open transactions keep vacuum from its work: {some(said)}"
        ending = ", ".join(f"pg_terminate_backend({row[0]})" for row in old[:SHOWN])
        return CheckResult(Level.WARNING, what, f"end these programs, or `select {ending}`")
    if len(seen) < len(rows):
        hint = "pg_read_all_stats would show those of other users"
        return CheckResult(Level.OK, f"no transaction is seen to be open for long; {hint}")
    return CheckResult(Level.OK, "no transaction is open for long")


def _dead_rows(table: str, live: int, dead: int, vacuumed_at: int | None) -> CheckResult:
    when = "not yet" if vacuumed_at is None else f"at {to_text(vacuumed_at)}"
    what = f"{dead:,} dead rows in {table} beside {live:,}, autovacuum was there {when}"
    remedy = f"end transactions that are open for long, then `vacuum {table}`"
    return judged(
        CheckResult(Level.WARNING, what, remedy), if_bad=dead > DEAD_ROWS and dead > live // 2
    )
