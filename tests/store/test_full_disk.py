"""A disk that is full, at each single write of a firing: nothing is half done, and when there is
room again, all of it is done."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.engine.service import House
from harness.rules.world import at
from harness.store.disk import asking_on, remembering, small_disk, state
from harness.store.stores import Asking, connection
from quarterjack.errors import StoreFull
from quarterjack.rules import Run
from quarterjack.store.sqlite.file import open_database
from quarterjack.store.types import Chunk
from quarterjack.times.instants import MINUTE, SECOND

START = at("08:00")


def firing(ask: Asking) -> Iterator[Callable[[], Any]]:
    """A schedule is added and fires; every step can be tried again."""
    yield lambda: ask.add("k", every="1m")
    ask.clock.instant += MINUTE
    yield ask.plan
    claimed: list[Run] = []
    yield lambda: claimed.extend(claim.run for claim in ask.claim())
    (run,) = claimed
    chunk = Chunk(run.schedule_id, run.number, run.attempt, 0, ask.now, b"x" * 30_000)
    yield lambda: ask(ask.store.add_output([chunk]))
    yield lambda: ask.settle((run, ask.outcome()))
    yield lambda: written_back(ask)


def written_back(ask: Asking) -> None:
    try:
        connection(ask).execute("pragma wal_checkpoint(truncate)").fetchall()
    except Exception as error:
        raise ask.store._walker._told(error) from error  # type: ignore[attr-defined]


def fired(ask: Asking, make_room: Callable[[], None]) -> int:
    """How often the disk was full on the way to a run that has succeeded."""
    times = 0
    for step in firing(ask):
        before = state(ask)
        try:
            step()
        except StoreFull:
            assert state(ask) == before, "it fails whole"
            make_room()
            step()
            times += 1
    rows = connection(ask).execute("select runs.number, state, length(data) from runs, output")
    assert rows.fetchall() == [(0, "succeeded", 30_000)]
    assert connection(ask).pragma("integrity_check") == "ok"
    return times


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A database in which nothing is."""
    open_database(tmp_path / "made.db", now=START, create=True).close()
    return tmp_path / "made.db"


@pytest.mark.fault("F31")
def test_full_at_the_nth_write_for_every_n(tmp_path: Path, made: Path):
    writes, path = 0, tmp_path / "q.db"
    while True:
        shutil.copy(made, path)
        with remembering() as disk, asking_on(path, START) as ask:
            disk.writes_left = writes
            times = fired(ask, lambda: setattr(disk, "writes_left", None))
            disk.writes_left = None
        if not times:
            break
        writes += 1

    assert writes > 50, "every step has failed at each of its writes"


@pytest.mark.fault("F31")
def test_a_real_disk_with_room_for_n_pages_for_every_n(tmp_path: Path, made: Path):
    with small_disk(tmp_path / "disk") as disk:
        full, path = {}, disk.folder / "q.db"
        for pages in range(0, 100, 2):
            disk.make_room()
            shutil.copy(made, path)
            with asking_on(path, START) as ask:
                disk.fill(left=pages * 4096)
                full[pages] = fired(ask, disk.make_room)

    assert full[0] == 1
    assert 0 in full.values(), "at last there was room for all of it"


@pytest.fixture
def service() -> Iterator[House]:
    service = House()
    yield service
    service.close()


@pytest.mark.fault("F31")
def test_output_that_does_not_fit_leaves_a_mark_and_the_run_ends(service: House):
    database = service.store._walker._connection

    async def work(call: Any) -> None:
        await service.sleep(30 * SECOND)
        call.write(b"y" * 400_000)
        database.pragma("max_page_count", int(database.pragma("page_count")) + 20)

    service.work = work
    service.add(every="1h")
    service.go("09:00")
    with pytest.raises(StoreFull):
        service.go("09:00:30")

    assert service.states() == ["succeeded"]
    (row,) = service.table("output")
    assert row[-1] == b"\n[400000 bytes could not be kept: the disk is full]\n"
