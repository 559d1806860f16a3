"""English descriptions of recurrences, such as "every Monday and Friday at 09:00"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from quarterjack.times.durations import Interval
from quarterjack.times.fields import Fields, FieldValues
from quarterjack.times.instants import HOUR, MILLISECOND, MINUTE, SECOND
from quarterjack.times.months import LastDay, LastWeekday, NearestWorkingDay, NthWeekday, SpecialDay

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

_TIMES_MAX = 6
_LISTED_MAX = 5
_MONTH_END = 28
_ORDINALS = ("", "first", "second", "third", "fourth", "fifth")


def phrase(fields: Fields) -> str:
    days = _days(fields)
    if times := _clock_times(fields):
        return f"{days or 'every day'} at {_and(times)}"
    frequency = _frequency(fields)
    frequency += _by_the_clock(frequency)
    return f"{frequency}, {days.rstrip(',')}" if days else frequency


def _by_the_clock(frequency: str) -> str:
    """`every 5 minutes` alone is an interval, counted from its start: cron follows the clock."""
    found = re.fullmatch(r"every( [0-9]+)? (second|minute|hour)s?", frequency)
    if not found:
        return ""
    if found[2] == "hour":
        return " from 00:00" if found[1] else " on the hour"
    return " of every minute" if found[2] == "second" else " of every hour"


def union_phrase(crons: Sequence[Fields]) -> str:
    """One sentence; times of the same days stand together."""
    times: dict[str, list[str]] = {}
    others = []
    for fields in crons:
        if found := _clock_times(fields):
            times.setdefault(_days(fields) or "every day", []).extend(found)
        else:
            others.append(phrase(fields))
    parts = [f"{days} at {_and(sorted(set(found)))}" for days, found in times.items()]
    return ", and ".join([*parts, *others])


def interval_phrase(interval: Interval) -> str:
    """`every 5 minutes`."""
    if interval.months:
        return "every month"
    if interval.days:
        weeks, rest = divmod(interval.days, 7)
        return _every(interval.days, "day") if rest else _every(weeks, "week")
    units = {"hour": HOUR, "minute": MINUTE, "second": SECOND, "millisecond": MILLISECOND}
    counts = []
    rest = interval.elapsed
    for name, size in units.items():
        count, rest = divmod(rest, size)
        if count:
            counts.append((count, name))
    if len(counts) == 1:
        return _every(*counts[0])
    return "every " + _and([f"{count} {name}{'s' * (count > 1)}" for count, name in counts])


def field_phrases(fields: Fields) -> list[tuple[str, str, str]]:
    """(name, text, meaning) of each field; seconds only where they are not 0."""
    rows = [
        ("minute", fields.minute, _places(fields.minute, 60, "minute")),
        ("hour", fields.hour, _places(fields.hour, 24, "hour")),
        ("day of month", fields.day, _day_of_month(fields.day) or "every day"),
        ("month", fields.month, _months(fields).removeprefix("in ") or "every month"),
        ("day of week", fields.weekday, _day_of_week(fields.weekday) or "any weekday"),
    ]
    if fields.second.values != (0,):
        rows.insert(0, ("second", fields.second, _places(fields.second, 60, "second")))
    return [(name, values.text, meaning) for name, values, meaning in rows]


def _clock_times(fields: Fields) -> list[str]:
    """The times of day; empty if there are too many to list."""
    hours, minutes, seconds = fields.hour.values, fields.minute.values, fields.second.values
    if fields.follow_real_time or len(hours) * len(minutes) * len(seconds) > _TIMES_MAX:
        return []
    ends = [f":{second:02}" for second in seconds] if seconds != (0,) else [""]
    return [f"{hour:02}:{minute:02}{end}" for hour in hours for minute in minutes for end in ends]


def _frequency(fields: Fields) -> str:
    second, minute, hour = fields.second, fields.minute, fields.hour
    if second.values == (0,):
        return _minutes(minute, hour, fields.follow_real_time)
    if len(minute.values) == 60 and len(hour.values) == 24:
        return _values(second, 60, "second", " of every minute")
    seconds = _places(second, 60, "second")
    at = "" if seconds.startswith("every") else "at "
    hours = _hours(hour, fields.follow_real_time) or " of every hour"
    return f"{at}{seconds} of {_places(minute, 60, 'minute')}{hours}"


def _minutes(minute: FieldValues, hour: FieldValues, real_time: bool) -> str:
    step = _even_step(hour.values, 24) if real_time else 0
    if hour.open and hour.values == (0,):
        step = 24
    if len(minute.values) == 1 and (step > 1 or (step and minute.values == (0,))):
        (start,) = minute.values
        return _every(step, "hour") + (f" from 00:{start:02}" if start or step == 24 else "")
    if minute.values == (0,) and _is_run(hour.values):
        return f"every hour from {hour.values[0]:02}:00 to {hour.values[-1]:02}:00"
    hours = _hours(hour, real_time)
    return _values(minute, 60, "minute", "" if hours else " of every hour") + hours


def _hours(hour: FieldValues, real_time: bool) -> str:
    """Empty for every hour in real time. As fixed wall times all hours are a span."""
    if len(hour.values) == 24 and real_time:
        return ""
    if _is_run(hour.values):
        return f" from {hour.values[0]:02}:00 to {hour.values[-1]:02}:59"
    return f" of {_places(hour, 24, 'hour')}"


def _places(field: FieldValues, size: int, unit: str) -> str:
    """`every 5th minute from minute 0`, `minutes 3 and 4`."""
    step = _even_step(field.values, size)
    if step == 1:
        return f"every {unit}"
    if step and field.open:
        return f"every {_ordinal(step)} {unit} from {unit} 0"
    if long := _long_steps(field.values, unit):
        return long
    return f"{unit}{'s' * (len(field.values) > 1)} {_runs(field.values)}"


def _long_steps(values: Sequence[int], unit: str) -> str:
    """`minutes 1, 3, 5 and so on to 59`, where a list would be long; else empty."""
    step = values[1] - values[0] if len(values) >= _LISTED_MAX else 1
    if step == 1 or list(values) != list(range(values[0], values[-1] + 1, step)):
        return ""
    first = ", ".join(str(value) for value in values[:3])
    return f"{unit}s {first} and so on to {values[-1]}"


def _ordinal(number: int) -> str:
    ending = "th" if number in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _is_run(values: Sequence[int]) -> bool:
    return len(values) > 2 and values[-1] - values[0] == len(values) - 1


def _values(field: FieldValues, size: int, unit: str, suffix: str = "") -> str:
    """`every 5 minutes`, or `at minutes 3 and 4` with the suffix."""
    if step := _even_step(field.values, size):
        return _every(step, unit)
    places = _places(field, size, unit)
    return f"{'' if places.startswith('every') else 'at '}{places}{suffix}"


def _even_step(values: Sequence[int], size: int) -> int:
    """n, if the values are every n-th of the field from 0 on and n divides its size; else 0."""
    if len(values) < 2:
        return 0
    step = values[1] - values[0]
    return step if size % step == 0 and list(values) == list(range(0, size, step)) else 0


def _days(fields: Fields) -> str:
    """Empty for every day."""
    by_number = _day_of_month(fields.day)
    by_name = _day_of_week(fields.weekday)
    months = _months(fields)
    if fields.either_day and not (by_number and by_name):
        days = ""  # one of the two matches every day
    elif by_number and by_name:
        days = f"on {by_number} of the month"
        if fields.either_day:
            # The commas say that the months restrict both.
            return f"{days} or {by_name}" + (f", {months}," if months else "")
        days += f", when that is {by_name.removeprefix('every ')}"
        return f"{days}, {months}," if months else f"{days},"
    elif by_number:
        return f"on {by_number} of {_of_months(months)}"
    else:
        days = by_name
    return f"{days or 'every day'} {months}" if months else days


def _months(fields: Fields) -> str:
    """`in May`, `from June to August`; empty for every month."""
    values = fields.month.values
    if len(values) == 12:
        return ""
    names = [MONTHS[value - 1] for value in values]
    return f"from {names[0]} to {names[-1]}" if _is_run(values) else f"in {_and(names)}"


def _of_months(months: str) -> str:
    if not months:
        return "every month"
    return f"each month {months}" if months.startswith("from") else months.removeprefix("in ")


def _day_of_month(field: FieldValues) -> str:
    """Empty for every day."""
    if len(field.values) == 31:
        return ""
    listed = []
    if field.values:
        plain = f"day{'s' * (len(field.values) > 1)} {_runs(field.values)}"
        listed.append(_long_steps(field.values, "day") or plain)
    return _and(listed + [_special(day) for day in field.special])


def _day_of_week(field: FieldValues) -> str:
    """Empty for every day."""
    if len(field.values) == 7:
        return ""
    listed = []
    if field.values:
        monday_first = sorted((value + 6) % 7 for value in field.values)
        run = _runs(monday_first, [WEEKDAYS[(value + 1) % 7] for value in monday_first])
        listed.append(run if " to " in run else f"every {run}")
    return _and(listed + [f"on {_special(day)} of the month" for day in field.special])


def _special(day: SpecialDay) -> str:
    match day:
        case LastDay(back=0):
            return "the last day"
        case LastDay(back=1):
            return "the day before the last day"
        case LastDay(back=back):
            return f"the {_ordinal(back)} day before the last day"
        case NearestWorkingDay(number=1):
            return "the first working day"
        case NearestWorkingDay(number=number):
            # Near its ends the month matters: the nearest one of all may be in the next month.
            within = " within the month" if number >= _MONTH_END else ""
            return f"the working day{within} nearest to day {number}"
        case NthWeekday(weekday=weekday, nth=nth):
            return f"the {_ORDINALS[nth]} {WEEKDAYS[weekday]}"
        case LastWeekday(weekday=weekday):
            return f"the last {WEEKDAYS[weekday]}"
        case _:
            return "the last working day"


def _runs(values: Sequence[int], names: Sequence[str] | None = None) -> str:
    """`1 to 5, 10 and 20`: three consecutive values or more become a range."""
    names = names or [str(value) for value in values]
    shown = []
    start = 0
    for end in range(1, len(values) + 1):
        if end == len(values) or values[end] != values[end - 1] + 1:
            if end - start > 2:
                shown.append(f"{names[start]} to {names[end - 1]}")
            else:
                shown += names[start:end]
            start = end
    return _and(shown)


def _and(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _every(count: int, unit: str) -> str:
    return f"every {unit}" if count == 1 else f"every {count} {unit}s"
