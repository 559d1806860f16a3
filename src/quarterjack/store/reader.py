"""Queries for the API, the command line and the dashboard, on a read-only connection of their own.
They take no locks; lists are paged by key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Concatenate, NamedTuple, ParamSpec, TypeAlias, TypeVar

from quarterjack.clock import SystemClock
from quarterjack.errors import NotFound
from quarterjack.rules import (
    Attempt,
    Run,
    Schedule,
    SlotsNotRun,
    Specification,
    State,
    Status,
    Unreadable,
)
from quarterjack.rules.definition.target import TargetKinds
from quarterjack.rules.policies.anchors import following_completion
from quarterjack.store.address import address_of, is_postgres
from quarterjack.store.rows import attempt_of, audit_of, run_of, slots_not_run_of, stored_of
from quarterjack.store.specifications import Specifications
from quarterjack.store.sqlite.executor import Executor
from quarterjack.store.sqlite.file import open_read_only, path_of
from quarterjack.store.statements import Operation, Query, Row, Statements
from quarterjack.store.transactions.declare import read_declared
from quarterjack.store.transactions.facts import read_row, read_run, read_schedules
from quarterjack.store.transactions.nodes import read_nodes, runs_on_this_host
from quarterjack.store.types import (
    Audit,
    Chunk,
    DayStats,
    Declared,
    NodeInfo,
    Progress,
    StoredSchedule,
)

if TYPE_CHECKING:
    from quarterjack.store.postgres.reader import PostgresReader

P = ParamSpec("P")
T = TypeVar("T")
Method: TypeAlias = Callable[Concatenate["Reader", P], T]
PAGE = 50
LAST = 2**63 - 1
"""Greater than every id."""


class FoundSchedule(NamedTuple):
    """A schedule, and what follows from its runs."""

    stored: StoredSchedule
    last_run_at: int | None
    retry_at: int | None
    """When the first of its waiting retries is ready."""
    ready_at: int | None = None
    """When the first of all its waiting runs is ready."""
    open_since: int | None = None
    """When its running run started, if its next slot counts from the end of that run."""

    @property
    def schedule(self) -> Schedule:
        return self.stored.schedule

    @property
    def next_run_at(self) -> int | None:
        """When something starts next: a waiting retry, else the next slot, else a waiting run, such
        as that of a one-shot. If the next slot counts from the end of a running run, it is
        estimated from the start of that run."""
        schedule = self.schedule
        for instant in (self.retry_at, schedule.next_slot, self.ready_at):
            if instant is not None:
                return instant
        return None if self.open_since is None else following_completion(schedule, self.open_since)


class FoundRun(NamedTuple):
    run: Run
    key: str
    payload: object
    timeout: int | None
    """As its schedule defines it."""
    progress: Mapping[int, Progress]
    """What its attempts have reported, by their numbers."""

    @property
    def times_out_at(self) -> int | None:
        """When its running attempt times out."""
        run = self.run
        if run.state is not State.RUNNING:
            return None
        reported = self.progress.get(run.attempt)
        if reported is not None and reported.times_out_at is not None:
            return reported.times_out_at
        if self.timeout is None or run.started_at is None:
            return None
        return run.started_at + self.timeout


class SqliteReader(Executor):
    def alive(self, nodes: Sequence[NodeInfo]) -> list[NodeInfo]:
        return [node for node in nodes if runs_on_this_host(node)]


def _open(url: str, specifications: Specifications) -> SqliteReader | PostgresReader:
    if is_postgres(url):
        address = address_of(url)
        from quarterjack.store.postgres.reader import PostgresReader

        return PostgresReader(address, specifications)
    path = path_of(url)
    return SqliteReader(open_read_only(path), path, specifications, SystemClock())


def _read(statements: Callable[Concatenate[Reader, P], Statements[T]]) -> Method[P, T]:
    """A method that executes these statements in one snapshot."""

    def execute(reader: Reader, /, *values: P.args, **named: P.kwargs) -> T:
        operation = Operation("read", partial(statements, reader, *values, **named))
        reader._backend.read(operation)
        return operation.answer()  # type: ignore[no-any-return]

    return execute


class Reader:
    """One database. `which` is an id, a key, or a name that only one schedule has; if no such
    schedule exists, the last deleted one with that id or key."""

    def __init__(self, url: str, kinds: TargetKinds) -> None:
        self._specifications = Specifications(kinds)
        self._backend = _open(url, self._specifications)

    def close(self) -> None:
        self._backend.close()

    @_read
    def schedules(self, after: int = 0, limit: int = PAGE) -> Statements[list[FoundSchedule]]:
        """Ordered by id, starting after this one."""
        rows = yield Query("list_schedules", (after, limit))
        return (yield from self._found_schedules(rows))

    @_read
    def declared(
        self, owner: str, keys: Sequence[str], *, has_default_name: bool
    ) -> Statements[tuple[list[StoredSchedule], Declared, int]]:
        """What a declaration with these keys would be compared with, and how many schedules of the
        older default name it would adopt."""
        known = self._specifications
        return (yield from read_declared(owner, keys, known, has_default_name=has_default_name))

    @_read
    def schedule(self, which: str) -> Statements[FoundSchedule]:
        row = yield from _row(which)
        (found,) = yield from self._found_schedules([row])
        return found

    def _found_schedules(self, rows: Sequence[Row]) -> Statements[list[FoundSchedule]]:
        schedules = yield from read_schedules(rows, self._specifications)
        found = []
        for row, schedule in zip(rows, schedules, strict=True):
            stored = stored_of(row, schedule)
            last = yield Query("last_start", (row[0],))
            ((retry_at, ready_at),) = yield Query("waiting_runs", (row[0],))
            open_run: list[Row] = []
            if ready_at is None and _counts_from_open_run(schedule):
                open_run = yield Query("open_run_start", (row[0],))
            found.append(FoundSchedule(stored, _first(last), retry_at, ready_at, _first(open_run)))
        return found

    @_read
    def runs(
        self, which: str | None = None, state: str | None = None, limit: int = PAGE
    ) -> Statements[list[FoundRun]]:
        """Newest first; of one schedule, or of all."""
        if which is None:
            rows = yield Query("list_runs", (state, limit))
        else:
            schedule = yield from _row(which)
            rows = yield Query("list_runs_of", (schedule[0], state, limit))
        return (yield from self._found_runs([run_of(row) for row in rows]))

    @_read
    def run(self, run_id: str) -> Statements[tuple[FoundRun, list[Attempt]]]:
        run = yield from read_run(run_id)
        (found,) = yield from self._found_runs([run])
        rows = yield Query("attempts_of", (run.schedule_id, run.number))
        return found, [attempt_of(row) for row in rows]

    def _found_runs(self, runs: Sequence[Run]) -> Statements[list[FoundRun]]:
        rows = yield Query("schedule_keys", (sorted({run.schedule_id for run in runs}),))
        keys = {row[0]: row[1] for row in rows}
        versions = {(run.schedule_id, run.version): keys.get(run.schedule_id, "") for run in runs}
        found = yield from self._specifications.read(versions)
        progress = yield from _progress_of(runs)
        wanted = [(run, (run.schedule_id, run.version)) for run in runs]
        return [
            FoundRun(run, versions[each], *_work(found[each]), progress.get(run.id, {}))
            for run, each in wanted
        ]

    @_read
    def output(
        self, run_id: str, attempt: int | None = None, after: tuple[int, int] = (0, -1)
    ) -> Statements[list[Chunk]]:
        """Of one attempt, or of all attempts; with the attempt and the number of a chunk, what was
        stored after that one."""
        run = yield from read_run(run_id)
        rows = yield Query("output_of", (run.schedule_id, run.number, attempt, *after))
        return [Chunk._make(row) for row in rows]

    @_read
    def not_run(self, which: str, limit: int = PAGE) -> Statements[list[SlotsNotRun]]:
        """Newest first."""
        schedule = yield from _row(which)
        rows = yield Query("list_slots_not_run", (schedule[0], limit))
        return [slots_not_run_of(list(row)) for row in rows]

    @_read
    def audit(
        self, which: str | None = None, before: int = LAST, limit: int = PAGE
    ) -> Statements[list[Audit]]:
        """Newest first; of one schedule, or of all."""
        if which is None:
            rows = yield Query("list_audit", (before, limit))
        else:
            schedule = yield from _row(which)
            rows = yield Query("list_audit_of", (schedule[0], before, limit))
        return [audit_of(row) for row in rows]

    @_read
    def days(self, which: str | None, first: int, last: int) -> Statements[list[DayStats]]:
        """Statistics of one schedule, or of all, for each of these days (since 1970, in UTC) on
        which a run ended. The last minutes may not be included yet."""
        schedule_id = 0 if which is None else (yield from _row(which))[0]
        rows = yield Query("list_daily_stats", (list(range(first, last + 1)), schedule_id))
        return [DayStats._make(row[: len(DayStats._fields)]) for row in rows]

    def nodes(self) -> list[NodeInfo]:
        """Those that are alive, oldest first."""
        return self._backend.alive(self._registered_nodes())

    @_read
    def _registered_nodes(self) -> Statements[Sequence[NodeInfo]]:
        return (yield from read_nodes())


def _counts_from_open_run(schedule: Schedule) -> bool:
    """The next slot is one interval after the end of a run that is still running."""
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


def _progress_of(runs: Sequence[Run]) -> Statements[Mapping[str, Mapping[int, Progress]]]:
    """By run and attempt."""
    wanted = [(run.schedule_id, run.number) for run in runs if run.attempt]
    found: dict[str, dict[int, Progress]] = {}
    rows = yield Query("progress_of_runs", (wanted,))
    for progress in map(Progress._make, rows):
        run_id = f"{progress.schedule_id}-{progress.number}"
        found.setdefault(run_id, {})[progress.attempt] = progress
    return found


def _work(specification: Specification | Unreadable) -> tuple[object, int | None]:
    """Its payload and timeout."""
    try:
        return specification.payload, specification.timeout
    except Exception:  # unreadable; its schedule tells why
        return None, None
