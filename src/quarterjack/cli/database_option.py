"""The `--database`, `--config` and `--json` options that all database commands share."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from quarterjack.cli.printing import exit_on_error, with_options
from quarterjack.cli.runtime import Runtime
from quarterjack.config import DATABASE_URL, Settings, database_url
from quarterjack.store.address import address_of, is_postgres
from quarterjack.store.reader import Reader
from quarterjack.store.sqlite.file import path_of
from quarterjack.targets.kinds import KINDS

if TYPE_CHECKING:
    from quarterjack.control import Control

DEFAULT_CONFIG = Path("quarterjack.yaml")
T = TypeVar("T")


class Database(NamedTuple):
    """The database that a command works on, directly; no server is needed."""

    runtime: Runtime
    url: str
    config: Path | None
    """The configuration file in use, if any."""

    @property
    def location(self) -> str:
        """The path or address to show to people, without credentials."""
        return str(address_of(self.url) if is_postgres(self.url) else path_of(self.url))

    def with_control(
        self, request: Callable[[Control], Coroutine[Any, Any, T]], *, create: bool = False
    ) -> T:
        """Make a control request in the name of the current user, without a service."""
        from quarterjack.control import Control
        from quarterjack.service import open_store

        async def answer() -> T:
            user, store = self.runtime.user, await open_store(self.url, self.runtime, create=create)
            try:
                return await request(Control(store, by=user, origin="cli", owner=user))
            finally:
                await store.close()

        return asyncio.run(answer())

    def reader(self) -> closing[Reader]:
        return closing(Reader(self.url, KINDS))


_database_options = with_options(
    click.option("--database", metavar="URL", help="Database URL"),
    click.option("--config", type=click.Path(path_type=Path), help="Configuration file"),
    click.option("--json", "as_json", is_flag=True, help="Print JSON"),
    click.pass_obj,
    exit_on_error,
)


def pass_database(command: Callable[..., None]) -> Callable[..., None]:
    """Add the shared options to a command and pass it the database."""

    @functools.wraps(command)
    def wrapped(runtime: Runtime, database: str | None, config: Path | None, **args: Any) -> None:
        command(resolved(runtime, database, config), **args)

    return _database_options(wrapped)


def resolved(runtime: Runtime, url: str | None, config: Path | None) -> Database:
    """In this order: `--database`, `--config`, the environment, `quarterjack.yaml`, the default."""
    is_explicit = url is not None or (config is None and DATABASE_URL in runtime.environment)
    if not is_explicit and config is None and DEFAULT_CONFIG.exists():
        config = DEFAULT_CONFIG
    if is_explicit or config is None:
        return Database(runtime, database_url(url, runtime.environment), config)
    return Database(runtime, database_url(None, {}, _database_setting(config)), config)


def _database_setting(config: Path) -> Settings:
    """Reads only `database`: other errors in the file must not keep people from reading data."""
    from quarterjack.declare.yaml_file import read_yaml

    database = read_yaml(config).values.get("database")
    return Settings(database=None if database is None else str(database))
