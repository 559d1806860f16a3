"""Warnings about a recurrence that is valid but may surprise: rare slots, clock changes, uneven
steps."""

from __future__ import annotations

import re
from itertools import islice

from quarterjack.times.cron import Cron
from quarterjack.times.cron_items import KINDS, read_item
from quarterjack.times.cron_text import expand_macro
from quarterjack.times.describe import MONTHS
from quarterjack.times.instants import DAY, LATEST, to_datetime, to_text
from quarterjack.times.months import LENGTHS
from quarterjack.times.recurrence import Recurrence, Repeating, WallTimeRecurrence
from quarterjack.times.slots import ClockChange, slots_between
from quarterjack.times.union import Union

YEAR = 366 * DAY


def warnings(recurrence: Recurrence, now: int) -> list[str]:
    """One sentence each, about the year from now on."""
    found = _rare(recurrence, now)
    if isinstance(recurrence, Repeating | Union):
        found += _clock_changes(recurrence, now)
    for part in recurrence.parts if isinstance(recurrence, Union) else (recurrence,):
        if isinstance(part, WallTimeRecurrence):
            found += _short_months(part)
        if isinstance(part, Cron):
            found += _either_day(part) + _impossible_days(part) + _steps(part)
            found += _single_values(part) + _busy_minute(part)
    return list(dict.fromkeys(found))


def _rare(recurrence: Recurrence, now: int) -> list[str]:
    coming = list(islice(slots_between(recurrence.slots, now, LATEST), 2))
    if not coming:
        return ["it never fires from now on"]
    if isinstance(recurrence, Repeating | Union) and coming[-1] - now > 2 * YEAR:
        return [f"it fires rarely: next at {' and '.join(to_text(slot) for slot in coming)}"]
    return []


def _clock_changes(recurrence: Repeating | Union, now: int) -> list[str]:
    if isinstance(recurrence, WallTimeRecurrence) and recurrence.fields.follow_real_time:
        return []
    slots = recurrence.wall_time_slots
    changes = slots.clock_changes(now, now + YEAR) if slots else []
    return [_clock_change(recurrence, change) for change in changes]


def _clock_change(recurrence: Repeating | Union, change: ClockChange) -> str:
    if not change.is_gap:
        is_twice = recurrence.dst_fold == "twice"
        fires = "both times (dst_fold: twice)" if is_twice else "the first time (dst_fold: once)"
        outcome = f"occurs twice, and it fires {fires}"
    elif recurrence.dst_gap == "skip":
        outcome = "does not exist, and nothing fires (dst_gap: skip)"
    else:
        outcome = f"does not exist, and it fires at {to_text(change.instant)} (dst_gap: after)"
    wall_time = to_datetime(change.wall_time)
    direction = "forward" if change.is_gap else "back"
    where = f"on {wall_time:%Y-%m-%d} the clocks in {recurrence.timezone} go {direction}"
    return f"{where}: {wall_time:%H:%M} {outcome}"


def _short_months(recurrence: WallTimeRecurrence) -> list[str]:
    fields = recurrence.fields
    if fields.day.special or fields.either_day:
        return []
    first = fields.day.values[0]
    always = [first <= min(LENGTHS[month]) for month in fields.month.values]
    if all(always) or len(always) == 1:
        return []
    return [f"months without day {first} are skipped; use L for the last day of the month"]


def _either_day(cron: Cron) -> list[str]:
    if not cron.fields.either_day:
        return []
    return ["day of month and day of week are both set: it fires on days that match either one"]


def _impossible_days(cron: Cron) -> list[str]:
    """Numbers that no month of the expression has, where it fires on other days."""
    fields = cron.fields
    longest = max(max(LENGTHS[month]) for month in fields.month.values)
    beyond = [number for number in fields.day.values if number > longest]
    if fields.day.open or not beyond:
        return []
    months = " and ".join(MONTHS[month - 1] for month in fields.month.values)
    days = f"day{'s' * (len(beyond) > 1)} {' and '.join(map(str, beyond))}"
    return [f"{days} of the month never occur{'s' * (len(beyond) == 1)} in {months}"]


def _single_values(cron: Cron) -> list[str]:
    """Steps that are longer than their range."""
    found = []
    for text, kind in zip(cron.fields.texts, KINDS, strict=True):
        for item in text.split(","):
            stepped = "/" in item and "H" not in item and not re.search(r"/0*1$", item)
            if stepped and len(values := read_item(item, kind, None)) == 1:
                found.append(
                    f"{item} gives only {kind.name} {values[0]}: the step goes beyond the rest"
                )
    return found


def _steps(cron: Cron) -> list[str]:
    """A step restarts with each hour or day, so its last interval is shorter if it does not divide
    that evenly."""
    found = []
    for field, size, unit in ((cron.fields.minute, 60, "minute"), (cron.fields.hour, 24, "hour")):
        stepped = re.fullmatch(r"\*/([0-9]+)", field.text)
        if stepped and size % (step := int(stepped[1])):
            whole = "hour" if unit == "minute" else "day"
            even = f'for an even {step}-{unit} spacing, use the interval "{step}{unit[0]}"'
            found.append(f"{field.text} restarts every {whole}; {even}")
    return found


def _busy_minute(cron: Cron) -> list[str]:
    """The minutes at which most schedules of a service fire together."""
    *second, minute, hour, day, month, weekday = expand_macro(cron.text).split()
    if cron.dialect == "posix" or not re.fullmatch(r"0|\*/(5|10|15|20|30)", minute):
        return []
    instead = " ".join([*second, re.sub(r"[0*]", "H", minute, count=1), hour, day, month, weekday])
    return [f'most schedules fire at minute {minute}; "{instead}" spreads them by key']
