"""`doctor` on PostgreSQL: each problem is reported with a remedy."""

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

from cli.test_database_on_postgres import everything, populated, query
from harness.cli.command_line import FixedRuntime
from harness.store import server as servers
from harness.store.pool import pooled
from harness.store.server import Server
from quarterjack.cli import commands
from quarterjack.cli.runtime import Runtime
from quarterjack.clock import SystemClock
from quarterjack.store.address import address_of
from quarterjack.store.postgres import doctor as postgres_doctor
from quarterjack.times.instants import HOUR, MINUTE, to_text


def server() -> Server:
    """A durable server; the doctor warns about the one of the other tests."""
    return servers.server(fsync="on")


def new_url(at: Server) -> str:
    return f"{at.url}?schema=s{uuid4().hex[:12]}"


@pytest.fixture
def url() -> str:
    """A database whose planner ran a moment ago."""
    return populated(new_url(server()), now=SystemClock().now() - 3 * HOUR)


def findings_of(url: str, code: int = 0, runtime: Runtime | None = None) -> list[dict[str, Any]]:
    arguments = ["doctor", "--json", "--database", url]
    result = CliRunner().invoke(commands, arguments, obj=runtime or Runtime())
    assert result.exit_code == code, result.output
    answer = json.loads(result.output)
    assert answer["ok"] is (code == 0)
    findings: list[dict[str, Any]] = answer["findings"]
    assert all(bool(each["remedy"]) is (each["level"] != "ok") for each in findings)
    return findings


def problems_of(url: str, code: int = 0, runtime: Runtime | None = None) -> list[str]:
    """Level and text of every finding that is not ok."""
    found = findings_of(url, code, runtime)
    return [f"{each['level']}: {each['what']}" for each in found if each["level"] != "ok"]


def remedy(url: str, what: str) -> str:
    """The remedy of the only finding with this text."""
    (found,) = [each for each in findings_of(url) if what in each["what"]]
    return str(found["remedy"])


class TestHealthyDatabase:
    def test_there_are_no_problems_and_nothing_is_written(self, url: str):
        before = everything(url)

        assert problems_of(url) == []
        assert everything(url) == before

    def test_every_check_that_passed_is_listed(self, url: str):
        found = "\n".join(each["what"] for each in findings_of(url))

        for text in (
            "PostgreSQL 1",
            "at schema",
            "privileges: all that a node needs",
            "the clocks of the database and of this host agree",
            "fsync, full_page_writes, synchronous_commit, autovacuum are on",
            "of 147 connections used",
            "connected directly, so notifications arrive",
            "no long-running transactions",
            f"dead rows in {address_of(url).schema}.runs",
            f"dead rows in {address_of(url).schema}.schedules",
            "no overdue schedules",
            "no invalid or dead schedules",
            "no running runs with expired leases",
            "no pending notifications",
        ):
            assert text in found


class TestUnusableDatabase:
    def test_an_unreachable_server(self):
        (problem,) = problems_of("postgresql://ada:s3cret@127.0.0.1:1/app", code=1)

        assert "failed: database postgresql://127.0.0.1:1/app: cannot be reached" in problem

    def test_a_database_without_our_schema(self):
        assert "no Quarterjack schema in this database" in str(
            problems_of(new_url(server()), code=1)
        )

    def test_an_older_schema(self, url: str, add_migration: Any):
        add_migration("create table more (id bigint)")

        assert findings_of(url, code=1)[-1]["remedy"] == "run `quarterjack db upgrade`"


class TestSchedules:
    """The clock of the database cannot be set here, so the tests move the stored instants."""

    def test_no_planner_has_ever_run(self):
        url = new_url(server())
        CliRunner().invoke(commands, ["db", "upgrade", "--database", url], obj=Runtime())

        assert problems_of(url) == ["warning: no planner has ever run"]

    def test_no_planner_while_schedules_are_due(self, url: str):
        then = SystemClock().now() - 10 * MINUTE
        query(
            url,
            f"update planner_state set last_look = {then}",
            f"update schedules set wake_at = {then}",
        )

        found = problems_of(url, code=1)

        assert found[0].startswith(
            f"failed: no planner is running: last planner step at {to_text(then)}"
        )
        assert found[1] == "warning: schedules overdue for more than a minute: hourly, slow"

    def test_problems_of_schedules_runs_and_notifications(self, url: str):
        then = SystemClock().now() - 11 * MINUTE
        query(
            url,
            "update schedules set status = 'dead' where id = 1",
            f"update runs set lease_until = {then} where schedule_id = 2",
            "insert into metadata values ('zone_data', '2020a')",
            f"insert into outbox (kind, at, about) values ('x', {then}, '[]')",
        )

        zones, *found = problems_of(url)

        assert "time zone data: slots were computed with 2020a" in zones
        assert found == [
            "warning: invalid or dead schedules: hourly (dead)",
            "warning: running runs whose leases expired long ago: 2-0",
            f"warning: notifications pending since {to_text(then)}",
        ]


class TestClock:
    def test_a_clock_of_this_host_that_is_ahead_or_behind(self, url: str):
        now = SystemClock().now()

        (ahead,) = problems_of(url, runtime=FixedRuntime(now + HOUR))
        (behind,) = problems_of(url, runtime=FixedRuntime(now - HOUR))

        assert ahead.startswith("warning: the clock of this host is 3,")
        assert "s ahead of the database's" in ahead
        assert "s behind the database's" in behind


