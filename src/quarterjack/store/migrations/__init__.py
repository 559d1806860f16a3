"""Migrations: the files that make the schema, in order, and whether a database is at it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from quarterjack.errors import StoreUnusable

MIGRATIONS = Path(__file__).parent


class Migration(NamedTuple):
    """Its row in `migrations` is written before its text is executed: a text that needs the time
    reads `applied_at` there."""

    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return blake2b(self.text.encode(), digest_size=16).hexdigest()


def migrations(dialect: str) -> list[Migration]:
    """In order; a file is `0007_what_it_does.sql`."""
    files = sorted((MIGRATIONS / dialect).glob("*.sql"))
    return [Migration(int(file.stem[:4]), file.stem[5:], file.read_text()) for file in files]


def refuse_other_schemas(
    place: object, applied: Iterable[tuple[int, str]], wanted: Sequence[Migration]
) -> int:
    """Of those that were applied, by number and checksum, the last; unless one of them is not
    ours."""
    known = {migration.number: migration for migration in wanted}
    newest, stored = max(known, default=0), 0
    for stored, checksum in applied:
        if stored > newest:
            remedy = "use the newer program, or restore a backup of before its upgrade"
            schemas = f"it is at schema {stored}, this program knows {newest}"
            raise StoreUnusable(f"database {place}: {schemas}; {remedy}")
        if known[stored].checksum != checksum:
            remedy = "use the program that made the database"
            raise StoreUnusable(f"database {place}: its schema {stored} is not ours; {remedy}")
    return stored


def refuse_older_schemas(place: object, stored: int, wanted: Sequence[Migration]) -> None:
    newest = max((migration.number for migration in wanted), default=0)
    if stored < newest:
        schemas = f"it is at schema {stored}, this program needs {newest}"
        raise StoreUnusable(f"database {place}: {schemas}; run `quarterjack db upgrade`")
