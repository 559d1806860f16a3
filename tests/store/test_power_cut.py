"""A power cut at any moment: what the disk was not asked to keep is lost, reordered or torn."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from harness.rules.world import at
from harness.store.disk import Deed, asking_on, contents, left_by_a_power_cut, remembering, state
from harness.store.stores import Asking, connection
from quarterjack.errors import StoreUnusable
from quarterjack.store.sqlite.file import open_database
from quarterjack.times.instants import MINUTE

CUTS = int(os.environ.get("CUTS", "150"))
START = at("08:00")
MINUTES = 8


class Life(NamedTuple):
    """What was on the disk, what was done to it, and what was acknowledged after which deed."""

    before: dict[str, bytes]
    deeds: list[Deed]
    acknowledged: list[tuple[int, str]]


def lived(folder: Path, durability: str) -> Life:
    """Schedules are added, planned, claimed and settled, on a disk that remembers."""
    path = folder / "q.db"
    open_database(path, now=START, create=True).close()
    before = contents(folder)
    with remembering() as disk, asking_on(path, START, durability) as ask:
        connection(ask).pragma("wal_autocheckpoint", 30)  # so that the log is started anew often
        acknowledged = [(0, state(ask))]
        for _ in deeds_of(ask, MINUTES):
            acknowledged.append((len(disk.deeds), state(ask)))
    return Life(before, disk.deeds, acknowledged)


def deeds_of(ask: Asking, minutes: int) -> Iterator[Any]:
    for key in ("a", "b", "c"):
        yield ask.add(key, every="1m", catch_up="run_all", if_running="allow")
    for _ in range(minutes):
        ask.clock.instant += MINUTE
        yield from firing(ask)


def firing(ask: Asking) -> Iterator[Any]:
    """One step after the other, each acknowledged."""
    yield ask.plan()
    claims = ask.claim()
    yield claims
    for claim in claims:
        yield ask.settle((claim.run, ask.outcome(result="x" * 500)))


class Judge:
    """Looks at what is left after a cut."""

    def __init__(self, folder: Path, life: Life, *, may_lose: bool) -> None:
        self._folder = folder
        self._life = life
        self._may_lose = may_lose
        self.lost = 0
        """How often something acknowledged was not there."""

    def look(self, number: int, chance: Random, *, goes_on: bool) -> None:
        before, deeds, acknowledged = self._life
        cut = chance.randrange(len(deeds) + 1)
        folder = self._folder / "left"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, data in left_by_a_power_cut(before, deeds[:cut], chance).items():
            (folder / name).write_bytes(data)
        newest = max(index for index, (deed, _) in enumerate(acknowledged) if deed <= cut)
        with asking_on(folder / "q.db", START + MINUTES * MINUTE) as ask:
            assert connection(ask).pragma("integrity_check") == "ok", f"cut {number} at {cut}"
            found = state(ask)
            states = [each for _, each in acknowledged]
            # The deed under way may be there already: whole, or not at all.
            assert found in states[: newest + 2], f"cut {number} at {cut}: half of something"
            if found not in states[newest : newest + 2]:
                self.lost += 1
                assert self._may_lose, f"cut {number} at {cut}: something acknowledged is lost"
            if goes_on:
                self._go_on(ask)

    def _go_on(self, ask: Asking) -> None:
        """Whoever plans after the cut neither doubles a slot nor leaves one out."""
        for _ in range(3):
            list(firing(ask))
        rows = connection(ask).execute("select schedule_id, slot from runs order by 1, 2")
        planned: dict[int, list[int]] = {}
        for schedule_id, slot in rows:
            planned.setdefault(schedule_id, []).append(slot)
        owed = [START + minute * MINUTE for minute in range(1, MINUTES + 1)]
        assert all(slots == owed for slots in planned.values())


def judged(tmp_path: Path, durability: str, *, may_lose: bool, cuts: int = CUTS) -> int:
    judge = Judge(tmp_path, lived(tmp_path, durability), may_lose=may_lose)
    for number in range(cuts):
        judge.look(number, Random(number), goes_on=number % 5 == 0)
    return judge.lost


@pytest.mark.fault("F30")
def test_with_full_durability_nothing_acknowledged_is_ever_lost(tmp_path: Path):
    assert judged(tmp_path, "full", may_lose=False) == 0


@pytest.mark.fault("F30")
def test_with_normal_durability_the_last_commits_may_go_and_nothing_is_ever_damaged(tmp_path: Path):
    assert judged(tmp_path, "normal", may_lose=True) > 0


@pytest.mark.fault("F30")
def test_the_log_was_started_anew_while_it_was_written_down(tmp_path: Path):
    deeds = lived(tmp_path, "full").deeds

    starts = [
        deed for deed in deeds if (deed.what, deed.file, deed.place) == ("write", "q.db-wal", 0)
    ]
    assert len(starts) > 5


@pytest.mark.fault("F30")
@pytest.mark.parametrize("durability", ["normal", "off"])
def test_the_judge_is_not_blind(tmp_path: Path, durability: str):
    """A program that does not wait for the disk is found out."""
    with pytest.raises((AssertionError, StoreUnusable), match=r"lost|half|damaged|ok|SQLite"):
        judged(tmp_path, durability, may_lose=durability == "off")
