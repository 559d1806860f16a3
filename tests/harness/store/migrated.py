"""Databases as a program with other migrations opens them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import apsw

from quarterjack.store.migrations import Migration
from quarterjack.store.sqlite import file


def open_with(
    migrations: Sequence[Migration], path: Path, *, create: bool = True
) -> apsw.Connection:
    with patch.object(file, "load_migrations", lambda _: migrations):
        return file.open_database(path, now=0, create=create)
