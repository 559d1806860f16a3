"""`next` and `explain`: ask a recurrence what it means. They need no database and no server."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import click

from quarterjack.cli.printing import (
    exit_on_error,
    local_text,
    print_json,
    print_styled,
    print_table,
)
from quarterjack.cli.runtime import World
from quarterjack.times import Recurrence, parse, slots_between, warnings
from quarterjack.times.cron_text import DIALECTS
from quarterjack.times.describe import field_phrases
from quarterjack.times.instants import LATEST, read_instant, to_datetime, to_text
from quarterjack.times.recurrence import FOLDS, GAPS, WallRecurrence
from quarterjack.times.zones import zone_name

COUNT_MAX = 100_000


def _asks_when(command: Callable[..., None]) -> Callable[..., None]:
    """The argument and the options that both commands share."""
    options = [
        click.argument("expr", metavar="EXPR"),
        click.option("--timezone", default="UTC", metavar="ZONE", help="IANA name, or local."),
        click.option("--after", metavar="T", help="RFC 3339; default now."),
        click.option("--key", metavar="KEY", help="The schedule's key, which H needs."),
        click.option("--seconds", is_flag=True, help="Cron has six fields, seconds first."),
        click.option("--dialect", type=click.Choice(DIALECTS)),
        click.option("--dst-gap", type=click.Choice(GAPS)),
        click.option("--dst-fold", type=click.Choice(FOLDS)),
        click.option("--json", "as_json", is_flag=True, help="For programs."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command("next")
@_asks_when
@click.option("--count", default=5, show_default=True, type=click.IntRange(1, COUNT_MAX))
@click.option("--until", metavar="T", help="RFC 3339; none later than this.")
@click.pass_obj
@exit_on_error
def next_command(
    world: World,
    expr: str,
    after: str | None,
    count: int,
    until: str | None,
    as_json: bool,
    **words: Any,
) -> None:
    """Print the next instants that EXPR names.

    EXPR is cron ("0 9 * * 1-5", "@daily"), an interval ("5m", "1d", "monthly") or an instant.
    """
    start = _start(world, after)
    recurrence = _read(expr, start, **words)
    last = LATEST if until is None else read_instant(until, "until")
    slots = list(islice(slots_between(recurrence.slots, start, last), count))
    if as_json:
        print_json(
            {
                "recurrence": recurrence.to_json(),
                "in_words": recurrence.describe(),
                "next": [to_text(slot) for slot in slots],
            }
        )
        return
    click.echo(recurrence.describe())
    _print_slots(slots, words["timezone"])


@click.command("explain")
@_asks_when
@click.pass_obj
@exit_on_error
def explain_command(
    world: World, expr: str, after: str | None, as_json: bool, **words: Any
) -> None:
    """Say what EXPR means, field by field, and what to beware of."""
    start = _start(world, after)
    recurrence = _read(expr, start, **words)
    fields = field_phrases(recurrence.fields) if isinstance(recurrence, WallRecurrence) else []
    slots = list(islice(slots_between(recurrence.slots, start, LATEST), 5))
    cautions = warnings(recurrence, start)
    if as_json:
        print_json(
            {
                "recurrence": recurrence.to_json(),
                "in_words": recurrence.describe(),
                "fields": [dict(zip(("name", "text", "says"), row, strict=True)) for row in fields],
                "next": [to_text(slot) for slot in slots],
                "warnings": cautions,
            }
        )
        return
    click.echo(recurrence.describe())
    if fields:
        click.echo()
        print_table(fields)
    click.echo()
    _print_slots(slots, words["timezone"])
    for caution in cautions:
        click.echo()
        print_styled(f"! {caution}", "yellow")


def _start(world: World, after: str | None) -> int:
    return world.now() if after is None else read_instant(after, "after")


def _read(
    expr: str,
    start: int,
    *,
    timezone: str,
    key: str | None,
    seconds: bool,
    dialect: str | None,
    dst_gap: str | None,
    dst_fold: str | None,
) -> Recurrence:
    """A recurrence on its own is anchored at the instant from which one asks."""
    spelling: Any = expr
    if seconds or dialect:
        spelling = {"cron": expr, "seconds": seconds or None, "dialect": dialect}
    recurrence = parse(spelling, timezone=timezone, now=to_datetime(start), key=key)
    return recurrence.with_defaults(dst_gap=dst_gap, dst_fold=dst_fold)


def _print_slots(slots: list[int], timezone: str) -> None:
    place = zone_name(timezone)
    if not slots:
        click.echo("no slot in that time")
    elif place == "UTC":
        print_table([[local_text(slot, "UTC")] for slot in slots])
    else:
        print_table([[local_text(slot, place), to_text(slot)] for slot in slots])
