"""`list`, `show`, `audit` and `nodes`: read what is stored."""

from __future__ import annotations

import click

from quarterjack.cli.database_option import Database, pass_database
from quarterjack.cli.printing import View, print_fields, print_items, print_json, print_table
from quarterjack.store.reader import LAST, PAGE
from quarterjack.views import audit_view, node_view, schedule_view, slots_not_run_view

NUMBER = click.IntRange(0, 2**63 - 1)
limit_option = click.option(
    "--limit", default=PAGE, show_default=True, type=click.IntRange(1, 10_000),
    help="Maximum number of items",
)  # fmt: skip


@click.command("list")
@pass_database
@limit_option
@click.option("--after", default=0, type=NUMBER, metavar="ID", help="Only ids above this one")
def list_command(database: Database, as_json: bool, limit: int, after: int) -> None:
    """List schedules."""
    with database.reader() as reader:
        schedules = [schedule_view(each) for each in reader.schedules(after, limit)]
    heading = "ID  KEY  STATUS  NEXT RUN  LAST  WHEN"
    print_items(schedules, _schedule_row, heading, empty="no schedules", as_json=as_json)


def _schedule_row(schedule: View) -> list[str]:
    last = [schedule["next_run_at"] or "-", schedule["last_result"] or "-"]
    return [str(schedule["id"]), schedule["key"], schedule["status"], *last, schedule["in_words"]]


@click.command("show")
@click.argument("which")
@pass_database
def show_command(database: Database, which: str, as_json: bool) -> None:
    """Show a schedule and its slots that did not run.

    WHICH is an id, a key or an unambiguous name.
    """
    with database.reader() as reader:
        schedule = schedule_view(reader.schedule(which))
        not_run = [slots_not_run_view(row) for row in reader.not_run(which)]
    if as_json:
        print_json(schedule | {"slots_not_run": not_run})
        return
    print_fields(schedule)
    if not_run:
        click.echo("\nslots that did not run")
        print_table([_slots_row(row) for row in not_run])


def _slots_row(row: View) -> list[str]:
    span = row["first"] if row["count"] == 1 else f"{row['first']} to {row['last']}"
    return [span, str(row["count"]), row["state"], row["meaning"]]


@click.command("audit")
@click.argument("which", required=False)
@pass_database
@limit_option
@click.option("--before", default=LAST, type=NUMBER, metavar="ID", help="Only ids below this one")
def audit_command(
    database: Database, which: str | None, as_json: bool, limit: int, before: int
) -> None:
    """Show who changed what, for one schedule or for all."""
    with database.reader() as reader:
        entries = [audit_view(each) for each in reader.audit(which, before, limit)]
    heading = "ID  AT  BY  SOURCE  VERB  SCHEDULE  RUN  CHANGES"
    print_items(entries, _audit_row, heading, empty="no audit entries", as_json=as_json)


def _audit_row(entry: View) -> list[str]:
    caller = [entry["by"], entry["origin"], entry["verb"]]
    subject = [str(entry["schedule_id"]), entry["run_id"] or "-"]
    changes = _describe_changes(entry["before"] or {}, entry["after"] or {})
    return [str(entry["id"]), entry["at"], *caller, *subject, changes]


def _describe_changes(before: View, after: View) -> str:
    """`field: old -> new` for each field; `deleted KEY` for a schedule that was deleted."""
    changes = []
    for name in {**before, **after}:
        if name not in before:
            changes.append(f"{name}: {after[name]}")
        elif name not in after:
            changes.append(f"deleted {before[name]}" if name == "key" else f"{name}: removed")
        else:
            changes.append(f"{name}: {before[name]} -> {after[name]}")
    return ", ".join(changes)


@click.command("nodes")
@pass_database
def nodes_command(database: Database, as_json: bool) -> None:
    """List scheduler and worker processes."""
    with database.reader() as reader:
        nodes = [node_view(each) for each in reader.nodes()]
    heading = "NAME  ROLE  STARTED  LAST SEEN  CLOCK  VERSION  ZONE DATA  DECLARATION"
    empty = "no nodes; start one with `quarterjack up FILE`"
    print_items(nodes, _node_row, heading, empty=empty, as_json=as_json)
    for field, name in (("program", "version"), ("zone_data", "zone data")):
        if not as_json and len({each[field] for each in nodes}) > 1:
            click.echo(f"warning: nodes differ in {name}; upgrade all of them to the same one")


def _node_row(node: View) -> list[str]:
    fields = {"scheduler": "plans", "worker": "works"}
    roles = ", ".join(role for role, field in fields.items() if node[field])
    times = [node["started_at"], node["seen_at"], f"{node['ahead_seconds']:+.3f} s"]
    declaration = f"{node['declaration']} {node['revision'][:8]}"
    return [node["name"], roles, *times, node["program"], node["zone_data"], declaration]
