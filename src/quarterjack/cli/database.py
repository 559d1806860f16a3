"""`db`: take care of the database. All but `upgrade` may be used while the service runs."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from apsw import Connection

from quarterjack.cli.database_option import Database, on_database
from quarterjack.cli.printing import print_json, print_table
from quarterjack.declare.declaration import read_declaration
from quarterjack.engine.pruner import LEAST_REST
from quarterjack.rules import Retention
from quarterjack.store.address import is_postgres
from quarterjack.store.maintenance.backup import back_up
from quarterjack.store.maintenance.check import CHECKS, SHOWN, Fault, faults
from quarterjack.store.maintenance.upgrade import upgrade
from quarterjack.store.sqlite.file import open_database, path_of
from quarterjack.store.sqlite.space import give_back, size_bytes
from quarterjack.times.instants import SECOND


@click.group("db")
def db_group() -> None:
    """Upgrade, check, prune or back up the database."""


@db_group.command("upgrade")
@on_database
def upgrade_command(database: Database, as_json: bool) -> None:
    """Bring the schema up to date, before other commands of a newer program are used."""
    place = database.place
    before, after = upgrade(database.url, database.world.now())
    if as_json:
        print_json({"database": place, "schema_before": before, "schema": after})
    elif before == after:
        click.echo(f"{place} is at schema {after}: nothing to do")
    elif before == 0:
        click.echo(f"{place} had no tables of ours, and is at schema {after} now")
    else:
        click.echo(f"{place} was at schema {before}, and is at {after} now")


@db_group.command("check")
@on_database
def check_command(database: Database, as_json: bool) -> None:
    """Say whether what is stored makes sense, and a file is whole. Only reads."""
    place = database.place
    found = list(faults(database.url))
    if as_json:
        told = [{**each._asdict(), "found": each.found[:SHOWN]} for each in found]
        print_json({"database": place, "sound": not found, "faults": told})
    elif found:
        _print_faults(found)
    else:
        whole = "" if is_postgres(database.url) else "the file is whole, and "
        click.echo(f"{place} is sound: {whole}{len(CHECKS)} questions found nothing")
    if found:
        sys.exit(1)


def _print_faults(found: Sequence[Fault]) -> None:
    print_table([["wrong", str(fault)] for fault in found])
    click.echo("stop the service, keep a copy of it, and restore a backup or report this")


@db_group.command("prune")
@on_database
def prune_command(database: Database, as_json: bool) -> None:
    """Forget what is past its retention, and give the space of a file back to the disk."""
    place, retention = database.place, None
    if database.config is not None:
        retention = read_declaration(database.config).service.retention
    rows, freed = _pruned(database, retention)
    if as_json:
        print_json({"database": place, "rows": rows, "bytes": freed})
    elif freed is None:
        click.echo(
            f"{rows:,} rows forgotten; the vacuum of PostgreSQL lets new rows have their space"
        )
    else:
        click.echo(f"{rows:,} rows forgotten, {_size(freed)} given back")


def _pruned(database: Database, retention: Retention | None) -> tuple[int, int | None]:
    """How many rows were forgotten, and how many bytes given back, if that is our affair."""
    if is_postgres(database.url):
        return database.ask(lambda control: control.prune(retention)), None
    path = path_of(database.url)
    connection = open_database(path, now=database.world.now())
    try:
        before = size_bytes(connection)
        rows = database.ask(lambda control: control.prune(retention))
        asyncio.run(_give_back(connection, path))
        return rows, before - size_bytes(connection)
    finally:
        connection.close()


async def _give_back(connection: Connection, path: Path) -> None:
    for _ in give_back(connection, path):
        await asyncio.sleep(LEAST_REST / SECOND)


@db_group.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@on_database
def backup_command(database: Database, file: Path, as_json: bool) -> None:
    """Copy the database to FILE, as it is at one moment, while the service may run.

    To restore it, stop the service and put FILE in the place of the database; on PostgreSQL FILE is
    for pg_restore."""
    place = database.place
    size = back_up(database.url, file)
    if as_json:
        print_json({"database": place, "backup": str(file), "bytes": size})
    else:
        then = "pg_restore reads it" if is_postgres(database.url) else "and the copy is whole"
        click.echo(f"{place} is backed up to {file}, {_size(size)}, {then}")


def _size(count: int) -> str:
    """As people say it."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} bytes"
