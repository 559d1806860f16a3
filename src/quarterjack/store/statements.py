"""Steps: a verb says which statements it wants, and is handed their rows. So each verb is written
once, and every database walks it in its own way: SQLite in a thread, PostgreSQL asynchronously."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

SQL_FOLDER = Path(__file__).parent / "sql"

Row: TypeAlias = Sequence[Any]
T = TypeVar("T")


class Query(NamedTuple):
    """One statement with its values."""

    statement: str
    values: Sequence[Any] = ()


class QueryMany(NamedTuple):
    """One statement over many rows of values."""

    statement: str
    rows: Sequence[Row]


Statements: TypeAlias = Generator[Query | QueryMany, list[Row], T]


class Operation:
    """A verb that somebody waits for."""

    def __init__(self, name: str, begin: Callable[[], Statements[Any]]) -> None:
        self.name = name
        self.begin = begin
        self.result: Any = None
        self.error: BaseException | None = None

    def answer(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.result


@cache
def sql(statement: str, dialect: str) -> str:
    """The text of a statement: that of the dialect, if it has one of its own."""
    own = SQL_FOLDER / dialect / f"{statement}.sql"
    return (own if own.exists() else SQL_FOLDER / f"{statement}.sql").read_text()
