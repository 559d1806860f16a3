"""How every command shows what it found: aligned text for people, JSON for programs."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Sequence
from datetime import timezone
from typing import Any

import click

from quarterjack.errors import Invalid, QuarterjackError
from quarterjack.times import zone
from quarterjack.times.instants import MICROSECOND, to_datetime, to_text


def print_json(value: object) -> None:
    """One document, indented, in the order given."""
    click.echo(json.dumps(value, indent=2))


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Aligned columns, the first of them bright; no line is cut, nor ends in blanks."""
    rows = [[_on_one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        first, *rest = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        more = "".join(f"   {cell}" for cell in rest).rstrip()
        print_styled(f"  {first}" if more else f"  {first}".rstrip(), "", more, "dim")


def _on_one_line(text: str) -> str:
    """Whatever a program wrote, it does not speak to the terminal."""
    return text if text.isprintable() else repr(text)[1:-1]


def print_styled(*texts_and_styles: str, to_stderr: bool = False) -> None:
    """A line of text, style, text, style...: in colour where a terminal and its user want that."""
    stream = sys.stderr if to_stderr else sys.stdout
    if not stream.isatty():
        click.echo("".join(texts_and_styles[::2]), err=to_stderr)
        return
    from rich.console import Console
    from rich.text import Text

    pairs = zip(texts_and_styles[::2], texts_and_styles[1::2], strict=True)
    Console(stderr=to_stderr, highlight=False, soft_wrap=True).print(Text.assemble(*pairs))


def local_text(instant: int, timezone_name: str) -> str:
    """`Tue 2026-11-17 09:00:00 +01:00`: what the clocks there show, and how far from UTC."""
    offset = timezone(zone(timezone_name).offset(instant) * MICROSECOND)
    try:
        local = to_datetime(instant).astimezone(offset)
    except OverflowError:  # in the year 0 or 10000 there
        return to_text(instant)
    wall = local.replace(tzinfo=None)
    shown = wall.isoformat(" ", "milliseconds" if wall.microsecond else "seconds")
    return f"{wall:%a} {shown} {local.isoformat().removeprefix(wall.isoformat())}"


def exit_on_error(command: Callable[..., None]) -> Callable[..., None]:
    """What is wrong is told on standard error. Bad input ends the program with 2, all else
    with 1."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except QuarterjackError as error:
            print_styled(f"error: {error}", "red", to_stderr=True)
            sys.exit(2 if isinstance(error, Invalid) else 1)

    return wrapped
