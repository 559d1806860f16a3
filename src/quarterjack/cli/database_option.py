"""Where it is stored: the options of every command that works on a database, and that database."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from quarterjack.cli.printing import exit_on_error
from quarterjack.cli.runtime import World
from quarterjack.config import DATABASE_URL, Settings, database_url
from quarterjack.store.address import is_postgres, refuse_without_driver
from quarterjack.store.reader import Reader
from quarterjack.store.sqlite.file import path_of

if TYPE_CHECKING:
    from quarterjack.control import Control

CONFIGURATION = Path("quarterjack.yaml")
"""The configuration file that is meant if none is named."""
T = TypeVar("T")


class Database(NamedTuple):
    """The one that a command works on; no server need run."""

    world: World
    url: str
    config: Path | None
    """The configuration file that was named, or that says where it is."""

    @property
    def place(self) -> str:
        """As it may be shown."""
        if not is_postgres(self.url):
            return str(path_of(self.url))
        refuse_without_driver()
        from quarterjack.store.postgres.connection import address_of

        return str(address_of(self.url))

    def ask(
        self, asking: Callable[[Control], Coroutine[Any, Any, T]], *, create: bool = False
    ) -> T:
        """Ask something as whoever is at the keyboard."""
        return self.world.ask(self.url, self.world.user, asking, create=create)

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        reads = Reader(self.url)
        try:
            yield reads
        finally:
            reads.close()


def on_database(command: Callable[..., None]) -> Callable[..., None]:
    """The options that all of them share; the command is handed the database."""

    @functools.wraps(command)
    def found(world: World, database: str | None, config: Path | None, **words: Any) -> None:
        command(_found(world, database, config), **words)

    shared = [
        click.option("--json", "as_json", is_flag=True, help="For programs."),
        click.option("--config", type=click.Path(path_type=Path), help="A file that names it."),
        click.option("--database", metavar="URL", help="Where it is stored."),
    ]
    made: Callable[..., None] = click.pass_obj(exit_on_error(found))
    for option in shared:
        made = option(made)
    return made


def _found(world: World, url: str | None, config: Path | None) -> Database:
    """By the option, a file that is named, the environment, the usual file, or the default."""
    is_said = url is not None or (config is None and DATABASE_URL in world.environment)
    if not is_said and config is None and CONFIGURATION.exists():
        config = CONFIGURATION
    if is_said or config is None:
        return Database(world, database_url(url, world.environment), config)
    return Database(world, database_url(None, {}, _settings(config)), config)


def _settings(config: Path) -> Settings:
    """Only what says where: whatever else is wrong in the file, people can look."""
    from quarterjack.declare.yaml_file import read_yaml

    database = read_yaml(config).values.get("database")
    return Settings(database=None if database is None else str(database))
