"""Profile: how large, how long and how rough a world is, as its seed says."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from quarterjack.rules import Limits
from quarterjack.times.instants import DAY, HOUR, SECOND, read_instant

_FIRST_DAY = read_instant("2026-01-01T00:00:00Z", "start")
_CHANGES = ("2026-03-08", "2026-03-29", "2026-04-05", "2026-04-24", "2026-10-25", "2026-11-01")
"""Days on which clocks change somewhere."""

_CROWDED: dict[str, Any] = {
    "hosts": 1,
    "is_apart": False,
    "schedules": 50,
    "a_day": 70_000,
    "latency": 0,
    "lease": 60 * SECOND,
    "seats": 60,
}


class Profile(NamedTuple):
    seed: int
    start: int
    lasts: int
    heals_for: int
    hosts: int
    schedules: int
    a_day: float
    """How often all schedules together fire, about."""
    faults_every: int
    people_every: int
    hints_kept: float
    """Which part of the hints reaches other nodes."""
    latency: int
    """How long a verb may take."""
    is_one_host: bool
    """All nodes share the clock of the database, as on SQLite."""
    limits: Limits
    lease: int
    seats: int
    """Of each worker."""
    is_apart: bool = False
    """Each host either plans or works; else all of them do both."""
    prompts: int = 6
    """How many of a hundred schedules are prompts, and so take from the budgets of agents."""
    skips: bool = True
    """Looks that cannot see a change are skipped."""
    disk_fills: bool = True
    """Only SQLite's can be filled as wanted."""

    @property
    def until(self) -> int:
        return self.start + self.lasts


def draw_profile(seed: int, *, days: float | None = None) -> Profile:
    """Most worlds last for most of a year; some for a day, and are dense; and some of these are
    crowded: whatever is due, is due with much else. Or as long as is said."""
    random = Random(f"{seed}/profile")
    is_dense = random.random() < 0.25
    length = days or (random.uniform(0.5, 1.5) if is_dense else random.uniform(180, 320))
    is_long = length > 30
    hosts = random.choice([1, 1, 1, 1, 1, 2, 3] if is_long else [1, 1, 2, 2, 3, 4, 5])
    limits = Limits()
    if length < 2 and hosts < 4 and random.random() < 0.4:
        clamp = random.choice([20_000, 60_000, 60_000])
        limits = random.choice([Limits(1000, 5, 5, 5000, clamp, 10), Limits(60, 0, 2, 0, clamp)])
    a_day = random.uniform(3_000, 8_000) if is_dense else 25
    roughness = random.choice([0.2, 1, 1, 3])
    profile = Profile(
        seed,
        _draw_start(random, length),
        int(length * DAY),
        heals_for=3 * HOUR,
        hosts=hosts,
        schedules=random.randint(20 if is_long else 5, 50),
        a_day=a_day if days is None else 150,
        faults_every=int(length * DAY / (150 if is_long else 50) / roughness),
        people_every=int(length * DAY / random.uniform(100, 300)),
        hints_kept=random.choice([0, 0.02, 0.02, 0.1]),
        latency=random.choice([0, 0, 0, 0, 0, 5_000, 100_000]) // hosts,
        is_one_host=random.random() < 0.4,
        limits=limits,
        lease=random.choice([60, 300, 300] if is_long else [10, 60, 60, 60]) * SECOND,
        seats=random.choice([3, 30, 30, 60]),
        is_apart=hosts > 1 and random.random() < 0.5,
        prompts=random.choice([6, 6, 60]),
    )
    is_crowded = is_dense and days is None and random.random() < 0.53
    return profile._replace(**_CROWDED) if is_crowded else profile


def _draw_start(random: Random, length: float) -> int:
    """On any day; a short life often sees clocks change. Most begin at a full hour: what is created
    then is due at full hours, and so at the same instants as much else."""
    start = _FIRST_DAY + int(random.uniform(0, 400) * DAY)
    if length < 30 and random.random() < 0.5:
        day = read_instant(f"{random.choice(_CHANGES)}T00:00:00Z", "start")
        start = day - int(random.uniform(0, length) * DAY)
    return start - start % HOUR if random.random() < 0.8 else start
