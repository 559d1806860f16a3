"""`doctor`: diagnose the installation, the database and the schedules."""

from __future__ import annotations

import sys

import click

from quarterjack.cli.database_option import Database, pass_database
from quarterjack.cli.printing import print_json, print_table
from quarterjack.store.maintenance.doctor import diagnose
from quarterjack.store.maintenance.results import Level


@click.command("doctor")
@pass_database
def doctor_command(database: Database, as_json: bool) -> None:
    """Diagnose problems and print what to do about them.

    Checks the program, the disk or database server, the database and the schedules. Read-only.
    Exits with 1 if a check fails.
    """
    findings = list(diagnose(database.url, database.runtime))
    is_ok = all(finding.level is not Level.FAILED for finding in findings)
    if as_json:
        items = [{**each._asdict(), "level": str(each.level)} for each in findings]
        print_json({"ok": is_ok, "findings": items})
    else:
        rows = [([str(level), what], ["", remedy]) for level, what, remedy in findings]
        print_table([row for both in rows for row in both if row[1]])
    if not is_ok:
        sys.exit(1)
