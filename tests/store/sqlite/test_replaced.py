"""A database file that is replaced or removed while it is open."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from harness.rules.values import at
from harness.store.disk import client_on
from harness.store.stores import StoreClient, connection, new
from quarterjack.errors import StoreUnavailable, StoreUnusable
from quarterjack.store.reader import Reader
from quarterjack.store.sqlite.file import open_database
from quarterjack.targets.kinds import KINDS

START = at("08:00")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[StoreClient]:
    """A store that has changed since it was copied."""
    path = tmp_path / "q.db"
    open_database(path, now=START, create=True).close()
    shutil.copy(path, tmp_path / "copy.db")
    with client_on(path, START) as client:
        client.add_all([new(f"k{number}", client.now, every="1h") for number in range(50)])
        connection(client).execute("pragma wal_checkpoint(truncate)").fetchall()
        client.plan()
        yield client


def move(copy: Path, path: Path) -> None:
    copy.rename(path)


def overwrite(copy: Path, path: Path) -> None:
    shutil.copyfile(copy, path)


def empty(copy: Path, path: Path) -> None:
    os.truncate(path, 0)


def remove(copy: Path, path: Path) -> None:
    path.unlink()


@pytest.mark.fault("F33")
@pytest.mark.parametrize("how", [move, overwrite, empty, remove])
def test_the_next_operation_notices_it_and_writes_nothing(client: StoreClient, tmp_path: Path, how):
    path = tmp_path / "q.db"
    how(tmp_path / "copy.db", path)
    there = path.read_bytes() if path.exists() else None

    for _ in range(2):
        with pytest.raises(StoreUnusable, match=r"was (replaced|removed) while in use; "):
            client.add("one more", every="1h")

    client(client.store.close())
    assert (path.read_bytes() if path.exists() else None) == there, "closing writes nothing either"


@pytest.mark.fault("F33")
@pytest.mark.parametrize("how", [move, overwrite])
def test_the_new_file_is_intact_at_the_next_start(client: StoreClient, tmp_path: Path, how):
    client.add("in the log", every="1h")
    how(tmp_path / "copy.db", tmp_path / "q.db")
    with pytest.raises(StoreUnusable):
        client.add("one more", every="1h")
    client(client.store.close())

    with client_on(tmp_path / "q.db", START) as again:
        assert connection(again).pragma("integrity_check") == "ok"
        assert connection(again).execute("select count(*) from schedules").fetchall() == [(0,)]
    assert (tmp_path / "q.db-wal.replaced").exists(), "it is kept"


@pytest.mark.fault("F33")
def test_the_wal_of_a_later_process_is_not_renamed(client: StoreClient, tmp_path: Path):
    move(tmp_path / "copy.db", tmp_path / "q.db")
    (tmp_path / "q.db-wal").rename(tmp_path / "old-wal")
    later = open_database(tmp_path / "q.db", now=START)
    later.execute("insert into metadata values ('later', 'x')")

    with pytest.raises(StoreUnusable):
        client.add("one more", every="1h")

    assert (tmp_path / "q.db-wal").exists()
    later.close()


@pytest.mark.fault("F33")
def test_a_reader_notices_it_too(client: StoreClient, tmp_path: Path):
    reader = Reader(f"sqlite:///{tmp_path}/q.db", KINDS)
    assert len(reader.schedules()) == 50
    move(tmp_path / "copy.db", tmp_path / "q.db")

    with pytest.raises(StoreUnusable, match="was replaced"):
        reader.schedules()
    reader.close()


@pytest.mark.fault("F33")
def test_writes_and_checkpoints_of_other_processes_are_accepted(
    client: StoreClient, tmp_path: Path
):
    for number in range(5):
        other = apsw.Connection(str(tmp_path / "q.db"))
        other.execute("insert into metadata values (?, ?)", (f"n{number}", "x" * 100_000))
        other.execute("pragma wal_checkpoint(truncate)").fetchall()
        other.close()
        client.add(f"and ours {number}", every="1h")

    assert len(Reader(f"sqlite:///{tmp_path}/q.db", KINDS).schedules(limit=100)) == 55


@pytest.mark.fault("F32")
def test_a_removed_wal_is_noticed_and_nothing_is_lost(client: StoreClient, tmp_path: Path):
    client.add("in the log", every="1h")
    (tmp_path / "q.db-wal").unlink()

    with pytest.raises(StoreUnusable, match=r"its write-ahead log .-wal. was removed while in use"):
        client.add("one more", every="1h")
    client(client.store.close())

    with client_on(tmp_path / "q.db", START) as again:
        found = connection(again).execute("select key from schedules where id > 50").fetchall()
        assert ("in the log",) in found, "acknowledged, so it must be there"


def test_a_file_that_cannot_be_checked_is_temporarily_unavailable(tmp_path: Path):
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "q.db"
    open_database(path, now=START, create=True).close()
    with client_on(path, START) as client:
        client.add("first", every="1h")
        folder.rename(tmp_path / "elsewhere")
        folder.write_text("a file where the folder was")
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="cannot check the file"):
                client.add("second", every="1h")
        folder.unlink()
        (tmp_path / "elsewhere").rename(folder)

        assert client.add("second", every="1h") == 2, "it recovers by itself"
