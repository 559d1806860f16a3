"""Planner: due slots become runs. Any number of planners may step at once: each slot is added
once, in the transaction that moves the cursor."""

from __future__ import annotations

from collections.abc import Callable

from quarterjack import rules
from quarterjack.engine.clock_watch import ClockGuard
from quarterjack.engine.loop import Hint
from quarterjack.errors import StoreError
from quarterjack.rules import Facts, Limits, Plans, next_look
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
        ask_leases: Callable[[], None],
        zone_data: str,
        trust: ClockGuard,
    ) -> None:
        self._store = store
        self._limits = limits
        self._decide = planning_within(limits)
        self._hint = hint
        self._ask_leases = ask_leases
        self._zone_data = zone_data
        self._trust = trust
        self._has_noted_zones = False

    async def step(self, now: int) -> int:
        self._trust.refuse_if_astray(now)
        if not self._has_noted_zones:
            await self._note_zones(now)
        # Asked for right behind it, a claim finds what is planned, and shares its commit.
        self._hint("worker")
        try:
            planned = await self._store.plan_due(now, BATCH, self._decide, self._limits)
        except StoreError:
            raise
        except Exception as error:
            log.error("planning one by one %s", log_fields(because=error))
            if not await self._plan_one_by_one(now):
                raise  # it is no schedule's fault
            return now
        if planned.stops:
            self._ask_leases()
        if planned.is_notable:
            self._hint("notifier")
        if planned.looked_at == BATCH:
            return now
        return next_look(now, planned.next_wake, self._limits)

    async def _note_zones(self, now: int) -> None:
        version = self._zone_data
        if await self._store.note_zone_data(version, now):
            log.warning(
                "zone data changed, slots are worked out anew %s", log_fields(version=version)
            )
        self._has_noted_zones = True

    async def _plan_one_by_one(self, now: int) -> int:
        """Something in the batch cannot be carried out: whatever it is becomes invalid, and the
        others go on. How many went on, one way or the other."""
        done = 0
        for schedule_id in await self._store.due_ids(now, BATCH):
            try:
                await self._plan_one(schedule_id, now)
            except StoreError:
                raise
            except Exception as error:
                log.error("cannot be planned %s", log_fields(schedule=schedule_id), exc_info=error)
            else:
                done += 1
        self._hint("worker")
        return done

    async def _plan_one(self, schedule_id: int, now: int) -> None:
        try:
            await self._store.change_schedule(schedule_id, self._decide, now)
        except StoreError:
            raise
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            log.error("schedule is invalid %s", log_fields(schedule=schedule_id, because=why))
            invalidate = lambda facts, _: rules.invalidate(facts, why)  # noqa: E731
            await self._store.change_schedule(schedule_id, invalidate, now)


def planning_within(limits: Limits) -> DecidePlans:
    """The rule, under the limits of this service."""

    def decide(facts: Facts, now: int) -> Plans:
        return rules.plan(facts._replace(limits=limits), now)

    return decide
