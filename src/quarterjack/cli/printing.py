"""Output of all commands: aligned text for people, JSON for programs, errors on standard error."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import timezone
from typing import Any, TypeAlias

import click

from quarterjack.errors import Invalid, QuarterjackError
from quarterjack.times import zone
from quarterjack.times.instants import MICROSECOND, to_datetime, to_text

View: TypeAlias = Mapping[str, Any]
Decorator: TypeAlias = Callable[[Callable[..., None]], Callable[..., None]]


def print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2))


def print_result(value: object, text: str, *, as_json: bool) -> None:
    click.echo(json.dumps(value, indent=2) if as_json else text)


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Align the columns and dim all but the first; lines are neither cut nor padded at the end."""
    rows = [[_escape(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        first, *rest = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        more = "".join(f"   {cell}" for cell in rest).rstrip()
        print_styled(f"  {first}" if more else f"  {first}".rstrip(), "", more, "dim")


def print_items(
    items: Sequence[View], row: Callable[[View], list[str]], heading: str, empty: str, as_json: bool
) -> None:
    """A table with a row for each item, or the text `empty`. The heading has two blanks between
    its columns."""
    if as_json:
        print_json({"items": items})
    elif not items:
        click.echo(empty)
    else:
        print_table([heading.split("  "), *map(row, items)])


def print_fields(view: View) -> None:
    """A line for each field that is not empty."""
    fields = [(name, value) for name, value in view.items() if value not in (None, {}, [])]
    print_table([[name, _field_text(value)] for name, value in fields])


def _field_text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {each}" for name, each in value.items())
    return str(value)


def _escape(text: str) -> str:
    """Stored text may come from any program: control characters must not reach the terminal."""
    return text if text.isprintable() else repr(text)[1:-1]


def print_styled(*texts_and_styles: str, to_stderr: bool = False) -> None:
    """Print text, style, text, style...; styles apply only on a terminal that wants colour."""
    stream = sys.stderr if to_stderr else sys.stdout
    if not stream.isatty():
        click.echo("".join(texts_and_styles[::2]), err=to_stderr)
        return
    from rich.console import Console
    from rich.text import Text

    pairs = zip(texts_and_styles[::2], texts_and_styles[1::2], strict=True)
    Console(stderr=to_stderr, highlight=False, soft_wrap=True).print(Text.assemble(*pairs))


def local_text(instant: int, timezone_name: str) -> str:
    """Local time with its UTC offset: `Tue 2026-11-17 09:00:00 +01:00`."""
    offset = timezone(zone(timezone_name).offset(instant) * MICROSECOND)
    try:
        local = to_datetime(instant).astimezone(offset)
    except OverflowError:  # the local year is 0 or 10000
        return to_text(instant)
    wall = local.replace(tzinfo=None)
    text = wall.isoformat(" ", "milliseconds" if wall.microsecond else "seconds")
    return f"{wall:%a} {text} {local.isoformat().removeprefix(wall.isoformat())}"


def with_options(*options: Decorator) -> Decorator:
    """One decorator for these arguments and options, in this order."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def exit_on_error(command: Callable[..., None]) -> Callable[..., None]:
    """Print a `QuarterjackError` and exit: with 2 for invalid input, else with 1."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except QuarterjackError as error:
            print_styled(f"error: {error}", "red", to_stderr=True)
            sys.exit(2 if isinstance(error, Invalid) else 1)

    return wrapped
