"""Each error of SQLite becomes an error of the store, with a reason and a remedy."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from quarterjack.errors import StoreFull, StoreUnavailable, StoreUnusable, Violation
from quarterjack.store.sqlite.errors import as_store_error


@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        (apsw.BusyError("busy"), StoreUnavailable, "locked by another program"),
        (apsw.FullError("full"), StoreFull, "the disk is full"),
        (apsw.IOError("io"), StoreUnavailable, "disk I/O error"),
        (apsw.CorruptError("bad"), StoreUnusable, "the file is corrupt"),
        (apsw.CantOpenError("no"), StoreUnusable, "cannot open the file"),
        (apsw.SQLError("odd"), Violation, "please report this"),
    ],
)
def test_each_error_has_a_reason_and_a_remedy(error: apsw.Error, kind: type, reason: str):
    translated = as_store_error(error, Path("q.db"))

    assert isinstance(translated, kind)
    assert reason in str(translated)
