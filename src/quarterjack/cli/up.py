"""`up`: run the service in one process; `scheduler` and `worker`: run its two halves separately."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from quarterjack.cli.printing import Decorator, exit_on_error, with_options
from quarterjack.cli.runtime import Runtime
from quarterjack.cli.sources import planned_changes, problems_of, read_program
from quarterjack.config import database_url
from quarterjack.declare.declaration import Declaration
from quarterjack.rules.definition.input_checks import invalid

LEVELS = ("debug", "info", "warning", "error")
_workers_option = click.option(
    "--workers", "-c", type=click.IntRange(1, 10_000), help="Maximum number of concurrent runs"
)
_take_over_option = click.option(
    "--take-over", is_flag=True,
    help="Own the schedules that a declaration of the same default name has in another place",
)  # fmt: skip


def _service_options(port: int) -> Decorator:
    """The options of all three commands; they differ in the default port."""
    levels = click.Choice(LEVELS, case_sensitive=False)
    return with_options(
        click.argument("source", metavar="FILE|MODULE:APP"),
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
@_take_over_option
def up_command(runtime: Runtime, **options: Any) -> None:
    """Run the scheduler and a worker for the schedules of a configuration file or an app.

    quarterjack up quarterjack.yaml

    quarterjack up shop.jobs:app

    Stops on SIGINT or SIGTERM.
    """
    _run(runtime, **options)


@click.command("scheduler")
@_service_options(0)
@_take_over_option
def scheduler_command(runtime: Runtime, **options: Any) -> None:
    """Run a scheduler for the schedules of a configuration file or an app, without a worker."""
    _run(runtime, **options, works=False)


@click.command("worker")
@_service_options(0)
@_workers_option
@click.option("--queues", metavar="A,B", help="Queues to work on; all of them if left out")
def worker_command(runtime: Runtime, **options: Any) -> None:
    """Run a worker for the queues of a configuration file or an app, without a scheduler."""
    _run(runtime, **options, plans=False)


@click.command("check")
@click.argument("source", metavar="FILE|MODULE:APP")
@click.option("--database", metavar="URL", help="Database URL")
@click.pass_obj
@exit_on_error
def check_command(runtime: Runtime, source: str, database: str | None) -> None:
    """Validate a configuration file or an app, and print what `up` would change."""
    with problems_of(source):
        declaration, registry = program = read_program(source)
        url = database_url(database, runtime.environment, declaration.settings)
        changes = list(planned_changes(program, url))
    tasks, count = len(registry.tasks), len(declaration.specifications)
    click.echo(f"{source} is valid: {_counted(count, 'schedule')}, {_counted(tasks, 'task')}")
    for line in changes or ["no changes"]:
        click.echo(f"  {line}")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def _run(
    runtime: Runtime,
    source: str,
    database: str | None,
    host: str,
    port: int,
    loglevel: str,
    workers: int | None = None,
    queues: str | None = None,
    **roles: bool,
) -> None:
    from quarterjack.api.health import serve_health
    from quarterjack.cli.foreground import run_in_foreground
    from quarterjack.service import Service

    with problems_of(source):
        declaration, registry = read_program(source)
    settings = declaration.settings
    if workers is not None:
        settings = settings._replace(workers=workers)
    if queues is not None:
        settings = settings._replace(queues=_known_queues(queues, declaration))
    declaration = declaration._replace(settings=settings)
    url = database_url(database, runtime.environment, settings)
    serve = partial(serve_health, host or "127.0.0.1", port)
    service = Service(runtime, declaration, url, serve, registry, **roles)
    with problems_of(source):
        run_in_foreground(service, loglevel)


def _known_queues(text: str, declaration: Declaration) -> list[str]:
    queues = [each.strip() for each in text.split(",") if each.strip()]
    known = declaration.service.queues
    for queue in queues or [text]:
        if queue not in known:
            raise invalid("queues", queue, "is not declared", f"use one of {', '.join(known)}")
    return queues
