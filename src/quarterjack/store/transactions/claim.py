"""Claiming: a worker takes queued runs that are ready, the highest priority first."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from quarterjack.failpoint import failpoint
from quarterjack.rules import skip_orphan
from quarterjack.store.rows import SCHEDULE_COLUMNS, run_of
from quarterjack.store.specifications import Specifications
from quarterjack.store.statements import Query, Row, Statements
from quarterjack.store.transactions.apply_decisions import add_events, put_runs
from quarterjack.store.transactions.facts import recheck_at
from quarterjack.store.types import Claim, Claimed
from quarterjack.telemetry.events import of_claims

_CLAIM_ORDER = itemgetter(4, 0, 1)
"""Within one priority: by `ready_at`, then by schedule and number."""


def claim_runs(
    specifications: Specifications,
    worker: str,
    queues: Sequence[str],
    limit: int,
    lease_until: int,
    now: int,
) -> Statements[Claimed]:
    claimed: list[Row] = []
    levels = yield from _waiting_levels(queues)
    for queue, priority, first_ready in levels:
        free = limit - len(claimed)
        if free > 0 and first_ready <= now:
            rows = yield Query("claim_runs", (worker, now, lease_until, queue, priority, free))
            claimed += sorted(rows, key=_CLAIM_ORDER)
    took_all = len(claimed) < limit
    if claimed and took_all:  # runs that are ready nonetheless are locked by another node
        levels = yield from _waiting_levels(queues)
    claims = yield from _claims(claimed, specifications, now)
    yield from add_events(of_claims((claim.run for claim in claims), now))
    failpoint("claim.written")
    next_ready = min((first_ready for _, _, first_ready in levels), default=None)
    return Claimed(claims, recheck_at(next_ready, now, took_all=took_all))


def _waiting_levels(queues: Sequence[str]) -> Statements[list[tuple[str, int, int]]]:
    """The queues and priorities that have queued runs, the highest priority first, each with the
    instant at which its first run is ready."""
    levels = []
    for queue in queues:
        rows = yield Query("queued_priorities", (queue,))
        levels += [(queue, *row) for row in rows]
    return sorted(levels, key=lambda level: -level[1])


def _claims(
    rows: Sequence[Row], specifications: Specifications, now: int
) -> Statements[list[Claim]]:
    """What the worker needs to know of the runs that it has claimed. Runs whose schedule was
    removed from the database by other means are closed."""
    key = SCHEDULE_COLUMNS
    yield from put_runs(skip_orphan(run_of(row), now) for row in rows if row[key] is None)
    rows = [row for row in rows if row[key] is not None]
    found = yield from specifications.read({(row[0], row[8]): row[key] for row in rows})
    return [Claim._make((run_of(row), found[row[0], row[8]], *row[key:])) for row in rows]
