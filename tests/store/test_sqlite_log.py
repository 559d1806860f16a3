"""What grows beside the data: the log while somebody reads at an old moment, and empty pages."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.store.stores import Asking, asking, connection
from quarterjack.engine import storage as caretaker
from quarterjack.engine.storage import StorageMaintenance
from quarterjack.errors import StoreAway
from quarterjack.store.reader import Reader
from quarterjack.store.sqlite import executor as sqlite_thread
from quarterjack.store.sqlite import store as sqlite
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.times.instants import HOUR, MINUTE

READING = """
import sys, apsw
connection = apsw.Connection(sys.argv[1], flags=apsw.SQLITE_OPEN_READONLY)
connection.execute("begin; select * from metadata").fetchall()
print("reading", flush=True)
sys.stdin.read()
"""
MUCH = 400_000


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asking]:
    monkeypatch.setattr(sqlite, "LOG_BYTES_MAX", MUCH // 2)
    with asking("SQLite", tmp_path) as ask:
        yield ask


@contextmanager
def reader(ask: Asking) -> Iterator[None]:
    """Another program that reads, and does not come to an end."""
    program = [sys.executable, "-c", READING, connection(ask).filename]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as stranger:
        assert stranger.stdout is not None
        assert stranger.stdout.readline() == b"reading\n"
        yield


def write_much(ask: Asking) -> None:
    connection(ask).execute("insert into output select 1, 1, 1, count(*), 0, ? from output",
                            (bytes(MUCH),))  # fmt: skip


def log_bytes(ask: Asking) -> int:
    return Path(connection(ask).filename_wal).stat().st_size


@pytest.mark.fault("F27")
class TestTheLog:
    def test_is_cut_to_nothing_as_soon_as_nobody_reads_at_an_old_moment(self, ask: Asking):
        with reader(ask):
            write_much(ask)
            grown = ask(ask.store.shorten_log())
        after = ask(ask.store.shorten_log())

        assert grown >= MUCH
        assert after == log_bytes(ask) == 0

    def test_is_left_alone_while_it_is_small(self, ask: Asking):
        ask.add(every="1h")
        before = log_bytes(ask)

        assert 0 < before == ask(ask.store.shorten_log()) < MUCH // 2

    def test_is_looked_at_without_a_statement_and_rarely_written_back(self, ask: Asking):
        assert isinstance(ask.store, SqliteStore)
        reconciler, now = StorageMaintenance(ask.store), ask.now
        before = ask.store.statements
        wakes = [now]
        while wakes[-1] < now + MINUTE:
            wakes.append(ask(reconciler.step(wakes[-1])))
        ask(reconciler._shorten_log())

        assert wakes[1:] == [now + MINUTE]
        assert ask.store.statements == before

    def test_of_alarming_size_is_told_with_its_remedy_each_time_it_has_doubled(
        self, ask: Asking, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ):
        monkeypatch.setattr(caretaker, "ALARM_BYTES", MUCH // 2)
        reconciler = StorageMaintenance(ask.store)
        with reader(ask):
            for _ in range(4):
                write_much(ask)
                ask(reconciler._shorten_log())

        told = caplog.text.count("the log of the database grows bytes=")
        assert told == 2, "once, and when it had doubled"
        assert "some program reads the database at an old moment; find it and end it" in caplog.text

    def test_does_not_hold_up_those_who_write_while_it_is_written_back(self, ask: Asking):
        with reader(ask):
            write_much(ask)
            shortening = ask._loop.create_task(ask.store.shorten_log())
            ask.add(every="1h")
            ask(shortening)

        assert ask.plan().looked_at == 0, "nobody was told that the database is locked"


@pytest.mark.fault("F27")
def test_a_read_of_ours_ends_even_if_it_has_many_statements(
    ask: Asking, monkeypatch: pytest.MonkeyPatch
):
    ask.add(every="1h")
    monkeypatch.setattr(sqlite_thread, "READ_SECONDS_MAX", -1)
    reads = Reader(ask.url)

    with pytest.raises(StoreAway, match="reading took longer than -1 s; ask for less at a time"):
        reads.schedules()
    assert not reads._looker._connection.in_transaction  # type: ignore[attr-defined]
    reads.close()


@pytest.mark.fault("F27")
def test_the_room_that_forgotten_rows_leave_is_given_back_bit_by_bit(ask: Asking):
    path = Path(connection(ask).filename)
    for _ in range(10):
        write_much(ask)
    connection(ask).execute("delete from output")
    ask(ask.store.shorten_log())
    before = path.stat().st_size
    reconciler, now, bits = StorageMaintenance(ask.store), ask.now, 0
    while (wake := ask(reconciler.step(now))) <= ask.now + HOUR:
        bits += wake - now < MINUTE
        now = wake
    ask(ask.store.shorten_log())
    connection(ask).execute("pragma wal_checkpoint(truncate)").fetchall()

    assert bits > 8, "never more than a hundred pages at once"
    assert path.stat().st_size < before / 8
    free, pages = (connection(ask).pragma(name) for name in ("freelist_count", "page_count"))
    assert free <= pages / 10
