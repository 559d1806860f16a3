"""Warnings about a recurrence that is valid but may surprise: rare slots, clock changes, uneven
steps."""

from __future__ import annotations

import re
from itertools import islice

from quarterjack.times.cron import Cron
from quarterjack.times.cron_text import expand_macro
from quarterjack.times.instants import DAY, LATEST, to_datetime, to_text
from quarterjack.times.months import LENGTHS
from quarterjack.times.recurrence import Recurrence, Repeating, WallTimeRecurrence
from quarterjack.times.slots import ClockChange, slots_between

YEAR = 366 * DAY


def warnings(recurrence: Recurrence, now: int) -> list[str]:
    """One sentence each, about the year from now on."""
    found = _rare(recurrence, now)
    if isinstance(recurrence, Repeating):
        found += _clock_changes(recurrence, now)
    if isinstance(recurrence, WallTimeRecurrence):
        found += _short_months(recurrence)
    if isinstance(recurrence, Cron):
        found += _either_day(recurrence) + _steps(recurrence) + _busy_minute(recurrence)
    return found


def _rare(recurrence: Recurrence, now: int) -> list[str]:
    coming = list(islice(slots_between(recurrence.slots, now, LATEST), 2))
    if not coming:
        return ["it never fires from now on"]
    if isinstance(recurrence, Repeating) and coming[-1] - now > 2 * YEAR:
        return [f"it fires rarely: next at {' and '.join(to_text(slot) for slot in coming)}"]
    return []


def _clock_changes(recurrence: Repeating, now: int) -> list[str]:
    if isinstance(recurrence, WallTimeRecurrence) and recurrence.fields.follow_real_time:
        return []
    slots = recurrence.wall_time_slots
    changes = slots.clock_changes(now, now + YEAR) if slots else []
    return [_clock_change(recurrence, change) for change in changes]


def _clock_change(recurrence: Repeating, change: ClockChange) -> str:
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
    *second, minute, hour, day, month, weekday = expand_macro(cron.expression).split()
    if cron.dialect == "posix" or not re.fullmatch(r"0|\*/(5|10|15|20|30)", minute):
        return []
    instead = " ".join([*second, re.sub(r"[0*]", "H", minute, count=1), hour, day, month, weekday])
    return [f'most schedules fire at minute {minute}; "{instead}" spreads them by key']
