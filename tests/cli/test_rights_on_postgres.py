"""The grants in docs/postgresql.md, as they stand there, are enough, and give no more than that."""

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

from cli.test_database import live
from harness.store.server import server
from harness.store.stores import asking_of, postgres_at
from quarterjack.app import SystemRuntime
from quarterjack.cli import commands
from quarterjack.clock import SystemClock
from quarterjack.times.instants import DAY

DOCUMENT = Path(__file__).parents[2] / "docs" / "postgresql.md"
BLOCKS = re.findall(r"```sql\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
(GRANTS,) = [block for block in BLOCKS if "grant " in block]


class Roles(NamedTuple):
    """A schema, and three addresses of it."""

    schema: str
    owner: str
    worker: str
    viewer: str


@pytest.fixture
def roles() -> Iterator[Roles]:
    """One who may make the tables and has made them, and two who were granted what is listed."""
    mark = uuid4().hex[:8]
    schema = f"s{mark}"
    names = [f"{each}_{mark}" for each in ("owner", "worker", "viewer")]
    do(server().url, *(f"create role {name} login" for name in names))
    do(server().url, f"grant connect, create on database postgres to {names[0]}")
    urls = [f"{server().url}?schema={schema}".replace("//app@", f"//{name}@") for name in names]
    assert run(urls[0], "db", "upgrade").exit_code == 0
    text = GRANTS.replace("schema quarterjack", f"schema {schema}")
    for name in names[1:]:
        text = re.sub(rf"\b{name.partition('_')[0]}\b", name, text)
    do(urls[0], text)
    yield Roles(schema, *urls)
    do(server().url, *(f"drop owned by {name} cascade; drop role {name}" for name in names))


def role_of(url: str) -> str:
    return url.removeprefix("postgresql://").partition("@")[0]


def do(url: str, *statements: str) -> None:
    async def done() -> None:
        connection = await asyncpg.connect(url.partition("?")[0])
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()

    asyncio.run(done())


def run(url: str, *arguments: str) -> Result:
    return CliRunner().invoke(commands, [*arguments, "--database", url], obj=SystemRuntime())


def is_refused(url: str, statement: str) -> bool:
    try:
        do(url, statement)
    except asyncpg.InsufficientPrivilegeError:
        return True
    return False


class TestAWorker:
    def test_may_do_all_that_a_node_does(self, roles: Roles):
        long_ago = SystemClock().now() - 100 * DAY
        with asking_of(partial(postgres_at, roles.worker), long_ago) as ask:
            live(ask, 5)
            ask.add("poor", every="1h", circuit_breaker={"threshold": 1, "reset_after": "1h"})
            ask.clock.instant += DAY
            assert len(ask.rescue().lost) == 1
            ask.plan()
            ask.settle(*((claim.run, ask.outcome("failed", error="no")) for claim in ask.claim()))
            notifications = ask(ask.store.take_notifications(10))
            ask(ask.store.mark_sent(notifications, ask.now))
            assert notifications

        pruned = run(roles.worker, "db", "prune")

        assert not pruned.output.startswith("0 rows forgotten"), pruned.output
        assert pruned.exit_code == 0

    def test_may_run_a_service_of_its_own(self, roles: Roles, tmp_path: Path):
        file = tmp_path / "quarterjack.yaml"
        file.write_text("schedules:\n  often: {every: 100ms, command: ['true']}\n")
        told = ["up", str(file), "--port", "0", "--database", roles.worker]
        with (tmp_path / "log").open("wb") as log:
            service = subprocess.Popen(
                [sys.executable, "-m", "quarterjack.app", *told], stdout=log, stderr=log
            )
        try:
            wait_for(lambda: "succeeded" in run(roles.viewer, "runs", "list").output)
        finally:
            service.send_signal(signal.SIGTERM)
            ended = service.wait(30)
        said = (tmp_path / "log").read_text()
        assert (ended, "ERROR" in said, "may not" in said) == (0, False, False), said

    def test_may_ask_for_what_people_ask(self, roles: Roles):
        lived(roles)

        caller = [["pause", "hourly"], ["resume", "hourly"], ["run", "hourly"], ["rm", "hourly"]]
        caller += [["list"], ["runs", "list"], ["audit"], ["db", "check"]]

        assert [run(roles.worker, *each).exit_code for each in caller] == [0] * len(caller)
        assert "this user may do what a node does" in run(roles.worker, "doctor").output

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
    def test_cannot_make_or_change_tables(self, roles: Roles, statement: str):
        assert is_refused(roles.worker, statement.format(roles.schema))


class TestAViewer:
    def test_may_look_at_everything(self, roles: Roles):
        lived(roles)

        caller = [["list"], ["show", "hourly"], ["runs", "list"], ["runs", "show", "1-0"]]
        caller += [["runs", "logs", "1-0"], ["audit"], ["db", "check"]]

        assert [run(roles.viewer, *each).exit_code for each in caller] == [0] * len(caller)
        told = run(roles.viewer, "doctor")
        assert "this user may look, and change nothing" in told.output
        assert "may not" not in told.output

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

    def test_who_asks_is_told_which_right_is_missing(self, roles: Roles):
        lived(roles)

        told = run(roles.viewer, "pause", "hourly")

        assert (told.exit_code, "this user may not do that" in told.output) == (1, True)
        assert "active" in run(roles.viewer, "show", "hourly").output


class TestAnUpgrade:
    def test_needs_the_owner_and_then_nothing_more(
        self, roles: Roles, later: Callable[[str], None]
    ):
        later("create table more (id bigint generated always as identity, said text)")

        for refused in (run(roles.worker, "db", "upgrade"), run(roles.viewer, "db", "upgrade")):
            assert refused.exit_code == 1
            assert "may not make or change the tables" in refused.output
            assert "run `quarterjack db upgrade` as their owner" in refused.output
        assert run(roles.owner, "db", "upgrade").exit_code == 0
        do(roles.worker, f"insert into {roles.schema}.more (said) values ('hello')")
        do(roles.viewer, f"select * from {roles.schema}.more")
        assert "this user may do what a node does" in run(roles.worker, "doctor").output

    def test_of_a_start_by_anybody_else_is_refused(
        self, roles: Roles, later: Callable[[str], None], tmp_path: Path
    ):
        later("create table more (id bigint)")
        file = tmp_path / "quarterjack.yaml"
        file.write_text("schedules: {}\n")

        told = run(roles.worker, "up", str(file), "--port", "0")

        assert (told.exit_code, "as their owner" in told.output) == (1, True)

    def test_the_owner_may_back_up(
        self, roles: Roles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("PATH", f"{server().program('pg_dump').parent}:{os.environ['PATH']}")

        kept = run(roles.owner, "db", "backup", str(tmp_path / "copy"))
        refused = run(roles.worker, "db", "backup", str(tmp_path / "other"))

        do(server().url, f"grant pg_read_all_data to {role_of(roles.viewer)}")
        viewed = run(roles.viewer, "db", "backup", str(tmp_path / "viewed"))

        assert [each.exit_code for each in (kept, refused, viewed)] == [0, 1, 0]
        assert "use the owner of the tables" in refused.output
        assert sorted(each.name for each in tmp_path.iterdir()) == ["copy", "viewed"]


def lived(roles: Roles) -> None:
    with asking_of(partial(postgres_at, roles.worker), SystemClock().now() - DAY) as ask:
        live(ask)


def columns(roles: Roles) -> list[tuple[str, str]]:
    """Every table, and one column of each."""

    async def caller() -> list[tuple[str, str]]:
        connection = await asyncpg.connect(server().url)
        rows = await connection.fetch(
            "select relname::text, attname::text from pg_class"
            " join pg_attribute on attrelid = pg_class.oid and attnum = 2"
            " where relkind = 'r' and relnamespace = $1::text::regnamespace",
            roles.schema,
        )
        await connection.close()
        return [tuple(row) for row in rows]

    return asyncio.run(caller())


def wait_for(done: Callable[[], bool]) -> None:
    for _ in range(200):
        if done():
            return
        time.sleep(0.1)
    raise AssertionError("it does not come about")
