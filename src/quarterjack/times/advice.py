"""What a person should know of a recurrence before trusting it. Warnings, never refusals."""

from __future__ import annotations

import re
from itertools import islice

from quarterjack.times.cron import Cron
from quarterjack.times.cron_text import written_out
from quarterjack.times.instants import DAY, LATEST, to_datetime, to_text
from quarterjack.times.months import LENGTHS
from quarterjack.times.recurrence import Recurrence, Repeating, WallRecurrence
from quarterjack.times.slots import OddChange, slots_between

YEAR = 366 * DAY


def warnings(recurrence: Recurrence, now: int) -> list[str]:
    """A sentence each, about the year from now on."""
    found = _rare(recurrence, now)
    if isinstance(recurrence, Repeating):
        found += _clock_changes(recurrence, now)
    if isinstance(recurrence, WallRecurrence):
        found += _short_months(recurrence)
    if isinstance(recurrence, Cron):
        found += _either_day(recurrence) + _steps(recurrence) + _herd(recurrence)
    return found


def _rare(recurrence: Recurrence, now: int) -> list[str]:
    coming = list(islice(slots_between(recurrence.slots, now, LATEST), 2))
    if not coming:
        return ["it names no slot from now on"]
    if isinstance(recurrence, Repeating) and coming[-1] - now > 2 * YEAR:
        return [f"it comes rarely: next at {' and '.join(to_text(slot) for slot in coming)}"]
    return []


def _clock_changes(recurrence: Repeating, now: int) -> list[str]:
    if isinstance(recurrence, WallRecurrence) and recurrence.fields.follow_real_time:
        return []
    walls = recurrence.wall_slots
    changes = walls.odd_changes(now, now + YEAR) if walls else []
    return [_clock_change(recurrence, change) for change in changes]


def _clock_change(recurrence: Repeating, change: OddChange) -> str:
    if not change.is_gap:
        if recurrence.dst_fold == "twice":
            outcome = "comes twice, and it fires both times (dst_fold: twice)"
        else:
            outcome = "comes twice, and it fires the first time (dst_fold: once)"
    elif recurrence.dst_gap == "skip":
        outcome = "does not exist, and nothing fires (dst_gap: skip)"
    else:
        outcome = f"does not exist, and it fires at {to_text(change.instant)} (dst_gap: after)"
    wall = to_datetime(change.wall)
    direction = "forward" if change.is_gap else "back"
    there = f"on {wall:%Y-%m-%d} the clocks in {recurrence.timezone} go {direction}"
    return f"{there}: {wall:%H:%M} {outcome}"


def _short_months(recurrence: WallRecurrence) -> list[str]:
    fields = recurrence.fields
    if fields.day.special or fields.either_day:
        return []
    first = fields.day.values[0]
    always = [first <= min(LENGTHS[month]) for month in fields.month.values]
    if all(always) or len(always) == 1:
        return []
    return [f"months without a day {first} are skipped; L is a month's last day"]


def _either_day(cron: Cron) -> list[str]:
    if not cron.fields.either_day:
        return []
    return ["day of month and day of week are both given, so a day that fits either one fires"]


def _steps(cron: Cron) -> list[str]:
    """Steps begin anew with each hour or day, which surprises when they do not divide it."""
    found = []
    for field, size, unit in ((cron.fields.minute, 60, "minute"), (cron.fields.hour, 24, "hour")):
        stepped = re.fullmatch(r"\*/([0-9]+)", field.text)
        if stepped and size % (step := int(stepped[1])):
            whole = "hour" if unit == "minute" else "day"
            even = f'for every {step} {unit}s evenly, use the interval "{step}{unit[0]}"'
            found.append(f"{field.text} begins anew with each {whole}; {even}")
    return found


def _herd(cron: Cron) -> list[str]:
    """The minutes at which everyone's schedules fire."""
    *second, minute, hour, day, month, weekday = written_out(cron.expression).split()
    if cron.dialect == "posix" or not re.fullmatch(r"0|\*/(5|10|15|20|30)", minute):
        return []
    instead = " ".join([*second, re.sub(r"[0*]", "H", minute, count=1), hour, day, month, weekday])
    return [f'minute {minute} is when most schedules fire; "{instead}" spreads them by key']
