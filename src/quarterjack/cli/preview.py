"""`next` and `explain`: preview a recurrence. They need no database."""

from __future__ import annotations

from itertools import islice
from typing import Any

import click

from quarterjack.cli.printing import (
    exit_on_error,
    local_text,
    print_json,
    print_styled,
    print_table,
    with_options,
)
from quarterjack.cli.runtime import Runtime
from quarterjack.times import Recurrence, parse, slots_between, warnings
from quarterjack.times.cron_text import DIALECTS
from quarterjack.times.describe import field_phrases
from quarterjack.times.instants import LATEST, read_instant, to_datetime, to_text
from quarterjack.times.recurrence import FOLDS, GAPS, WallTimeRecurrence
from quarterjack.times.zones import zone_name

COUNT_MAX = 100_000


_recurrence_options = with_options(
    click.argument("expr", metavar="EXPR"),
    click.option("--timezone", default="UTC", metavar="ZONE", help="IANA name, or local"),
    click.option("--after", metavar="T", help="After this instant (RFC 3339) [default: now]"),
    click.option("--key", metavar="KEY", help="Key of the schedule, required for H"),
    click.option("--seconds", is_flag=True, help="Cron has six fields, seconds first"),
    click.option("--dialect", type=click.Choice(DIALECTS), help="Cron dialect"),
    click.option("--dst-gap", type=click.Choice(GAPS), help="Wall times that do not exist"),
    click.option("--dst-fold", type=click.Choice(FOLDS), help="Wall times that occur twice"),
    click.option("--json", "as_json", is_flag=True, help="Print JSON"),
)
"""The argument and options of both commands."""


@click.command("next")
@_recurrence_options
@click.option(
    "--count", default=5, show_default=True, type=click.IntRange(1, COUNT_MAX),
    help="How many times to print",
)  # fmt: skip
@click.option("--until", metavar="T", help="Stop at this time (RFC 3339)")
@click.pass_obj
@exit_on_error
def next_command(
    runtime: Runtime,
    expr: str,
    after: str | None,
    count: int,
    until: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Print the next times of a recurrence.

    EXPR is cron ("0 9 * * 1-5", "@daily"), an interval ("5m", "1d", "monthly") or an instant.
    """
    start = _start(runtime, after)
    recurrence = _read(expr, start, **options)
    last = LATEST if until is None else read_instant(until, "until")
    slots = list(islice(slots_between(recurrence.slots, start, last), count))
    if as_json:
        print_json(_view(recurrence) | {"next": [to_text(slot) for slot in slots]})
        return
    click.echo(recurrence.describe())
    _print_slots(slots, options["timezone"])


@click.command("explain")
@_recurrence_options
@click.pass_obj
@exit_on_error
def explain_command(
    runtime: Runtime, expr: str, after: str | None, as_json: bool, **options: Any
) -> None:
    """Explain a recurrence field by field, with warnings."""
    start = _start(runtime, after)
    recurrence = _read(expr, start, **options)
    fields = field_phrases(recurrence.fields) if isinstance(recurrence, WallTimeRecurrence) else []
    slots = list(islice(slots_between(recurrence.slots, start, LATEST), 5))
    cautions = warnings(recurrence, start)
    if as_json:
        rows = [dict(zip(("name", "text", "says"), row, strict=True)) for row in fields]
        following = {"next": [to_text(slot) for slot in slots], "warnings": cautions}
        print_json(_view(recurrence) | {"fields": rows} | following)
        return
    click.echo(recurrence.describe())
    if fields:
        click.echo()
        print_table(fields)
    click.echo()
    _print_slots(slots, options["timezone"])
    for caution in cautions:
        click.echo()
        print_styled(f"! {caution}", "yellow")


def _view(recurrence: Recurrence) -> dict[str, Any]:
    return {"recurrence": recurrence.to_json(), "in_words": recurrence.describe()}


def _start(runtime: Runtime, after: str | None) -> int:
    return runtime.now() if after is None else read_instant(after, "after")


def _read(expr: str, start: int, seconds: bool, dialect: str | None, **options: Any) -> Recurrence:
    """An interval counts from `start`, because there is no schedule that it could count from."""
    definition: Any = expr
    if seconds or dialect:
        definition = {"cron": expr, "seconds": seconds or None, "dialect": dialect}
    timezone, key = options.pop("timezone"), options.pop("key")
    recurrence = parse(definition, timezone=timezone, now=to_datetime(start), key=key)
    return recurrence.with_defaults(**options)


def _print_slots(slots: list[int], timezone: str) -> None:
    zone = zone_name(timezone)
    if not slots:
        click.echo("no slots")
    elif zone == "UTC":
        print_table([[local_text(slot, zone)] for slot in slots])
    else:
        print_table([[local_text(slot, zone), to_text(slot)] for slot in slots])
