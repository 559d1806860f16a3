"""The schema, as numbered SQL files for each database, and the check that a database is at it.

A file is `0007_what_it_does.sql`; it is never edited once released, because its checksum is stored
in each database. All missing migrations are applied in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from quarterjack.errors import StoreUnusable

FOLDER = Path(__file__).parent
CREATE_REMEDY = "start `quarterjack up` once, or name another with --database"


class Migration(NamedTuple):
    """Its row in the table `migrations` is inserted before its text is executed, so that the text
    can read the time from `applied_at`."""

    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return blake2b(self.text.encode(), digest_size=16).hexdigest()


def load_migrations(dialect: str) -> list[Migration]:
    files = sorted((FOLDER / dialect).glob("*.sql"))
    return [Migration(int(file.stem[:4]), file.stem[5:], file.read_text()) for file in files]


def missing_migrations(
    database: object,
    applied: Iterable[tuple[int, str]],
    migrations: Sequence[Migration],
    *,
    allowed: bool,
) -> list[Migration]:
    """Those to apply to a database that has stored these numbers and checksums. Refused if this
    program does not know one of them, or with another text; or if any are missing and an upgrade is
    not allowed."""
    known = {migration.number: migration for migration in migrations}
    newest, stored = max(known, default=0), 0
    for stored, checksum in applied:
        if stored > newest:
            remedy = "use the newer program, or restore a backup from before its upgrade"
            schemas = f"it is at schema {stored}, this program knows {newest}"
            raise StoreUnusable(f"database {database}: {schemas}; {remedy}")
        if known[stored].checksum != checksum:
            reason = f"its schema {stored} differs from that of this program"
            raise StoreUnusable(f"database {database}: {reason}; use the program that created it")
    if stored < newest and not allowed:
        schemas = f"it is at schema {stored}, this program needs {newest}"
        raise StoreUnusable(f"database {database}: {schemas}; run `quarterjack db upgrade`")
    return [migration for migration in migrations if migration.number > stored]
