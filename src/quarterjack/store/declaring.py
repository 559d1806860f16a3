"""Declaring: the schedules of one owner become what a file or a program says, in one
transaction."""

from __future__ import annotations

from collections.abc import Sequence

from quarterjack.store.asking import add_schedules, changed, edited
from quarterjack.store.facts import read_fact, read_schedules
from quarterjack.store.nodes import read_nodes
from quarterjack.store.rows import stored_of
from quarterjack.store.specifications import Specifications
from quarterjack.store.steps import Ask, Steps
from quarterjack.store.values import (
    Asked,
    DecideDifference,
    DeclarationRules,
    Declared,
    Difference,
)


def declare_schedules(
    specifications: Specifications,
    owner: str,
    keys: Sequence[str],
    difference: DecideDifference,
    rules: DeclarationRules,
    now: int,
    asked: Asked | None,
) -> Steps[Difference]:
    yield Ask("lock_declaration", (owner,))
    editions = yield from read_fact(editions_of(owner))
    nodes = yield from read_nodes()
    rows = yield Ask("schedules_declared", (owner, list(keys)))
    schedules = yield from read_schedules(rows, specifications)
    stored = [stored_of(row, schedules[i]) for i, row in enumerate(rows)]
    wanted = difference(stored, Declared(editions, nodes))
    by_id = {each.id: each for each in schedules}
    for identity in wanted.removed:
        yield from changed(specifications, by_id[identity], rules.delete, now, asked)
    yield from add_schedules(specifications, wanted.added, rules.create, now, asked)
    for identity, specification in wanted.changed:
        schedule = by_id[identity]
        yield from edited(specifications, schedule, specification, rules.edit, now, asked)
    for name, value in wanted.noted.items():
        yield Ask("put_fact", (name, value))
    return wanted


def editions_of(owner: str) -> str:
    """The fact that says which editions of a declaration were applied."""
    return f"editions of {owner}"
