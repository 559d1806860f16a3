"""Control: the requests that a person may make. Every interface calls these methods.

Each request is one transaction with its audit entry (`prune` is many small ones). A request that is
refused has changed nothing: `Invalid` and `WrongState` (400), `NotFound` (404), `Conflict` (409).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from quarterjack import rules
from quarterjack.engine.planner import plan_with_limits
from quarterjack.engine.pruner import PAUSE_FACTOR, Pruner
from quarterjack.errors import (
    Conflict,
    Invalid,
    InvalidSpecification,
    Problems,
    Violation,
    WrongState,
)
from quarterjack.rules import (
    Facts,
    Limits,
    Plans,
    Retention,
    Run,
    Schedule,
    ServiceSettings,
    Specification,
    read_specification,
)
from quarterjack.rules.definition.input_checks import check_key, check_text
from quarterjack.store.store import Store
from quarterjack.store.transactions.metadata import SERVICE_SETTINGS
from quarterjack.store.types import Caller, DecideNew, NewSchedule, ScheduleRef, StoredSchedule
from quarterjack.targets.kinds import KINDS
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import SECOND

DECLARATION = "declaration"
"""The origin of schedules that a file or a program declares."""
ALWAYS_ALLOWED = frozenset({"cancel", "resume"})
"""Allowed with `declared_only` too: no declaration can do it instead."""
NO_REQUEST = -1
_BATCH = 500


class Backfilled(NamedTuple):
    schedule: Schedule
    slots: int
    """How many slots are run."""
    left_out: int
    """How many are not: they have a run that has succeeded or is open."""


class Control:
    """Requests of one person (`by`) through one interface (`origin`)."""

    def __init__(self, store: Store, *, by: str, origin: str, owner: str | None = None) -> None:
        self._store = store
        self._by = by
        self._origin = origin
        self._owner = owner

    async def create(self, *definitions: Mapping[str, Any]) -> Sequence[Schedule]:
        """Create schedules, all or none; an error lists the problems of all. A schedule without a
        `key` is named after its id."""
        now = await self._store.read_clock()

        def prepare(settings: ServiceSettings) -> tuple[list[NewSchedule], DecideNew]:
            settings.refuse_if_declared_only("no schedule is created")
            read = _read_all(settings, definitions, now)
            new = [each._replace(owner=self._owner, origin=self._origin) for each in read]
            return new, partial(create_one, settings, now)

        return await self._store.add_schedules(prepare, now, self._caller("create"))

    async def edit(
        self, which: ScheduleRef, changes: Mapping[str, Any], *, version: int | None = None
    ) -> Schedule:
        """Change some fields; with `version`, only if that is still the current one."""
        now, caller = await self._store.read_clock(), self._caller("edit", may_be_declared=False)
        patch = partial(_patch, changes, version)
        return _schedule(await self._store.edit_schedule(which, patch, rules.edit, now, caller))

    async def pause(
        self, *which: ScheduleRef, reason: str | None = None, until: int | None = None
    ) -> list[Schedule]:
        """Pause schedules, all or none. Waiting runs are skipped; running ones continue."""
        if reason is not None:
            check_text(reason, "reason")
        decide = partial(rules.pause, by=self._by, reason=reason, until=until)
        return [_schedule(each) for each in await self._change("pause", which, decide)]

    async def resume(self, *which: ScheduleRef) -> list[Schedule]:
        """Resume paused schedules; slots of the pause are not run."""
        return [_schedule(each) for each in await self._change("resume", which, rules.resume)]

    async def run(self, which: ScheduleRef) -> Run:
        """Add a run that may start at once. It moves no slot."""
        (plans,) = await self._change("run", [which], rules.run_now)
        return plans.plans[0].added[-1]

    async def backfill(
        self, which: ScheduleRef, start: int, until: int, *, again: bool = False
    ) -> Backfilled:
        """Run the slots in [start, until] that have no run which has succeeded or is open; with
        `again`, all of them."""
        decide = partial(rules.backfill, start=start, until=until, again=again)
        (plans,) = await self._change("backfill", [which], decide)
        schedule = _schedule(plans)
        request = schedule.backfill.request if schedule.backfill is not None else NO_REQUEST
        return await self.count_backfill(schedule, start, until, again=again, request=request)

    async def count_backfill(
        self,
        schedule: Schedule,
        start: int,
        until: int,
        *,
        again: bool = False,
        request: int = NO_REQUEST,
    ) -> Backfilled:
        """How many slots a backfill runs, and how many it leaves out."""
        count, left_out = rules.count_backfill(schedule, start, until), 0
        after = until if again else start - 1
        while after < until:
            done = await self._store.done_slots(schedule.id, after, until, request)
            left_out += rules.count_slots_among(schedule, done.slots)
            after = done.until
        return Backfilled(schedule, count - left_out, left_out)

    async def stop_backfill(self, which: ScheduleRef) -> Schedule:
        """Leave out the rest of the range; runs that are planned continue."""
        (plans,) = await self._change("stop backfill", [which], rules.stop_backfill)
        return _schedule(plans)

    async def delete(
        self, *which: ScheduleRef, ignores_missing: bool = False, though_running: bool = False
    ) -> list[Schedule]:
        """Delete schedules, all or none; their history is kept. Refused while an attempt runs,
        unless `though_running`: then that attempt is the last, however it ends."""
        decide = partial(rules.delete, though_running=though_running)
        now, caller = await self._store.read_clock(), self._caller("delete", may_be_declared=False)
        change = self._store.change_schedules
        plans = await change(which, decide, now, caller, ignores_missing=ignores_missing)
        return [_schedule(each) for each in plans]

    async def cancel(self, run_id: str) -> Run:
        """Close a run that waits, or stop the attempt of one that runs."""
        plans = await self._change_run("cancel", run_id, rules.cancel_run)
        found = (*plans.plans[0].closed, *plans.plans[0].cancelled)
        return found[0] if found else await self._store.read_run(run_id)

    async def retry(self, run_id: str) -> Run:
        """Start the next attempt of a run that waits for one; for a closed run, add a new run of
        the same slot."""
        plans = await self._change_run("retry", run_id, rules.retry_run)
        return (*plans.plans[0].released, *plans.plans[0].added)[-1]

    async def prune(self, retention: Retention | None = None) -> int:
        """Delete rows that are past this retention, or that of the service. Returns their number.
        Batches alternate with pauses of the same length, for a service may be running."""
        pruner = Pruner(self._store, retention or await self._stored_retention())
        while (pause := await pruner.prune_batch(self._store.now())) is not None:
            await asyncio.sleep(pause / PAUSE_FACTOR / SECOND)
        return pruner.pruned

    async def _stored_retention(self) -> Retention:
        """The defaults are no substitute: they could delete what a file says to keep."""
        stored = await self._store.read_metadata(SERVICE_SETTINGS)
        if stored is None:
            remedy = "name the configuration file with --config"
            raise Conflict(f"the retention of this database is unknown; {remedy}")
        return ServiceSettings.from_text(stored).retention

    async def _change(
        self, verb: str, which: Sequence[ScheduleRef], decide: Callable[[Facts, int], Plans]
    ) -> Sequence[Plans]:
        now = await self._store.read_clock()
        return await self._store.change_schedules(which, decide, now, self._caller(verb))

    async def _change_run(
        self, verb: str, run_id: str, decide: Callable[[Facts, Run, int], Plans]
    ) -> Plans:
        now = await self._store.read_clock()
        return await self._store.change_run(run_id, decide, now, self._caller(verb))

    def _caller(self, verb: str, *, may_be_declared: bool = True) -> Caller:
        return Caller(self._by, self._origin, verb, partial(_permit, verb, may_be_declared))


def _schedule(plans: Plans) -> Schedule:
    return plans.plans[0].schedule


def _permit(
    verb: str, may_be_declared: bool, settings: ServiceSettings, stored: StoredSchedule
) -> None:
    """Declared schedules are changed in their declaration; of deleted ones only runs, cancelled."""
    what = f'schedule "{stored.schedule.key}"'
    if stored.deleted_at is not None and verb != "cancel":
        raise WrongState(f"{what} was deleted; add it again")
    if verb not in ALWAYS_ALLOWED:
        settings.refuse_if_declared_only(what)
    if stored.origin == DECLARATION and not may_be_declared:
        is_known = settings.file is not None and settings.name == stored.owner
        where = settings.file if is_known else f'the declaration "{stored.owner}"'
        raise Conflict(f"{what} is declared in {where}; {verb} it there")


def create_one(
    settings: ServiceSettings, now: int, identity: int, new: NewSchedule, active: int
) -> Schedule:
    """A new schedule under the limits of the service."""
    key, specification = new.key, new.specification
    if not key:
        key = f"schedule-{identity}"
        body, preset = specification.to_json(), specification.service_preset
        specification = read_specification(body, kinds=KINDS, key=key, now=None, preset=preset)
    limits = settings.limits
    return rules.create(identity, key, specification, now, active=active, limits=limits)


def _read_all(
    settings: ServiceSettings, definitions: Sequence[Mapping[str, Any]], now: int
) -> list[NewSchedule]:
    if len(definitions) == 1:
        return [_read(settings, definitions[0], now)]
    problems, new = Problems(InvalidSpecification), []
    for number, each in enumerate(definitions, 1):
        try:
            new.append(_read(settings, each, now))
        except Invalid as error:
            problems.note(error.within(f"number {number}"))
    for key, count in Counter(each.key for each in new if each.key).items():
        with problems:
            if count > 1:
                raise InvalidSpecification.because("key", key, "is given twice", "use another")
    problems.raise_if_any()
    return new


def _read(settings: ServiceSettings, definition: Mapping[str, Any], now: int) -> NewSchedule:
    fields = dict(definition)
    key = fields.pop("key", None)
    if key is not None:
        check_key(key, "key")
    specification = settings.specification(fields, KINDS, key or "new", now)
    return NewSchedule(key or "", specification, None, "")


def _patch(
    changes: Mapping[str, Any],
    version: int | None,
    settings: ServiceSettings,
    schedule: Schedule,
    now: int,
) -> Specification:
    if version is not None and schedule.version != version:
        current = f'schedule "{schedule.key}" is at version {schedule.version}, not {version}'
        raise Conflict(f"{current}; read it again, then repeat the change")
    return settings.patched(schedule.specification, changes, KINDS, schedule.key, now)


async def recover(store: Store, limits: Limits, now: int) -> int:
    """Continue what a crash interrupted: settle attempts whose worker is lost, and plan slots that
    came due since. Returns how many runs that makes ready; repeating it returns 0. Paused and
    finished schedules are not touched, nor is an unexpired lease."""
    count, decide = 0, plan_with_limits(limits)
    while True:
        rescued = await store.rescue_runs(now, _BATCH, rules.settle)
        count += sum(run.state in rules.WAITING for run in rescued.lost)
        if len(rescued.lost) < _BATCH:
            break
    while True:
        try:
            planned = await store.plan_due(now, _BATCH, decide, limits)
        except Violation as error:
            log.error("planning a batch failed; the planner retries it %s", log_fields(error=error))
            break
        count += planned.added
        if planned.due_count < _BATCH:
            break
    if count:
        log.info("requeued %s runs after restart", count)
    return count
