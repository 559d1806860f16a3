"""`db`: take care of the database. All but `upgrade` may be used while the service runs."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from quarterjack.cli.printing import print_json, print_table
from quarterjack.cli.where import Database, on_database
from quarterjack.cli.world import World
from quarterjack.control import HOUSE_RULES
from quarterjack.declare.declaration import read_declaration
from quarterjack.engine.pruner import LEAST_REST, RESTS, Pruner
from quarterjack.errors import Conflict
from quarterjack.rules import HouseRules, Retention
from quarterjack.store.backing_up import back_up
from quarterjack.store.checking import CHECKS, SHOWN, Fault, faults
from quarterjack.store.space import give_back, size_bytes
from quarterjack.store.sqlite import SqliteStore
from quarterjack.store.sqlite_file import open_database, upgrade
from quarterjack.times.instants import SECOND


@click.group("db")
def db_group() -> None:
    """Upgrade, check, prune or back up the database."""


@db_group.command("upgrade")
@on_database
def upgrade_command(database: Database, as_json: bool) -> None:
    """Bring the schema up to date, before other commands of a newer program are used."""
    path = database.path
    before, after = upgrade(path, database.world.now())
    if as_json:
        print_json({"database": str(path), "schema_before": before, "schema": after})
    elif before == after:
        click.echo(f"{path} is at schema {after}: nothing to do")
    else:
        click.echo(f"{path} was at schema {before}, and is at {after} now")


@db_group.command("check")
@on_database
def check_command(database: Database, as_json: bool) -> None:
    """Say whether the file is whole, and whether what is stored makes sense. Only reads."""
    path = database.path
    found = list(faults(path))
    if as_json:
        told = [{**each._asdict(), "found": each.found[:SHOWN]} for each in found]
        print_json({"database": str(path), "sound": not found, "faults": told})
    elif found:
        _print_faults(found)
    else:
        click.echo(f"{path} is sound: the file is whole, and {len(CHECKS)} questions found nothing")
    if found:
        sys.exit(1)


def _print_faults(found: Sequence[Fault]) -> None:
    print_table([["wrong", str(fault)] for fault in found])
    click.echo("stop the service, keep a copy of the file, and restore a backup or report this")


@db_group.command("prune")
@on_database
def prune_command(database: Database, as_json: bool) -> None:
    """Forget what is past its retention, and give the space back to the disk."""
    path, retention = database.path, None
    if database.config is not None:
        retention = read_declaration(database.config).house.retention
    rows, freed = asyncio.run(_pruned(path, retention, database.world))
    if as_json:
        print_json({"database": str(path), "rows": rows, "bytes": freed})
    else:
        click.echo(f"{rows:,} rows forgotten, {_size(freed)} given back")


async def _pruned(path: Path, retention: Retention | None, world: World) -> tuple[int, int]:
    """How many rows were forgotten, and how many bytes given back. There is a rest after each
    batch, for a service may be at work; but a person waits, so it is no longer than the batch."""
    connection = open_database(path, now=world.now())
    store = SqliteStore(connection, path, world, inline=True)
    try:
        pruner = Pruner(store, retention or await _noted_retention(store))
        before = size_bytes(connection)
        while (rest := await pruner.forget_some(world.now())) is not None:
            await asyncio.sleep(rest / RESTS / SECOND)
        for _ in give_back(connection, path):
            await asyncio.sleep(LEAST_REST / SECOND)
        return pruner.forgotten, before - size_bytes(connection)
    finally:
        await store.close()


async def _noted_retention(store: SqliteStore) -> Retention:
    """As the service has noted it: nobody's history is forgotten because a file was not found."""
    noted = await store.read_fact(HOUSE_RULES)
    if noted is None:
        remedy = "name the configuration file with --config"
        raise Conflict(f"it is not known how long runs are to be kept; {remedy}")
    return HouseRules.from_text(noted).retention


@db_group.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@on_database
def backup_command(database: Database, file: Path, as_json: bool) -> None:
    """Copy the database to FILE, as it is at one moment, while the service may run.

    To restore it, stop the service and put FILE in the place of the database."""
    path = database.path
    size = back_up(path, file)
    if as_json:
        print_json({"database": str(path), "backup": str(file), "bytes": size})
    else:
        click.echo(f"{path} is backed up to {file}, {_size(size)}, and the copy is whole")


def _size(count: int) -> str:
    """As people say it."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} bytes"
