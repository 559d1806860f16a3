"""Journal: every change of every row that matters, written by the database itself, and from it the
lives of schedules, runs and gates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import apsw

from harness.sim.postgres import PostgresDatabase
from quarterjack.sim.database import MemoryDatabase
from quarterjack.sim.world import World
from quarterjack.store.statements import Row

_TABLES = {
    "runs": (
        "schedule_id", "number", "kind", "slot", "ready_at", "scope", "gate", "version", "request",
        "state", "reason", "attempt", "failures", "losses", "worker", "started_at", "lease_until",
        "finished_at", "cancel",
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
    moment: int
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

    @property
    def id(self) -> str:
        return f"{self.schedule_id}-{self.number}"


class ScheduleRow(NamedTuple):
    moment: int
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


class PassedRow(NamedTuple):
    moment: int
    schedule_id: int
    first: int
    last: int
    count: int  # type: ignore[assignment]
    reason: str


class GateRow(NamedTuple):
    moment: int
    key: str
    state: str
    failures: int
    until: int | None
    probe: str | None


def keep_journal(world: World) -> None:
    """From now on every change is written down, with the moment at which it was made."""

    def moment(*_: Any) -> int:
        return len(world.record.moments)

    database = world.database
    if isinstance(database, PostgresDatabase):
        database.tell_moment(moment)
        _write_in_postgres(database)
    else:
        assert isinstance(database, MemoryDatabase)
        _write_in_sqlite(database.connection, moment)


def _write_in_sqlite(connection: apsw.Connection, moment: Callable[..., int]) -> None:
    connection.pragma("temp_store", "memory")
    connection.create_scalar_function("moment", moment, 0)
    for table, columns in _TABLES.items():
        named = ", ".join(columns)
        connection.execute(f"create temp table {table}_log (moment, {named})")
        for event in ("insert", "update"):
            values = ", ".join(f"new.{column}" for column in columns)
            connection.execute(
                f"create temp trigger {table}_{event} after {event} on main.{table} begin "
                f"insert into {table}_log values (moment(), {values}); end"
            )


def _write_in_postgres(database: PostgresDatabase) -> None:
    for table, columns in _TABLES.items():
        named = ", ".join(columns)
        values = ", ".join(f"new.{column}" for column in columns)
        database.ask(
            f"create table {table}_log as select 0::bigint as moment, {named} from {table}"
        )
        # In the order in which they were written, as SQLite's own rowid tells it.
        database.ask(f"alter table {table}_log add rowid bigint generated always as identity")
        database.ask(
            f"create function {table}_changed() returns trigger language plpgsql as $$ begin "
            f"insert into {table}_log values ({database.MOMENT}, {values}); return null; end $$"
        )
        database.ask(
            f"create trigger {table}_changed after insert or update on {table} "
            f"for each row execute function {table}_changed()"
        )


class Lives:
    """What the journal tells of each run, schedule, row of passed slots, and gate."""

    def __init__(self, world: World) -> None:
        def rows(table: str) -> list[Row]:
            named = ", ".join(_TABLES[table])
            return world.database.ask(f"select moment, {named} from {table}_log order by rowid")

        self.runs: dict[str, list[RunRow]] = defaultdict(list)
        for row in map(RunRow._make, rows("runs")):
            self.runs[row.id].append(row)
        self.schedules: dict[int, list[ScheduleRow]] = defaultdict(list)
        for each in map(ScheduleRow._make, rows("schedules")):
            self.schedules[each.id].append(each)
        self.not_run: dict[int, list[PassedRow]] = defaultdict(list)
        for not_run in map(PassedRow._make, rows("slots_not_run")):
            self.not_run[not_run.schedule_id].append(not_run)
        self.gates: dict[str, list[GateRow]] = defaultdict(list)
        for gate in map(GateRow._make, rows("gates")):
            self.gates[gate.key].append(gate)
        self.runs_of: dict[int, list[list[RunRow]]] = defaultdict(list)
        for life in self.runs.values():
            self.runs_of[life[0].schedule_id].append(life)
