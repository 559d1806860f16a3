"""Rolling up: what the runs of each day came to, so that no picture has to read them.

Each run is counted once, in the order in which they ended: the place that was reached is stored in
the transaction that counts. The last minutes are left for later, for an end may be stored a moment
after one that came later.
"""

from __future__ import annotations

from quarterjack.failpoint import failpoint
from quarterjack.store.facts import read_fact
from quarterjack.store.rows import from_json, json_text
from quarterjack.store.steps import Ask, Steps
from quarterjack.store.values import Place
from quarterjack.times.instants import MINUTE

MARGIN = 5 * MINUTE
BATCH = 250


def roll_up(now: int) -> Steps[tuple[int, bool]]:
    """Count a batch. The instant before which every run is counted, and whether that was all."""
    until = now - MARGIN
    yield Ask("lock_name", ("rolled_up",))
    place = yield from _rolled_up()
    if place > Place(until):  # a clock was ahead: from now on they are counted again
        place = Place(until)
        yield Ask("put_fact", ("rolled_up", json_text(place)))
    ended = yield Ask("ended_runs", (until, *place, BATCH))
    if not ended:
        return until, True
    last = Place._make(ended[-1])
    yield Ask("roll_up", ([row[1:] for row in ended],))
    yield Ask("put_fact", ("rolled_up", json_text(last)))
    failpoint("roll_up.written")
    return (until, True) if len(ended) < BATCH else (last.finished_at, False)


def _rolled_up() -> Steps[Place]:
    noted = yield from read_fact("rolled_up")
    return Place() if noted is None else Place(*from_json(noted))
