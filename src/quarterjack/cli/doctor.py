"""`doctor`: is all well, and if not, what is to be done?"""

from __future__ import annotations

import sys

import click

from quarterjack.cli.options import database_path, on_database
from quarterjack.cli.printing import print_json, print_styled
from quarterjack.cli.world import World
from quarterjack.store.diagnosis import Level, diagnose

_STYLES = {Level.OK: "green", Level.WARNING: "yellow", Level.FAILED: "red"}


@click.command("doctor")
@on_database
def doctor_command(world: World, database: str | None, as_json: bool) -> None:
    """Look at the program, the disk, the database and the plans; say what to do. Only reads."""
    findings = list(diagnose(database_path(world, database), world.now()))
    is_well = all(finding.level is not Level.FAILED for finding in findings)
    if as_json:
        told = [{**each._asdict(), "level": str(each.level)} for each in findings]
        print_json({"ok": is_well, "findings": told})
    for level, what, remedy in [] if as_json else findings:
        print_styled(f"{level:<8} ", _STYLES[level], what, "")
        if remedy:
            print_styled(f"{'':<8} {remedy}", "dim")
    if not is_well:
        sys.exit(1)
