"""Pairs of transactions on PostgreSQL, statement by statement; `make interleave` tries them all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import product

import pytest

from harness.store.interleaving import FAILOVER, Case, FoundSchedule, tried, world_of
from quarterjack.store.postgres import executor as postgres_walk
from quarterjack.store.statements import sql

pytestmark = pytest.mark.unmeasured

ABOUT_ONE_RUN = ["retry waiting", "cancel running", "succeed", "rescue"]
CASES = [
    *(
        Case(*pair)
        for pair in product(ABOUT_ONE_RUN, ["claim", "fail", "cancel waiting", FAILOVER])
    ),
    Case("succeed", "plan"),
    Case("plan", "edit"),
    Case("pause two", "run now"),
    Case("declare", "claim"),
    Case("roll up", "roll up"),
    Case("resume", "add"),
]


async def wrong_in(if_running: str, cases: Sequence[Case]) -> list[FoundSchedule]:
    found: list[FoundSchedule] = []
    async with world_of(if_running) as world:
        for case in cases:
            wrong, places = await tried(world, case)
            assert places > 2, f"{case} has statements"
            found += wrong
    return found


@pytest.mark.fault("F17", "F22", "F60", "F64")
@pytest.mark.parametrize("if_running", ["allow", "queue"])
def test_transactions_that_meet_end_like_one_after_the_other(if_running: str):
    assert asyncio.run(wrong_in(if_running, CASES)) == []


@pytest.mark.parametrize(
    ("statement", "lock", "case"),
    [
        ("open_runs", "for update", Case("retry waiting", "claim")),
        ("schedules_by_ids", "for update", Case("pause", "edit")),
        ("lock_name", "select pg_advisory_xact_lock", Case("roll up", "roll up")),
    ],
)
def test_a_lock_that_is_missing_is_noticed(
    monkeypatch: pytest.MonkeyPatch, statement: str, lock: str, case: Case
):
    def without_lock(name: str, dialect: str) -> str:
        text = sql(name, dialect)
        if name != statement:
            return text
        assert lock in text
        return text.replace(lock, "select" if lock.startswith("select") else "", 1)

    monkeypatch.setattr(postgres_walk, "sql", without_lock)

    assert asyncio.run(wrong_in("queue", [case])) != []
