"""Declaring: the schedules of one owner become what a file or a program says, in one
transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quarterjack.rules import Schedule
from quarterjack.store.rows import stored_of
from quarterjack.store.statements import Query, Statements
from quarterjack.store.transactions.changes import NodeContext, add_schedules, changed, edited
from quarterjack.store.transactions.facts import lock_gates, read_metadata, read_schedules
from quarterjack.store.transactions.nodes import read_nodes
from quarterjack.store.types import (
    Caller,
    DecideDifference,
    DeclarationRules,
    Declared,
    Difference,
)


def declare_schedules(
    context: NodeContext,
    owner: str,
    keys: Sequence[str],
    difference: DecideDifference,
    rules: DeclarationRules,
    now: int,
    caller: Caller | None,
) -> Statements[Difference]:
    yield Query("lock_name", (owner,))
    revisions = yield from read_metadata(revisions_of(owner))
    nodes = yield from read_nodes()
    rows = yield Query("schedules_declared", (owner, list(keys)))
    schedules = yield from read_schedules(rows, context.specifications)
    stored = [stored_of(row, schedules[i]) for i, row in enumerate(rows)]
    wanted = difference(stored, Declared(revisions, nodes))
    by_id = {each.id: each for each in schedules}
    yield from _lock_gates(by_id, wanted, now)
    for identity in wanted.removed:
        yield from changed(context, by_id[identity], rules.delete, now, caller)
    yield from add_schedules(context.specifications, wanted.added, rules.create, now, caller)
    for identity, specification in wanted.changed:
        schedule = by_id[identity]
        yield from edited(context, schedule, specification, rules.edit, now, caller)
    for name, value in wanted.noted.items():
        yield Query("put_metadata", (name, value))
    return wanted


def _lock_gates(by_id: Mapping[int, Schedule], wanted: Difference, now: int) -> Statements[None]:
    changed = [by_id[identity]._replace(specification=said) for identity, said in wanted.changed]
    before = [by_id[identity] for identity in (*wanted.removed, *(each.id for each in changed))]
    yield from lock_gates([*before, *changed], now)


def revisions_of(owner: str) -> str:
    """The fact that says which editions of a declaration were applied."""
    return f"revisions of {owner}"
