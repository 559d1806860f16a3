"""Statements on PostgreSQL: their validity, how many are sent, and which plans they get."""

from __future__ import annotations

import re
from typing import Any

import asyncpg
import pytest

from harness.store.dead_rows import claims_beside_dead_rows
from harness.store.nodes import (
    add,
    claim,
    open_stores,
    other_connection,
)
from quarterjack import rules
from quarterjack.rules import Ending, Outcome
from quarterjack.store.address import address_of
from quarterjack.store.postgres.executor import batch_of
from quarterjack.store.postgres.store import PostgresStore
from quarterjack.store.statements import SQL_FOLDER, sql


class TestStatements:
    NAMES = sorted(
        {file.stem for file in [*SQL_FOLDER.glob("*.sql"), *SQL_FOLDER.glob("postgres/*.sql")]}
    )

    BATCHED = re.compile(r"^values \(|^update ", re.MULTILINE)
    NOT_BATCHED = re.compile(r"returning|any\(")

    def test_are_valid_for_one_row_and_for_many(self, url: str, run: Any):
        async def prepare() -> int:
            count = 0
            async with open_stores(url, 1):
                connection = await other_connection(url)
                for name in self.NAMES:
                    for text in sql(name, "postgres").split(";\n"):
                        found = await connection.prepare(text)
                        types = [parameter.name for parameter in found.get_parameters()]
                        if (
                            types
                            and self.BATCHED.search(text)
                            and not self.NOT_BATCHED.search(text)
                        ):
                            await connection.prepare(batch_of(text, tuple(types)))
                            count += 1
                await connection.close()
            return count

        assert run(prepare()) > 15

    def test_are_as_many_for_a_thousand_rows_as_for_two_and_fewer_for_one(self, url: str, run: Any):
        """Single rows of several tables are combined into one statement."""

        async def count(due: int) -> int:
            async with open_stores(f"{url}{due}", 1) as (store,):
                await add(store, due)
                before = store.statements
                await store.plan_due(store.now(), 1000, rules.plan)
                runs = await claim(store, "w")
                outcome = Outcome(Ending.SUCCEEDED, store.now())
                await store.settle_runs("w", [(r, outcome) for r in runs], rules.settle, outcome.at)
                return store.statements - before

        assert run(count(999)) == run(count(2)) == 20
        assert run(count(1)) == 15


class TestPlans:
    @pytest.mark.parametrize("analyzed", [False, True])
    @pytest.mark.parametrize(
        "name", ["put_schedules", "close_runs", "put_runs", "close_waiting_runs"]
    )
    def test_a_batch_looks_up_each_row_by_primary_key(
        self, url: str, run: Any, name: str, analyzed: bool
    ):
        """Whatever the statistics say about how many rows are running, or not deleted."""

        async def plans() -> tuple[str, str]:
            async with open_stores(url, 1) as (store,):
                await fill(store, url, analyzed=analyzed)
                connection = await other_connection(url)
                return await explain(connection, *await batch(connection, name, 500))

        assert all(
            re.search(r"Index Scan using (runs|schedules)_pkey", each) for each in run(plans())
        )

    @pytest.mark.parametrize("analyzed", [False, True])
    @pytest.mark.parametrize("name", ["held_leases", "renew_leases"])
    def test_leases_are_looked_up_by_primary_key(
        self, url: str, run: Any, name: str, analyzed: bool
    ):
        wanted = [list(range(1, 501)), [0] * 500, [1] * 500]
        values = [*wanted, "w"] if name == "held_leases" else [5, "w", *wanted]

        async def plans() -> tuple[str, str]:
            async with open_stores(url, 1) as (store,):
                await fill(store, url, analyzed=analyzed)
                return await explain(await other_connection(url), sql(name, "postgres"), values)

        assert all("Index Scan using runs_pkey" in each for each in run(plans()))


async def fill(store: PostgresStore, url: str, *, analyzed: bool) -> None:
    """Schedules with a running run each; if at all, analyzed before they were claim."""
    await add(store, 2000)
    for _ in range(2):
        await store.plan_due(store.now(), 1000, rules.plan)
    connection = await other_connection(url)
    if analyzed:
        await connection.execute("analyze")
    await connection.close()
    for _ in range(2):
        await claim(store, "w")


async def batch(connection: asyncpg.Connection, name: str, count: int) -> tuple[str, list[Any]]:
    """A statement for many rows, and its parameters."""
    text = sql(name, "postgres")
    types = [each.name for each in (await connection.prepare(text)).get_parameters()]
    values = [
        "{" + ",".join(map(str, range(count))) + "}" if kind == "int8" else ["x"] * count
        for kind in types
    ]
    return batch_of(text, tuple(types)), values


async def explain(connection: asyncpg.Connection, text: str, values: list[Any]) -> tuple[str, str]:
    """The custom plan for these values, and the generic plan."""
    with_these = await connection.fetch(f"explain {text}", *values)
    await connection.execute(f"set plan_cache_mode = force_generic_plan; prepare kept as {text}")
    nothing = ", ".join(["null"] * len(values))
    with_any = await connection.fetch(f"explain execute kept({nothing})")
    await connection.close()
    custom, generic = ("\n".join(row[0] for row in rows) for rows in (with_these, with_any))
    return custom, generic


def test_a_claim_reads_no_more_rows_than_it_claims(url: str, run: Any):
    async def explain_claim() -> list[str]:
        async with open_stores(url, 1) as (store,):
            await add(store, 1000)
            await store.plan_due(store.now(), 1000, rules.plan)
            connection = await other_connection(url)
            await connection.execute(f"prepare claim as {sql('claim_runs', 'postgres')}")
            await connection.execute("set plan_cache_mode = force_generic_plan")
            values = f"'w', {store.now()}, {store.now()}, 'default', 0, 5"
            rows = await connection.fetch(f"explain (analyze, timing off) execute claim({values})")
            await connection.close()
            return [line for (line,) in rows]

    (scan,) = [line for line in run(explain_claim()) if "runs_queued" in line]

    assert "rows=5" in scan.partition("actual")[2]


@pytest.mark.fault("F23")
def test_a_claim_stays_fast_beside_thousands_of_dead_rows(url: str, run: Any):
    """At most ten times as slow as without dead rows."""

    async def median_ms(dead: int) -> float:
        async with open_stores(f"{url}{dead}", 1) as (store,):
            await add(store, 1000)
            await store.plan_due(store.now(), 1000, rules.plan)
            address = address_of(f"{url}{dead}")
            median, _ = await claims_beside_dead_rows(store, address, 1000, dead)
            return median

    assert run(median_ms(24_000)) < 10 * run(median_ms(0))
