"""`doctor` on PostgreSQL: what can be wrong there is told, with what to do about it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from click.testing import CliRunner

from cli.test_database import At
from cli.test_database_on_postgres import everything, lived, query
from harness.store import server as servers
from harness.store.pool import pooled
from harness.store.server import Server
from quarterjack.app import SystemRuntime
from quarterjack.cli import commands
from quarterjack.clock import SystemClock
from quarterjack.store.postgres import doctor as postgres_diagnosis
from quarterjack.store.postgres.connection import address_of
from quarterjack.times.instants import HOUR, MINUTE, to_text


def server() -> Server:
    """One that forgets nothing: of another the doctor would warn."""
    return servers.server(fsync="on")


def new_url(at: Server) -> str:
    return f"{at.url}?schema=s{uuid4().hex[:12]}"


@pytest.fixture
def url() -> str:
    """A database that was planned a moment ago."""
    return lived(new_url(server()), now=SystemClock().now() - 3 * HOUR)


def examined(url: str, code: int = 0, world: SystemRuntime | None = None) -> list[dict[str, Any]]:
    arguments = ["doctor", "--json", "--database", url]
    result = CliRunner().invoke(commands, arguments, obj=world or SystemRuntime())
    assert result.exit_code == code, result.output
    told = json.loads(result.output)
    assert told["ok"] is (code == 0)
    findings: list[dict[str, Any]] = told["findings"]
    assert all(bool(each["remedy"]) is (each["level"] != "ok") for each in findings)
    return findings


def wrong(url: str, code: int = 0, world: SystemRuntime | None = None) -> list[str]:
    """What is not well, and how bad that is."""
    found = examined(url, code, world)
    return [f"{each['level']}: {each['what']}" for each in found if each["level"] != "ok"]


def remedy(url: str, what: str) -> str:
    """What is to be done about it."""
    (found,) = [each for each in examined(url) if what in each["what"]]
    return str(found["remedy"])


class TestAWellOne:
    def test_nothing_is_wrong_and_it_only_reads(self, url: str):
        before = everything(url)

        assert wrong(url) == []
        assert everything(url) == before

    def test_what_was_looked_at_is_told(self, url: str):
        told = "\n".join(each["what"] for each in examined(url))

        for said in (
            "PostgreSQL 1",
            "at schema",
            "this user may do what a node does",
            "the clocks of the database and of this host agree",
            "fsync, full_page_writes, synchronous_commit, autovacuum are on",
            "of 147 connections are used",
            "hints arrive",
            "no transaction is open for long",
            f"dead rows in {address_of(url).schema}.runs",
            f"dead rows in {address_of(url).schema}.schedules",
            "no schedule is overdue",
            "no schedule is invalid or dead",
            "no run was left behind by its worker",
            "no notice waits to be told",
        ):
            assert said in told


class TestThatItCannotBeUsed:
    def test_nobody_is_there(self):
        (told,) = wrong("postgresql://ada:s3cret@127.0.0.1:1/app", code=1)

        assert "failed: database postgresql://127.0.0.1:1/app: the connection is lost" in told

    def test_nothing_of_ours_is_there(self):
        assert "nothing of ours is there" in str(wrong(new_url(server()), code=1))

    def test_it_is_of_an_older_program(self, url: str, later: Any):
        later("create table more (id bigint)")

        assert examined(url, code=1)[-1]["remedy"] == "run `quarterjack db upgrade`"


class TestPlans:
    """By the clock of the database, which nobody can set here: so what is stored is moved."""

    def test_nobody_has_ever_planned(self):
        url = new_url(server())
        CliRunner().invoke(commands, ["db", "upgrade", "--database", url], obj=SystemRuntime())

        assert wrong(url) == ["warning: nobody has ever planned here"]

    def test_nobody_plans_though_something_is_due(self, url: str):
        then = SystemClock().now() - 10 * MINUTE
        query(
            url,
            f"update planner_state set last_look = {then}",
            f"update schedules set wake_at = {then}",
        )

        found = wrong(url, code=1)

        assert found[0].startswith(
            f"failed: nobody plans: the last look at what is due was at {to_text(then)}"
        )
        assert found[1] == "warning: overdue for more than a minute: hourly, slow"

    def test_what_ails_is_told(self, url: str):
        then = SystemClock().now() - 11 * MINUTE
        query(
            url,
            "update schedules set status = 'dead' where id = 1",
            f"update runs set lease_until = {then} where schedule_id = 2",
            "insert into metadata values ('zone_data', '2020a')",
            f"insert into outbox (kind, at, about) values ('x', {then}, '[]')",
        )

        zones, *found = wrong(url)

        assert "zone data: the database has planned with 2020a" in zones
        assert found == [
            "warning: schedules that do not run any more: hourly (dead)",
            "warning: their leases lapsed long ago: runs 2-0",
            f"warning: notices wait to be told since {to_text(then)}",
        ]


class TestTheClock:
    def test_this_host_may_be_ahead_or_behind(self, url: str):
        now = SystemClock().now()

        (ahead,) = wrong(url, world=At(now + HOUR))
        (behind,) = wrong(url, world=At(now - HOUR))

        assert ahead.startswith("warning: the clock of this host is 3,")
        assert "s ahead of the database's" in ahead
        assert "s behind the database's" in behind


class TestTheServer:
    def test_hints_do_not_arrive_through_a_pool(self, url: str):
        with pooled(f"{url}&sslmode=disable", server().port) as through:
            assert wrong(through) == [
                "warning: hints do not arrive: a pool gives this connection to others, too"
            ]

    def test_a_strangers_open_transaction_is_told_with_its_process(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(postgres_diagnosis, "LONG_OPEN", 0)

        async def beside() -> tuple[str, str, int]:
            settings = {"application_name": "browser"}
            stranger = await asyncpg.connect(server().url, server_settings=settings)
            await stranger.execute("begin; select 1")
            pid = stranger.get_server_pid()
            (told,) = await asyncio.to_thread(wrong, url)
            advice = await asyncio.to_thread(remedy, url, "open transactions")
            await stranger.close()
            return told, advice, pid

        told, advice, pid = asyncio.run(beside())

        start = f"warning: open transactions keep vacuum from its work: browser (pid {pid}) since 2"
        assert told.startswith(start)
        assert f"`select pg_terminate_backend({pid})`" in advice
        assert wrong(url) == []

    def test_settings_that_may_lose_what_was_acknowledged(self, careless: Server):
        url = lived(new_url(careless), now=SystemClock().now() - 3 * HOUR)

        assert wrong(url) == [
            "warning: fsync and full_page_writes and synchronous_commit and autovacuum off"
        ]
        assert "a crash of the host may damage it" in remedy(url, "fsync")

    def test_connections_that_are_nearly_used_up(self, careless: Server):
        url = lived(new_url(careless), now=SystemClock().now() - 3 * HOUR)

        async def beside() -> list[str]:
            held = [await asyncpg.connect(careless.url) for _ in range(7)]
            told = await asyncio.to_thread(wrong, url)
            for each in held:
                await each.close()
            return told

        assert any("of 9 connections are used" in told for told in asyncio.run(beside()))

    def test_dead_rows_that_vacuum_does_not_remove(
        self, careless: Server, monkeypatch: pytest.MonkeyPatch
    ):
        url = lived(new_url(careless), now=SystemClock().now() - 3 * HOUR)
        monkeypatch.setattr(postgres_diagnosis, "DEAD_ROWS", 10)
        query(url, *["update runs set error = 'x'"] * 20)
        for _ in range(500):
            if query(url, "select 1 from pg_stat_user_tables where n_dead_tup > 20"):
                break
            time.sleep(0.01)

        table = f"{address_of(url).schema}.runs"
        (told,) = [each for each in wrong(url) if "dead rows" in each]
        assert f"dead rows in {table} beside" in told
        assert told.endswith("autovacuum was there not yet")
        assert f"`vacuum {table}`" in remedy(url, f"dead rows in {table}")


@pytest.fixture(scope="module")
def careless() -> Iterator[Server]:
    """A server that nobody should rely on."""
    off = dict.fromkeys(("fsync", "full_page_writes", "synchronous_commit", "autovacuum"), "off")
    made = Server(max_connections="12", **off)
    yield made
    made.close()


class TestRights:
    def test_one_who_may_look_at_some_tables_only_is_told_which(self, url: str):
        user, schema = f"u{uuid4().hex[:8]}", address_of(url).schema
        query(
            url,
            f"create role {user} login",
            f"grant usage on schema {schema} to {user}",
            f"grant select on {schema}.migrations to {user}",
        )

        found = wrong(url.replace("//app@", f"//{user}@"), code=1)

        assert found == [
            "failed: this user may not read attempts, audit, counters, daily_stats, events "
            "and others"
        ]

    def test_a_table_that_came_later_and_was_not_granted_is_told(self, url: str):
        user, schema = f"u{uuid4().hex[:8]}", address_of(url).schema
        query(
            url,
            f"create role {user} login",
            f"grant usage on schema {schema} to {user}",
            f"grant select, insert, update, delete on all tables in schema {schema} to {user}",
            f"revoke insert, update on {schema}.events from {user}",
        )

        found = wrong(url.replace("//app@", f"//{user}@"))

        assert found == ["warning: this user may not insert events, update events"]

    def test_whose_transactions_are_hidden_is_told_so(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(postgres_diagnosis, "LONG_OPEN", 0)
        user, schema = f"u{uuid4().hex[:8]}", address_of(url).schema
        granted = f"grant select on all tables in schema {schema} to {user}"
        query(
            url, f"create role {user} login", f"grant usage on schema {schema} to {user}", granted
        )
        viewing = url.replace("//app@", f"//{user}@")

        async def beside() -> list[dict[str, Any]]:
            stranger = await asyncpg.connect(server().url)
            await stranger.execute("begin; select pg_current_xact_id()")
            found = await asyncio.to_thread(examined, viewing)
            await stranger.close()
            return found

        told = [each["what"] for each in asyncio.run(beside())]
        assert "this user may look, and change nothing" in told
        assert any("pg_read_all_stats would show those of other users" in each for each in told)
