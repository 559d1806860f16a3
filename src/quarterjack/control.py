"""Control: what a person may ask of a running or resting service.

Every face asks here. Each request is one transaction with its answer and with the row that says who
asked for it (only `prune` is many small ones); what cannot be done is refused by name, and then
nothing has changed: `Invalid` (400), `WrongState` (400), `NotFound` (404), `Conflict` (409).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from quarterjack import rules
from quarterjack.engine.planner import planning_within
from quarterjack.engine.pruner import RESTS, Pruner
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
from quarterjack.store.types import Caller, NewSchedule, StoredSchedule, Which
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import SECOND

SERVICE_SETTINGS = "service_settings"
"""The fact under which a store keeps what its service says of all schedules."""
DECLARATION = "declaration"
"""Where schedules come from that a file or a program declares."""
ALWAYS_ALLOWED = frozenset({"cancel", "resume"})
"""What a person may ask though only a declaration counts: no file could say it instead."""
NO_REQUEST = -1
_BATCH = 500


class Backfilled(NamedTuple):
    """What was asked to be filled."""

    schedule: Schedule
    slots: int
    """How many are run."""
    left_out: int
    """How many are not: they have a run that has succeeded, or is open."""


class Control:
    """What somebody asks, through one door."""

    def __init__(self, store: Store, *, by: str, origin: str, owner: str | None = None) -> None:
        self._store = store
        self._by = by
        self._origin = origin
        self._owner = owner

    async def create(self, *wanted: Mapping[str, Any]) -> Sequence[Schedule]:
        """Schedules from what a person wrote, all or none; every problem is told at once. Without
        a `key` a schedule is named after its id."""
        service, now = await self._service_settings(), await self._store.read_clock()
        service.refuse_if_declared_only("no schedule is created")
        new = _read_all(service, wanted, now)
        new = [each._replace(owner=self._owner, origin=self._origin) for each in new]
        decide = partial(create_one, service, now)
        return await self._store.add_schedules(new, decide, now, self._asked("create", service))

    async def edit(
        self, which: Which, changes: Mapping[str, Any], *, version: int | None = None
    ) -> Schedule:
        """Some fields said anew; if a `version` is given, only if it is still that one."""
        service, now = await self._service_settings(), await self._store.read_clock()
        patch = partial(_patch, service, changes, version)
        caller = self._asked("edit", service, may_be_declared=False)
        return _after(await self._store.edit_schedule(which, patch, rules.edit, now, caller))

    async def pause(
        self, *which: Which, reason: str | None = None, until: int | None = None
    ) -> list[Schedule]:
        """Resting until resumed, or until then; what waits is skipped, what runs goes on."""
        if reason is not None:
            check_text(reason, "reason")
        decide = partial(rules.pause, by=self._by, reason=reason, until=until)
        return [_after(each) for each in await self._change("pause", which, decide)]

    async def resume(self, *which: Which) -> list[Schedule]:
        """Active again; nothing is replayed."""
        return [_after(each) for each in await self._change("resume", which, rules.resume)]

    async def run(self, which: Which) -> Run:
        """One run at once, beside all slots."""
        (plans,) = await self._change("run", [which], rules.run_now)
        return plans.plans[0].added[-1]

    async def backfill(
        self, which: Which, start: int, until: int, *, again: bool = False
    ) -> Backfilled:
        """The slots in [start, until] are run, from now on: those that have no run which succeeded
        or is open, or all of them, `again`."""
        decide = partial(rules.backfill, start=start, until=until, again=again)
        (plans,) = await self._change("backfill", [which], decide)
        schedule = _after(plans)
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
            left_out += rules.count_named(schedule, done.slots)
            after = done.until
        return Backfilled(schedule, count - left_out, left_out)

    async def stop_backfill(self, which: Which) -> Schedule:
        """What is left of the range is not run; what has been planned goes on."""
        (plans,) = await self._change("stop backfill", [which], rules.stop_backfill)
        return _after(plans)

    async def delete(
        self, *which: Which, ignores_missing: bool = False, though_running: bool = False
    ) -> list[Schedule]:
        """Delete schedules, all or none, with their history kept. Refused while one of them runs,
        unless that attempt may go on: then it is the last, whatever becomes of it."""
        service, now = await self._service_settings(), await self._store.read_clock()
        caller = self._asked("delete", service, may_be_declared=False)
        decide = partial(rules.delete, though_running=though_running)
        change = self._store.change_schedules
        plans = await change(which, decide, now, caller, ignores_missing=ignores_missing)
        return [_after(each) for each in plans]

    async def cancel(self, run_id: str) -> Run:
        """A run that waits is closed; one that runs is asked to stop."""
        plans = await self._change_run("cancel", run_id, rules.cancel_run)
        found = (*plans.plans[0].closed, *plans.plans[0].cancelled)
        return found[0] if found else await self._store.read_run(run_id)

    async def retry(self, run_id: str) -> Run:
        """A run that waits to be tried again is tried now; for one that was closed there is a new
        run of the same slot."""
        plans = await self._change_run("retry", run_id, rules.retry_run)
        return (*plans.plans[0].released, *plans.plans[0].added)[-1]

    async def prune(self, retention: Retention | None = None) -> int:
        """Forget what is past its retention, by what is said or what the service has noted; how
        many rows. There is a rest after each batch, for a service may be at work; but a person
        waits, so it is no longer than the batch."""
        pruner = Pruner(self._store, retention or await self._noted_retention())
        while (rest := await pruner.forget_some(self._store.now())) is not None:
            await asyncio.sleep(rest / RESTS / SECOND)
        return pruner.pruned

    async def _noted_retention(self) -> Retention:
        """Nobody's history is forgotten because a file was not found."""
        noted = await self._store.read_metadata(SERVICE_SETTINGS)
        if noted is None:
            remedy = "name the configuration file with --config"
            raise Conflict(f"it is not known how long runs are to be kept; {remedy}")
        return ServiceSettings.from_text(noted).retention

    async def _service_settings(self) -> ServiceSettings:
        return ServiceSettings.from_text(await self._store.read_metadata(SERVICE_SETTINGS))

    async def _change(
        self, verb: str, which: Sequence[Which], decide: Callable[[Facts, int], Plans]
    ) -> Sequence[Plans]:
        service, now = await self._service_settings(), await self._store.read_clock()
        caller = self._asked(verb, service)
        return await self._store.change_schedules(which, decide, now, caller)

    async def _change_run(
        self, verb: str, run_id: str, decide: Callable[[Facts, Run, int], Plans]
    ) -> Plans:
        service, now = await self._service_settings(), await self._store.read_clock()
        return await self._store.change_run(run_id, decide, now, self._asked(verb, service))

    def _asked(
        self, verb: str, service: ServiceSettings, *, may_be_declared: bool = True
    ) -> Caller:
        permit = partial(_permit, service, verb, may_be_declared)
        return Caller(self._by, self._origin, verb, permit, service.limits)


