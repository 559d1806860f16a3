"""Rolling up: what the runs of each day came to, so that no picture has to read them.

Each run is counted once, in the order in which they ended: the place that was reached is stored in
the transaction that counts. The last minutes are left for later, for an end may be stored a moment
after one that came later.
"""

from __future__ import annotations

from quarterjack.failpoint import failpoint
from quarterjack.store.rows import from_json, json_text
from quarterjack.store.statements import Query, Statements
from quarterjack.store.transactions.facts import read_metadata
from quarterjack.store.types import RunCursor
from quarterjack.times.instants import MINUTE

MARGIN = 5 * MINUTE
BATCH = 250


def update_daily_stats(now: int) -> Statements[tuple[int, bool]]:
    """Count a batch. The instant before which every run is counted, and whether that was all."""
    until = now - MARGIN
    yield Query("lock_name", ("daily_stats",))
    place = yield from _rolled_up()
    if place > RunCursor(until):  # a clock was ahead: from now on they are counted again
        place = RunCursor(until)
        yield Query("put_metadata", ("daily_stats", json_text(place)))
    ended = yield Query("ended_runs", (until, *place, BATCH))
    if not ended:
        return until, True
    last = RunCursor._make(ended[-1])
    yield Query("update_daily_stats", ([row[1:] for row in ended],))
    yield Query("put_metadata", ("daily_stats", json_text(last)))
    failpoint("daily_stats.written")
    return (until, True) if len(ended) < BATCH else (last.finished_at, False)


def _rolled_up() -> Statements[RunCursor]:
    noted = yield from read_metadata("daily_stats")
    return RunCursor() if noted is None else RunCursor(*from_json(noted))
