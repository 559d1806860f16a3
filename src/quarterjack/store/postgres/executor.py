"""Walking steps on PostgreSQL: each statement is one round trip, and a batch is one statement, for
its rows travel as arrays, one for each column. Single rows of several tables travel together."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import asyncpg

from quarterjack.failpoint import failpoint
from quarterjack.store.statements import Query, QueryMany, Row, Statements, sql

_PLACE = re.compile(r"\$(\d+)")
_VALUES = re.compile(r"^values \((.*?)\)", re.DOTALL | re.MULTILINE)
_DELETE = re.compile(r"^delete ", re.MULTILINE)
_REMARK = re.compile(r"--.*\n")
_TABLE = re.compile(r"(?:insert into|update|delete from) (\w+)")
_READ = re.compile(r"\b(?:from|join) (\w+)")
_AS_TEXT = {"int8", "bool"}
"""Arrays of these are handed over as text, for asyncpg looks at each value of an array for whether
it is an array itself; only of strings it knows that they are not."""
_types: dict[str, list[str]] = {}
"""Of the values of a statement; they are the same in every database."""


class Executed(NamedTuple):
    value: Any
    statements: int
    rows: int
    """How many were written or found."""


async def walk(connection: asyncpg.Connection, steps: Statements[Any]) -> Executed:
    """What the steps come to. What they write is sent when they ask for something, or at the
    end."""
    found: list[Any] | None = None
    statements = rows = 0
    writes: list[QueryMany] = []
    while True:
        try:
            step = steps.send(found)  # type: ignore[arg-type]  # None starts it
        except StopIteration as end:
            statements += await _write(connection, writes)
            return Executed(end.value, statements, rows)
        if isinstance(step, QueryMany):
            writes.append(step)
            rows += len(step.rows)
            found = []
            continue
        statements += 1 + await _write(connection, writes)
        writes = []
        found = await _ask(connection, step)
        rows += len(found)


async def _write(connection: asyncpg.Connection, writes: Sequence[QueryMany]) -> int:
    """How many statements that took."""
    groups = list(_together([write for write in writes if write.rows]))
    for group in groups:
        texts = tuple(sql(write.statement, "postgres") for write in group)
        rows = group[0].rows
        if len(rows) == 1:
            values = [value for write in group for value in write.rows[0]]
            await connection.fetch(joined(texts), *values)
        else:
            (text,) = texts
            if text not in _types:
                _types[text] = await _types_of(connection, text)
            await connection.fetch(*_batch(text, rows))
        failpoint("group.written")
    return len(groups)


def _together(writes: Sequence[QueryMany]) -> Iterator[list[QueryMany]]:
    """Single rows, as long as they are of different tables: what one statement does to a row
    another part of it does not see."""
    group: list[QueryMany] = []
    for write in writes:
        tables = {_table_of(each.statement) for each in group}
        is_single = all(len(each.rows) == 1 for each in (*group, write))
        if group and (not is_single or _table_of(write.statement) in tables):
            yield group
            group = []
        group.append(write)
    if group:
        yield group


@cache
def _table_of(statement: str) -> str:
    text = _REMARK.sub("", sql(statement, "postgres"))
    found = _TABLE.match(text)
    assert found is not None, f"{statement} writes nothing"
    assert not set(_READ.findall(text)) - {found[1]}, f"{statement} reads what another may write"
    return found[1]


@lru_cache(500)
def joined(texts: Sequence[str]) -> str:
    """Several statements as one, their values behind each other.

    >>> print(joined(("insert into a\\nvalues ($1, $2)\\n", "update b\\nset c = $1\\n")))
    with part1 as (
    insert into a
    values ($1, $2)
    )
    update b
    set c = $3
    """
    parts, before = [], 0
    for text in texts:
        shift = before
        parts.append(_PLACE.sub(lambda place: f"${int(place[1]) + shift}", text))  # noqa: B023
        before += _count(text)
    *others, last = parts
    named = [f"part{number} as (\n{part})" for number, part in enumerate(others, 1)]
    return (f"with {', '.join(named)}\n" if named else "") + last


async def _ask(connection: asyncpg.Connection, step: Query) -> list[Any]:
    found: list[Any] = []
    for part in sql(step.statement, "postgres").split(";\n"):
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


async def _types_of(connection: asyncpg.Connection, text: str) -> list[str]:
    """PostgreSQL itself says of which types the values are."""
    prepared = await connection.prepare(text)
    return [parameter.name for parameter in prepared.get_parameters()]


def _batch(text: str, rows: Sequence[Row]) -> list[Any]:
    """The statement for so many rows, and its values: the columns. One in which nothing stands is
    left out: in most tables that is every third."""
    types, columns = _types[text], list(zip(*rows, strict=True))
    nothing = (None,) * len(rows)
    empty = frozenset(place for place, column in enumerate(columns, 1) if column == nothing)
    values: list[Any] = [batch_of(text, tuple(types), empty)]
    for place, column in enumerate(columns, 1):
        if place not in empty:
            as_text = types[place - 1] in _AS_TEXT
            values.append(_array_text(column) if as_text else column)
    return values


def _array_text(column: Row) -> str:
    """An array of numbers, as PostgreSQL reads it.

    >>> _array_text((1, None, -3))
    '{1, NULL, -3}'
    """
    return f"{{{str(list(column))[1:-1].replace('None', 'NULL')}}}"


@lru_cache(500)
def batch_of(text: str, types: Sequence[str], empty: Collection[int] = frozenset()) -> str:
    """The statement for one row, as a statement for many; in some places nothing ever stands.

    >>> print(batch_of("update t\\nset a = $1, b = $2\\nwhere id = $3", ("text", "text", "int8"),
    ...                frozenset({2})))
    update t
    set a = each.p1, b = null::text
    from unnest($1::text[], $2::text::int8[]) as each (p1, p3)
    where id = each.p3
    >>> print(batch_of("delete from t\\nwhere id = $1", ("text",)))
    delete from t
    using unnest($1::text[]) as each (p1)
    where id = each.p1
    """
    places = [place for place in range(1, len(types) + 1) if place not in empty]
    arrays = ", ".join(
        f"${number}::{'text::' if types[place - 1] in _AS_TEXT else ''}{types[place - 1]}[]"
        for number, place in enumerate(places, 1)
    )
    rows = f"unnest({arrays}) as each ({', '.join(f'p{place}' for place in places)})"

    def value(found: re.Match[str]) -> str:
        place = int(found[1])
        return f"each.p{place}" if place not in empty else f"null::{types[place - 1]}"

    text = _PLACE.sub(value, text).rstrip()
    if values := _VALUES.search(text):
        return f"{text[: values.start()]}select {values[1]}\nfrom {rows}{text[values.end() :]}"
    head, where, tail = text.partition("\nwhere")
    from_ = "using" if _DELETE.search(head) else "from"
    return f"{head}\n{from_} {rows}{where}{tail}"
