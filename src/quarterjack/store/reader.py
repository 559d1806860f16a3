"""Reads for the doors, on a connection of their own that cannot write. They decide nothing and lock
nothing; lists are read by key, a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, ParamSpec, Protocol, TypeVar

from quarterjack.clock import SystemClock
from quarterjack.errors import NotFound
from quarterjack.rules import (
    Attempt,
    Ending,
    Outcome,
    Run,
    Schedule,
    SlotsNotRun,
    Status,
    Unreadable,
)
from quarterjack.rules.policies.anchors import following_completion
from quarterjack.store.address import is_postgres, refuse_without_driver
from quarterjack.store.rows import audit_of, from_json, run_of, slots_not_run_of, stored_of
from quarterjack.store.specifications import Specifications
from quarterjack.store.sqlite.executor import Executor
from quarterjack.store.sqlite.file import open_to_read, path_of
from quarterjack.store.statements import Operation, Query, Row, Statements
from quarterjack.store.transactions.facts import read_row, read_run, read_schedules
from quarterjack.store.transactions.nodes import read_nodes, runs_here
from quarterjack.store.types import Audit, Day, NodeInfo, StoredSchedule

P = ParamSpec("P")
T = TypeVar("T")
PAGE = 50
LAST = 2**63 - 1
"""After every number that was ever given."""


class FoundSchedule(NamedTuple):
    """A schedule, and what its runs tell of it."""

    stored: StoredSchedule
    last_run_at: int | None
    retry_at: int | None
    """When the first of its runs that wait to be tried again is ready."""
    ready_at: int | None = None
    """The same of all its runs that wait."""
    open_since: int | None = None
    """When its open run started, if its next slot counts from that run's end."""

    @property
    def schedule(self) -> Schedule:
        return self.stored.schedule

    @property
    def next_run_at(self) -> int | None:
        """When something starts next: a retry that waits, else a slot, else a run that waits, as
        that of a one-shot may for long; a slot that counts from the end of an open run is expected
        after its start."""
        schedule = self.schedule
        for known in (self.retry_at, schedule.next_slot, self.ready_at):
            if known is not None:
                return known
        return None if self.open_since is None else following_completion(schedule, self.open_since)


class FoundRun(NamedTuple):
    run: Run
    key: str
    payload: object


class ReaderBackend(Protocol):
    def read(self, operation: Operation) -> None: ...
    def alive(self, nodes: Sequence[NodeInfo]) -> list[NodeInfo]: ...
    def close(self) -> None: ...


class SqliteReader(Executor):
    def alive(self, nodes: Sequence[NodeInfo]) -> list[NodeInfo]:
        return [node for node in nodes if runs_here(node)]


def _looker(url: str, known: Specifications) -> ReaderBackend:
    if is_postgres(url):
        refuse_without_driver()
        from quarterjack.store.postgres import connection as postgres_link
        from quarterjack.store.postgres import reader as postgres_reads

        return postgres_reads.ReaderBackend(postgres_link.address_of(url), known)
    path = path_of(url)
    return SqliteReader(open_to_read(path), path, known, SystemClock())


class Reader:
    """One database, to be looked at."""

    def __init__(self, url: str) -> None:
        self._known = Specifications()
        self._looker = _looker(url, self._known)

    def close(self) -> None:
        self._looker.close()

    def schedules(self, after: int = 0, limit: int = PAGE) -> list[FoundSchedule]:
        """In the order of their ids, from the one after this."""
        return self._do(_schedules, self._known, after, limit)

    def schedule(self, which: str) -> FoundSchedule:
        """By id, by key, or by a name that is unambiguous; or the last one that had that id or key
        before it was deleted."""
        return self._do(_schedule, self._known, which)

    def runs(
        self, which: str | None = None, state: str | None = None, limit: int = PAGE
    ) -> list[FoundRun]:
        """The newest first: of one schedule, or of all."""
        return self._do(_runs, self._known, which, state, limit)

    def run(self, run_id: str) -> tuple[FoundRun, list[Attempt]]:
        return self._do(_run, self._known, run_id)

    def output(self, run_id: str, attempt: int | None = None) -> bytes:
        """Of one attempt, or of all of them."""
        return self._do(_output, run_id, attempt)

    def not_run(self, which: str, limit: int = PAGE) -> list[SlotsNotRun]:
        """The slots that did not run, and why; the newest first."""
        return self._do(_passed, which, limit)

    def audit(self, which: str | None = None, before: int = LAST, limit: int = PAGE) -> list[Audit]:
        """Who asked for what, the newest first: of one schedule, or of all."""
        return self._do(_audit, which, before, limit)

    def days(self, which: str | None, first: int, last: int) -> list[Day]:
        """What the runs of one schedule, or of all, came to on each of these days (since 1970, in
        UTC) on which any ended; the last minutes may not be counted yet."""
        return self._do(_days, which, first, last)

    def nodes(self) -> list[NodeInfo]:
        """Those that are there, the oldest first."""
        return self._looker.alive(self._do(read_nodes))

    def _do(self, steps: Callable[P, Statements[T]], *values: P.args, **named: P.kwargs) -> T:
        operation = Operation("read", lambda: steps(*values, **named))
        self._looker.read(operation)
        return operation.answer()  # type: ignore[no-any-return]


