"""Two seeds of `make sim-postgres`, and whether it notices a difference."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from harness.sim.both_stores import compare
from harness.store.server import server
from quarterjack.store.postgres import executor
from quarterjack.store.statements import sql

pytestmark = pytest.mark.unmeasured
SEEDS = (15, 17)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_week_is_the_same_on_both_stores(seed: int):
    comparison = compare(seed, server().url)

    assert comparison.differences == []
    assert comparison.hashes[0] == comparison.hashes[1]


PLANTED = {
    "order of claims": ("claim_runs", "ready_at, schedule_id", "ready_at, schedule_id desc"),
    "daily statistics": ("update_daily_stats", "count(started_at)", "count(started_at) + 1"),
}
"""A statement, a part of it, and what replaces that on PostgreSQL. The second affects no decision:
only stored rows differ."""


@pytest.mark.parametrize("planted", PLANTED)
def test_a_difference_in_one_statement_is_noticed(planted: str):
    name, text, replacement = PLANTED[planted]

    def different_sql(statement: str, dialect: str) -> str:
        original = sql(statement, dialect)
        return original.replace(text, replacement) if statement == name else original

    with patch.object(executor, "sql", different_sql):
        assert compare(1, server().url, days=1).differences
