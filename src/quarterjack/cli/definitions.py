"""`add` and `edit`: definitions of schedules from options or from a JSON file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from quarterjack.cli.database_option import Database, pass_database
from quarterjack.cli.operations import print_schedules, schedule_views
from quarterjack.cli.printing import print_json, with_options
from quarterjack.errors import InvalidSpecification

_FIELDS = {
    "cron": "Cron expression, such as '0 3 * * *'",
    "every": "Interval: 90s, 5m, 1h30m, 1d, monthly",
    "at": "Run once at this instant (RFC 3339)",
    "after": "Run once after this duration",
    "schedule": "In words, such as 'every monday at 9am'",
    "timezone": "Time zone, such as Europe/Berlin [default: UTC]",
    "name": "Display name",
    "description": "Description",
    "task": "Name of the registered Python task to call",
    "prompt": "Prompt text to send",
    "payload": "JSON object passed to each run",
}
_JSON_FIELDS = {"payload"}


_field_options = with_options(
    *(click.option(f"--{field}", help=help_text) for field, help_text in _FIELDS.items()),
    click.option(
        "--set", "others", multiple=True, metavar="FIELD=VALUE",
        help="Any other field; VALUE is JSON or text",
    ),
)  # fmt: skip


class _WithArgv(click.Command):
    """Takes everything after `--` as `argv`, which click would mix with the other arguments."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        rest = super().parse_args(context, args[:end])
        context.params["argv"] = args[end + 1 :]
        return rest

    def collect_usage_pieces(self, context: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(context), "[-- COMMAND...]"]


_FROM_HELP = "Add the schedules in this file: a JSON list, or one object per line; - is stdin"


@click.command("add", cls=_WithArgv)
@click.argument("key", required=False)
@pass_database
@_field_options
@click.option(
    "--from",
    "file",
    type=click.File(),
    help=_FROM_HELP,
)
def add_command(
    database: Database, key: str | None, argv: list[str], as_json: bool, file: Any, **options: Any
) -> None:
    """Add a schedule, or several from a file.

    Adds all of them or none.

    quarterjack add nightly --cron '0 3 * * *' -- pg_dump app
    """
    fields = _read_fields(**options)
    if argv:
        fields["command"] = argv
    if "key" in fields:
        raise click.UsageError("--set key=...: pass the key as an argument: quarterjack add KEY")
    definitions = [fields | ({} if key is None else {"key": key})]
    if file is not None:
        if fields or key is not None:
            raise click.UsageError("--from cannot be combined with a key or other fields")
        definitions = _read_file(file)
    added = database.with_control(lambda control: control.create(*definitions), create=True)
    if not as_json:
        print_schedules(database, added, "added", as_json=False)
        return
    items = [
        {"status": "ok", "id": each["id"], "next_run": each["next_run"], "schedule": each}
        for each in schedule_views(database, added)
    ]
    print_json({"items": items} if file is not None else items[0])


@click.command("edit", cls=_WithArgv)
@click.argument("which")
@pass_database
@_field_options
@click.option("--unset", multiple=True, metavar="FIELD", help="Reset a field to its default")
@click.option("--version", type=click.IntRange(1), help="Fail unless this is the current version")
def edit_command(
    database: Database,
    which: str,
    argv: list[str],
    as_json: bool,
    unset: Sequence[str],
    version: int | None,
    **options: Any,
) -> None:
    """Change fields of a schedule.

    Runs that are already planned keep the previous definition.
    """
    changes = _read_fields(**options)
    if conflicting := changes.keys() & set(unset):
        raise click.UsageError(f"--unset {min(conflicting)}: the field is also set")
    changes |= dict.fromkeys(unset)
    if argv:
        changes["command"] = argv
    if not changes:
        raise click.UsageError("nothing to change; pass a field, such as --cron '0 4 * * *'")
    edited = database.with_control(lambda control: control.edit(which, changes, version=version))
    print_schedules(database, [edited], f"edited, now version {edited.version}", as_json=as_json)


def _read_fields(others: Sequence[str], **options: str | None) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for field, value in options.items():
        if value is not None:
            fields[field] = _read_json(value, f"--{field}") if field in _JSON_FIELDS else value
    for each in others:
        field, separator, value = each.partition("=")
        if not separator:
            raise click.UsageError(f"--set {each}: write FIELD=VALUE, such as max_retries=3")
        if field in fields:
            raise click.UsageError(f"--set {each}: {field} is given twice")
        fields[field] = _json_or_text(value)
    return fields


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _read_file(file: Any) -> list[dict[str, Any]]:
    """A JSON list, or one object per line."""
    name = file.name
    try:
        text = file.read()
    except UnicodeDecodeError as error:
        raise InvalidSpecification.because(name, str(error), "is not text", "use UTF-8") from None
    if text.lstrip().startswith("["):
        items = _read_json(text, name)
    else:
        lines = enumerate(text.split("\n"), 1)
        items = [_read_json(line, f"{name}:{number}:") for number, line in lines if line.strip()]
    if not items:
        raise click.UsageError(f"{name}: no schedules in the file")
    for number, each in enumerate(items, 1):
        if not isinstance(each, dict):
            reason, remedy = "is not an object", 'write {"every": "1h", "command": ["true"]}'
            raise InvalidSpecification.because(f"{name}: number {number}:", each, reason, remedy)
    return list(items)


def _read_json(text: str, source: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        remedy = "a file holds a JSON list, or one JSON object per line"
        if source.startswith("--"):
            remedy = """write JSON, such as '{"n": 1}'"""
        reason = f"is not valid JSON ({error})"
        raise InvalidSpecification.because(source, text, reason, remedy) from None
