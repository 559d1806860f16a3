"""The simulator itself: it is repeatable, and it skips nothing that matters."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from harness.sim.campaign import judged
from harness.sim.oracle import Definition
from quarterjack.errors import Invalid
from quarterjack.rules import Limits, create, read_specification
from quarterjack.rules.policies.anchors import slots_of
from quarterjack.sim.definitions import ZONES, draw_when
from quarterjack.sim.profile import Profile, draw_profile
from quarterjack.sim.world import World
from quarterjack.times import slots_between
from quarterjack.times.instants import DAY, read_instant


def test_the_same_seed_gives_the_same_log():
    assert judged(3, 2.0).hash == judged(3, 2.0).hash
    assert judged(3, 2.0).hash != judged(4, 2.0).hash


TABLES = ("schedules", "runs", "attempts", "slots_not_run", "gates", "audit", "outbox")


def lived(profile: Profile) -> dict[str, Any]:
    """All that is stored in the end, but for when leases were last renewed, which depends on when a
    renewer last looked; and the ledger."""
    world = World(profile)
    try:
        world.live()
        world.database.ask("update runs set lease_until = null")
        tables = {table: world.database.ask(f"select * from {table}") for table in TABLES}
        return tables | {"ledger": world.record.ledger}
    finally:
        world.close()


@pytest.mark.parametrize("seed", range(5))
def test_a_look_that_is_skipped_would_have_seen_nothing(seed: int):
    """The same world with every look, and without those that are skipped: nothing differs. Nothing
    befalls single verbs in it, for then it would befall others; and there is one node, for of
    several that are as quick any may be the first."""
    profile = draw_profile(seed, days=0.7)
    profile = profile._replace(faults_every=0, latency=0, hints_kept=0, hosts=1)

    assert lived(profile) == lived(profile._replace(skips=False))


def test_the_oracle_and_the_rules_name_the_same_slots():
    """Two programs that share nothing but the documentation."""
    judged_slots = 0
    for seed in range(120):
        random = Random(seed)
        now = read_instant("2026-01-01T00:00:00Z", "now") + random.randrange(500 * DAY)
        fields = draw_when(random, now, ZONES, a_day=random.choice([0.1, 1, 5, 24]))
        try:
            said = read_specification({"task": "work", **fields}, key="k", now=now)
        except Invalid:
            continue
        if said.completion:
            continue  # its slots depend on the ends of its runs
        schedule = create(1, "k", said, now, active=0, limits=Limits())
        until = now + random.choice([3, 40, 300]) * DAY
        ours = list(slots_between(slots_of(schedule), now, until))
        assert Definition(fields).slots(now, now, now, until) == ours, fields
        judged_slots += len(ours)
    assert judged_slots > 20_000
