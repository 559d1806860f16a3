"""Some pairs of concurrent transactions on PostgreSQL; `make interleave` tries all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import product

import pytest

from harness.store.interleaving import FAILOVER, Case, Failure, open_database, try_case
from quarterjack.store.postgres import executor
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
    Case("count days", "count days"),
    Case("resume", "add"),
]


async def failures_of(if_running: str, cases: Sequence[Case]) -> list[Failure]:
    found: list[Failure] = []
    async with open_database(if_running) as database:
        for case in cases:
            failures, statements = await try_case(database, case)
            assert statements > 2, f"{case} has statements"
            found += failures
    return found


@pytest.mark.fault("F17", "F22", "F60", "F64")
@pytest.mark.parametrize("if_running", ["allow", "queue"])
def test_concurrent_transactions_have_the_result_of_a_serial_order(if_running: str):
    assert asyncio.run(failures_of(if_running, CASES)) == []


@pytest.mark.parametrize(
    ("statement", "lock", "case"),
    [
        ("open_runs", "for update", Case("retry waiting", "claim")),
        ("schedules_by_ids", "for update", Case("pause", "edit")),
        ("lock_name", "select pg_advisory_xact_lock", Case("count days", "count days")),
    ],
)
def test_a_missing_lock_is_detected(
    monkeypatch: pytest.MonkeyPatch, statement: str, lock: str, case: Case
):
    def without_lock(name: str, dialect: str) -> str:
        text = sql(name, dialect)
        if name != statement:
            return text
        assert lock in text
        return text.replace(lock, "select" if lock.startswith("select") else "", 1)

    monkeypatch.setattr(executor, "sql", without_lock)

    assert asyncio.run(failures_of("queue", [case])) != []