def _after(plans: Plans) -> Schedule:
    return plans.plans[0].schedule


def _permit(
    service: ServiceSettings, verb: str, may_be_declared: bool, stored: StoredSchedule
) -> None:
    """What a declaration owns is changed there; and what is gone can only be stopped."""
    what = f'schedule "{stored.schedule.key}"'
    if stored.deleted_at is not None and verb != "cancel":
        raise WrongState(f"{what} was deleted; add it again")
    if verb not in ALWAYS_ALLOWED:
        service.refuse_if_declared_only(what)
    if stored.origin == DECLARATION and not may_be_declared:
        is_known = service.file is not None and service.name == stored.owner
        where = service.file if is_known else f'the declaration "{stored.owner}"'
        raise Conflict(f"{what} is declared in {where}; {verb} it there")


def create_one(
    service: ServiceSettings, now: int, identity: int, new: NewSchedule, active: int
) -> Schedule:
    """A new schedule under the limits of this service."""
    key, specification = new.key, new.specification
    if not key:
        key = f"schedule-{identity}"
        body, preset = specification.to_json(), specification.service_preset
        specification = read_specification(body, key=key, now=None, preset=preset)
    limits = service.limits
    return rules.create(identity, key, specification, now, active=active, limits=limits)


def _read_all(
    service: ServiceSettings, wanted: Sequence[Mapping[str, Any]], now: int
) -> list[NewSchedule]:
    """Each of them, or every problem of all of them."""
    if len(wanted) == 1:
        return [_read(service, wanted[0], now)]
    problems, new = Problems(InvalidSpecification), []
    for number, each in enumerate(wanted, 1):
        with problems:
            try:
                new.append(_read(service, each, now))
            except Invalid as error:
                raise error.within(f"number {number}") from None
    for key, count in Counter(each.key for each in new if each.key).items():
        with problems:
            if count > 1:
                raise InvalidSpecification.because("key", key, "is given twice", "use another")
    problems.refuse_if_any()
    return new


def _read(service: ServiceSettings, said: Mapping[str, Any], now: int) -> NewSchedule:
    fields = dict(said)
    key = fields.pop("key", None)
    if key is not None:
        check_key(key, "key")
    return NewSchedule(key or "", service.specification(fields, key or "new", now), None, "")


def _patch(
    service: ServiceSettings,
    changes: Mapping[str, Any],
    version: int | None,
    schedule: Schedule,
    now: int,
) -> Specification:
    if version is not None and schedule.version != version:
        remedy = "look at it again, and say what should change"
        is_at = f'schedule "{schedule.key}" is at version {schedule.version}, not {version}'
        raise Conflict(f"{is_at}; {remedy}")
    return service.patched(schedule.specification, changes, schedule.key, now)


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
            planned = await store.plan_due(now, _BATCH, decide, limits)
        except Violation as error:
            log.error("left to the planner, which goes one by one %s", log_fields(because=error))
            break
        count += planned.added
        if planned.looked_at < _BATCH:
            break
    log.info("recovered %s", log_fields(runs=count))
    return count
