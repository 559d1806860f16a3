"""`next` and `explain`: preview a recurrence. Only the key of a schedule needs a database."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

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
from quarterjack.errors import InvalidRecurrence, NotFound, StoreError
from quarterjack.rules import Schedule
from quarterjack.rules.definition.specification import refuse_unreadable
from quarterjack.rules.policies.anchors import slots_of
from quarterjack.rules.policies.windows import ready_at, window_reason
from quarterjack.times import Recurrence, Slots, Union, parse, slots_between, warnings
from quarterjack.times.cron import DAY_RULES
from quarterjack.times.cron_text import DIALECTS
from quarterjack.times.describe import field_phrases
from quarterjack.times.instants import LATEST, read_instant, to_datetime, to_text
from quarterjack.times.parse import fields_of_text
from quarterjack.times.recurrence import FOLDS, GAPS, WallTimeRecurrence
from quarterjack.times.zones import zone_name

COUNT_MAX = 100_000


_recurrence_options = with_options(
    click.argument("expr", metavar="EXPR"),
    click.option("--timezone", metavar="ZONE", help="IANA name, or local [default: UTC]"),
    click.option("--after", metavar="T", help="After this instant (RFC 3339) [default: now]"),
    click.option("--key", metavar="KEY", help="Key of the schedule, required for H"),
    click.option("--seconds", is_flag=True, help="Cron has six fields, seconds first"),
    click.option("--dialect", type=click.Choice(DIALECTS), help="Cron dialect"),
    click.option("--day-rule", type=click.Choice(DAY_RULES), help="When both day fields are set"),
    click.option("--dst-gap", type=click.Choice(GAPS), help="Wall times that do not exist"),
    click.option("--dst-fold", type=click.Choice(FOLDS), help="Wall times that occur twice"),
    click.option("--database", metavar="URL", help="Where EXPR may be the key of a schedule"),
    click.option("--config", type=click.Path(path_type=Path), help="Configuration file"),
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
@click.option("--effective", is_flag=True, help="When the runs of a schedule become ready")
@click.pass_obj
@exit_on_error
def next_command(
    runtime: Runtime,
    expr: str,
    after: str | None,
    count: int,
    until: str | None,
    effective: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Print the next times of a recurrence.

    EXPR is cron ("0 9 * * 1-5", "@daily"), an interval ("5m", "1d", "monthly"), an instant, words
    ("every monday at 9am"), or the key of a schedule.
    """
    start = _start(runtime, after)
    shown = _read(runtime, expr, start, **options)
    last = LATEST if until is None else read_instant(until, "until")
    slots = list(islice(slots_between(shown.slots, start, last), count))
    moved: list[dict[str, Any]] = []
    if effective:
        if shown.schedule is None:
            raise click.UsageError("--effective: EXPR is no schedule; give the key of one")
        moved = [_effective(shown.schedule, slot) for slot in slots]
    if as_json:
        rows = {"effective": moved} if effective else {}
        print_json(_view(shown) | {"next": [to_text(slot) for slot in slots]} | rows)
        return
    click.echo(shown.recurrence.describe())
    notes = [_note(slot, each, shown.zone) for slot, each in zip(slots, moved, strict=False)]
    _print_slots(slots, shown.zone, notes)


@click.command("explain")
@_recurrence_options
@click.pass_obj
@exit_on_error
def explain_command(
    runtime: Runtime, expr: str, after: str | None, as_json: bool, **options: Any
) -> None:
    """Explain a recurrence field by field, with warnings."""
    start = _start(runtime, after)
    shown = _read(runtime, expr, start, **options)
    recurrence = shown.recurrence
    parts = recurrence.parts if isinstance(recurrence, Union) else (recurrence,)
    tables = [field_phrases(each.fields) for each in parts if isinstance(each, WallTimeRecurrence)]
    rows = [row for table in tables for row in table]
    slots = list(islice(slots_between(shown.slots, start, LATEST), 5))
    cautions = warnings(recurrence, start)
    if shown.schedule is not None:
        cautions = [*cautions, *_constraints(shown.schedule)]
    if as_json:
        fields = [dict(zip(("name", "text", "says"), row, strict=True)) for row in rows]
        following = {"next": [to_text(slot) for slot in slots], "warnings": cautions}
        print_json(_view(shown) | {"fields": fields} | following)
        return
    click.echo(recurrence.describe())
    for table in tables:
        click.echo()
        print_table(table)
    click.echo()
    _print_slots(slots, shown.zone)
    for caution in cautions:
        click.echo()
        print_styled(f"! {caution}", "yellow")


