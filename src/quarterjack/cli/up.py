"""`up`: the whole service in one process, from one file."""

from __future__ import annotations

from pathlib import Path

import click

from quarterjack.cli.printing import exit_on_error
from quarterjack.cli.world import World
from quarterjack.config import database_url
from quarterjack.declare.declaration import read_declaration

LEVELS = ("debug", "info", "warning", "error")


@click.command("up")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--database", metavar="URL", help="sqlite:///quarterjack.db, for example.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=7415, show_default=True, type=click.IntRange(0, 65535))
@click.option("--workers", type=click.IntRange(1, 10_000), help="How many runs at once.")
@click.option("--loglevel", default="info", type=click.Choice(LEVELS, case_sensitive=False))
@click.pass_obj
@exit_on_error
def up_command(
    world: World,
    file: Path,
    database: str | None,
    host: str,
    port: int,
    workers: int | None,
    loglevel: str,
) -> None:
    """Plan and run the schedules that FILE declares, until told to stop."""
    declaration = read_declaration(file)
    if workers is not None:
        settings = declaration.settings._replace(workers=workers)
        declaration = declaration._replace(settings=settings)
    url = database_url(database, world.environment, declaration.settings)
    world.up(declaration, url, host=host, port=port, loglevel=loglevel)
