"""`add` and `edit`: what a schedule is, said on the command line or in a file of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from quarterjack.cli.database_option import Database, on_database
from quarterjack.cli.operations import show_schedules, shown_schedules
from quarterjack.cli.printing import print_json
from quarterjack.errors import InvalidSpecification

_FIELDS = {
    "cron": "Five fields: '0 3 * * *'.",
    "every": "90s, 5m, 1h30m, 1d, monthly.",
    "at": "Once, at this instant (RFC 3339).",
    "after": "Once, after this long.",
    "timezone": "Such as Europe/Berlin; UTC if nothing is said.",
    "name": "What people see.",
    "description": "What it is for.",
    "task": "The Python function that is called, by its name.",
    "prompt": "The text that is sent.",
    "payload": "A JSON object that goes with each run.",
}
_JSON_FIELDS = {"payload"}


def _definition(command: Callable[..., None]) -> Callable[..., None]:
    """The fields that are said most often; `--set` says any."""
    setting = "Any other field; the value is JSON, or text."
    command = click.option("--set", "others", multiple=True, metavar="FIELD=VALUE", help=setting)(
        command
    )
    for field, help_text in reversed(_FIELDS.items()):
        command = click.option(f"--{field}", help=help_text)(command)
    return command


class _WithCommand(click.Command):
    """What follows `--` is a command; click alone would not tell it from other words."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        place = args.index("--") if "--" in args else len(args)
        rest = super().parse_args(context, args[:place])
        context.params["argv"] = args[place + 1 :]
        return rest

    def collect_usage_pieces(self, context: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(context), "[-- COMMAND...]"]


@click.command("add", cls=_WithCommand)
@click.argument("key", required=False)
@on_database
@_definition
@click.option("--from", "file", type=click.File(), help="Many: a JSON list, or one on each line.")
def add_command(
    database: Database,
    key: str | None,
    argv: Sequence[str],
    as_json: bool,
    file: Any,
    others: Sequence[str],
    **fields: str | None,
) -> None:
    """Add a schedule, or many of them from a file; all or none.

    quarterjack add nightly --cron '0 3 * * *' -- pg_dump app
    """
    said = _said(fields, others)
    if argv:
        said["command"] = list(argv)
    if "key" in said:
        raise click.UsageError("--set key=...: the key is the first word: quarterjack add KEY")
    wanted = [said | ({} if key is None else {"key": key})]
    if file is not None:
        if said or key is not None:
            raise click.UsageError("--from says it all; leave the other fields out")
        wanted = _read_all(file)
    added = database.ask(lambda control: control.create(*wanted), create=True)
    if not as_json:
        show_schedules(database, added, "added", as_json=False)
        return
    shown = [
        {"status": "ok", "id": each["id"], "next_run": each["next_run"], "schedule": each}
        for each in shown_schedules(database, added)
    ]
    print_json({"items": shown} if file is not None else shown[0])


@click.command("edit", cls=_WithCommand)
@click.argument("which")
@on_database
@_definition
@click.option("--unset", multiple=True, metavar="FIELD", help="Back to its default.")
@click.option("--version", type=click.IntRange(1), help="Only if it still is this one.")
def edit_command(
    database: Database,
    which: str,
    argv: Sequence[str],
    as_json: bool,
    others: Sequence[str],
    unset: Sequence[str],
    version: int | None,
    **fields: str | None,
) -> None:
    """Say some fields of a schedule anew, from now on."""
    changes = _said(fields, others)
    if twice := changes.keys() & set(unset):
        raise click.UsageError(f"--unset {min(twice)}: it is said as well")
    changes |= dict.fromkeys(unset)
    if argv:
        changes["command"] = list(argv)
    if not changes:
        raise click.UsageError("say what should change, such as --cron '0 4 * * *'")
    edited = database.ask(lambda control: control.edit(which, changes, version=version))
    show_schedules(database, [edited], f"edited, now version {edited.version}", as_json=as_json)


def _said(fields: Mapping[str, str | None], others: Sequence[str]) -> dict[str, Any]:
    said: dict[str, Any] = {}
    for field, value in fields.items():
        if value is not None:
            said[field] = _json(value, f"--{field}") if field in _JSON_FIELDS else value
    for each in others:
        field, separator, value = each.partition("=")
        if not separator:
            raise click.UsageError(f"--set {each}: write FIELD=VALUE, such as max_retries=3")
        if field in said:
            raise click.UsageError(f"--set {each}: {field} is said twice")
        said[field] = _value(value)
    return said


def _value(text: str) -> Any:
    """JSON where it is JSON, else the text itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _read_all(file: Any) -> list[dict[str, Any]]:
    """A JSON list, or one object on each line."""
    name = file.name
    try:
        text = file.read()
    except UnicodeDecodeError as error:
        raise InvalidSpecification.because(name, str(error), "is no text", "use UTF-8") from None
    if text.lstrip().startswith("["):
        found = _json(text, name)
    else:
        lines = enumerate(text.split("\n"), 1)
        found = [_json(line, f"{name}:{number}:") for number, line in lines if line.strip()]
    if not found:
        raise click.UsageError(f"{name}: there is no schedule in it")
    for number, each in enumerate(found, 1):
        if not isinstance(each, dict):
            reason, remedy = "is no schedule", 'write {"every": "1h", "command": ["true"]}'
            raise InvalidSpecification.because(f"{name}: number {number}:", each, reason, remedy)
    return list(found)


def _json(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        remedy = "write JSON; a file holds a list, or one object on each line"
        reason = f"is no JSON ({error})"
        raise InvalidSpecification.because(place, text, reason, remedy) from None