class TestServer:
    def test_a_pooler_in_between_stops_notifications(self, url: str):
        with pooled(f"{url}&sslmode=disable", server().port) as through:
            assert problems_of(through) == [
                "warning: connected through a pooler, so notifications do not arrive"
            ]

    def test_a_long_open_transaction_is_reported_with_its_process(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(postgres_doctor, "LONG_TRANSACTION", 0)

        async def beside() -> tuple[str, str, int]:
            settings = {"application_name": "browser"}
            other = await asyncpg.connect(server().url, server_settings=settings)
            await other.execute("begin; select 1")
            pid = other.get_server_pid()
            (problem,) = await asyncio.to_thread(problems_of, url)
            advice = await asyncio.to_thread(remedy, url, "long-running transactions")
            await other.close()
            return problem, advice, pid

        problem, advice, pid = asyncio.run(beside())

        start = f"warning: long-running transactions hold back vacuum: browser (pid {pid}) since 2"
        assert problem.startswith(start)
        assert f"`select pg_terminate_backend({pid})`" in advice
        assert problems_of(url) == []

    def test_settings_that_may_lose_acknowledged_commits(self, unsafe_server: Server):
        url = populated(new_url(unsafe_server), now=SystemClock().now() - 3 * HOUR)

        assert problems_of(url) == [
            "warning: fsync and full_page_writes and synchronous_commit and autovacuum off"
        ]
        assert "a crash of the host may corrupt the database" in remedy(url, "fsync")

    def test_nearly_all_connections_in_use(self, unsafe_server: Server):
        url = populated(new_url(unsafe_server), now=SystemClock().now() - 3 * HOUR)

        async def beside() -> list[str]:
            held = [await asyncpg.connect(unsafe_server.url) for _ in range(7)]
            found = await asyncio.to_thread(problems_of, url)
            for each in held:
                await each.close()
            return found

        assert any("of 9 connections used" in found for found in asyncio.run(beside()))

    def test_dead_rows_that_vacuum_cannot_remove(
        self, unsafe_server: Server, monkeypatch: pytest.MonkeyPatch
    ):
        url = populated(new_url(unsafe_server), now=SystemClock().now() - 3 * HOUR)
        monkeypatch.setattr(postgres_doctor, "DEAD_ROWS", 10)
        query(url, *["update runs set error = 'x'"] * 20)
        for _ in range(500):
            if query(url, "select 1 from pg_stat_user_tables where n_dead_tup > 20"):
                break
            time.sleep(0.01)

        table = f"{address_of(url).schema}.runs"
        (problem,) = [each for each in problems_of(url) if "dead rows" in each]
        assert f"dead rows in {table}, " in problem
        assert problem.endswith("last autovacuum: never")
        assert f"`vacuum {table}`" in remedy(url, f"dead rows in {table}")


@pytest.fixture(scope="module")
def unsafe_server() -> Iterator[Server]:
    """A server with settings that may lose commits."""
    off = dict.fromkeys(("fsync", "full_page_writes", "synchronous_commit", "autovacuum"), "off")
    server = Server(max_connections="12", **off)
    yield server
    server.close()


class TestPrivileges:
    def test_tables_that_the_user_cannot_read_are_named(self, url: str):
        user, schema = f"u{uuid4().hex[:8]}", address_of(url).schema
        query(
            url,
            f"create role {user} login",
            f"grant usage on schema {schema} to {user}",
            f"grant select on {schema}.migrations to {user}",
        )

        found = problems_of(url.replace("//app@", f"//{user}@"), code=1)

        assert found == [
            "failed: missing privilege: select on attempts, audit, counters, daily_stats, events "
            "and others"
        ]

    def test_privileges_missing_on_one_table_are_named(self, url: str):
        user, schema = f"u{uuid4().hex[:8]}", address_of(url).schema
        query(
            url,
            f"create role {user} login",
            f"grant usage on schema {schema} to {user}",
            f"grant select, insert, update, delete on all tables in schema {schema} to {user}",
            f"revoke insert, update on {schema}.events from {user}",
        )

        found = problems_of(url.replace("//app@", f"//{user}@"))

        assert found == ["warning: missing privileges: insert on events, update on events"]

    def test_hidden_transactions_of_other_users_are_mentioned(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(postgres_doctor, "LONG_TRANSACTION", 0)
        user, schema = f"u{uuid4().hex[:8]}", address_of(url).schema
        granted = f"grant select on all tables in schema {schema} to {user}"
        query(
            url, f"create role {user} login", f"grant usage on schema {schema} to {user}", granted
        )
        viewing = url.replace("//app@", f"//{user}@")

        async def beside() -> list[dict[str, Any]]:
            other = await asyncpg.connect(server().url)
            await other.execute("begin; select pg_current_xact_id()")
            found = await asyncio.to_thread(findings_of, viewing)
            await other.close()
            return found

        found = [each["what"] for each in asyncio.run(beside())]
        assert "privileges: read-only" in found
        assert any("visible only with pg_read_all_stats" in each for each in found)
