"""What a phrase says about days and times becomes cron expressions."""

from __future__ import annotations

import re
from typing import NoReturn

from quarterjack.times.cron import Cron
from quarterjack.times.describe import MONTHS
from quarterjack.times.instants import SECOND
from quarterjack.times.words.calendar import Calendar
from quarterjack.times.words.clock import clocks_of, refuse, runs
from quarterjack.times.words.said import Said

Days = tuple[str, str, str]
"""Day of month, month and day of week as in cron."""

_QUARTERS = {"1": "1,4,7,10", "L": "3,6,9,12"}
_ALL = tuple(range(7))


def crons_of(said: Said, calendar: Calendar) -> list[Cron]:
    """One for each combination of times and days that a single expression cannot name."""
    if said.once or said.after or said.from_completion or said.counts_from_start:
        refuse(said, "is no repetition that can be combined")
    if said.shorter_months:
        refuse(said, "has a last day of shorter months, which only an interval of a month knows")
    start = said.start
    if not (said.times or said.places or _within_day(said)):
        bound = next((each for each in (start, said.end) if each and each.time), None)
        said.times = [bound.time] if bound and bound.time else []
    days = _days_of(said, calendar)
    clocks = clocks_of(said)
    if not clocks:
        refuse(said, "has no time of day", f"{said.text} at 09:00", f"{said.text} at 00:00")
    with_seconds = any(second != "0" for second, _, _ in clocks)
    return [
        Cron(
            " ".join([*([second] * with_seconds), minute, hour, *day]),
            seconds=with_seconds,
            day_rule="and" if said.both and all(day[0][0] != "*" for day in days) else "or",
            timezone=calendar.zone,
            start_at=calendar.start(start),
            end_at=calendar.end(said, SECOND),
        )
        for second, minute, hour in clocks
        for day in days
    ]


def _within_day(said: Said) -> bool:
    return any(unit in ("ms", "s", "m", "h") for _, unit in said.interval)


def _days_of(said: Said, calendar: Calendar) -> list[Days]:
    _check_days(said, calendar)
    months = _months(said)
    if said.dates:
        return _of_dates(said)
    numbers = _starred(",".join(said.month_days)) if said.both else ",".join(said.month_days)
    if said.interval[:1] == [(1, "quarter")]:
        months = _of_quarter(said)
    return [(numbers or "*", months, _weekdays(said))]


def _starred(numbers: str) -> str:
    """`*/2` for `1-31/2`: then both day fields must match, whatever `day_rule` says."""
    found = re.fullmatch(r"1-(\d+)/(\d+)", numbers)
    return f"*/{found[2]}" if found and int(found[1]) + int(found[2]) > 31 else numbers


def _check_days(said: Said, calendar: Calendar) -> None:
    """Whether the days that are named are named in one way, and repeat."""
    named = bool(said.weekdays or said.nth)
    if said.dates and (named or said.month_days or said.months or said.no_months):
        refuse(said, "has dates of the year beside other days; use a schedule for each")
    if named and said.month_days and not (said.either or said.both):
        refuse(said, "has days by number and by name; say whether either is enough, or both",
               *_with_or(said.text))  # fmt: skip
    if (said.either or said.both) and not (named and said.month_days):
        refuse(said, "needs days by number and by name")
    if said.weekdays and not said.repeats and not said.both and not said.either:
        _refuse_once(said, "every ", "next ")
    certain = said.dates or said.nth or said.month_days
    if said.interval == [(1, "d")] and (certain or (said.weekdays and not said.days_in_span)):
        refuse(said, "says every day, and certain days as well")
    if said.dates and not said.repeats:
        _refuse_once(said, "every ", year=calendar.year_of(*said.dates[0]))
    if (said.month_days or said.nth) and not _repeats_by_month(said):
        refuse(said, "could be once, or every month", *_of_the_month(said))
    if said.of_month and not (said.nth or said.month_days):
        plain = re.sub(r" of (the|every|each) month", "", said.text, count=1, flags=re.IGNORECASE)
        refuse(said, "does not say which one of the month", plain)
    _check_unit(said)
    if not (named or said.month_days or said.dates or said.interval or said.no_weekdays
            or said.places):  # fmt: skip
        _refuse_without_days(said)


