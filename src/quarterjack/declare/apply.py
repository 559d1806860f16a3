"""Makes the store equal to a declaration in one transaction; after the commit, the log names what
changed, field by field. History, counters and an operator's pause are kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from quarterjack import rules
from quarterjack.control import DECLARATION as ORIGIN
from quarterjack.control import create_one
from quarterjack.declare.declaration import Declaration
from quarterjack.declare.difference import difference, field_changes
from quarterjack.declare.revisions import Revisions
from quarterjack.errors import Conflict
from quarterjack.rules.definition.capabilities import Capabilities
from quarterjack.store.store import Store
from quarterjack.store.transactions.declare import place_of, revisions_of
from quarterjack.store.transactions.metadata import SERVICE_SETTINGS
from quarterjack.store.types import (
    Caller,
    DeclarationRules,
    Declared,
    Difference,
    NodeInfo,
    StoredSchedule,
)
from quarterjack.targets.kinds import KINDS
from quarterjack.telemetry.logs import log, log_fields

_NOTHING = Difference((), (), ())
_MAY_HOLD_SECRETS = KINDS.fields | {"payload"}
"""The log names these without their values."""


async def apply(
    store: Store,
    declaration: Declaration,
    now: int,
    *,
    only_missing: bool = False,
    take_over: bool = False,
) -> Difference:
    """Make the store equal to the declaration, or only add what is missing. Refused: an older
    revision while a node with a later one is alive, and a default name of another place."""
    owner = declaration.name
    later: NodeInfo | None = None

    def compare(stored: Sequence[StoredSchedule], declared: Declared) -> Difference:
        nonlocal later
        revisions = Revisions.from_text(declared.revisions)
        if only_missing and not revisions.is_last(declaration.revision):
            return _NOTHING
        if not take_over:
            refuse_other_place(declaration, declared)
        live = [node for node in declared.nodes if store.is_alive(node)]
        later = node_with_later(declaration, declared, live)
        if later is not None:
            return _NOTHING._replace(is_refused=True)
        able = able_workers(live, declaration.revision)
        wanted = difference(declaration, stored, able, only_missing=only_missing)
        if only_missing:
            return wanted
        return wanted._replace(metadata=_metadata(declaration, revisions))

    caller, keys = Caller(owner, ORIGIN, "declare"), list(declaration.specifications)
    applied = await store.declare_schedules(
        owner, keys, compare, _decisions(declaration, now), now, caller,
        has_default_name=declaration.place is not None,
    )  # fmt: skip
    if later is not None:
        facts = log_fields(file=declaration.source.name, declaration=owner, node=later.name)
        log.warning("not applied; retrying until no node runs a later revision %s", facts)
    _log_changes(applied, owner)
    return applied


def _metadata(declaration: Declaration, revisions: Revisions) -> dict[str, str]:
    """What is stored with the schedules."""
    known = revisions.with_last(declaration.revision).to_text()
    service, place = declaration.service.to_text(), declaration.place
    stored = {SERVICE_SETTINGS: service, revisions_of(declaration.name): known}
    return stored if place is None else stored | {place_of(declaration.name): place}


def _decisions(declaration: Declaration, now: int) -> DeclarationRules:
    return DeclarationRules(
        create=partial(create_one, declaration.service, now),
        edit=rules.edit,
        delete=partial(rules.delete, though_running=True),
    )


def able_workers(live: Sequence[NodeInfo], revision: str) -> list[Capabilities | None]:
    """What live workers can run. A node with this declaration has its tasks, though it may only
    plan: its workers are about to be started."""
    able = [node for node in live if node.works or node.revision == revision]
    return [Capabilities.from_text(node.capabilities) for node in able]


def node_with_later(
    declaration: Declaration, declared: Declared, live: Sequence[NodeInfo]
) -> NodeInfo | None:
    """A live node whose revision of this declaration was applied after this one."""
    revisions, own = Revisions.from_text(declared.revisions), declaration.revision
    return next((each for each in live if revisions.is_before(own, each.revision)), None)


def refuse_other_place(declaration: Declaration, declared: Declared) -> None:
    """Two declarations with the same default name are the same only in the same place."""
    if declaration.place is None or declared.place in (None, declaration.place):
        return
    remedy = 'write a "name" in one of them; if it was moved, start it once with --take-over'
    what = f'{declaration.source.name}: the declaration "{declaration.name}"'
    raise Conflict(f"{what} was applied from {declared.place}; {remedy}")


def _log_changes(applied: Difference, owner: str) -> None:
    if applied.adopted:
        facts = log_fields(declaration=owner, schedules=applied.adopted)
        log.info('schedules of the older default name "default" taken over %s', facts)
    for new in applied.added:
        log.info("schedule added %s", log_fields(schedule=new.key))
    for schedule, wanted in applied.changed:
        for field, was, becomes in field_changes(schedule, wanted):
            values = {} if field in _MAY_HOLD_SECRETS else {"old": was, "new": becomes}
            log.info(
                "schedule changed %s", log_fields(schedule=schedule.key, field=field, **values)
            )
    for schedule in applied.removed:
        log.info("schedule removed %s", log_fields(schedule=schedule.key))
