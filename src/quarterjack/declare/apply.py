"""Applying: the store becomes equal to a declaration in one transaction, and the log says what
changed, field by field. History, counters and an operator's pause are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from quarterjack import rules
from quarterjack.control import DECLARATION as ORIGIN
from quarterjack.control import SERVICE_SETTINGS, create_one
from quarterjack.declare.declaration import Declaration
from quarterjack.declare.revisions import Revisions, revision_of
from quarterjack.errors import Conflict, InvalidSpecification, Problems
from quarterjack.rules import Schedule, Specification, Status, Unreadable
from quarterjack.rules.definition.target import TARGET_FIELDS
from quarterjack.store.store import Store
from quarterjack.store.transactions.declare import revisions_of
from quarterjack.store.types import (
    Caller,
    DeclarationRules,
    Declared,
    Difference,
    NewSchedule,
    NodeInfo,
    StoredSchedule,
)
from quarterjack.telemetry.logs import log, log_fields

_NOTHING = Difference((), (), ())
_MAY_HOLD_SECRETS = TARGET_FIELDS | {"payload"}
"""Of these the log says only that they changed."""


async def apply(
    store: Store, declaration: Declaration, now: int, *, only_missing: bool = False
) -> Difference:
    """Make the store equal to the declaration; or only add what is missing from it."""
    owner, keys = declaration.settings.name, list(declaration.schedules)
    laws = DeclarationRules(
        create=partial(create_one, declaration.service, now),
        edit=rules.edit,
        delete=partial(rules.delete, though_running=True),
    )
    revision = revision_of(declaration)

    def compare(stored: Sequence[StoredSchedule], declared: Declared) -> Difference:
        revisions = Revisions.from_text(declared.revisions)
        if only_missing and not revisions.is_last(revision):
            return _NOTHING
        live = [node for node in declared.nodes if store.is_alive(node)]
        if (later := _later(revisions, revision, live)) is not None:
            _tell_older(declaration, later)
            return _NOTHING._replace(is_refused=True)
        wanted = difference(declaration, now, stored, only_missing=only_missing)
        if only_missing:
            return wanted
        service, known = declaration.service.to_text(), revisions.with_last(revision).to_text()
        return wanted._replace(noted={SERVICE_SETTINGS: service, revisions_of(owner): known})

    caller = Caller(owner, ORIGIN, "declare", limits=declaration.limits)
    return await store.declare_schedules(owner, keys, compare, laws, now, caller)


def _later(revisions: Revisions, revision: str, live: Sequence[NodeInfo]) -> NodeInfo | None:
    """A node that was started with a later edition."""
    return next((node for node in live if revisions.is_before(revision, node.revision)), None)


def _tell_older(declaration: Declaration, later: NodeInfo) -> None:
    what = f'{declaration.path} is an older edition of "{declaration.settings.name}"'
    remedy = "it is applied as soon as no later one is there"
    log.warning("not applied: %s than that of node %s; %s", what, later.name, remedy)


def difference(
    declaration: Declaration,
    now: int,
    stored: Sequence[StoredSchedule],
    *,
    only_missing: bool = False,
) -> Difference:
    """What has to be added, changed and removed. What is new is judged as of now."""
    owner = declaration.settings.name
    live = {each.schedule.key: each for each in stored if each.deleted_at is None}
    gone = {each.schedule.key: each for each in stored if each.deleted_at is not None}
    _refuse_others(declaration, live)
    problems = Problems(InvalidSpecification)
    added: list[NewSchedule] = []
    changed: list[tuple[int, Specification]] = []
    for key in declaration.schedules:
        with problems:
            wanted = declaration.specification(key, None)
            if key not in live and not _is_spent(gone.get(key), wanted):
                judged = declaration.specification(key, now)
                added.append(NewSchedule(key, judged, owner, ORIGIN))
                log.info("schedule added %s", log_fields(schedule=key))
            elif only_missing:
                continue
            elif key in live and not _is_current(live[key].schedule, wanted):
                judged = declaration.specification(key, now)
                changed.append((live[key].schedule.id, judged))
                _tell_changes(live[key].schedule, judged)
    removed = [
        each.schedule.id
        for key, each in live.items()
        if _belongs_to(owner, each) and key not in declaration.schedules and not only_missing
    ]
    for key, each in live.items():
        if each.schedule.id in removed:
            log.info("schedule removed %s", log_fields(schedule=key))
    problems.refuse_if_any(str(declaration.path))
    return Difference(added, changed, removed)


def _refuse_others(declaration: Declaration, live: Mapping[str, StoredSchedule]) -> None:
    """A key belongs to whoever had it first."""
    for key, each in live.items():
        if not _belongs_to(declaration.settings.name, each) and key in declaration.schedules:
            is_declared = each.origin == ORIGIN
            whose = f'the declaration "{each.owner}"' if is_declared else "people"
            line = declaration.document.line("schedules", key)
            remedy = "use another name, or delete that schedule first"
            place = f"{declaration.path}:{line}"
            raise Conflict(f'{place}: schedule "{key}" belongs to {whose}; {remedy}')


def _belongs_to(owner: str, stored: StoredSchedule) -> bool:
    return stored.origin == ORIGIN and stored.owner == owner


def _is_current(schedule: Schedule, wanted: Specification) -> bool:
    return _is_same(schedule, wanted) and schedule.specification.preset == wanted.preset


def _is_same(schedule: Schedule, wanted: Specification) -> bool:
    """An invalid one is tried again."""
    if schedule.status is Status.INVALID or isinstance(schedule.specification, Unreadable):
        return False
    return schedule.specification.configuration_hash == wanted.configuration_hash


def _is_spent(gone: StoredSchedule | None, wanted: Specification) -> bool:
    """Has this very schedule fired, and been deleted after its run?"""
    if gone is None or not wanted.delete_after_run or gone.schedule.last_slot is None:
        return False
    return _is_same(gone.schedule, wanted)


def _tell_changes(schedule: Schedule, wanted: Specification) -> None:
    stored = schedule.specification
    before = {} if isinstance(stored, Unreadable) else stored.to_json()
    after = wanted.to_json()
    for field in sorted(before.keys() | after.keys()):
        was, becomes = before.get(field), after.get(field)
        if was != becomes:
            if field in _MAY_HOLD_SECRETS:
                was = becomes = None
            facts = log_fields(schedule=schedule.key, field=field, was=was, becomes=becomes)
            log.info("schedule changed %s", facts)
