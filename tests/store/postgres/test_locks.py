"""Rows that another transaction has locked: skipped, waited for, or retried after a conflict."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from harness.store.nodes import (
    add,
    claim,
    open_stores,
    other_connection,
    pause,
    settle,
    wait_for_lock,
)
from quarterjack import rules
from quarterjack.errors import StoreUnavailable
from quarterjack.rules import Ending, Outcome
from quarterjack.times.instants import HOUR, MILLISECOND, SECOND


class TestLocks:
    def test_a_locked_schedule_is_skipped_and_rechecked_soon(self, url: str, run: Any):
        async def skip() -> tuple[int, int, int, int]:
            async with open_stores(url, 1) as (store,):
                await add(store, 2)
                other = await other_connection(url)
                await other.execute("begin; select 1 from schedules where id = 1 for update")
                now = store.now()
                first = await store.plan_due(now, 10, rules.plan)
                await other.execute("rollback")
                second = await store.plan_due(now, 10, rules.plan)
                await other.close()
                assert first.next_wake is not None
                return first.due_count, first.next_wake - now, second.due_count, second.added

        assert run(skip()) == (1, 10 * MILLISECOND, 1, 1)

    @pytest.mark.parametrize("free", [0, 1])
    def test_a_locked_run_is_skipped_and_rechecked_soon(self, url: str, run: Any, free: int):
        """Also if there was another run to claim."""

        async def skip() -> tuple[int, int]:
            async with open_stores(url, 1) as (store,):
                await add(store, 1 + free)
                await store.plan_due(store.now(), 10, rules.plan)
                other = await other_connection(url)
                await other.execute("begin; select 1 from runs where schedule_id = 1 for update")
                now = store.now()
                found = await store.claim_runs("w", ["default"], 5, now + SECOND, now)
                await other.close()
                assert found.next_ready is not None
                return len(found.claims), found.next_ready - now

        assert run(skip()) == (free, 10 * MILLISECOND)

    def test_a_lease_renewed_at_the_last_moment_is_kept(self, url: str, run: Any):
        """Recovery has read that it expired, and waits for the lock on the schedule."""

        async def recover() -> tuple[int, str]:
            async with open_stores(url) as (worker, recovering):
                await add(worker)
                now = worker.now()
                await worker.plan_due(now, 10, rules.plan)
                found = await worker.claim_runs("w", ["default"], 1, now, now)
                run = found.claims[0].run
                other = await other_connection(url)
                await other.execute("begin; select 1 from schedules for update")
                recovery = asyncio.create_task(recovering.rescue_runs(now, 10, rules.settle))
                await wait_for_lock(url)
                await worker.renew_leases("w", [run], now + HOUR)
                await other.execute("rollback")
                lost = (await recovery).lost
                state = await other.fetchval("select state from runs")
                await other.close()
                return len(lost), str(state)

        assert run(recover()) == (0, "running")

    @pytest.mark.fault("F20")
    def test_a_lock_timeout_is_an_error_and_changes_nothing(
        self, url: str, run: Any, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr("quarterjack.store.postgres.group_commit.LOCK_SECONDS", 0.2)

        async def wait() -> None:
            async with open_stores(url, 1) as (store,):
                await add(store)
                other = await other_connection(url)
                await other.execute("begin; select 1 from schedules for update")
                try:
                    await store.change_schedule(1, pause, store.now())
                finally:
                    await other.close()

        with pytest.raises(
            StoreUnavailable, match="lock timeout: another transaction holds the lock"
        ):
            run(wait())


class TestConflicts:
    def test_a_deadlock_is_retried(self, url: str, run: Any):
        """The other transaction locks in the wrong order; PostgreSQL aborts one of the two."""

        async def conflict() -> str:
            async with open_stores(url, 1) as (store,):
                await add(store, 2)
                other = await other_connection(url)
                await other.execute("set deadlock_timeout = '5s'")
                await other.execute("begin; select 1 from schedules where id = 2 for update")
                changing = asyncio.create_task(store.change_schedules([1, 2], pause, store.now()))
                await wait_for_lock(url)
                await other.execute("select 1 from schedules where id = 1 for update; commit")
                await changing
                status = await other.fetchval(
                    "select string_agg(distinct status, ' ') from schedules"
                )
                await other.close()
                return str(status)

        assert run(conflict()) == "paused"

    @pytest.mark.fault("F22")
    @pytest.mark.parametrize("state", ["40001", "40P01"])
    def test_a_conflict_at_any_write_is_retried(self, url: str, run: Any, state: str):
        """The first write fails, then the second one, and so on."""

        async def conflict() -> tuple[int, list[str]]:
            async with open_stores(url, 1) as (store,):
                other = await other_connection(url)
                await other.execute(FAIL_AT_A_WRITE.format(state=state))
                for number in itertools.count(1):
                    await other.execute(f"select setval('written', {2**40 - number})")
                    await add(store, 2, key_prefix=f"{number}-")
                    await store.plan_due(store.now(), 100, rules.plan)
                    ended = [
                        (run, Outcome(Ending.SUCCEEDED, store.now()))
                        for run in await claim(store, "w1")
                    ]
                    assert len(ended) == 2
                    assert not (await settle(store, ended)).fenced
                    if await other.fetchval("select last_value from written") < 2**40:
                        break
                states = await other.fetch("select distinct state from runs")
                await other.close()
                return number - 1, [row[0] for row in states]

        writes, states = run(conflict())

        assert writes > 8, "the number of writes in the life of a run"
        assert states == ["succeeded"]

    @pytest.mark.fault("F63")
    def test_a_column_added_by_a_newer_program_is_ignored_and_kept(self, url: str, run: Any):
        """The prepared statements are outdated, because their result has changed."""

        async def use() -> tuple[list[str], list[int]]:
            async with open_stores(url, 1) as (store,):
                await add(store, 2, circuit_breaker={"threshold": 1, "reset_after": "1h"})
                await store.plan_due(store.now(), 100, rules.plan)
                runs = await claim(store, "w1")
                other = await other_connection(url)
                for table in ("schedules", "runs", "specifications", "attempts", "gates", "nodes"):
                    await other.execute(f"alter table {table} add column later int default 7")
                await settle(store, [(run, Outcome(Ending.FAILED, store.now())) for run in runs])
                await store.plan_due(store.now() + HOUR, 100, rules.plan)
                await store.change_schedules([1, 2], pause, store.now() + HOUR)
                status = await other.fetch("select status, status_reason from schedules")
                later = await other.fetch(
                    "select distinct later from schedules join runs using (later)"
                )
                await other.close()
                return [row[0] for row in status], [row[0] for row in later]

        assert run(use()) == (["paused", "paused"], [7])


FAIL_AT_A_WRITE = """
create sequence written;
create function fail_at_a_write() returns trigger language plpgsql as $$
begin
    if nextval('written') = 2^40 then
        raise exception 'conflict' using errcode = '{state}';
    end if;
    return null;
end
$$;
""" + "".join(
    f"create trigger fail_at_a_write before insert or update or delete on {table}"
    " for each statement execute function fail_at_a_write();\n"
    for table in (
        "schedules", "specifications", "runs", "attempts", "planner_state", "events", "audit",
        "counters"
    )
)  # fmt: skip
