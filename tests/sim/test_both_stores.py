"""A part of `make sim-postgres` in every run of the suite; and would a difference be noticed?"""

from __future__ import annotations

from unittest.mock import patch

import pytest

from harness.sim.both_stores import compared
from harness.store.server import server
from quarterjack.store.postgres import executor as postgres_walk
from quarterjack.store.statements import sql

pytestmark = pytest.mark.unmeasured
SEEDS = (15, 17)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_week_is_the_same_on_both_stores(seed: int):
    twins = compared(seed, server().url)

    assert twins.differences == []
    assert twins.hashes[0] == twins.hashes[1]


PLANTED = {
    "who is claimed first": ("claim_runs", "ready_at, schedule_id", "ready_at, schedule_id desc"),
    "what a day came to": ("update_daily_stats", "count(started_at)", "count(started_at) + 1"),
}
"""Differences between the stores: a statement, and what stands in it instead of what. Nobody who
acts in a world notices the second: only its rows differ."""


@pytest.mark.parametrize("planted", PLANTED)
def test_a_difference_in_one_statement_is_noticed(planted: str):
    name, text, other = PLANTED[planted]

    def differing(statement: str, dialect: str) -> str:
        found = sql(statement, dialect)
        return found.replace(text, other) if statement == name else found

    with patch.object(postgres_walk, "sql", differing):
        assert compared(1, server().url, days=1).differences
