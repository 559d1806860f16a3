"""`doctor`: is all well, and if not, what is to be done?"""

from __future__ import annotations

import sys

import click

from quarterjack.cli.database_option import Database, on_database
from quarterjack.cli.printing import print_json, print_table
from quarterjack.store.maintenance.doctor import diagnose
from quarterjack.store.maintenance.results import Level


@click.command("doctor")
@on_database
def doctor_command(database: Database, as_json: bool) -> None:
    """Look at the program, the disk or server, the database and the plans; say what to do. Only
    reads."""
    findings = list(diagnose(database.url, database.world))
    is_well = all(finding.level is not Level.FAILED for finding in findings)
    if as_json:
        told = [{**each._asdict(), "level": str(each.level)} for each in findings]
        print_json({"ok": is_well, "findings": told})
    else:
        rows = [([str(level), what], ["", remedy]) for level, what, remedy in findings]
        print_table([row for both in rows for row in both if row[1]])
    if not is_well:
        sys.exit(1)
