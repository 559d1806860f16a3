"""A journal of every change of the rows that are checked, written by triggers in the database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import apsw

from harness.sim.postgres import PostgresDatabase
from quarterjack.sim.database import MemoryDatabase
from quarterjack.sim.simulation import Simulation
from quarterjack.store.statements import Row

_TABLES = {
    "runs": (
        "schedule_id", "number", "kind", "slot", "ready_at", "scope", "gate", "version", "request",
        "state", "reason", "attempt", "failures", "losses", "worker", "started_at", "lease_until",
        "finished_at", "cancel", "code",
    ),
    "schedules": (
        "id", "created_at", "anchor_at", "cursor", "version", "status", "status_reason",
        "paused_until", "planned_count", "run_count", "error_count", "consecutive_errors",
        "current_repeat", "last_fired_at", "backfill", "deleted_at",
    ),
    "slots_not_run": ("schedule_id", "first", "last", "count", "reason"),
    "gates": ("key", "state", "failures", "until", "probe"),
}  # fmt: skip


class RunRow(NamedTuple):
    call_index: int
    schedule_id: int
    number: int
    kind: str
    slot: int
    ready_at: int
    scope: str
    gate: str | None
    version: int
    request: int
    state: str
    reason: str | None
    attempt: int
    failures: int
    losses: int
    worker: str | None
    started_at: int | None
    lease_until: int | None
    finished_at: int | None
    cancel: str | None
    code: str | None

    @property
    def id(self) -> str:
        return f"{self.schedule_id}-{self.number}"


class ScheduleRow(NamedTuple):
    call_index: int
    id: int
    created_at: int
    anchor_at: int
    cursor: int
    version: int
    status: str
    status_reason: str | None
    paused_until: int | None
    planned_count: int
    run_count: int
    error_count: int
    consecutive_errors: int
    current_repeat: int
    last_fired_at: int | None
    backfill: str | None
    deleted_at: int | None


class SlotsNotRunRow(NamedTuple):
    call_index: int
    schedule_id: int
    first: int
    last: int
    count: int  # type: ignore[assignment]
    reason: str


class GateRow(NamedTuple):
    call_index: int
    key: str
    state: str
    failures: int
    until: int | None
    probe: str | None


def keep_journal(simulation: Simulation) -> None:
    """From now on every change is recorded with the index of the store call that made it."""

    def call_index(*_: Any) -> int:
        return len(simulation.record.calls)

    database = simulation.database
    if isinstance(database, PostgresDatabase):
        database.call_index = call_index
        _create_postgres_triggers(database)
    else:
        assert isinstance(database, MemoryDatabase)
        _create_sqlite_triggers(database.connection, call_index)


def _create_sqlite_triggers(connection: apsw.Connection, call_index: Callable[..., int]) -> None:
    connection.pragma("temp_store", "memory")
    connection.create_scalar_function("call_index", call_index, 0)
    for table, columns in _TABLES.items():
        named = ", ".join(columns)
        connection.execute(f"create temp table {table}_log (call_index, {named})")
        for event in ("insert", "update"):
            values = ", ".join(f"new.{column}" for column in columns)
            connection.execute(
                f"create temp trigger {table}_{event} after {event} on main.{table} begin "
                f"insert into {table}_log values (call_index(), {values}); end"
            )


def _create_postgres_triggers(database: PostgresDatabase) -> None:
    for table, columns in _TABLES.items():
        named = ", ".join(columns)
        values = ", ".join(f"new.{column}" for column in columns)
        database.query(
            f"create table {table}_log as select 0::bigint as call_index, {named} from {table}"
        )
        # The order of the writes, as SQLite's own rowid has it.
        database.query(f"alter table {table}_log add rowid bigint generated always as identity")
        database.query(
            f"create function {table}_changed() returns trigger language plpgsql as $$ begin "
            f"insert into {table}_log values ({database.CALL_INDEX}, {values}); return null; end $$"
        )
        database.query(
            f"create trigger {table}_changed after insert or update on {table} "
            f"for each row execute function {table}_changed()"
        )


class RowChanges:
    """The successive versions of each row in the journal, by what identifies the row."""

    def __init__(self, simulation: Simulation) -> None:
        def rows(table: str) -> list[Row]:
            named = ", ".join(_TABLES[table])
            return simulation.database.query(
                f"select call_index, {named} from {table}_log order by rowid"
            )

        self.runs: dict[str, list[RunRow]] = defaultdict(list)
        for run in map(RunRow._make, rows("runs")):
            self.runs[run.id].append(run)
        self.schedules: dict[int, list[ScheduleRow]] = defaultdict(list)
        for schedule in map(ScheduleRow._make, rows("schedules")):
            self.schedules[schedule.id].append(schedule)
        self.slots_not_run: dict[int, list[SlotsNotRunRow]] = defaultdict(list)
        """By schedule."""
        for not_run in map(SlotsNotRunRow._make, rows("slots_not_run")):
            self.slots_not_run[not_run.schedule_id].append(not_run)
        self.gates: dict[str, list[GateRow]] = defaultdict(list)
        for gate in map(GateRow._make, rows("gates")):
            self.gates[gate.key].append(gate)
        self.runs_of: dict[int, list[list[RunRow]]] = defaultdict(list)
        """By schedule, the versions of each of its runs."""
        for versions in self.runs.values():
            self.runs_of[versions[0].schedule_id].append(versions)
