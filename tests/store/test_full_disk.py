"""A disk that becomes full at any write in the life of a run: nothing is half done, and once
there is space again, everything is done."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.engine.service import SteppedService
from harness.rules.values import at
from harness.store.disk import client_on, recording_disk, small_disk, state
from harness.store.stores import StoreClient, connection
from quarterjack.errors import StoreFull
from quarterjack.rules import Run
from quarterjack.store.sqlite.file import open_database
from quarterjack.store.types import Chunk
from quarterjack.times.instants import MINUTE, SECOND

START = at("08:00")


def firing(client: StoreClient) -> Iterator[Callable[[], Any]]:
    """A schedule is added and a run succeeds; every step can be repeated."""
    yield lambda: client.add("k", every="1m")
    client.clock.instant += MINUTE
    yield client.plan
    claimed: list[Run] = []
    yield lambda: claimed.extend(claim.run for claim in client.claim())
    (run,) = claimed
    chunk = Chunk(run.schedule_id, run.number, run.attempt, 0, client.now, b"x" * 30_000)
    yield lambda: client(client.store.add_output([chunk]))
    yield lambda: client.settle((run, client.outcome()))
    yield lambda: checkpoint(client)


def checkpoint(client: StoreClient) -> None:
    try:
        connection(client).execute("pragma wal_checkpoint(truncate)").fetchall()
    except Exception as error:
        raise client.store._executor._translate(error) from error  # type: ignore[attr-defined]


def run_through(client: StoreClient, free_space: Callable[[], None]) -> int:
    """How often the disk was full until the run has succeeded."""
    times = 0
    for step in firing(client):
        before = state(client)
        try:
            step()
        except StoreFull:
            assert state(client) == before, "a failed step changes nothing"
            free_space()
            step()
            times += 1
    rows = connection(client).execute("select runs.number, state, length(data) from runs, output")
    assert rows.fetchall() == [(0, "succeeded", 30_000)]
    assert connection(client).pragma("integrity_check") == "ok"
    return times


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """An empty database."""
    open_database(tmp_path / "empty.db", now=START, create=True).close()
    return tmp_path / "empty.db"


@pytest.mark.fault("F31")
def test_a_disk_that_is_full_at_the_nth_write_for_every_n(tmp_path: Path, empty: Path):
    writes, path = 0, tmp_path / "q.db"
    while True:
        shutil.copy(empty, path)
        with recording_disk() as disk, client_on(path, START) as client:
            disk.writes_left = writes
            times = run_through(client, lambda: setattr(disk, "writes_left", None))
            disk.writes_left = None
        if not times:
            break
        writes += 1

    assert writes > 50, "each write has failed once"


@pytest.mark.fault("F31")
def test_a_small_disk_with_space_for_n_pages_for_every_n(tmp_path: Path, empty: Path):
    with small_disk(tmp_path / "disk") as disk:
        full, path = {}, disk.folder / "q.db"
        for pages in range(0, 100, 2):
            disk.free_space()
            shutil.copy(empty, path)
            with client_on(path, START) as client:
                disk.fill(left=pages * 4096)
                full[pages] = run_through(client, disk.free_space)

    assert full[0] == 1
    assert 0 in full.values(), "at last there was enough space"


@pytest.fixture
def service() -> Iterator[SteppedService]:
    service = SteppedService()
    yield service
    service.close()


@pytest.mark.fault("F31")
def test_output_that_does_not_fit_is_marked_and_the_run_ends(service: SteppedService):
    database = service.store._executor._connection

    async def work(call: Any) -> None:
        await service.sleep(30 * SECOND)
        call.write(b"y" * 400_000)
        database.pragma("max_page_count", int(database.pragma("page_count")) + 20)

    service.work = work
    service.add(every="1h")
    service.run_until("09:00")
    with pytest.raises(StoreFull):
        service.run_until("09:00:30")

    assert service.states() == ["succeeded"]
    (row,) = service.table("output")
    assert row[5] == b"\n[400000 bytes discarded: the disk is full]\n"
