"""The grants listed in docs/postgresql.md are sufficient and minimal."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import asyncpg
import pytest
from click.testing import CliRunner, Result

from harness.cli.databases import populate
from harness.store.server import server
from harness.store.stores import client_of, postgres_at
from quarterjack.cli import commands
from quarterjack.cli.runtime import Runtime
from quarterjack.clock import SystemClock
from quarterjack.times.instants import DAY

DOCUMENT = Path(__file__).parents[2] / "docs" / "postgresql.md"
BLOCKS = re.findall(r"```sql\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
(GRANTS,) = [block for block in BLOCKS if "grant " in block]


class Roles(NamedTuple):
    """A schema and its address for each of three roles."""

    schema: str
    owner: str
    worker: str
    viewer: str


@pytest.fixture
def roles() -> Iterator[Roles]:
    """The owner, who has created the tables, and two roles with the documented grants."""
    mark = uuid4().hex[:8]
    schema = f"s{mark}"
    names = [f"{each}_{mark}" for each in ("owner", "worker", "viewer")]
    execute(server().url, *(f"create role {name} login" for name in names))
    execute(server().url, f"grant connect, create on database postgres to {names[0]}")
    urls = [f"{server().url}?schema={schema}".replace("//app@", f"//{name}@") for name in names]
    assert run(urls[0], "db", "upgrade").exit_code == 0
    text = GRANTS.replace("schema quarterjack", f"schema {schema}")
    for name in names[1:]:
        text = re.sub(rf"\b{name.partition('_')[0]}\b", name, text)
    execute(urls[0], text)
    yield Roles(schema, *urls)
    execute(server().url, *(f"drop owned by {name} cascade; drop role {name}" for name in names))


def role_of(url: str) -> str:
    return url.removeprefix("postgresql://").partition("@")[0]


def execute(url: str, *statements: str) -> None:
    async def execute_all() -> None:
        connection = await asyncpg.connect(url.partition("?")[0])
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()

    asyncio.run(execute_all())


def run(url: str, *arguments: str) -> Result:
    return CliRunner().invoke(commands, [*arguments, "--database", url], obj=Runtime())


def is_refused(url: str, statement: str) -> bool:
    try:
        execute(url, statement)
    except asyncpg.InsufficientPrivilegeError:
        return True
    return False


class TestWorker:
    def test_can_do_everything_a_node_does(self, roles: Roles):
        long_ago = SystemClock().now() - 100 * DAY
        with client_of(partial(postgres_at, roles.worker), long_ago) as client:
            populate(client, 5)
            client.add("poor", every="1h", circuit_breaker={"threshold": 1, "reset_after": "1h"})
            client.clock.instant += DAY
            assert len(client.rescue().lost) == 1
            client.plan()
            client.settle(
                *((claim.run, client.outcome("failed", error="no")) for claim in client.claim())
            )
            notifications = client(client.store.unsent_notifications(10))
            client(client.store.mark_sent(notifications, client.now))
            assert notifications

        pruned = run(roles.worker, "db", "prune")

        assert not pruned.output.startswith("pruned 0 rows"), pruned.output
        assert pruned.exit_code == 0

    def test_can_run_a_service(self, roles: Roles, tmp_path: Path):
        file = tmp_path / "quarterjack.yaml"
        file.write_text("schedules:\n  often: {every: 100ms, command: ['true']}\n")
        arguments = ["up", str(file), "--port", "0", "--database", roles.worker]
        with (tmp_path / "log").open("wb") as log:
            service = subprocess.Popen(
                [sys.executable, "-m", "quarterjack", *arguments], stdout=log, stderr=log
            )
        try:
            wait_for(lambda: "succeeded" in run(roles.viewer, "runs", "list").output)
        finally:
            service.send_signal(signal.SIGTERM)
            ended = service.wait(30)
        log_text = (tmp_path / "log").read_text()
        assert (ended, "ERROR" in log_text, "may not" in log_text) == (0, False, False), log_text

    def test_can_make_control_requests(self, roles: Roles):
        populate_schema(roles)

        verbs = [["pause", "hourly"], ["resume", "hourly"], ["run", "hourly"], ["rm", "hourly"]]
        verbs += [["list"], ["runs", "list"], ["audit"], ["db", "check"]]

        assert [run(roles.worker, *each).exit_code for each in verbs] == [0] * len(verbs)
        assert "privileges: all that a node needs" in run(roles.worker, "doctor").output

    @pytest.mark.parametrize(
        "statement",
        [
            "create table {}.more (id bigint)",
            "create schema more",
            "alter table {}.runs add column more text",
            "alter table {}.audit disable trigger all",
            "create index more on {}.runs (state)",
            "truncate {}.runs",
            "drop table {}.runs",
            "drop schema {} cascade",
        ],
    )
    def test_cannot_create_or_change_tables(self, roles: Roles, statement: str):
        assert is_refused(roles.worker, statement.format(roles.schema))


class TestViewer:
    def test_can_read_everything(self, roles: Roles):
        populate_schema(roles)

        verbs = [["list"], ["show", "hourly"], ["runs", "list"], ["runs", "show", "1-0"]]
        verbs += [["runs", "logs", "1-0"], ["audit"], ["db", "check"]]

        assert [run(roles.viewer, *each).exit_code for each in verbs] == [0] * len(verbs)
        result = run(roles.viewer, "doctor")
        assert "privileges: read-only" in result.output
        assert "may not" not in result.output

    def test_can_write_nothing(self, roles: Roles):
        written = []
        for table, column in columns(roles):
            place = f"{roles.schema}.{table}"
            for statement in (
                f"insert into {place} default values",
                f"update {place} set {column} = null",
                f"delete from {place}",
                f"truncate {place}",
                f"select from {place} for update",
                f"create table {place}_more (id bigint)",
            ):
                if not is_refused(roles.viewer, statement):
                    written.append(statement)

        assert written == []

    def test_a_refused_request_says_which_right_is_missing(self, roles: Roles):
        populate_schema(roles)

        result = run(roles.viewer, "pause", "hourly")

        assert (result.exit_code, "permission denied" in result.output) == (1, True)
        assert "active" in run(roles.viewer, "show", "hourly").output


class TestUpgrade:
    def test_only_the_owner_can_upgrade_and_new_tables_need_no_more_grants(
        self, roles: Roles, add_migration: Callable[[str], None]
    ):
        add_migration("create table more (id bigint generated always as identity, note text)")

        for refused in (run(roles.worker, "db", "upgrade"), run(roles.viewer, "db", "upgrade")):
            assert refused.exit_code == 1
            assert "may not create or alter tables" in refused.output
            assert "run `quarterjack db upgrade` as the owner of the tables" in refused.output
        assert run(roles.owner, "db", "upgrade").exit_code == 0
        execute(roles.worker, f"insert into {roles.schema}.more (note) values ('hello')")
        execute(roles.viewer, f"select * from {roles.schema}.more")
        assert "privileges: all that a node needs" in run(roles.worker, "doctor").output

    def test_a_start_that_needs_an_upgrade_is_refused_for_other_roles(
        self, roles: Roles, add_migration: Callable[[str], None], tmp_path: Path
    ):
        add_migration("create table more (id bigint)")
        file = tmp_path / "quarterjack.yaml"
        file.write_text("schedules: {}\n")

        result = run(roles.worker, "up", str(file), "--port", "0")

        assert (result.exit_code, "as the owner of the tables" in result.output) == (1, True)

    def test_the_owner_can_back_up(
        self, roles: Roles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("PATH", f"{server().program('pg_dump').parent}:{os.environ['PATH']}")

        kept = run(roles.owner, "db", "backup", str(tmp_path / "copy"))
        refused = run(roles.worker, "db", "backup", str(tmp_path / "other"))

        execute(server().url, f"grant pg_read_all_data to {role_of(roles.viewer)}")
        viewed = run(roles.viewer, "db", "backup", str(tmp_path / "viewed"))

        assert [each.exit_code for each in (kept, refused, viewed)] == [0, 1, 0]
        assert "use the owner of the tables" in refused.output
        assert sorted(each.name for each in tmp_path.iterdir()) == ["copy", "viewed"]


def populate_schema(roles: Roles) -> None:
    with client_of(partial(postgres_at, roles.worker), SystemClock().now() - DAY) as client:
        populate(client)


def columns(roles: Roles) -> list[tuple[str, str]]:
    """Every table with one of its columns."""

    async def fetch() -> list[tuple[str, str]]:
        connection = await asyncpg.connect(server().url)
        rows = await connection.fetch(
            "select relname::text, attname::text from pg_class"
            " join pg_attribute on attrelid = pg_class.oid and attnum = 2"
            " where relkind = 'r' and relnamespace = $1::text::regnamespace",
            roles.schema,
        )
        await connection.close()
        return [tuple(row) for row in rows]

    return asyncio.run(fetch())


def wait_for(done: Callable[[], bool]) -> None:
    for _ in range(200):
        if done():
            return
        time.sleep(0.1)
    raise AssertionError("timed out")
