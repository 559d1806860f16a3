"""`up`: run the service in one process; `scheduler` and `worker`: run its two halves separately."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from quarterjack.cli.printing import Decorator, exit_on_error, with_options
from quarterjack.cli.runtime import Runtime
from quarterjack.config import database_url
from quarterjack.declare.declaration import read_declaration
from quarterjack.declare.yaml_file import read_yaml

LEVELS = ("debug", "info", "warning", "error")
_workers_option = click.option(
    "--workers", "-c", type=click.IntRange(1, 10_000), help="Maximum number of concurrent runs"
)


def _service_options(port: int) -> Decorator:
    """The options of all three commands; they differ in the default port."""
    levels = click.Choice(LEVELS, case_sensitive=False)
    return with_options(
        click.argument("file", type=click.Path(path_type=Path)),
        click.option("--database", metavar="URL", help="Database URL"),
        click.option(
            "--host", default="127.0.0.1", show_default=True, help="Address of /healthz and /readyz"
        ),
        click.option(
            "--port", default=port, show_default=True, type=click.IntRange(0, 65535),
            help="Port of /healthz and /readyz; 0 chooses a free one",
        ),
        click.option("--loglevel", default="info", type=levels, help="Minimum level of log lines"),
        click.pass_obj,
        exit_on_error,
    )  # fmt: skip


@click.command("up")
@_service_options(7415)
@_workers_option
def up_command(runtime: Runtime, **options: Any) -> None:
    """Run the scheduler and a worker for the schedules in FILE.

    Stops on SIGINT or SIGTERM.
    """
    _run(runtime, **options)


@click.command("scheduler")
@_service_options(0)
def scheduler_command(runtime: Runtime, **options: Any) -> None:
    """Run a scheduler for the schedules in FILE, without a worker."""
    _run(runtime, **options, works=False)


@click.command("worker")
@_service_options(0)
@_workers_option
def worker_command(runtime: Runtime, **options: Any) -> None:
    """Run a worker for the queues in FILE, without a scheduler."""
    _run(runtime, **options, plans=False)


def _run(
    runtime: Runtime,
    file: Path,
    database: str | None,
    host: str,
    port: int,
    loglevel: str,
    workers: int | None = None,
    **roles: bool,
) -> None:
    from quarterjack.api.health import serve_health
    from quarterjack.cli.foreground import run_in_foreground
    from quarterjack.service import Service

    declaration = read_declaration(read_yaml(file))
    if workers is not None:
        settings = declaration.settings._replace(workers=workers)
        declaration = declaration._replace(settings=settings)
    url = database_url(database, runtime.environment, declaration.settings)
    serve = partial(serve_health, host or "127.0.0.1", port)
    run_in_foreground(Service(runtime, declaration, url, serve, **roles), loglevel)
