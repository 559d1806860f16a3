"""Control: what a person may ask of a running or resting service."""

from __future__ import annotations

from quarterjack import rules
from quarterjack.engine.planner import planning_within
from quarterjack.errors import Violation
from quarterjack.rules import Limits
from quarterjack.store.contract import Store
from quarterjack.telemetry.logs import log, told

_BATCH = 500


async def recover(store: Store, limits: Limits, now: int) -> int:
    """What a crash left behind goes on: attempts whose worker is gone, and slots that came due
    meanwhile. How many runs that makes ready; none, if it is asked again. What is paused or
    finished is left alone, and an unexpired lease is never taken."""
    count, decide = 0, planning_within(limits)
    while True:
        rescued = await store.rescue_runs(now, _BATCH, rules.settle)
        count += sum(run.state in rules.WAITING for run in rescued.lost)
        if len(rescued.lost) < _BATCH:
            break
    while True:
        try:
            planned = await store.plan_due(now, _BATCH, decide)
        except Violation as error:
            log.error("left to the planner, which goes one by one %s", told(because=error))
            break
        count += planned.added
        if planned.looked_at < _BATCH:
            break
    log.info("recovered %s", told(runs=count))
    return count
