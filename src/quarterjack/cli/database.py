"""`db`: database maintenance. All commands but `upgrade` may run while the service runs."""

from __future__ import annotations

import asyncio
import sys
from contextlib import closing
from pathlib import Path

import click
from apsw import Connection

from quarterjack.cli.database_option import Database, pass_database
from quarterjack.cli.printing import print_json, print_result, print_table
from quarterjack.declare.declaration import read_declaration
from quarterjack.declare.yaml_file import read_yaml
from quarterjack.engine.pruner import PAUSE_MIN
from quarterjack.rules import Retention
from quarterjack.store.address import is_postgres
from quarterjack.store.maintenance.backup import back_up
from quarterjack.store.maintenance.check import CHECKS, faults
from quarterjack.store.maintenance.results import SHOWN
from quarterjack.store.maintenance.upgrade import upgrade
from quarterjack.store.sqlite.file import open_database, path_of
from quarterjack.store.sqlite.space import size_bytes, vacuum
from quarterjack.times.instants import SECOND


@click.group("db")
def db_group() -> None:
    """Upgrade, check, prune and back up the database."""


@db_group.command("upgrade")
@pass_database
def upgrade_command(database: Database, as_json: bool) -> None:
    """Upgrade the schema to the version of this program.

    On PostgreSQL this also creates the tables.
    """
    location = database.location
    before, after = upgrade(database.url, database.runtime.now())
    if as_json:
        print_json({"database": location, "schema_before": before, "schema": after})
    elif before == after:
        click.echo(f"{location}: schema {after} is up to date")
    elif before == 0:
        click.echo(f"{location}: created schema {after}")
    else:
        click.echo(f"{location}: upgraded schema {before} to {after}")


@db_group.command("check")
@pass_database
def check_command(database: Database, as_json: bool) -> None:
    """Check the consistency of the stored data.

    Read-only. On SQLite this also checks the integrity of the file. Exits with 1 if a check fails.
    """
    location = database.location
    found = list(faults(database.url))
    if as_json:
        failed = [{**fault._asdict(), "found": fault.found[:SHOWN]} for fault in found]
        print_json({"database": location, "sound": not found, "faults": failed})
    elif found:
        print_table([["failed", str(fault)] for fault in found])
        click.echo("stop the service, copy the database, then restore a backup or report this")
    else:
        intact = "" if is_postgres(database.url) else "file intact, "
        click.echo(f"{location}: {intact}{len(CHECKS)} checks passed")
    if found:
        sys.exit(1)


@db_group.command("prune")
@pass_database
def prune_command(database: Database, as_json: bool) -> None:
    """Delete rows that are past their retention.

    On SQLite this also returns the free space of the file to the file system. The retention is that
    of the configuration file, or of the last start of the service.
    """
    location, retention = database.location, None
    if database.config is not None:
        retention = read_declaration(read_yaml(database.config)).service.retention
    rows, freed = _prune(database, retention)
    space = "; autovacuum makes their space reusable"
    if freed is not None:
        space = f", freed {_human_size(freed)}"
    view = {"database": location, "rows": rows, "bytes": freed}
    print_result(view, f"pruned {rows:,} rows{space}", as_json=as_json)


def _prune(database: Database, retention: Retention | None) -> tuple[int, int | None]:
    """The rows deleted, and on SQLite the bytes returned to the file system."""
    if is_postgres(database.url):
        return database.with_control(lambda control: control.prune(retention)), None
    path = path_of(database.url)
    with closing(open_database(path, now=database.runtime.now())) as connection:
        before = size_bytes(connection)
        rows = database.with_control(lambda control: control.prune(retention))
        asyncio.run(_free_space(connection, path))
        return rows, before - size_bytes(connection)


async def _free_space(connection: Connection, path: Path) -> None:
    for _ in vacuum(connection, path):
        await asyncio.sleep(PAUSE_MIN / SECOND)


@db_group.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@pass_database
def backup_command(database: Database, file: Path, as_json: bool) -> None:
    """Write a consistent backup of the database to FILE.

    The service may keep running. To restore on SQLite, stop the service and replace the database
    file with FILE; on PostgreSQL, use pg_restore.
    """
    location = database.location
    size = back_up(database.url, file)
    note = "restore with pg_restore" if is_postgres(database.url) else "verified"
    text = f"backed up {location} to {file} ({_human_size(size)}); {note}"
    view = {"database": location, "backup": str(file), "bytes": size}
    print_result(view, text, as_json=as_json)


def _human_size(count: int) -> str:
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} bytes"
