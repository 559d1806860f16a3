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
from quarterjack.store.store import Store
from quarterjack.store.transactions.declare import revisions_of
from quarterjack.store.transactions.metadata import SERVICE_SETTINGS
from quarterjack.store.types import (
    Caller,
    DeclarationRules,
    Declared,
    Difference,
    NodeInfo,
    StoredSchedule,
)
from quarterjack.targets import KINDS
from quarterjack.telemetry.logs import log, log_fields

_NOTHING = Difference((), (), ())
_MAY_HOLD_SECRETS = KINDS.fields | {"payload"}
"""The log names these without their values."""


async def apply(
    store: Store, declaration: Declaration, now: int, *, only_missing: bool = False
) -> Difference:
    """Make the store equal to the declaration, or only add what is missing. An older revision is
    refused while a node with a later one is alive."""
    owner, revision = declaration.settings.name, declaration.revision
    later: NodeInfo | None = None

    def compare(stored: Sequence[StoredSchedule], declared: Declared) -> Difference:
        nonlocal later
        revisions = Revisions.from_text(declared.revisions)
        if only_missing and not revisions.is_last(revision):
            return _NOTHING
        live = [node for node in declared.nodes if store.is_alive(node)]
        later = next((each for each in live if revisions.is_before(revision, each.revision)), None)
        if later is not None:
            return _NOTHING._replace(is_refused=True)
        workers = [node.kinds for node in live if node.works]
        wanted = difference(declaration, now, stored, workers, only_missing=only_missing)
        if only_missing:
            return wanted
        service, known = declaration.service.to_text(), revisions.with_last(revision).to_text()
        return wanted._replace(metadata={SERVICE_SETTINGS: service, revisions_of(owner): known})

    decisions = DeclarationRules(
        create=partial(create_one, declaration.service, now),
        edit=rules.edit,
        delete=partial(rules.delete, though_running=True),
    )
    caller = Caller(owner, ORIGIN, "declare")
    keys = list(declaration.specifications)
    applied = await store.declare_schedules(owner, keys, compare, decisions, now, caller)
    if later is not None:
        facts = log_fields(file=declaration.source.name, declaration=owner, node=later.name)
        log.warning("not applied; retrying until no node runs a later revision %s", facts)
    _log_changes(applied)
    return applied


def _log_changes(applied: Difference) -> None:
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
