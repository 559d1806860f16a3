"""Executes the statements of a transaction on PostgreSQL, with as few round trips as possible.

Each query is one round trip. Writes are collected until the next query or the end. A batch is one
statement whose rows are passed as arrays, one for each column; single rows for several tables are
combined into one statement.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import asyncpg

from quarterjack.failpoint import failpoint
from quarterjack.store.statements import Query, QueryMany, Row, Statements, sql

_PARAMETER = re.compile(r"\$(\d+)")
_VALUES = re.compile(r"^values \((.*?)\)", re.DOTALL | re.MULTILINE)
_DELETE = re.compile(r"^delete ", re.MULTILINE)
_COMMENT = re.compile(r"--.*\n")
_WRITTEN_TABLE = re.compile(r"(?:insert into|update|delete from) (\w+)")
_READ_TABLE = re.compile(r"\b(?:from|join) (\w+)")
_PASSED_AS_TEXT = {"int8", "bool"}
"""Arrays of these types are passed as text, which is faster: asyncpg checks each element of an
array for whether it is an array itself, except strings."""
_parameter_types: dict[str, list[str]] = {}
"""By the text of a statement; the same in every database."""


class Executed(NamedTuple):
    value: Any
    statements: int
    rows: int
    """How many were written or found."""


async def execute(connection: asyncpg.Connection, statements: Statements[Any]) -> Executed:
    found: list[Any] | None = None
    count = rows = 0
    writes: list[QueryMany] = []
    while True:
        try:
            query = statements.send(found)  # type: ignore[arg-type]  # None starts it
        except StopIteration as end:
            count += await _write(connection, writes)
            return Executed(end.value, count, rows)
        if isinstance(query, QueryMany):
            writes.append(query)
            rows += len(query.rows)
            found = []
            continue
        count += 1 + await _write(connection, writes)
        writes = []
        found = await _fetch(connection, query)
        rows += len(found)


async def _write(connection: asyncpg.Connection, writes: Sequence[QueryMany]) -> int:
    """Returns the number of statements that were sent."""
    groups = list(_combinable([write for write in writes if write.rows]))
    for group in groups:
        texts = tuple(sql(write.statement, "postgres") for write in group)
        rows = group[0].rows
        if len(rows) == 1:
            values = [value for write in group for value in write.rows[0]]
            await connection.fetch(combined(texts), *values)
        else:
            (text,) = texts
            if text not in _parameter_types:
                prepared = await connection.prepare(text)
                _parameter_types[text] = [each.name for each in prepared.get_parameters()]
            await connection.fetch(*_batch(text, rows))
        failpoint("group.written")
    return len(groups)


def _combinable(writes: Sequence[QueryMany]) -> Iterator[list[QueryMany]]:
    """Groups of single rows for different tables: one part of a statement does not see what another
    part does to the same row."""
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
    text = _COMMENT.sub("", sql(statement, "postgres"))
    found = _WRITTEN_TABLE.match(text)
    assert found is not None, f"{statement} writes nothing"
    reads = set(_READ_TABLE.findall(text)) - {found[1]}
    assert not reads, f"{statement} reads a table that the same statement may write"
    return found[1]


@lru_cache(500)
def combined(texts: Sequence[str]) -> str:
    """Several statements as one, with the parameters of all in order.

    >>> print(combined(("insert into a\\nvalues ($1, $2)\\n", "update b\\nset c = $1\\n")))
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
        parts.append(_PARAMETER.sub(lambda found: f"${int(found[1]) + shift}", text))  # noqa: B023
        before += _parameter_count(text)
    *others, last = parts
    named = [f"part{number} as (\n{part})" for number, part in enumerate(others, 1)]
    return (f"with {', '.join(named)}\n" if named else "") + last


async def _fetch(connection: asyncpg.Connection, query: Query) -> list[Any]:
    found: list[Any] = []
    for part in sql(query.statement, "postgres").split(";\n"):
        count = _parameter_count(part)
        found = await connection.fetch(part, *_flattened(query.values, count)[:count])
    return found


def _parameter_count(text: str) -> int:
    return max((int(number) for number in _PARAMETER.findall(text)), default=0)


def _flattened(values: Sequence[Any], count: int) -> list[Any]:
    """A list of tuples is passed as one array for each of their columns."""
    width = count - len(values) + 1
    flat: list[Any] = []
    for value in values:
        if width > 1 and isinstance(value, list):
            flat += map(list, zip(*value, strict=True)) if value else [[]] * width
        else:
            flat.append(value)
    return flat


def _batch(text: str, rows: Sequence[Row]) -> list[Any]:
    """The statement for these rows, and its arguments: the columns. A column of nulls is left out;
    in most tables that is every third."""
    types, columns = _parameter_types[text], list(zip(*rows, strict=True))
    nulls = (None,) * len(rows)
    empty = frozenset(number for number, column in enumerate(columns, 1) if column == nulls)
    arguments: list[Any] = [batch_of(text, tuple(types), empty)]
    for number, column in enumerate(columns, 1):
        if number not in empty:
            as_text = types[number - 1] in _PASSED_AS_TEXT
            arguments.append(_array_literal(column) if as_text else column)
    return arguments


def _array_literal(column: Row) -> str:
    """
    >>> _array_literal((1, None, -3))
    '{1, NULL, -3}'
    """
    return f"{{{str(list(column))[1:-1].replace('None', 'NULL')}}}"


@lru_cache(500)
def batch_of(text: str, types: Sequence[str], empty: Collection[int] = frozenset()) -> str:
    """A statement for one row, rewritten for many; the parameters in `empty` are always null.

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
    numbers = [number for number in range(1, len(types) + 1) if number not in empty]
    arrays = ", ".join(
        f"${place}::{'text::' if types[number - 1] in _PASSED_AS_TEXT else ''}{types[number - 1]}[]"
        for place, number in enumerate(numbers, 1)
    )
    rows = f"unnest({arrays}) as each ({', '.join(f'p{number}' for number in numbers)})"

    def value(found: re.Match[str]) -> str:
        number = int(found[1])
        return f"each.p{number}" if number not in empty else f"null::{types[number - 1]}"

    text = _PARAMETER.sub(value, text).rstrip()
    if values := _VALUES.search(text):
        return f"{text[: values.start()]}select {values[1]}\nfrom {rows}{text[values.end() :]}"
    head, where, tail = text.partition("\nwhere")
    from_ = "using" if _DELETE.search(head) else "from"
    return f"{head}\n{from_} {rows}{where}{tail}"
