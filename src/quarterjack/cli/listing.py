"""`list`, `show`, `audit` and `nodes`: what is stored. They need no server."""

from __future__ import annotations

from typing import Any

import click

from quarterjack.cli.database_option import Database, on_database
from quarterjack.cli.printing import print_json, print_table
from quarterjack.store.reader import LAST, PAGE
from quarterjack.views import audit_view, node_view, schedule_view, slots_not_run_view

NUMBER = click.IntRange(0, 2**63 - 1)
limit_option = click.option(
    "--limit", default=PAGE, show_default=True, type=click.IntRange(1, 10_000)
)


@click.command("list")
@on_database
@limit_option
@click.option("--after", default=0, type=NUMBER, metavar="ID", help="Only those with a higher id.")
def list_command(database: Database, as_json: bool, limit: int, after: int) -> None:
    """List the schedules."""
    with database.reading() as reads:
        found = [schedule_view(each) for each in reads.schedules(after, limit)]
    if as_json:
        print_json({"items": found})
        return
    if not found:
        click.echo("there are no schedules")
        return
    rows = [["ID", "KEY", "STATUS", "NEXT RUN", "LAST", "WHEN"]]
    for each in found:
        last = each["last_result"] or "-"
        when, status = each["in_words"], each["status"]
        rows.append([str(each["id"]), each["key"], status, each["next_run_at"] or "-", last, when])
    print_table(rows)


@click.command("show")
@click.argument("which")
@on_database
def show_command(database: Database, which: str, as_json: bool) -> None:
    """Show one schedule, by its id, key or name, and the slots that did not run."""
    with database.reading() as reads:
        shown = schedule_view(reads.schedule(which))
        not_run = [slots_not_run_view(row) for row in reads.not_run(which)]
    if as_json:
        print_json(shown | {"slots_not_run": not_run})
        return
    print_table(
        [[name, plain(value)] for name, value in shown.items() if value not in (None, {}, [])]
    )
    if not_run:
        click.echo("\nslots that did not run")
        print_table([_slots(row) for row in not_run])


def plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {each}" for name, each in value.items())
    return str(value)


def _slots(row: dict[str, Any]) -> list[str]:
    span = row["first"] if row["count"] == 1 else f"{row['first']} to {row['last']}"
    return [span, str(row["count"]), row["state"], row["meaning"]]


def _changes(before: dict[str, Any], after: dict[str, Any]) -> str:
    """`field: old -> new`"""
    told = []
    for name in before | after:
        old, new = str(before.get(name, "")), str(after.get(name, "gone"))
        told.append(f"{name}: {old} -> {new}" if name in before else f"{name}: {new}")
    return ", ".join(told)


@click.command("audit")
@click.argument("which", required=False)
@on_database
@limit_option
@click.option("--before", default=LAST, type=NUMBER, metavar="ID", help="Only older ones.")
def audit_command(
    database: Database, which: str | None, as_json: bool, limit: int, before: int
) -> None:
    """Who asked for what, of one schedule or of all, and what it changed."""
    with database.reading() as reads:
        found = [audit_view(each) for each in reads.audit(which, before, limit)]
    if as_json:
        print_json({"items": found})
        return
    if not found:
        click.echo("nobody has asked for anything")
        return
    rows = [["ID", "AT", "BY", "THROUGH", "VERB", "SCHEDULE", "RUN", "WHAT CHANGED"]]
    for each in found:
        became = _changes(each["before"] or {}, each["after"] or {})
        schedule, run = str(each["schedule_id"]), each["run_id"] or "-"
        who = [each["by"], each["origin"], each["verb"]]
        rows.append([str(each["id"]), each["at"], *who, schedule, run, became])
    print_table(rows)


@click.command("nodes")
@on_database
def nodes_command(database: Database, as_json: bool) -> None:
    """List the processes that plan and work on the database."""
    with database.reading() as reads:
        found = [node_view(each) for each in reads.nodes()]
    if as_json:
        print_json({"items": found})
        return
    if not found:
        click.echo("there are no nodes; `quarterjack up FILE` starts one")
        return
    rows = [["NAME", "DOES", "SINCE", "SEEN", "CLOCK", "PROGRAM", "ZONE DATA", "DECLARATION"]]
    for each in found:
        does = " and ".join(word for word in ("plans", "works") if each[word])
        clock = f"{each['ahead_seconds']:+.3f} s"
        said = each["program"], each["zone_data"], f"{each['declaration']} {each['edition'][:8]}"
        rows.append([each["name"], does, each["started_at"], each["seen_at"], clock, *said])
    print_table(rows)
    for what in ("program", "zone_data"):
        if len({each[what] for each in found}) > 1:
            click.echo(f"these nodes differ in {what.replace('_', ' ')}: bring them to the same")
