"""Addresses; connections that are lost, pooled or refused."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from harness.store.nodes import (
    add,
    open_stores,
    other_connection,
    pause,
    wait_for_lock,
)
from harness.store.pool import pooled
from harness.store.server import server
from quarterjack import rules
from quarterjack.clock import SystemClock
from quarterjack.errors import StoreUnavailable, StoreUnusable
from quarterjack.rules import Specification
from quarterjack.store.address import address_of
from quarterjack.store.postgres.store import PostgresStore
from quarterjack.targets.kinds import KINDS
from quarterjack.times.instants import SECOND


class TestLost:
    @pytest.mark.fault("F16")
    def test_a_connection_lost_in_a_transaction_is_reopened(self, url: str, run: Any):
        async def lose() -> str:
            async with open_stores(url, 1) as (store,):
                await add(store)
                other = await other_connection(url)
                await other.execute("begin; select 1 from schedules for update")
                changing = asyncio.create_task(store.change_schedule(1, pause, store.now()))
                await wait_for_lock(url)
                await other.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity"
                    " where application_name = 'node 0'"
                )
                with pytest.raises(StoreUnavailable, match=r"connection lost|shutting down"):
                    await changing
                await other.execute("rollback")
                status = await other.fetchval("select status from schedules")
                await other.close()
                plans = await store.change_schedule(1, pause, store.now())
                return f"{status}, {plans.plans[0].schedule.status}"

        assert run(lose()) == "active, paused"

    @pytest.mark.fault("F17", "F24")
    @pytest.mark.parametrize("is_pooled", [False, True])
    def test_a_failover_that_assigns_an_id_again_empties_the_cache(
        self, url: str, run: Any, is_pooled: bool
    ):
        """The new primary has lost the last transaction, and assigns the id to another schedule.
        Behind a pooler the connection survives, so the failover goes unnoticed."""

        async def fail_over(address: str) -> tuple[str, Specification, str]:
            node = await PostgresStore(address_of(address), SystemClock(), "a", KINDS).open(
                create=True
            )
            async with open_stores(url, 1) as [other]:
                await add(node, command=["remove", "/srv/old"])
                primary = await other_connection(url)
                await primary.execute(
                    "delete from schedules; delete from specifications;"
                    " update counters set value = 0"
                )
                if not is_pooled:
                    assert node._executor.connection._connection is not None
                    node._executor.connection._connection.terminate()
                await add(other, key_prefix="other", command=["back", "up"], every="2h")
                await node.plan_due(node.now(), 10, rules.plan)
                now = node.now()
                found = await node.claim_runs("w", ["default"], 5, now + 10 * SECOND, now)
                (claim,) = found.claims
                body = await primary.fetchval("select body from specifications")
                await primary.close()
                await node.close()
                return claim.key, claim.specification, body

        with pooled(f"{url}&sslmode=disable", server().port) as through:
            key, specification, body = run(fail_over(through if is_pooled else url))

        assert (key, specification.text) == ("other0", body)
        assert specification.target.fields["command"] == ["back", "up"]

    @pytest.mark.fault("F16")
    def test_a_termination_message_that_is_read_late_counts_as_a_lost_connection(
        self, url: str, run: Any
    ):
        """And not as an error of the next statement."""

        async def terminate() -> set[str]:
            answers = set()
            async with open_stores(url, 1) as (store,):
                other = await other_connection(url)
                for _ in range(30):
                    pid = (await store._executor.connection.get()).get_server_pid()
                    await other.execute(f"select pg_terminate_backend({pid})")
                    try:
                        answers.add(str(await store.read_metadata("anything")))
                    except StoreUnavailable:
                        answers.add("unavailable")
                await other.close()
            return answers

        assert run(terminate()) <= {"unavailable", "None"}

    def test_an_unreachable_server_is_reported_without_secrets(self, run: Any):
        address = address_of("postgresql://ada:secret@127.0.0.1:1/app")

        with pytest.raises(StoreUnavailable) as error:
            run(PostgresStore(address, SystemClock(), "node", KINDS).open(create=True))

        assert re.match(
            r"database postgresql://127.0.0.1:1/app: cannot be reached \(.*\);"
            " check the address, and whether the server is running",
            str(error.value),
        )
        assert "secret" not in str(error.value)


def test_an_invalid_schema_name_is_refused():
    with pytest.raises(StoreUnusable, match="use lower-case letters, digits and _"):
        address_of("postgresql://app@db/app?schema=a;drop")


def test_an_address_is_shown_without_secrets_and_with_its_schema():
    url = "postgresql://ada@one:5432,two:5433/app?password=s3cret&schema=reports"

    assert str(address_of(url)) == "postgresql://one:5432,two:5433/app?schema=reports"
    assert str(address_of("postgres://db/app?schema=quarterjack")) == "postgres://db/app"
