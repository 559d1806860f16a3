"""Makes the schedules of one owner equal to a declaration, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from quarterjack.store.rows import stored_of
from quarterjack.store.specifications import Specifications
from quarterjack.store.statements import Query, Row, Statements
from quarterjack.store.transactions.changes import add_prepared, change, edit
from quarterjack.store.transactions.facts import lock_gates, read_schedules
from quarterjack.store.transactions.metadata import put_metadata, read_metadata
from quarterjack.store.transactions.nodes import read_nodes
from quarterjack.store.transactions.requests import NodeContext, read_request
from quarterjack.store.types import (
    Caller,
    DecideDifference,
    DeclarationRules,
    Declared,
    Difference,
    StoredSchedule,
)

OLDER_DEFAULT_NAME = "default"
"""Of every declaration without a written name, in earlier versions."""


def declare_schedules(
    context: NodeContext,
    owner: str,
    keys: Sequence[str],
    difference: DecideDifference,
    rules: DeclarationRules,
    now: int,
    caller: Caller | None = None,
    *,
    has_default_name: bool = False,
) -> Statements[Difference]:
    yield Query("lock_name", (owner,))
    revisions = yield from read_metadata(revisions_of(owner))
    place = yield from read_metadata(place_of(owner))
    nodes = yield from read_nodes()
    rows, adopted = yield from _schedules_of(owner, keys, has_default_name=has_default_name)
    schedules = yield from read_schedules(rows, context.specifications)
    stored = [stored_of(row, schedules[i]) for i, row in enumerate(rows)]
    wanted = difference(stored, Declared(revisions, place, nodes))._replace(adopted=adopted)
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


def read_declared(
    owner: str, keys: Sequence[str], specifications: Specifications, *, has_default_name: bool
) -> Statements[tuple[list[StoredSchedule], Declared, int]]:
    """What `declare_schedules` would compare, and how many schedules it would adopt before."""
    revisions = yield from read_metadata(revisions_of(owner))
    place = yield from read_metadata(place_of(owner))
    nodes = yield from read_nodes()
    rows = yield Query("schedules_declared", (owner, list(keys)))
    adopted: list[Row] = []
    if has_default_name and any(_has_older_default_name(row) for row in rows):
        older = yield Query("schedules_declared", (OLDER_DEFAULT_NAME, list(keys)))
        adopted = [row for row in older if _has_older_default_name(row)]
        rows = [row for row in rows if not _has_older_default_name(row)]
    schedules = yield from read_schedules([*rows, *adopted], specifications)
    both = zip([*rows, *adopted], schedules, strict=True)
    stored = [stored_of(row, schedule) for row, schedule in both]
    live = [each for each in stored[len(rows) :] if each.deleted_at is None]
    taken = [each._replace(owner=owner) for each in live]
    return [*stored[: len(rows)], *taken], Declared(revisions, place, nodes), len(taken)


def _schedules_of(
    owner: str, keys: Sequence[str], *, has_default_name: bool
) -> Statements[tuple[list[Row], int]]:
    """The rows of this owner, and of others that have one of these keys. Schedules of the older
    default name go to the first declaration without a written name that has one of their keys."""
    rows = yield Query("schedules_declared", (owner, list(keys)))
    if not has_default_name or not any(_has_older_default_name(row) for row in rows):
        return rows, 0
    adopted = yield Query("adopt_schedules", (owner, OLDER_DEFAULT_NAME))
    rows = yield Query("schedules_declared", (owner, list(keys)))
    return rows, len(adopted)


def _has_older_default_name(row: Row) -> bool:
    stored = stored_of(row, None)  # type: ignore[arg-type]
    return (stored.owner, stored.origin) == (OLDER_DEFAULT_NAME, "declaration")


def _lock_gates(wanted: Difference, now: int) -> Statements[None]:
    before = [*wanted.removed, *(schedule for schedule, _ in wanted.changed)]
    after = [each._replace(specification=becomes) for each, becomes in wanted.changed]
    yield from lock_gates([*before, *after], now)


def place_of(owner: str) -> str:
    """The name of the metadata that holds where a declaration without a written name lies."""
    return f"place of {owner}"


def revisions_of(owner: str) -> str:
    """The name of the metadata that lists the applied revisions of a declaration."""
    return f"revisions of {owner}"
