"""The parameters of a simulation, as its seed chooses them."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from quarterjack.rules import Limits
from quarterjack.times.instants import DAY, HOUR, SECOND, read_instant

_FIRST_DAY = read_instant("2026-01-01T00:00:00Z", "start")
_DST_DAYS = ("2026-03-08", "2026-03-29", "2026-04-05", "2026-04-24", "2026-10-25", "2026-11-01")
"""Days of daylight saving changes in some zone."""

_CROWDED: dict[str, Any] = {
    "hosts": 1, "separate_roles": False, "schedules": 50, "slots_per_day": 70_000, "latency": 0,
    "lease": 60 * SECOND, "concurrency": 60,
}  # fmt: skip


class Profile(NamedTuple):
    seed: int
    start: int
    duration: int
    recovery: int
    """Time without faults at the end, after which everything must have recovered."""
    hosts: int
    schedules: int
    slots_per_day: float
    """Of all schedules together, approximately."""
    fault_interval: int
    request_interval: int
    hint_delivery: float
    """The fraction of hints that reach other nodes."""
    latency: int
    """The longest duration of a transaction."""
    is_one_host: bool
    """All nodes share the clock of the database, as with SQLite."""
    limits: Limits
    lease: int
    concurrency: int
    separate_roles: bool = False
    """Each host either plans or works; else every host does both."""
    prompts: int = 6
    """The weight of prompt targets, to which the limits of the preset `agent` apply."""
    skip_idle_polls: bool = True
    disk_can_fill: bool = True
    """Only that of SQLite can be filled at a given transaction."""

    @property
    def until(self) -> int:
        return self.start + self.duration


def draw_profile(seed: int, *, days: float | None = None) -> Profile:
    """Most simulations last more than half a year; some a day with many slots, and some of these
    have most slots at the same instants. `days` sets the length instead."""
    random = Random(f"{seed}/profile")
    is_busy = random.random() < 0.25
    length = days or (random.uniform(0.5, 1.5) if is_busy else random.uniform(180, 320))
    is_long = length > 30
    hosts = random.choice([1, 1, 1, 1, 1, 2, 3] if is_long else [1, 1, 2, 2, 3, 4, 5])
    limits = Limits()
    if length < 2 and hosts < 4 and random.random() < 0.4:
        clamp = random.choice([20_000, 60_000, 60_000])
        limits = random.choice([Limits(1000, 5, 5, 5000, clamp, 10), Limits(60, 0, 2, 0, clamp)])
    slots_per_day = random.uniform(3_000, 8_000) if is_busy else 25
    roughness = random.choice([0.2, 1, 1, 3])
    profile = Profile(
        seed,
        _draw_start(random, length),
        int(length * DAY),
        recovery=3 * HOUR,
        hosts=hosts,
        schedules=random.randint(20 if is_long else 5, 50),
        slots_per_day=slots_per_day if days is None else 150,
        fault_interval=int(length * DAY / (150 if is_long else 50) / roughness),
        request_interval=int(length * DAY / random.uniform(100, 300)),
        hint_delivery=random.choice([0, 0.02, 0.02, 0.1]),
        latency=random.choice([0, 0, 0, 0, 0, 5_000, 100_000]) // hosts,
        is_one_host=random.random() < 0.4,
        limits=limits,
        lease=random.choice([60, 300, 300] if is_long else [10, 60, 60, 60]) * SECOND,
        concurrency=random.choice([3, 30, 30, 60]),
        separate_roles=hosts > 1 and random.random() < 0.5,
        prompts=random.choice([6, 6, 60]),
    )
    is_crowded = is_busy and days is None and random.random() < 0.53
    return profile._replace(**_CROWDED) if is_crowded else profile


def _draw_start(random: Random, length: float) -> int:
    """On any day; short simulations often contain a daylight saving change. Most start at a full
    hour, so that intervals counted from then are due together with other schedules."""
    start = _FIRST_DAY + int(random.uniform(0, 400) * DAY)
    if length < 30 and random.random() < 0.5:
        day = read_instant(f"{random.choice(_DST_DAYS)}T00:00:00Z", "start")
        start = day - int(random.uniform(0, length) * DAY)
    return start - start % HOUR if random.random() < 0.8 else start
