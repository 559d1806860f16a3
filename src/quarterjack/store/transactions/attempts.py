"""Attempts while they run: until when a worker holds them, and their output."""

from __future__ import annotations

from collections.abc import Sequence

from quarterjack.failpoint import failpoint
from quarterjack.rules import Run
from quarterjack.store.rows import reason_of
from quarterjack.store.statements import Query, QueryMany, Row, Statements
from quarterjack.store.types import Chunk, Leases


def renew_leases(worker: str, held: Sequence[Run], lease_until: int) -> Statements[Leases]:
    wanted = [(run.schedule_id, run.number, run.attempt) for run in held]
    rows = yield Query("renew_leases", (lease_until, worker, wanted))
    return _by_attempt(rows)


def read_leases(worker: str, held: Sequence[Run]) -> Statements[Leases]:
    wanted = [(run.schedule_id, run.number, run.attempt) for run in held]
    rows = yield Query("held_leases", (wanted, worker))
    return _by_attempt(rows)


def _by_attempt(rows: Sequence[Row]) -> Leases:
    return {(f"{row[0]}-{row[1]}", row[2]): reason_of(row[3]) for row in rows}


def add_output(chunks: Sequence[Chunk]) -> Statements[None]:
    yield QueryMany("add_output", chunks)
    failpoint("output.written")
