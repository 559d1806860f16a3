"""What a transaction and a database exchange.

A transaction is a generator: it yields statements by name, and receives their rows. So each one is
written once, and every database executes it in its own way: SQLite in a thread, PostgreSQL with
asyncio. The texts of the statements are files in `sql/`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

SQL_FOLDER = Path(__file__).parent / "sql"

Row: TypeAlias = Sequence[Any]
T = TypeVar("T")


class Query(NamedTuple):
    """One statement with its parameters."""

    statement: str
    values: Sequence[Any] = ()


class QueryMany(NamedTuple):
    """One statement, executed once per row of parameters."""

    statement: str
    rows: Sequence[Row]


Statements: TypeAlias = Generator[Query | QueryMany, list[Row], T]


@dataclass(eq=False)
class Operation:
    """A transaction that was submitted to a database, and later its result or error."""

    name: str
    begin: Callable[[], Statements[Any]]
    result: Any = None
    error: BaseException | None = None

    def answer(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.result


@cache
def sql(statement: str, dialect: str) -> str:
    """The text of a statement; that for the dialect (`sqlite`, `postgres`) if there is one."""
    own = SQL_FOLDER / dialect / f"{statement}.sql"
    return (own if own.exists() else SQL_FOLDER / f"{statement}.sql").read_text()
