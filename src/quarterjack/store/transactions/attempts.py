"""Attempts while they run: until when a worker holds them, their output and their progress."""

from __future__ import annotations

from collections.abc import Sequence

from quarterjack.failpoint import failpoint
from quarterjack.rules import Run
from quarterjack.store.rows import reason_of
from quarterjack.store.statements import Query, QueryMany, Row, Statements
from quarterjack.store.types import Chunk, ExpiredChunks, Leases, Progress


def renew_leases(worker: str, held: Sequence[Run], lease_until: int) -> Statements[Leases]:
    wanted = [(run.schedule_id, run.number, run.attempt) for run in held]
    rows = yield Query("renew_leases", (lease_until, worker, wanted))
    return _by_attempt(rows)


def renew_claims(worker: str, claimed_at: int, lease_until: int) -> Statements[None]:
    yield Query("renew_claims", (lease_until, worker, claimed_at))


def read_leases(worker: str, held: Sequence[Run]) -> Statements[Leases]:
    wanted = [(run.schedule_id, run.number, run.attempt) for run in held]
    rows = yield Query("held_leases", (wanted, worker))
    return _by_attempt(rows)


def _by_attempt(rows: Sequence[Row]) -> Leases:
    return {(f"{row[0]}-{row[1]}", row[2]): reason_of(row[3]) for row in rows}


def add_output(
    chunks: Sequence[Chunk],
    expired: Sequence[ExpiredChunks] = (),
    progress: Sequence[Progress] = (),
) -> Statements[None]:
    if chunks:
        yield QueryMany("add_output", chunks)
    if expired:
        yield QueryMany("delete_output", expired)
    if progress:
        yield QueryMany("put_progress", progress)
    failpoint("output.written")
