"""Releases of SQLite that lose commits are refused, and ours loses none."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from harness.store.wal import check, pairs_at_once
from quarterjack.errors import StoreUnusable
from quarterjack.store.sqlite.file import open_database
from quarterjack.store.sqlite.library import may_lose_commits


@pytest.mark.fault("F28")
@pytest.mark.parametrize(
    ("version", "faulty"),
    [
        ("3.7.0", True),
        ("3.43.2", True),
        ("3.44.5", True),
        ("3.44.6", False),
        ("3.44.10", False),
        ("3.45.3", True),
        ("3.50.6", True),
        ("3.50.7", False),
        ("3.51.2", True),
        ("3.51.3", False),
        ("3.52.0", True),
        ("3.52.9", True),
        ("3.53.0", False),
        ("3.54.1", False),
        ("4.0.0", False),
        ("3.53.0.1", False),
    ],
)
def test_releases_with_the_wal_reset_bug_are_known(version: str, faulty: bool):
    assert may_lose_commits(version) is faulty


@pytest.mark.fault("F28")
def test_a_faulty_library_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")

    with pytest.raises(StoreUnusable, match=r"SQLite 3\.51\.2 may lose commits.*; install an apsw"):
        open_database(tmp_path / "q.db", now=0, create=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault("F28")
def test_two_processes_that_write_and_checkpoint_lose_nothing(tmp_path: Path):
    """The short form of `make wal`."""
    assert pairs_at_once(tmp_path, pairs=10_000, seed=1) == 10_000


@pytest.mark.fault("F28")
def test_the_check_would_find_a_lost_row(tmp_path: Path):
    pairs_at_once(tmp_path, pairs=20, seed=1)
    apsw.Connection(str(tmp_path / "q.db")).execute("delete from metadata where name = '1-7'")

    with pytest.raises(AssertionError, match="acknowledged and lost: "):
        check(tmp_path / "q.db", [10, 10])
