"""Fixtures of the command line tests: a database without a service, and services."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.cli.command_line import CommandLine
from harness.crash.kills import RealService, wait_for
from quarterjack.store.migrations import Migration, load_migrations
from quarterjack.store.postgres import schema as postgres_schema


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RealService]:
    service = RealService(tmp_path)
    yield service
    service.end()


@pytest.fixture(scope="session")
def used_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    """A service stopped after some runs, a retry, a timeout and a slot that did not run."""
    service = RealService(tmp_path_factory.mktemp("service"))
    service.declare(
        {
            "steady": {"every": "1s", "command": ["sh", "-c", "echo hello"], "name": "Greeting"},
            "failing": {
                "every": "1s",
                "command": ["sh", "-c", "exit 3"],
                "max_retries": 1,
                "retry_delay": "200ms",
            },
            "slow": {"every": "1s", "command": ["sleep", "30"], "timeout": "1s"},
            "nightly": {"cron": "0 3 * * *", "command": ["x"], "description": "a backup"},
        }
    )
    process = service.up()
    wait_for(lambda: service.succeeded() >= 2, 20, "two runs succeeded")
    wait_for(lambda: service.query("select 1 from runs where state = 'timed_out'"), 20, "a timeout")
    wait_for(lambda: service.query("select 1 from attempts"), 20, "a retry")
    wait_for(lambda: service.query("select 1 from slots_not_run"), 20, "a slot that did not run")
    service.stop(process)
    yield CommandLine(service.folder)
    service.end()


@pytest.fixture
def add_migration(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes this program one with a newer PostgreSQL schema: one more migration, with this SQL."""

    def add(sql: str) -> None:
        current = load_migrations("postgres")
        newer = [*current, Migration(current[-1].number + 1, "more", sql)]
        monkeypatch.setattr(postgres_schema, "load_migrations", lambda dialect: newer)

    return add
