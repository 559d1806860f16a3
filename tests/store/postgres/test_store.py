"""Several nodes on one database: sharing work, notifications, and the clock of the database."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from harness.store.nodes import (
    add,
    claim,
    open_stores,
    other_connection,
)
from quarterjack import rules
from quarterjack.clock import SystemClock
from quarterjack.rules import Ending, Outcome, Run, Specification
from quarterjack.store.address import address_of
from quarterjack.store.postgres.store import PostgresStore
from quarterjack.targets.kinds import KINDS
from quarterjack.times.instants import HOUR, MILLISECOND, SECOND


class TestManyNodes:
    def test_plan_every_slot_exactly_once(self, url: str, run: Any):
        async def plan() -> tuple[list[int], int, int]:
            async with open_stores(url, 4) as nodes:
                await add(nodes[0], 200)
                found = []
                for _ in range(20):
                    now = nodes[0].now()
                    planning = [node.plan_due(now, 50, rules.plan) for node in nodes]
                    found += [each.due_count for each in await asyncio.gather(*planning)]
                connection = await other_connection(url)
                rows = await connection.fetchval("select count(*) from runs")
                slots = "select count(distinct (schedule_id, slot)) from runs"
                distinct = await connection.fetchval(slots)
                await connection.close()
                return found, rows, distinct

        found, rows, distinct = run(plan())
        assert (sum(found), rows, distinct) == (200, 200, 200)
        assert len([count for count in found if count]) > 1, "more than one node has planned"

    def test_claim_different_runs(self, url: str, run: Any):
        async def claim_all() -> list[list[Run]]:
            async with open_stores(url, 4) as nodes:
                await add(nodes[0], 200)
                await nodes[0].plan_due(nodes[0].now(), 1000, rules.plan)
                return await asyncio.gather(
                    *(claim(node, f"w{number}", 40) for number, node in enumerate(nodes))
                )

        runs = [run.id for each in run(claim_all()) for run in each]
        assert len(runs) == len(set(runs)) == 160

    def test_count_every_failure_of_a_shared_circuit_breaker(self, url: str, run: Any):
        breaker = {"name": "shared", "threshold": 1000, "reset_after": "1h"}

        async def fail() -> int:
            async with open_stores(url, 4) as nodes:
                await add(nodes[0], 40, circuit_breaker=breaker)
                await nodes[0].plan_due(nodes[0].now(), 1000, rules.plan)
                runs = await claim(nodes[0], "w", 40)
                outcome = Outcome(Ending.FAILED, nodes[0].now(), "no")
                settling = [
                    nodes[number % 4].settle_runs("w", [(run, outcome)], rules.settle, outcome.at)
                    for number, run in enumerate(runs)
                ]
                await asyncio.gather(*settling)
                connection = await other_connection(url)
                failures = await connection.fetchval("select failures from gates")
                await connection.close()
                return int(failures)

        assert run(fail()) == 40


class TestNotifications:
    def test_writes_of_one_node_notify_the_others_and_not_itself(self, url: str, run: Any):
        async def collect() -> list[str]:
            hints: list[str] = []
            async with open_stores(url) as (one, other):
                notified = asyncio.Event()

                def hint() -> None:
                    hints.append("other")
                    notified.set()

                watching = [
                    asyncio.create_task(one.watch(lambda: hints.append("one"))),
                    asyncio.create_task(other.watch(hint)),
                ]
                await add(one)
                await notified.wait()
                for each in watching:
                    each.cancel()
            return hints

        assert run(collect()) == ["other"]

    @pytest.mark.fault("F25")
    def test_are_rate_limited(self, url: str, run: Any):
        async def collect() -> tuple[int, int]:
            hints: list[int] = []
            async with open_stores(url) as (one, other):
                watching = asyncio.create_task(other.watch(lambda: hints.append(1)))
                began = one.now()
                for number in range(100):
                    await one.put_metadata("x", str(number))
                duration = one.now() - began
                await asyncio.sleep(0.2)
                watching.cancel()
            return len(hints), duration // (50 * MILLISECOND) + 2

        hints, limit = run(collect())
        assert 0 < hints <= limit


class TestClock:
    @pytest.mark.fault("F20")
    def test_a_locked_table_does_not_delay_the_heartbeat(self, url: str, run: Any):
        async def beat() -> bool:
            async with open_stores(url, 1) as (store,):
                other = await other_connection(url)
                await other.execute("begin; lock table runs in share mode")
                store.for_leases().connection.drop()
                await store.heartbeat()
                async with open_stores(url, 1) as (newcomer,):
                    await newcomer.heartbeat()
                await other.close()
                return True

        assert run(beat())


def test_now_is_the_time_of_the_database(url: str, run: Any):
    class Ahead(SystemClock):
        def since_boot(self) -> int:
            return super().since_boot() + 1000 * HOUR

        def now(self) -> int:
            raise AssertionError("the clock of the host is not read")

    async def read() -> int:
        store = await PostgresStore(address_of(url), Ahead(), "node", KINDS).open(create=True)
        try:
            return store.now() - SystemClock().now()
        finally:
            await store.close()

    assert abs(run(read())) < 50 * MILLISECOND


def test_a_specification_is_read_back_unchanged(url: str, run: Any):
    async def read() -> tuple[Specification, Any]:
        async with open_stores(url) as (one, other):
            await add(one, payload={"text": "ä\U0001f600", "number": 2**62})
            await other.plan_due(other.now(), 10, rules.plan)
            now = other.now()
            found = await other.claim_runs("w", ["default"], 1, now, now)
            return found.claims[0].specification, found.claims[0].key

    specification, key = run(read())
    assert (key, dict(specification.payload)) == (
        "k0",
        {"text": "ä\U0001f600", "number": 2**62},
    )


def test_leases_and_heartbeats_do_not_wait_for_a_blocked_event_loop(url: str, run: Any):
    """They are used from another thread, with a connection of its own."""

    async def use(store: PostgresStore) -> tuple[int, bool]:
        leases = store.for_leases()
        before = await leases.read_clock()
        await leases.heartbeat()
        await leases.renew_leases("w1", [], before)
        await leases.close()
        return before, leases.now() >= before

    async def block() -> tuple[int, bool]:
        async with open_stores(url, 1) as (store,):
            with ThreadPoolExecutor(1) as thread:
                found = thread.submit(asyncio.run, use(store)).result(20)  # blocks
            assert abs(store.now() - found[0]) < 20 * SECOND
            return found

    assert run(block())[1]
