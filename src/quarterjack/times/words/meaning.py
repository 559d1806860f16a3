"""What a phrase says becomes a recurrence: Cron, Every, At, After, or a union of these."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any, NoReturn

from quarterjack.errors import InvalidRecurrence
from quarterjack.times.cron import Cron
from quarterjack.times.every import Every
from quarterjack.times.once import After, At
from quarterjack.times.recurrence import Recurrence
from quarterjack.times.union import union_of
from quarterjack.times.words.calendar import Calendar
from quarterjack.times.words.clock import refuse
from quarterjack.times.words.crons import crons_of, refuse_months
from quarterjack.times.words.said import Said
from quarterjack.times.words.tokens import UNIT_NAMES

_DAY_UNITS = ("d", "w")


def recurrence_of(phrases: list[Said], timezone: str, now: datetime | None) -> Recurrence:
    """The zone and the bounds of the last phrase are those of all."""
    last = phrases[-1]
    calendar = Calendar(last, last.zone or timezone, now)
    try:
        if len(phrases) == 1:
            return _of_one(last, calendar)
        parts = [replace(said, start=said.start or last.start, end=said.end or last.end,
                         end_included=last.end_included) for said in phrases]  # fmt: skip
        if any(_is_interval(said) for said in phrases):
            refuse(last, "has an interval that counts from its start, beside times of day; use a "
                   "schedule for each")  # fmt: skip
        return union_of(_alike([part for said in parts for part in crons_of(said, calendar)]))
    except OverflowError:
        refuse(last, "is outside the years 1 to 9999")
    except InvalidRecurrence as error:
        problem = error.problems[0]
        refuse(last, f"cannot be: {problem.field} {problem.value} {problem.reason}")


def _alike(crons: list[Cron]) -> list[Cron]:
    """With the same fields: a union has one `seconds` and one `day_rule`."""
    if any(cron.seconds for cron in crons):
        crons = [
            cron if cron.seconds else replace(cron, expression=f"0 {cron.expression}", seconds=True)
            for cron in crons
        ]
    both = any(cron.day_rule == "and" for cron in crons)
    if both and not any(cron.fields.either_day for cron in crons):
        crons = [replace(cron, day_rule="and") for cron in crons]
    return crons


def _of_one(said: Said, calendar: Calendar) -> Recurrence:
    if said.after:
        _only(said, "after", "after_instant", "zone", "only_once")
        return After(said.after, created_at=_created_at(said, calendar))
    if said.once:
        _only(said, "once", "instants", "times", "zone", "days_place", "only_once")
        return _once(said, calendar)
    if said.only_once:
        refuse(said, "says once, and names no date", f"{said.text} tomorrow")
    if said.counts_from_start or _is_interval(said):
        return _every(said, calendar)
    return union_of(crons_of(said, calendar))


def _created_at(said: Said, calendar: Calendar) -> Any:
    return said.after_instant.upper() if said.after_instant else calendar.now


def _only(said: Said, *names: str) -> None:
    """A single instant goes with nothing else."""
    plain = Said(said.text)
    for name, value in vars(said).items():
        if name not in names and value != getattr(plain, name):
            shown = name.replace("_", " ").replace("repeats", "repetition")
            refuse(said, f"names a single instant, which has no {shown}")


def _once(said: Said, calendar: Calendar) -> Recurrence:
    assert said.once is not None
    if said.once.instant:
        if said.times:
            refuse(said, "has two times of day")
        found = [said.once.instant, *said.instants]
        return union_of([At(instant.upper()) for instant in found])
    if said.once.time and said.times:
        refuse(said, "has two times of day; say them together, as in at 9am and 5pm")
    times = [said.once.time] if said.once.time else said.times
    if not times:
        refuse(said, "has no time of day", f"{said.text} at 09:00")
    instants = [calendar.instant(said.once.day, time) for time in times]
    calendar.refuse_past(said.once, instants)
    return union_of([At(instant) for instant in instants])


def _is_interval(said: Said) -> bool:
    """Nothing restricts it to days or times of day, or it is longer than what cron can express."""
    if not said.interval:
        return False
    units = {unit for _, unit in said.interval}
    if units & {"quarter", "year"} or _is_restricted(said):
        return False
    if said.interval in ([(1, "d")], [(1, "w")], [(1, "month")]):
        bounds = (said.start, said.end)
        timed = said.times or any(bound and bound.time for bound in bounds)
        return not (said.weekdays or timed)
    return units <= set(_DAY_UNITS) or not (said.weekdays or said.times)


def _is_restricted(said: Said) -> bool:
    return bool(said.months or said.no_months or said.no_weekdays or said.window or said.places
                or said.dates or said.month_days or said.nth)  # fmt: skip


def _every(said: Said, calendar: Calendar) -> Recurrence:
    interval, unit = said.interval[0]
    if unit == "month" and interval > 1:
        refuse_months(said, interval)
    text = "monthly" if unit == "month" else "".join(f"{n}{u}" for n, u in said.interval)
    _check_what_it_says_of_itself(said)
    units = {u for _, u in said.interval}
    by_calendar = units <= {"d", "w", "month"}
    if not units <= {"ms", "s", "m", "h", "d", "w", "month"} or _is_restricted(said):
        refuse(said, "counts from its first slot, which goes with no other days or hours")
    if not by_calendar and (said.times or said.weekdays):
        refuse(said, "has both a time of day and an interval within the day")
    start = _first_slot(said, calendar) if by_calendar else calendar.start(said.start)
    if said.counts_from_start and start is None:
        _refuse_without_start(said, calendar)
    anchor = "completion" if said.from_completion else "slot"
    created = calendar.now if start is None else None
    return Every(text, anchor=anchor, created_at=created, timezone=calendar.zone,
                 start_at=start, end_at=calendar.end(said))  # fmt: skip


def _check_what_it_says_of_itself(said: Said) -> None:
    """What sentences say of intervals, which changes nothing, has to be true."""
    if said.shorter_months and said.interval != [(1, "month")]:
        refuse(said, "has a last day of shorter months, which only an interval of a month knows")
    if said.first_from_start and said.start:
        reading = said.text.replace("from its start, then ", "")
        refuse(said, "has a start, which is the first slot already", reading)


def _first_slot(said: Said, calendar: Calendar) -> datetime | None:
    """Of an interval of days, which keeps the time of day of its first slot."""
    start = said.start
    if start is not None and start.instant:
        if said.times or said.weekdays:
            refuse(said, "has a start that is an instant, which is the first slot already")
        return calendar.start(start)
    times = said.times or ([start.time] if start and start.time else [])
    if start is None and not said.times and not said.weekdays:
        return None
    if start is None:
        _refuse_without_start(said, calendar)
    if not times:
        refuse(said, "has no time of day", f"{said.text} at 09:00")
    if len(times) > 1 or (said.times and start.time):
        refuse(said, "counts from one time of day; use a schedule for each")
    if said.weekdays:
        _check_weekday(said, calendar.day(start.day))
    return calendar.instant(start.day, times[0])


def _check_weekday(said: Said, first: date) -> None:
    if len(said.weekdays) > 1 or said.interval[0][1] != "w":
        refuse(said, "counts weeks, so it needs a single day of the week")
    (wanted,) = said.weekdays
    off = (wanted - first.isoweekday()) % 7
    if off:
        shown = first.isoformat()
        near = [first + timedelta(days=off), first + timedelta(days=off - 7)]
        readings = [said.text.replace(shown, day.isoformat()) for day in near]
        refuse(said, f"starts on a {first:%A}", *readings)


def _refuse_without_start(said: Said, calendar: Calendar) -> NoReturn:
    count, unit = said.interval[0]
    day = calendar.example_day(said.weekdays[0] if said.weekdays else None)
    time = "" if said.times else " at 09:00"
    readings = [f"{said.text} from {day.isoformat()}{time}"]
    if not said.times and not said.weekdays and unit in UNIT_NAMES:
        readings.append(f"every {count} {UNIT_NAMES[unit]}s")
    refuse(said, "needs a first day, from which it counts", *readings)