def _schedules(known: Specifications, after: int, limit: int) -> Statements[list[FoundSchedule]]:
    rows = yield Query("list_schedules", (after, limit))
    return (yield from _found(known, rows))


def _found(known: Specifications, rows: Sequence[Row]) -> Statements[list[FoundSchedule]]:
    schedules = yield from read_schedules(rows, known)
    found = []
    for row, schedule in zip(rows, schedules, strict=True):
        stored = stored_of(row, schedule)
        last = yield Query("last_start", (row[0],))
        ((retry_at, ready_at),) = yield Query("waiting_runs", (row[0],))
        open_run: list[Row] = []
        if ready_at is None and _counts_from_open_run(schedule):
            open_run = yield Query("open_since", (row[0],))
        found.append(FoundSchedule(stored, _first(last), retry_at, ready_at, _first(open_run)))
    return found


def _counts_from_open_run(schedule: Schedule) -> bool:
    """Is the next slot one interval after the end of a run that is open, and not known yet?"""
    specification = schedule.specification
    if schedule.status is not Status.ACTIVE or isinstance(specification, Unreadable):
        return False
    return specification.completion and schedule.next_slot is None


def _first(rows: Sequence[Row]) -> int | None:
    return rows[0][0] if rows else None


def _row(which: str) -> Statements[Row]:
    try:
        return (yield from read_row(which))
    except NotFound:
        rows = yield Query("deleted_schedule", (which,))
        if not rows:
            raise
        return rows[0]


def _schedule(known: Specifications, which: str) -> Statements[FoundSchedule]:
    row = yield from _row(which)
    (found,) = yield from _found(known, [row])
    return found


def _runs(
    known: Specifications, which: str | None, state: str | None, limit: int
) -> Statements[list[FoundRun]]:
    if which is None:
        rows = yield Query("list_runs", (state, limit))
    else:
        schedule = yield from _row(which)
        rows = yield Query("list_runs_of", (schedule[0], state, limit))
    return (yield from _found_runs(known, [run_of(row) for row in rows]))


def _found_runs(known: Specifications, runs: Sequence[Run]) -> Statements[list[FoundRun]]:
    owners = yield Query("callers", (sorted({run.schedule_id for run in runs}),))
    keys = {owner[0]: owner[1] for owner in owners}
    versions = {(run.schedule_id, run.version): keys.get(run.schedule_id, "") for run in runs}
    specifications = yield from known.read(versions)
    return [
        FoundRun(
            run,
            versions[run.schedule_id, run.version],
            _payload(specifications[run.schedule_id, run.version]),
        )
        for run in runs
    ]


def _payload(specification: object) -> object:
    try:
        return specification.payload  # type: ignore[attr-defined]
    except Exception:  # it cannot be read any more, and its schedule says why
        return None


def _run(known: Specifications, run_id: str) -> Statements[tuple[FoundRun, list[Attempt]]]:
    run = yield from read_run(run_id)
    (found,) = yield from _found_runs(known, [run])
    identity = run.schedule_id, run.number
    attempts = [_attempt(row) for row in (yield Query("attempts_of", identity))]
    return found, attempts


def _attempt(row: Row) -> Attempt:
    (
        schedule_id,
        number,
        attempt,
        worker,
        started_at,
        finished_at,
        ending,
        error,
        result,
        back,
        *_,
    ) = row
    outcome = Outcome(Ending(ending), finished_at, error, from_json(result), handed_back=bool(back))
    return Attempt(f"{schedule_id}-{number}", attempt, worker, started_at, outcome)


def _output(run_id: str, attempt: int | None) -> Statements[bytes]:
    run = yield from read_run(run_id)
    rows = yield Query("output_of", (run.schedule_id, run.number, attempt))
    return b"".join(data for (data,) in rows)


def _passed(which: str, limit: int) -> Statements[list[SlotsNotRun]]:
    row = yield from _row(which)
    return [
        slots_not_run_of(list(each))
        for each in (yield Query("list_slots_not_run", (row[0], limit)))
    ]


def _audit(which: str | None, before: int, limit: int) -> Statements[list[Audit]]:
    if which is None:
        rows = yield Query("list_audit", (before, limit))
    else:
        schedule = yield from _row(which)
        rows = yield Query("list_audit_of", (schedule[0], before, limit))
    return [audit_of(row) for row in rows]


def _days(which: str | None, first: int, last: int) -> Statements[list[Day]]:
    schedule_id = 0 if which is None else (yield from _row(which))[0]
    wanted = list(range(first, last + 1))
    return [
        Day._make(row[: len(Day._fields)])
        for row in (yield Query("list_daily_stats", (wanted, schedule_id)))
    ]
