"""The options that commands on a database share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from quarterjack.cli.printing import exit_on_error
from quarterjack.cli.world import World
from quarterjack.config import Settings, database_url
from quarterjack.store.sqlite_file import path_of


def on_database(command: Callable[..., None]) -> Callable[..., None]:
    """`--database` and `--json`; errors are told."""
    database = click.option("--database", metavar="URL", help="Where it is stored.")
    as_json = click.option("--json", "as_json", is_flag=True, help="For programs.")
    return database(as_json(click.pass_obj(exit_on_error(command))))


def database_path(world: World, database: str | None, settings: Settings | None = None) -> Path:
    """The file that is meant."""
    return path_of(database_url(database, world.environment, settings))
