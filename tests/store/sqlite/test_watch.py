"""Writes of other processes are noticed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import apsw
import pytest

from quarterjack.clock import SystemClock
from quarterjack.store.sqlite.file import open_database
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.store.statements import Query, Statements
from quarterjack.targets.kinds import KINDS


def put(name: str, value: str) -> Statements[str]:
    yield Query("put_metadata", (name, value))
    return value


@pytest.mark.parametrize("has_inotify", [True, False])
def test_writes_of_other_processes_cause_a_hint_and_own_writes_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_inotify: bool
):
    if not has_inotify:
        monkeypatch.setattr("quarterjack.store.sqlite.watch._inotify", lambda folder: None)
        monkeypatch.setattr("quarterjack.store.sqlite.watch.POLL_SECONDS", 0.02)
    path = tmp_path / "q.db"

    async def watch() -> tuple[int, int]:
        clock = SystemClock()
        store = SqliteStore(open_database(path, now=0, create=True), path, clock, KINDS)
        noticed = asyncio.Event()
        hints: list[int] = []

        def hint() -> None:
            hints.append(1)
            noticed.set()

        watching = asyncio.ensure_future(store.watch(hint))
        for number in range(5):
            await store._transact(put, f"ours{number}", "x")
            await asyncio.sleep(0.03)
        ours = len(hints)
        other = apsw.Connection(str(path))
        other.execute("insert into metadata values ('theirs', 'x')")
        await asyncio.wait_for(noticed.wait(), 10)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await store.close()
        return ours, len(hints)

    assert asyncio.run(watch()) == (0, 1)
