"""How every command shows what it found: aligned text for people, JSON for programs."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta, timezone
from typing import Any

import click

from quarterjack.errors import Invalid
from quarterjack.times import zone
from quarterjack.times.instants import MICROSECOND, to_datetime, to_text


def print_json(value: object) -> None:
    """One document, indented, in the order given."""
    click.echo(json.dumps(value, indent=2))


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Aligned columns, the first of them bright; no line is cut, nor ends in blanks."""
    from rich.console import Console
    from rich.text import Text

    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    console = Console(highlight=False, soft_wrap=True)
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        line = Text("  " + cells[0])
        line.append("".join(f"   {cell}" for cell in cells[1:]), style="dim")
        line.rstrip()
        console.print(line)


def local_text(instant: int, timezone_name: str) -> str:
    """`Tue 2026-11-17 09:00:00 +01:00`: what the clocks there show, and how far from UTC."""
    offset = timezone(zone(timezone_name).offset(instant) * MICROSECOND)
    try:
        local = to_datetime(instant).astimezone(offset)
    except OverflowError:  # in the year 0 or 10000 there
        return to_text(instant)
    fraction = f".{local.microsecond // 1000:03}" if local.microsecond else ""
    return f"{local:%a %Y-%m-%d %H:%M:%S}{fraction} {_offset_text(offset.utcoffset(None))}"


def exit_on_invalid(command: Callable[..., None]) -> Callable[..., None]:
    """Bad input is told on standard error, and the program ends with 2."""

    @functools.wraps(command)
    def told(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except Invalid as error:
            click.secho(f"error: {error}", fg="red", err=True)
            sys.exit(2)

    return told


def _offset_text(offset: timedelta) -> str:
    minutes = offset // timedelta(minutes=1)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