def _check_unit(said: Said) -> None:
    """A week, month, quarter or year needs to know on which day."""
    unit = said.interval[0][1] if said.interval else ""
    count = said.interval[0][0] if said.interval else 1
    text = said.text
    if len(said.interval) > 1 and unit in ("d", "w", "month", "quarter", "year"):
        refuse(said, "has an interval of days beside other days or times")
    if unit == "month" and count > 1:
        refuse_months(said, count)
    if unit in ("d", "w", "quarter", "year") and count > 1:
        refuse(said, f"cannot be counted by {unit} together with other days")
    if unit == "w" and not said.weekdays:
        refuse(said, "has no day of the week", f"{text} on monday", f"{text} on monday at 09:00")
    if unit == "w" and (said.month_days or said.nth or said.dates):
        refuse(said, "has a day of the month in a week")
    if unit == "month" and said.weekdays and said.days_place is not None:
        place = said.days_place
        readings = [f"{text[:place]}the {nth} {text[place:]}" for nth in ("first", "last")]
        refuse(said, "does not say which one of the month", *readings)
    if unit in ("month", "quarter") and not (said.month_days or said.nth):
        refuse(said, "has no day", f"{text} on the first day", f"{text} on the last day",
               f"{text} on the first day at 09:00")  # fmt: skip
    if unit == "year" and not (said.dates or (said.months and (said.month_days or said.nth))):
        refuse(said, "has no date", f"{text} on january 1", f"{text} on january 1 at 09:00")


def _repeats_by_month(said: Said) -> bool:
    """`of the month`, `monthly`, or `day 15 of june`, which is not a date of one year."""
    by_unit = said.interval[:1] in ([(1, "month")], [(1, "quarter")], [(1, "year")])
    return bool(said.of_month or by_unit or said.months or said.either or said.both)


def _refuse_once(said: Said, *words: str, year: int | None = None) -> None:
    end = said.days_end
    dated = [f"{said.text[:end]} {year}{said.text[end:]}"] if year else []
    place = said.days_place or 0
    if said.text[:place].lower().endswith("on "):
        place -= 3
        rest = said.text[place + 3 :]
    else:
        rest = said.text[place:]
    rest = rest[4:] if rest.lower().startswith("the ") else rest
    readings = [said.text[:place] + word + rest for word in words]
    refuse(said, "could be once, or again and again", *readings, *dated)


def _with_or(text: str) -> list[str]:
    places = [found.start() for found in re.finditer(" and ", text, re.IGNORECASE)]
    return [f"{text[:place]} or {text[place + 5 :]}" for place in places]


def _of_the_month(said: Said) -> list[str]:
    place = said.days_end
    counted = re.sub(r"\b(\d+)(?:st|nd|rd|th) day\b", r"\1 days", said.text)
    by_month = f"{said.text[:place]} of the month{said.text[place:]}"
    return [by_month, *([counted] if counted != said.text else [])]


def _refuse_without_days(said: Said) -> None:
    if said.months:
        refuse(said, "has no day", f"every day {said.text}", f"{said.text} on the first day")
    readings = [f"{day} {said.text}" for day in ("every day", "today", "tomorrow")]
    refuse(said, "does not say on which days", *readings)


def _months(said: Said) -> str:
    months = set(said.months or range(1, 13)) - set(said.no_months)
    if not months:
        refuse(said, "excludes every month")
    return "*" if len(months) == 12 else runs(months)


def _weekdays(said: Said) -> str:
    if said.no_weekdays and (said.nth or said.month_days):
        refuse(said, "has an exception beside days of the month")
    weekdays = set(said.weekdays)
    if said.no_weekdays:
        weekdays = (weekdays or set(_ALL)) - set(said.no_weekdays)
        if not weekdays:
            refuse(said, "excludes every day that it names")
    if said.window and said.window.over_midnight and (weekdays or _by_number(said)):
        refuse(said, "has a window over midnight: which day do the hours after midnight belong to?")
    named = [] if len(weekdays) in (0, 7) else [runs(weekdays)]
    return ",".join([*named, *said.nth]) or "*"


def _by_number(said: Said) -> bool:
    return bool(said.month_days or said.nth or said.dates)


def _of_quarter(said: Said) -> str:
    days = said.month_days
    if said.months or said.nth or len(days) != 1 or days[0] not in _QUARTERS:
        refuse(said, "knows only the first and the last day of a quarter; name the months instead")
    return _QUARTERS[days[0]]


def _of_dates(said: Said) -> list[Days]:
    """Days with the same months share an expression."""
    months: dict[int, set[int]] = {}
    for month, day in said.dates:
        months.setdefault(day, set()).add(month)
    days: dict[str, set[int]] = {}
    for day, of in months.items():
        days.setdefault(runs(of), set()).add(day)
    return [(runs(numbers), of, "*") for of, numbers in days.items()]


def refuse_months(said: Said, count: int) -> NoReturn:
    at = ", ".join(MONTHS[n] for n in range(0, 12, count)) if 12 % count == 0 else "January"
    first, last = said.interval_place
    shown = f"{said.text[:first]}on day 1 of {at}{said.text[last:]}"
    refuse(said, "counts months, which is not possible: name them", shown, f"{shown} at 09:00")
