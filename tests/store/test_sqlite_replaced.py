"""The file that is open is not the one at its path any more."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from harness.rules.world import at
from harness.store.disk import asking_on
from harness.store.stores import Asking, connection, new
from quarterjack.errors import StoreAway, StoreUnusable
from quarterjack.store.reader import Reader
from quarterjack.store.sqlite.file import open_database

START = at("08:00")


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Asking]:
    """A store that has grown since a copy of it was made."""
    path = tmp_path / "q.db"
    open_database(path, now=START, create=True).close()
    shutil.copy(path, tmp_path / "copy.db")
    with asking_on(path, START) as ask:
        ask.add_all([new(f"k{number}", ask.now, every="1h") for number in range(50)])
        connection(ask).execute("pragma wal_checkpoint(truncate)").fetchall()
        ask.plan()
        yield ask


def move(copy: Path, path: Path) -> None:
    copy.rename(path)


def overwrite(copy: Path, path: Path) -> None:
    shutil.copyfile(copy, path)


def empty(copy: Path, path: Path) -> None:
    os.truncate(path, 0)


def take_away(copy: Path, path: Path) -> None:
    path.unlink()


@pytest.mark.fault("F33")
@pytest.mark.parametrize("how", [move, overwrite, empty, take_away])
def test_is_noticed_by_the_next_operation_which_writes_nothing(ask: Asking, tmp_path: Path, how):
    path = tmp_path / "q.db"
    how(tmp_path / "copy.db", path)
    there = path.read_bytes() if path.exists() else None

    for _ in range(2):
        with pytest.raises(StoreUnusable, match=r"was (replaced|taken away) while it was in use; "):
            ask.add("one more", every="1h")

    ask(ask.store.close())
    assert (path.read_bytes() if path.exists() else None) == there, "nor does closing write"


@pytest.mark.fault("F33")
@pytest.mark.parametrize("how", [move, overwrite])
def test_the_copy_is_whole_for_the_next_start(ask: Asking, tmp_path: Path, how):
    ask.add("in the log", every="1h")
    how(tmp_path / "copy.db", tmp_path / "q.db")
    with pytest.raises(StoreUnusable):
        ask.add("one more", every="1h")
    ask(ask.store.close())

    with asking_on(tmp_path / "q.db", START) as again:
        assert connection(again).pragma("integrity_check") == "ok"
        assert connection(again).execute("select count(*) from schedules").fetchall() == [(0,)]
    assert (tmp_path / "q.db-wal.replaced").exists(), "it is kept"


@pytest.mark.fault("F33")
def test_the_log_of_whoever_came_later_is_left_alone(ask: Asking, tmp_path: Path):
    move(tmp_path / "copy.db", tmp_path / "q.db")
    (tmp_path / "q.db-wal").rename(tmp_path / "old-wal")
    later = open_database(tmp_path / "q.db", now=START)
    later.execute("insert into metadata values ('later', 'x')")

    with pytest.raises(StoreUnusable):
        ask.add("one more", every="1h")

    assert (tmp_path / "q.db-wal").exists()
    later.close()


@pytest.mark.fault("F33")
def test_whoever_only_reads_is_told_as_well(ask: Asking, tmp_path: Path):
    reads = Reader(f"sqlite:///{tmp_path}/q.db")
    assert len(reads.schedules()) == 50
    move(tmp_path / "copy.db", tmp_path / "q.db")

    with pytest.raises(StoreUnusable, match="was replaced"):
        reads.schedules()
    reads.close()


@pytest.mark.fault("F33")
def test_what_other_processes_write_is_no_reason(ask: Asking, tmp_path: Path):
    for number in range(5):
        other = apsw.Connection(str(tmp_path / "q.db"))
        other.execute("insert into metadata values (?, ?)", (f"n{number}", "x" * 100_000))
        other.execute("pragma wal_checkpoint(truncate)").fetchall()
        other.close()
        ask.add(f"and ours {number}", every="1h")

    assert len(Reader(f"sqlite:///{tmp_path}/q.db").schedules(limit=100)) == 55


@pytest.mark.fault("F32")
def test_a_log_that_was_taken_away_is_noticed_and_nothing_is_lost(ask: Asking, tmp_path: Path):
    ask.add("in the log", every="1h")
    (tmp_path / "q.db-wal").unlink()

    with pytest.raises(StoreUnusable, match=r"its log .-wal. was taken away while it was in use"):
        ask.add("one more", every="1h")
    ask(ask.store.close())

    with asking_on(tmp_path / "q.db", START) as again:
        found = connection(again).execute("select key from schedules where id > 50").fetchall()
        assert ("in the log",) in found, "what was acknowledged is there"


def test_a_file_that_cannot_be_looked_at_is_waited_for(tmp_path: Path):
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "q.db"
    open_database(path, now=START, create=True).close()
    with asking_on(path, START) as ask:
        ask.add("first", every="1h")
        folder.rename(tmp_path / "elsewhere")
        folder.write_text("a file where the folder was")
        for _ in range(2):
            with pytest.raises(StoreAway, match="it cannot be looked at"):
                ask.add("second", every="1h")
        folder.unlink()
        (tmp_path / "elsewhere").rename(folder)

        assert ask.add("second", every="1h") == 2, "it goes on by itself"
