"""Declaring: the schedules of one owner become what a file or a program says, in one
transaction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from quarterjack.rules import Facts, Plans, Schedule, Specification, Status
from quarterjack.store.rows import stored_of
from quarterjack.store.specifications import Specifications
from quarterjack.store.steps import Ask, Steps
from quarterjack.store.values import DecideDifference, DeclarationRules, Difference
from quarterjack.store.verbs import add_schedules, changed


def declare_schedules(
    specifications: Specifications,
    owner: str,
    keys: Sequence[str],
    difference: DecideDifference,
    rules: DeclarationRules,
    now: int,
) -> Steps[Difference]:
    rows = yield Ask("schedules_declared", (owner, list(keys)))
    found = yield from specifications.read({(row[0], row[5]): row[1] for row in rows})
    stored = [stored_of(row, found[row[0], row[5]]) for row in rows]
    wanted = difference(stored)
    by_id = {each.schedule.id: each.schedule for each in stored}
    for schedule_id in wanted.removed:
        yield from changed(specifications, by_id[schedule_id], rules.delete, now)
    yield from add_schedules(specifications, wanted.added, rules.create, now)
    ((all_active,),) = yield Ask("count_active")
    for schedule_id, specification in wanted.changed:
        active = all_active - counts_as_active(by_id[schedule_id])
        edit = partial(_edit, rules, specification, active)
        scope = specification.scope(schedule_id)
        yield from changed(specifications, by_id[schedule_id], edit, now, scope)
    return wanted


def counts_as_active(schedule: Schedule) -> bool:
    """As the statement counts: active, or resting only until some instant."""
    return schedule.status is Status.ACTIVE or schedule.paused_until is not None


def _edit(
    rules: DeclarationRules, specification: Specification, active: int, facts: Facts, now: int
) -> Plans:
    return rules.edit(facts, specification, now, active)
