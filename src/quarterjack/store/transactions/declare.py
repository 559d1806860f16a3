"""Makes the schedules of one owner equal to a declaration, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from quarterjack.store.rows import stored_of
from quarterjack.store.statements import Query, Statements
from quarterjack.store.transactions.changes import add_prepared, change, edit
from quarterjack.store.transactions.facts import lock_gates, read_schedules
from quarterjack.store.transactions.metadata import put_metadata, read_metadata
from quarterjack.store.transactions.nodes import read_nodes
from quarterjack.store.transactions.requests import NodeContext, read_request
from quarterjack.store.types import Caller, DecideDifference, DeclarationRules, Declared, Difference


def declare_schedules(
    context: NodeContext,
    owner: str,
    keys: Sequence[str],
    difference: DecideDifference,
    rules: DeclarationRules,
    now: int,
    caller: Caller | None = None,
) -> Statements[Difference]:
    yield Query("lock_name", (owner,))
    revisions = yield from read_metadata(revisions_of(owner))
    nodes = yield from read_nodes()
    rows = yield Query("schedules_declared", (owner, list(keys)))
    schedules = yield from read_schedules(rows, context.specifications)
    stored = [stored_of(row, schedules[i]) for i, row in enumerate(rows)]
    wanted = difference(stored, Declared(revisions, nodes))
    for name, value in wanted.metadata.items():  # among them the settings that hold from here on
        yield from put_metadata(name, value)
    request = yield from read_request(context, now, caller)
    yield from _lock_gates(wanted, now)
    for schedule in wanted.removed:
        yield from change(request, schedule, rules.delete)
    yield from add_prepared(request, wanted.added, rules.create)
    for schedule, specification in wanted.changed:
        yield from edit(request, schedule, specification, rules.edit)
    return wanted


def _lock_gates(wanted: Difference, now: int) -> Statements[None]:
    before = [*wanted.removed, *(schedule for schedule, _ in wanted.changed)]
    after = [each._replace(specification=becomes) for each, becomes in wanted.changed]
    yield from lock_gates([*before, *after], now)


def revisions_of(owner: str) -> str:
    """The name of the metadata that lists the applied revisions of a declaration."""
    return f"revisions of {owner}"
