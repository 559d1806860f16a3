"""Declaring: the schedules of one owner become what a file or a program says, in one
transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quarterjack.rules import Schedule
from quarterjack.store.asking import Caller, add_schedules, changed, edited
from quarterjack.store.facts import lock_gates, read_fact, read_schedules
from quarterjack.store.nodes import read_nodes
from quarterjack.store.rows import stored_of
from quarterjack.store.steps import Ask, Steps
from quarterjack.store.values import (
    Asked,
    DecideDifference,
    DeclarationRules,
    Declared,
    Difference,
)


def declare_schedules(
    caller: Caller,
    owner: str,
    keys: Sequence[str],
    difference: DecideDifference,
    rules: DeclarationRules,
    now: int,
    asked: Asked | None,
) -> Steps[Difference]:
    yield Ask("lock_name", (owner,))
    editions = yield from read_fact(editions_of(owner))
    nodes = yield from read_nodes()
    rows = yield Ask("schedules_declared", (owner, list(keys)))
    schedules = yield from read_schedules(rows, caller.specifications)
    stored = [stored_of(row, schedules[i]) for i, row in enumerate(rows)]
    wanted = difference(stored, Declared(editions, nodes))
    by_id = {each.id: each for each in schedules}
    yield from _lock_gates(by_id, wanted, now)
    for identity in wanted.removed:
        yield from changed(caller, by_id[identity], rules.delete, now, asked)
    yield from add_schedules(caller.specifications, wanted.added, rules.create, now, asked)
    for identity, specification in wanted.changed:
        schedule = by_id[identity]
        yield from edited(caller, schedule, specification, rules.edit, now, asked)
    for name, value in wanted.noted.items():
        yield Ask("put_fact", (name, value))
    return wanted


def _lock_gates(by_id: Mapping[int, Schedule], wanted: Difference, now: int) -> Steps[None]:
    changed = [by_id[identity]._replace(specification=said) for identity, said in wanted.changed]
    before = [by_id[identity] for identity in (*wanted.removed, *(each.id for each in changed))]
    yield from lock_gates([*before, *changed], now)


def editions_of(owner: str) -> str:
    """The fact that says which editions of a declaration were applied."""
    return f"editions of {owner}"
