"""Planner: turns due slots into runs. Any number of planners may step at once: each slot is planned
once, in the transaction that moves the cursor."""

from __future__ import annotations

from collections.abc import Callable

from quarterjack import rules
from quarterjack.engine.clock_watch import ClockGuard
from quarterjack.engine.loop import Hint
from quarterjack.errors import StoreError
from quarterjack.rules import Limits
from quarterjack.rules.policies.service_limits import next_step_at
from quarterjack.store.store import Store
from quarterjack.store.types import DecidePlans
from quarterjack.telemetry.logs import log, log_fields

BATCH = 1000


class Planner:
    name = "planner"

    def __init__(
        self,
        store: Store,
        limits: Limits,
        hint: Hint,
        check_leases: Callable[[], None],
        zone_data: str,
        guard: ClockGuard,
    ) -> None:
        self._store = store
        self._limits = limits
        self._decide = plan_with_limits(limits)
        self._hint = hint
        self._check_leases = check_leases
        self._zone_data = zone_data
        self._guard = guard
        self._has_recorded_zone_data = False

    async def step(self, now: int) -> int:
        self._guard.check(now)
        if not self._has_recorded_zone_data:
            await self._record_zone_data(now)
        # Hinted before planning: the claim then follows it directly, and shares its commit.
        self._hint("worker")
        try:
            planned = await self._store.plan_due(now, BATCH, self._decide, self._limits)
        except StoreError:
            raise
        except Exception as error:
            facts = log_fields(error=error)
            log.error("planning a batch failed; planning its schedules one by one %s", facts)
            if not await self._plan_one_by_one(now):
                raise  # every schedule failed, so the fault is not in a schedule
            return now
        if planned.has_cancelled:
            self._check_leases()
        if planned.has_notifications:
            self._hint("notifier")
        if planned.due_count == BATCH:
            return now
        return next_step_at(now, planned.next_wake, self._limits)

    async def _record_zone_data(self, now: int) -> None:
        if await self._store.record_zone_data(self._zone_data, now):
            facts = log_fields(version=self._zone_data)
            log.warning("time zone data changed; recomputing slots %s", facts)
        self._has_recorded_zone_data = True

    async def _plan_one_by_one(self, now: int) -> int:
        """Marks the schedules that cannot be planned as invalid, and plans the others. Returns the
        number of both."""
        count = 0
        for schedule_id in await self._store.due_ids(now, BATCH):
            try:
                await self._plan_one(schedule_id, now)
            except StoreError:
                raise
            except Exception as error:
                log.error("planning failed %s", log_fields(schedule=schedule_id), exc_info=error)
            else:
                count += 1
        self._hint("worker")
        return count

    async def _plan_one(self, schedule_id: int, now: int) -> None:
        try:
            await self._store.change_schedule(schedule_id, self._decide, now)
        except StoreError:
            raise
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            log.error("schedule marked invalid %s", log_fields(schedule=schedule_id, error=why))
            invalidate = lambda facts, _: rules.invalidate(facts, why)  # noqa: E731
            await self._store.change_schedule(schedule_id, invalidate, now)


def plan_with_limits(limits: Limits) -> DecidePlans:
    """`rules.plan` under the limits of this service."""
    return lambda facts, now: rules.plan(facts._replace(limits=limits), now)
