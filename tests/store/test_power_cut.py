"""A power cut at any moment: writes that were not synced are lost, reordered or torn."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from harness.rules.values import at
from harness.store.disk import (
    DiskOperation,
    after_power_cut,
    client_on,
    contents,
    recording_disk,
    state,
)
from harness.store.stores import StoreClient, connection
from quarterjack.errors import StoreUnusable
from quarterjack.store.sqlite.file import open_database
from quarterjack.times.instants import MINUTE

CUTS = int(os.environ.get("CUTS", "150"))
START = at("08:00")
MINUTES = 8


class Recording(NamedTuple):
    """The files before, the disk operations, and each acknowledged state with the number of
    operations until then."""

    before: dict[str, bytes]
    operations: list[DiskOperation]
    acknowledged: list[tuple[int, str]]


def record(folder: Path, durability: str) -> Recording:
    """Add, plan, claim and settle on a recording disk."""
    path = folder / "q.db"
    open_database(path, now=START, create=True).close()
    before = contents(folder)
    with recording_disk() as disk, client_on(path, START, durability) as client:
        connection(client).pragma("wal_autocheckpoint", 30)  # so that the WAL is restarted often
        acknowledged = [(0, state(client))]
        for _ in steps(client, MINUTES):
            acknowledged.append((len(disk.operations), state(client)))
    return Recording(before, disk.operations, acknowledged)


def steps(client: StoreClient, minutes: int) -> Iterator[Any]:
    for key in ("a", "b", "c"):
        yield client.add(key, every="1m", catch_up="run_all", if_running="allow")
    for _ in range(minutes):
        client.clock.instant += MINUTE
        yield from firing(client)


def firing(client: StoreClient) -> Iterator[Any]:
    """Yields after each acknowledged step."""
    yield client.plan()
    claims = client.claim()
    yield claims
    for claim in claims:
        yield client.settle((claim.run, client.outcome(result="x" * 500)))


class Checker:
    """Opens the database that a power cut has left, and checks it."""

    def __init__(self, folder: Path, recording: Recording, *, may_lose: bool) -> None:
        self._folder = folder
        self._recording = recording
        self._may_lose = may_lose
        self.lost = 0
        """How often something acknowledged was missing."""

    def check(self, number: int, random: Random, *, continues: bool) -> None:
        before, operations, acknowledged = self._recording
        cut = random.randrange(len(operations) + 1)
        folder = self._folder / "left"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, data in after_power_cut(before, operations[:cut], random).items():
            (folder / name).write_bytes(data)
        newest = max(index for index, (deed, _) in enumerate(acknowledged) if deed <= cut)
        with client_on(folder / "q.db", START + MINUTES * MINUTE) as client:
            assert connection(client).pragma("integrity_check") == "ok", f"cut {number} at {cut}"
            found = state(client)
            states = [each for _, each in acknowledged]
            # The step that was interrupted is there completely, or not at all.
            assert found in states[: newest + 2], f"cut {number} at {cut}: half of something"
            if found not in states[newest : newest + 2]:
                self.lost += 1
                assert self._may_lose, f"cut {number} at {cut}: something acknowledged is lost"
            if continues:
                self._continue(client)

    def _continue(self, client: StoreClient) -> None:
        """A planner that continues neither repeats nor misses a slot."""
        for _ in range(3):
            list(firing(client))
        rows = connection(client).execute("select schedule_id, slot from runs order by 1, 2")
        planned: dict[int, list[int]] = {}
        for schedule_id, slot in rows:
            planned.setdefault(schedule_id, []).append(slot)
        expected = [START + minute * MINUTE for minute in range(1, MINUTES + 1)]
        assert all(slots == expected for slots in planned.values())


def lost_after_cuts(tmp_path: Path, durability: str, *, may_lose: bool, cuts: int = CUTS) -> int:
    checker = Checker(tmp_path, record(tmp_path, durability), may_lose=may_lose)
    for number in range(cuts):
        checker.check(number, Random(number), continues=number % 5 == 0)
    return checker.lost


@pytest.mark.fault("F30")
def test_full_durability_loses_nothing_acknowledged(tmp_path: Path):
    assert lost_after_cuts(tmp_path, "full", may_lose=False) == 0


@pytest.mark.fault("F30")
def test_normal_durability_may_lose_the_last_commits_but_corrupts_nothing(tmp_path: Path):
    assert lost_after_cuts(tmp_path, "normal", may_lose=True) > 0


@pytest.mark.fault("F30")
def test_the_recording_contains_restarts_of_the_wal(tmp_path: Path):
    operations = record(tmp_path, "full").operations

    starts = [
        each
        for each in operations
        if (each.kind, each.file, each.place) == ("write", "q.db-wal", 0)
    ]
    assert len(starts) > 5


@pytest.mark.fault("F30")
@pytest.mark.parametrize("durability", ["normal", "off"])
def test_the_checker_finds_lost_commits(tmp_path: Path, durability: str):
    """A lower durability than the checker expects is noticed."""
    with pytest.raises((AssertionError, StoreUnusable), match=r"lost|half|corrupt|ok|SQLite"):
        lost_after_cuts(tmp_path, durability, may_lose=durability == "off")
