"""Daily statistics: totals of the runs per day and schedule, so that charts need not read the runs.

Runs are counted once, in the order in which they ended: the transaction that counts them stores the
cursor. The last minutes are left for later, because ends may be stored out of order.
"""

from __future__ import annotations

from quarterjack.failpoint import failpoint
from quarterjack.store.rows import from_json, json_text
from quarterjack.store.statements import Query, Statements
from quarterjack.store.transactions.metadata import read_metadata
from quarterjack.store.types import RunCursor
from quarterjack.times.instants import MINUTE

MARGIN = 5 * MINUTE
BATCH = 250


def update_daily_stats(now: int) -> Statements[tuple[int, bool]]:
    """Count a batch. Returns the instant before which all runs are counted, and whether no more are
    left to count."""
    until = now - MARGIN
    yield Query("lock_name", ("daily_stats",))
    stored = from_json((yield from read_metadata("daily_stats")))
    cursor = RunCursor(*stored or ())
    if cursor > RunCursor(until):  # a clock was ahead: count again from now on
        cursor = RunCursor(until)
        yield Query("put_metadata", ("daily_stats", json_text(cursor)))
    ended = yield Query("ended_runs", (until, *cursor, BATCH))
    if not ended:
        return until, True
    last = RunCursor._make(ended[-1])
    yield Query("update_daily_stats", ([row[1:] for row in ended],))
    yield Query("put_metadata", ("daily_stats", json_text(last)))
    failpoint("daily_stats.written")
    return (until, True) if len(ended) < BATCH else (last.finished_at, False)
