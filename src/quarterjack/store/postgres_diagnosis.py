"""Diagnosis of what is around a database on PostgreSQL: the server, and what it allows us."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from quarterjack.store.findings import SHOWN, Finding, Level, judged, some
from quarterjack.store.looking import Look
from quarterjack.store.nodes import CLOCKS_APART
from quarterjack.store.steps import Row
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


def of_rights(look: Look) -> Finding:
    """All of what a node does, or only looking; what is between comes from a grant that was
    forgotten, such as after an upgrade."""
    rows = look.ask("rights")
    remedy = "grant it as docs/postgresql.md says, and anew after an upgrade by another user"
    unread = [table for table, may_read, *_ in rows if not may_read]
    if unread:
        return Finding(Level.FAILED, f"this user may not read {some(unread)}", remedy)
    if not any(allowed for row in rows for allowed in row[2:]):
        return Finding(Level.OK, "this user may look, and change nothing")
    missing = [f"{privilege} {table}" for table, *may in rows for privilege in _refused(may)]
    if missing:
        return Finding(Level.WARNING, f"this user may not {some(missing)}", remedy)
    return Finding(Level.OK, "this user may do what a node does")


def _refused(may: Row) -> list[str]:
    return [name for name, allowed in zip(_PRIVILEGES, may, strict=True) if not allowed]


def of_clock(look: Look, clock: Clock) -> tuple[int, Finding]:
    """What time it is there, and whether it is the same here."""
    before = clock.now()
    ((now,),) = look.ask("read_clock")
    ahead = (before + clock.now()) // 2 - now
    side = "ahead of" if ahead > 0 else "behind"
    if abs(ahead) <= CLOCKS_APART:
        return now, Finding(Level.OK, "the clocks of the database and of this host agree")
    what = f"the clock of this host is {abs(ahead) / SECOND:,.1f} s {side} the database's"
    remedy = "set the clocks of both: the database's decides what is due, the host's is in the log"
    return now, Finding(Level.WARNING, what, remedy)


def of_server(look: Look, now: int) -> Iterator[Finding]:
    ((version, fsync, pages, commit, autovacuum, used, most),) = look.ask("server")
    yield Finding(Level.OK, f"PostgreSQL {version}")
    said = zip(_RISKS, (fsync, pages, commit, autovacuum), strict=True)
    yield _settings({name: value for name, value in said if value == "off"})
    yield _connections(used, most)
    yield _hints(is_pooled=look.is_pooled)
    yield _transactions(look.ask("open_transactions"), now)
    for table in look.ask("dead_rows"):
        yield _dead_rows(*table)


def _settings(off: dict[str, str]) -> Finding:
    if not off:
        return Finding(Level.OK, f"{', '.join(_RISKS)} are on")
    risks = ", and ".join(dict.fromkeys(_RISKS[name] for name in off))
    remedy = f"set {' and '.join(off)} to on: {risks}"
    return Finding(Level.WARNING, f"{' and '.join(off)} off", remedy)


def _connections(used: int, most: int) -> Finding:
    remedy = "end programs that only hold one, raise max_connections, or put a pool in between"
    many = Finding(Level.WARNING, f"{used} of {most} connections are used", remedy)
    return judged(many, if_bad=used * 5 > most * 4)


def _hints(*, is_pooled: bool) -> Finding:
    if not is_pooled:
        return Finding(Level.OK, "hints arrive: this connection is its own")
    what = "hints do not arrive: a pool gives this connection to others, too"
    remedy = "name the server itself if 5 s are too long until others notice what is asked"
    return Finding(Level.WARNING, what, remedy)


def _transactions(rows: Sequence[Row], now: int) -> Finding:
    """One that is open keeps vacuum from removing whatever has died since."""
    seen = [row for row in rows if row[3] is not None]
    old = [row for row in seen if row[3] < now - LONG_OPEN]
    if old:
        said = [f"{name or user} (pid {pid}) since {to_text(at)}" for pid, name, user, at in old]
        what = f"open transactions keep vacuum from its work: {some(said)}"
        ending = ", ".join(f"pg_terminate_backend({row[0]})" for row in old[:SHOWN])
        return Finding(Level.WARNING, what, f"end these programs, or `select {ending}`")
    if len(seen) < len(rows):
        hint = "pg_read_all_stats would show those of other users"
        return Finding(Level.OK, f"no transaction is seen to be open for long; {hint}")
    return Finding(Level.OK, "no transaction is open for long")


def _dead_rows(table: str, live: int, dead: int, vacuumed_at: int | None) -> Finding:
    when = "not yet" if vacuumed_at is None else f"at {to_text(vacuumed_at)}"
    what = f"{dead:,} dead rows in {table} beside {live:,}, autovacuum was there {when}"
    remedy = f"end transactions that are open for long, then `vacuum {table}`"
    return judged(
        Finding(Level.WARNING, what, remedy), if_bad=dead > DEAD_ROWS and dead > live // 2
    )
