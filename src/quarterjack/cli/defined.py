"""`add` and `edit`: what a schedule is, said on the command line or in a file of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from quarterjack.cli.asked import show_schedules, shown_schedules
from quarterjack.cli.printing import print_json
from quarterjack.cli.where import Database, on_database
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


@click.command("add")
@click.argument("key", required=False)
@click.argument("argv", nargs=-1, metavar="[-- COMMAND...]")
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
    wanted = [said | ({} if key is None else {"key": key})]
    if file is not None:
        if said or key is not None:
            raise click.UsageError("--from says it all; leave the other fields out")
        wanted = _read_all(file.read(), file.name)
    added = database.ask(lambda control: control.create(*wanted), create=True)
    if not as_json:
        show_schedules(database, added, "added", as_json=False)
        return
    shown = [
        {"status": "ok", "id": each["id"], "next_run": each["next_run"], "schedule": each}
        for each in shown_schedules(database, added)
    ]
    print_json({"items": shown} if file is not None else shown[0])


@click.command("edit")
@click.argument("which")
@click.argument("argv", nargs=-1, metavar="[-- COMMAND...]")
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
    changes = _said(fields, others) | dict.fromkeys(unset)
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
            said[field] = _value(value) if field in _JSON_FIELDS else value
    for each in others:
        field, separator, value = each.partition("=")
        if not separator:
            raise click.UsageError(f"--set {each}: write FIELD=VALUE, such as max_retries=3")
        said[field] = _value(value)
    return said


def _value(text: str) -> Any:
    """JSON where it is JSON, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _read_all(text: str, name: str) -> list[dict[str, Any]]:
    try:
        read = [json.loads(text)]
    except ValueError:
        read = [_line(line, f"{name}:{number}") for number, line in enumerate(text.splitlines(), 1)]
    found = read[0] if len(read) == 1 and isinstance(read[0], list) else read
    for number, each in enumerate(found, 1):
        if not isinstance(each, dict):
            reason, remedy = "is no schedule", 'write {"every": "1h", "command": ["true"]}'
            raise InvalidSpecification.because(f"{name}: number {number}:", each, reason, remedy)
    return list(found)


def _line(line: str, place: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        remedy = "write a JSON list, or one object on each line"
        raise InvalidSpecification.because(
            f"{place}:", line, f"is no JSON ({error})", remedy
        ) from None
