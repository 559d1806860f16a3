"""The simulator itself: it is repeatable, it skips no relevant poll, and its oracle is right."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from harness.sim.campaign import check_seed
from harness.sim.oracle import Definition
from quarterjack.errors import Invalid
from quarterjack.rules import Limits, create, read_specification
from quarterjack.rules.policies.anchors import slots_of
from quarterjack.sim.definitions import WORDS, ZONES, draw_recurrence
from quarterjack.sim.profile import Profile, draw_profile
from quarterjack.sim.simulation import Simulation
from quarterjack.targets.kinds import KINDS
from quarterjack.times import slots_between
from quarterjack.times.instants import DAY, read_instant


def test_the_same_seed_gives_the_same_log():
    assert check_seed(3, 2.0).hash == check_seed(3, 2.0).hash
    assert check_seed(3, 2.0).hash != check_seed(4, 2.0).hash


TABLES = ("schedules", "runs", "attempts", "slots_not_run", "gates", "audit", "outbox")


def rows_at_the_end(profile: Profile) -> dict[str, Any]:
    """All rows, except for when leases were last renewed, which depends on the renewer's last poll;
    and what the work recorded."""
    simulation = Simulation(profile)
    try:
        simulation.run()
        simulation.database.query("update runs set lease_until = null")
        tables = {table: simulation.database.query(f"select * from {table}") for table in TABLES}
        return tables | {"work": simulation.record.work}
    finally:
        simulation.close()


@pytest.mark.parametrize("seed", range(5))
def test_skipping_idle_polls_changes_no_row(seed: int):
    """Without faults of single transactions, which would hit other ones, and with one node: of
    several with equal delays any may be the first."""
    profile = draw_profile(seed, days=0.7)
    profile = profile._replace(fault_interval=0, latency=0, hint_delivery=0, hosts=1)

    assert rows_at_the_end(profile) == rows_at_the_end(profile._replace(skip_idle_polls=False))


def test_the_oracle_and_the_rules_name_the_same_slots():
    """Two implementations that share only the documentation."""
    compared = 0
    for seed in range(120):
        random = Random(seed)
        now = read_instant("2026-01-01T00:00:00Z", "now") + random.randrange(500 * DAY)
        fields = draw_recurrence(random, now, ZONES, slots_per_day=random.choice([0.1, 1, 5, 24]))
        try:
            specification = read_specification(
                {"task": "work", **fields}, kinds=KINDS, key="k", now=now
            )
        except Invalid:
            continue
        if specification.completion:
            continue  # its slots depend on the ends of its runs
        schedule = create(1, "k", specification, now, active=0, limits=Limits())
        until = now + random.choice([3, 40, 300]) * DAY
        slots = list(slots_between(slots_of(schedule), now, until))
        assert Definition(fields).slots(now, now, now, until) == slots, fields
        compared += len(slots)
    assert compared > 20_000


@pytest.mark.parametrize(
    "fields",
    [
        *({"schedule": phrase} for phrase in WORDS),
        {"cron": "0 2 1,15 * 1", "day_rule": "and"},
        {"cron": "0 2 */2 * 1", "day_rule": "and"},
        {"cron": "30 2 13 * FRI", "day_rule": "and"},
    ],
    ids=str,
)
def test_the_oracle_knows_what_the_words_mean(fields: dict[str, Any]):
    """By the expressions that stand there for each phrase; it reads no words."""
    now = read_instant("2026-02-10T11:17:00Z", "now")
    fields |= {"timezone": "Europe/Berlin"}
    specification = read_specification({"task": "work", **fields}, kinds=KINDS, key="k", now=now)
    schedule = create(1, "k", specification, now, active=0, limits=Limits())
    until = now + 330 * DAY

    slots = list(slots_between(slots_of(schedule), now, until))

    assert slots
    assert Definition(fields).slots(now, now, now, until) == slots
