"""Walking steps on PostgreSQL: each statement is one round trip, and a batch is one statement, for
its rows travel as arrays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import asyncpg

from quarterjack.store.steps import Ask, Many, Steps, sql

_PLACE = re.compile(r"\$(\d+)")
_VALUES = re.compile(r"^values \((.*?)\)", re.DOTALL | re.MULTILINE)
_DELETE = re.compile(r"^delete ", re.MULTILINE)
_batches: dict[str, str] = {}
"""The text for many rows, by that for one; it is the same in every database."""


async def walk(connection: asyncpg.Connection, steps: Steps[Any]) -> tuple[Any, int]:
    """What the steps come to, and how many statements that took."""
    rows: list[Any] | None = None
    statements = 0
    while True:
        try:
            step = steps.send(rows)  # type: ignore[arg-type]  # None starts it
        except StopIteration as end:
            return end.value, statements
        statements += 1
        rows = await _carry_out(connection, step)


async def _carry_out(connection: asyncpg.Connection, step: Ask | Many) -> list[Any]:
    text = sql(step.statement, "postgres")
    if isinstance(step, Many):
        if not step.rows:
            return []
        if len(step.rows) == 1:
            return await connection.fetch(text, *step.rows[0])
        batch = _batches.get(text) or await _batch_of(connection, text)
        return await connection.fetch(batch, *map(list, zip(*step.rows, strict=True)))
    found: list[Any] = []
    for part in text.split(";\n"):
        count = _count(part)
        found = await connection.fetch(part, *_spread(step.values, count)[:count])
    return found


def _count(text: str) -> int:
    return max((int(place) for place in _PLACE.findall(text)), default=0)


def _spread(values: Sequence[Any], count: int) -> list[Any]:
    """A list of tuples is handed over as one array for each of their places."""
    width = count - len(values) + 1
    spread: list[Any] = []
    for value in values:
        if width > 1 and isinstance(value, list):
            spread += map(list, zip(*value, strict=True)) if value else [[]] * width
        else:
            spread.append(value)
    return spread


async def _batch_of(connection: asyncpg.Connection, text: str) -> str:
    """PostgreSQL itself says of which types the values are."""
    prepared = await connection.prepare(text)
    types = [parameter.name for parameter in prepared.get_parameters()]
    _batches[text] = batch_of(text, types)
    return _batches[text]


def batch_of(text: str, types: Sequence[str]) -> str:
    """The statement for one row, as a statement for many.

    >>> print(batch_of("update t\\nset a = $1\\nwhere id = $2", ["text", "int8"]))
    update t
    set a = each.p1
    from unnest($1::text[], $2::int8[]) as each (p1, p2)
    where id = each.p2
    >>> print(batch_of("delete from t\\nwhere id = $1", ["int8"]))
    delete from t
    using unnest($1::int8[]) as each (p1)
    where id = each.p1
    """
    places = range(1, len(types) + 1)
    arrays = ", ".join(f"${place}::{types[place - 1]}[]" for place in places)
    names = ", ".join(f"p{place}" for place in places)
    rows = f"unnest({arrays}) as each ({names})"
    text = _PLACE.sub(r"each.p\1", text).rstrip()
    if found := _VALUES.search(text):
        return f"{text[: found.start()]}select {found[1]}\nfrom {rows}{text[found.end() :]}"
    head, where, tail = text.partition("\nwhere")
    from_ = "using" if _DELETE.search(head) else "from"
    return f"{head}\n{from_} {rows}{where}{tail}"