class _Shown(NamedTuple):
    """What EXPR names."""

    recurrence: Recurrence
    slots: Slots
    zone: str
    schedule: Schedule | None = None


def _view(shown: _Shown) -> dict[str, Any]:
    named = {} if shown.schedule is None else {"schedule": shown.schedule.key}
    view = {"recurrence": shown.recurrence.to_json(), "in_words": shown.recurrence.describe()}
    return named | view


def _start(runtime: Runtime, after: str | None) -> int:
    return runtime.now() if after is None else read_instant(after, "after")


def _read(
    runtime: Runtime,
    expr: str,
    start: int,
    seconds: bool,
    dialect: str | None,
    day_rule: str | None,
    timezone: str | None,
    key: str | None,
    database: str | None,
    config: Path | None,
    **options: Any,
) -> _Shown:
    """An interval counts from `start`, because there is no schedule that it could count from."""
    definition: Any = expr
    if seconds or dialect or day_rule:
        definition = {"cron": expr, "seconds": seconds or None, "dialect": dialect}
        definition["day_rule"] = day_rule
    try:
        now = to_datetime(start)
        recurrence = parse(definition, timezone=timezone or "UTC", now=now, key=key)
    except InvalidRecurrence:
        may_be_key = definition is expr and "schedule" in fields_of_text(expr)
        if may_be_key and (found := _schedule(runtime, expr, database, config)):
            return found
        raise
    recurrence = recurrence.with_defaults(**options)
    zone = getattr(recurrence, "timezone", None) or zone_name(timezone or "UTC")
    return _Shown(recurrence, recurrence.slots, zone)


def _schedule(runtime: Runtime, key: str, url: str | None, config: Path | None) -> _Shown | None:
    """The schedule with this key, if there is a database that has it."""
    from quarterjack.cli.database_option import resolved

    try:
        with resolved(runtime, url, config).reader() as reader:
            schedule = reader.schedule(key).schedule
    except (NotFound, StoreError):  # then it is no key of ours
        return None
    refuse_unreadable(schedule.specification, schedule.key)
    specification = schedule.specification
    return _Shown(specification.recurrence, slots_of(schedule), specification.timezone, schedule)


def _effective(schedule: Schedule, slot: int) -> dict[str, Any]:
    specification = schedule.specification
    window = specification.dropping_window
    if window is not None and (reason := window_reason(window, slot)) is not None:
        return {"slot": to_text(slot), "ready_at": None, "reason": str(reason)}
    ready = ready_at(specification, schedule.key, slot)
    return {"slot": to_text(slot), "ready_at": to_text(ready), "reason": None}


def _note(slot: int, row: dict[str, Any], zone: str) -> str:
    if row["ready_at"] is None:
        return f"does not run: {row['reason']}"
    ready = read_instant(row["ready_at"], "ready_at")
    return "on time" if ready == slot else f"ready at {local_text(ready, zone)}"


def _constraints(schedule: Schedule) -> list[str]:
    """What changes when the slots of a schedule run."""
    window = schedule.specification.window
    if window is None:
        return []
    fields = {"only_between": window.only_between, "not_on": ", ".join(map(str, window.not_on))}
    shown = " and ".join(f"{name} {value}" for name, value in fields.items() if value)
    policy = f"on_constraint: {schedule.specification.on_constraint}"
    return [f"{shown} holds ({policy}); see quarterjack next {schedule.key} --effective"]


def _print_slots(slots: list[int], zone: str, notes: Sequence[str] = ()) -> None:
    if not slots:
        click.echo("no slots")
        return
    rows = [[local_text(slot, zone)] for slot in slots]
    if zone != "UTC":
        rows = [[*row, to_text(slot)] for row, slot in zip(rows, slots, strict=True)]
    if notes:
        rows = [[*row, note] for row, note in zip(rows, notes, strict=True)]
    print_table(rows)
