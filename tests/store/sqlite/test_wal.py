"""The write-ahead log stays small, and free pages are returned to the file system."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.store.stores import StoreClient, connection, open_client
from quarterjack.engine import storage as storage_maintenance
from quarterjack.engine.storage import StorageMaintenance
from quarterjack.errors import StoreUnavailable
from quarterjack.store.reader import Reader
from quarterjack.store.sqlite import executor, store
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.targets.kinds import KINDS
from quarterjack.times.instants import HOUR, MINUTE

READ_WITHOUT_END = """
import sys, apsw
connection = apsw.Connection(sys.argv[1], flags=apsw.SQLITE_OPEN_READONLY)
connection.execute("begin; select * from metadata").fetchall()
print("reading", flush=True)
sys.stdin.read()
"""


MUCH = 400_000


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StoreClient]:
    monkeypatch.setattr(store, "WAL_BYTES_MAX", MUCH // 2)
    with open_client("SQLite", tmp_path) as client:
        yield client


@contextmanager
def open_reader(client: StoreClient) -> Iterator[None]:
    """Another program that holds a read transaction open."""
    command = [sys.executable, "-c", READ_WITHOUT_END, connection(client).filename]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"reading\n"
        yield


def write_much(client: StoreClient) -> None:
    text = "insert into output select 1, 1, 1, count(*), 0, ?, 0, '' from output"
    connection(client).execute(text, (bytes(MUCH),))


def wal_bytes(client: StoreClient) -> int:
    return Path(connection(client).filename_wal).stat().st_size


@pytest.mark.fault("F27")
class TestWal:
    def test_is_truncated_once_no_reader_holds_an_old_snapshot(self, client: StoreClient):
        with open_reader(client):
            write_much(client)
            grown = client(client.store.checkpoint())
        after = client(client.store.checkpoint())

        assert grown >= MUCH
        assert after == wal_bytes(client) == 0

    def test_is_not_truncated_while_it_is_small(self, client: StoreClient):
        client.add(every="1h")
        before = wal_bytes(client)

        assert 0 < before == client(client.store.checkpoint()) < MUCH // 2

    def test_is_checked_once_a_minute_without_a_statement(self, client: StoreClient):
        assert isinstance(client.store, SqliteStore)
        maintenance, now = StorageMaintenance(client.store), client.now
        before = client.store.statements
        wakes = [now]
        while wakes[-1] < now + MINUTE:
            wakes.append(client(maintenance.step(wakes[-1])))
        client(maintenance._checkpoint())

        assert wakes[1:] == [now + MINUTE]
        assert client.store.statements == before

    def test_logs_a_warning_each_time_its_size_has_doubled(
        self, client: StoreClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ):
        monkeypatch.setattr(storage_maintenance, "WAL_BYTES_ALARM", MUCH // 2)
        maintenance = StorageMaintenance(client.store)
        with open_reader(client):
            for _ in range(4):
                write_much(client)
                client(maintenance._checkpoint())

        warnings = caplog.text.count("the write-ahead log of the database keeps growing bytes=")
        assert warnings == 2, "once, and when it had doubled"
        assert "a program holds an old read transaction open; find it and end it" in caplog.text

    def test_a_checkpoint_does_not_block_writers(self, client: StoreClient):
        with open_reader(client):
            write_much(client)
            checkpoint = client._loop.create_task(client.store.checkpoint())
            client.add(every="1h")
            client(checkpoint)

        assert client.plan().due_count == 0, "it did not fail because of a lock"


@pytest.mark.fault("F27")
def test_a_read_of_many_statements_has_a_time_limit(
    client: StoreClient, monkeypatch: pytest.MonkeyPatch
):
    client.add(every="1h")
    monkeypatch.setattr(executor, "READ_SECONDS_MAX", -1)
    reader = Reader(client.url, KINDS)

    with pytest.raises(
        StoreUnavailable, match="the read took longer than -1 s; read less at a time"
    ):
        reader.schedules()
    assert not reader._backend._connection.in_transaction  # type: ignore[union-attr]
    reader.close()


@pytest.mark.fault("F27")
def test_the_space_of_deleted_rows_is_returned_in_small_steps(client: StoreClient):
    path = Path(connection(client).filename)
    for _ in range(10):
        write_much(client)
    connection(client).execute("delete from output")
    client(client.store.checkpoint())
    before = path.stat().st_size
    maintenance, now, steps = StorageMaintenance(client.store), client.now, 0
    while (wake := client(maintenance.step(now))) <= client.now + HOUR:
        steps += wake - now < MINUTE
        now = wake
    client(client.store.checkpoint())
    connection(client).execute("pragma wal_checkpoint(truncate)").fetchall()

    assert steps > 8, "at most a hundred pages at once"
    assert path.stat().st_size < before / 8
    free, pages = (connection(client).pragma(name) for name in ("freelist_count", "page_count"))
    assert free <= pages / 10
