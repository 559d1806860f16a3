"""`up`: the whole service in one process, from one file; `scheduler` and `worker`: its two parts,
each on any number of machines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from quarterjack.cli.printing import exit_on_error
from quarterjack.cli.runtime import World
from quarterjack.config import database_url
from quarterjack.declare.declaration import read_declaration

LEVELS = ("debug", "info", "warning", "error")
_workers = click.option(
    "--workers", "-c", type=click.IntRange(1, 10_000), help="How many runs at once."
)


def _told(port: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """What all of them may be told."""
    shared = [
        click.argument("file", type=click.Path(path_type=Path)),
        click.option("--database", metavar="URL", help="sqlite:///quarterjack.db, for example."),
        click.option("--host", default="127.0.0.1", show_default=True),
        click.option("--port", default=port, show_default=True, type=click.IntRange(0, 65535)),
        click.option("--loglevel", default="info", type=click.Choice(LEVELS, case_sensitive=False)),
    ]

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        made: Callable[..., None] = click.pass_obj(exit_on_error(command))
        for option in reversed(shared):
            made = option(made)
        return made

    return with_options


@click.command("up")
@_told(7415)
@_workers
def up_command(world: World, **options: Any) -> None:
    """Plan and run the schedules that FILE declares, until told to stop."""
    _run(world, **options)


@click.command("scheduler")
@_told(0)
def scheduler_command(world: World, **options: Any) -> None:
    """Plan the schedules that FILE declares; workers run them."""
    _run(world, **options, works=False)


@click.command("worker")
@_told(0)
@_workers
def worker_command(world: World, **options: Any) -> None:
    """Run what schedulers have planned, in the queues of FILE."""
    _run(world, **options, plans=False)


def _run(
    world: World, file: Path, database: str | None, workers: int | None = None, **options: Any
) -> None:
    declaration = read_declaration(file)
    if workers is not None:
        settings = declaration.settings._replace(workers=workers)
        declaration = declaration._replace(settings=settings)
    url = database_url(database, world.environment, declaration.settings)
    world.up(declaration, url, **options)
