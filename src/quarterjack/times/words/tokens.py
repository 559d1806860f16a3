"""The tokens of a phrase, and the words that stand for numbers, units, days and months."""

from __future__ import annotations

import re
from typing import NamedTuple

from quarterjack.times.describe import MONTHS, WEEKDAYS


class Token(NamedTuple):
    """`text` is in lower case; start and end are its place in the phrase."""

    kind: str
    text: str
    start: int
    end: int


class NotUnderstood(Exception):
    """Refused at these characters. `readings` are phrases, of which those that work are shown."""

    def __init__(self, reason: str, start: int, end: int, readings: list[str]) -> None:
        super().__init__(reason)
        self.reason = reason
        self.start = start
        self.end = end
        self.readings = readings


_TOKEN = re.compile(
    r"(?P<blank>[ \t]+)"
    r"|(?P<instant>\d{4}-\d\d-\d\d[t ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:z|[+-]\d\d:\d\d)(?!\w))"
    r"|(?P<date>\d{4}-\d\d-\d\d)(?!\d)(?:t(?=\d))?"
    r"|(?P<unclear>\d{1,4}[/.]\d{1,4}(?:[/.]\d{1,4})?(?!\w))"
    r"|(?P<clock>\d{1,2}:\d\d(?::\d\d)?(?!\d|:))"
    r"|(?P<past>:\d\d(?!\d|:))"
    r"|(?P<ordinal>\d{1,2}(?:st|nd|rd|th)\b)"
    r"|(?P<number>\d+)"
    r"|(?P<meridiem>[ap](?:m\b|\.m\b\.?))"
    r"|(?P<zone>\((?P<inside>[^()]*)\)|[a-z]+(?:_[a-z]+)*/[\w+/-]*)"
    r"|(?P<word>[a-z]+(?:'[a-z]+)*)\.?"
    r"|(?P<sign>[,&;-])",
    re.ASCII,
)


def tokens_of(text: str) -> list[Token]:
    """Ends with a token of the kind `end`."""
    found = []
    place = 0
    lower = text.lower()
    while place < len(lower):
        match = _TOKEN.match(lower, place)
        if match is None:
            raise NotUnderstood("has an unexpected character", place, place + 1, [])
        kind = "zone" if match["inside"] is not None else str(match.lastgroup)
        if kind != "blank":
            shown = match["inside"] if match["inside"] is not None else match[kind]
            found.append(Token(kind, shown, place, match.end()))
        place = match.end()
    return [*found, Token("end", "", len(text), len(text))]


def _with_plurals(names: dict[str, str]) -> dict[str, str]:
    return {each + "s" * plural: unit for each, unit in names.items() for plural in (0, 1)}


UNITS = _with_plurals(
    {
        "millisecond": "ms", "second": "s", "minute": "m", "hour": "h", "day": "d", "week": "w",
        "month": "month", "quarter": "quarter", "year": "year", "fortnight": "fortnight",
        "sec": "s", "min": "m", "hr": "h",
    }
) | {unit: unit for unit in ("ms", "s", "m", "h", "d", "w")}  # fmt: skip

UNIT_NAMES = {
    "ms": "millisecond",
    "s": "second",
    "m": "minute",
    "h": "hour",
    "d": "day",
    "w": "week",
}

FREQUENCIES = {
    "hourly": "h", "daily": "d", "weekly": "w", "monthly": "month", "quarterly": "quarter",
    "yearly": "year", "annually": "year", "fortnightly": "fortnight",
}  # fmt: skip

_SHORT_DAYS = {"tues": 2, "thur": 4, "thurs": 4}
DAYS = {name.lower(): number for number, name in enumerate(WEEKDAYS)}
DAYS |= {name[:3]: number for name, number in DAYS.items()} | _SHORT_DAYS
PLURAL_DAYS = {name + "s": number for name, number in DAYS.items() if name.endswith("day")}

DAY_SETS = {
    "weekday": (1, 2, 3, 4, 5), "workday": (1, 2, 3, 4, 5), "weekend": (6, 0),
    "weekdays": (1, 2, 3, 4, 5), "workdays": (1, 2, 3, 4, 5), "weekends": (6, 0),
}  # fmt: skip

MONTH_NUMBERS = {name.lower(): number for number, name in enumerate(MONTHS, 1)}
MONTH_NUMBERS |= {name[:3]: number for name, number in MONTH_NUMBERS.items()} | {"sept": 9}

_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
)  # fmt: skip
NUMBERS = {name: number for number, name in enumerate(_ONES)}
TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}
_FIRST_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth",
    "eighteenth", "nineteenth", "twentieth",
)  # fmt: skip
ORDINALS = {name: number for number, name in enumerate(_FIRST_ORDINALS, 1)} | {"thirtieth": 30}

CLOCK_NAMES = {"noon": (12, 0, 0), "midday": (12, 0, 0), "midnight": (0, 0, 0)}

VOCABULARY = sorted(
    {
        *UNITS, *FREQUENCIES, *DAYS, *PLURAL_DAYS, *DAY_SETS, *MONTH_NUMBERS, *NUMBERS, *TENS,
        *ORDINALS, *CLOCK_NAMES, "every", "other", "each", "last", "business", "working", "between",
        "and", "from", "until", "through", "before", "starting", "except", "today", "tomorrow",
        "next", "the", "half", "once", "past",
    }
    - {"ms", "s", "m", "h", "d", "w"}
)  # fmt: skip
"""For suggestions: what an unknown word may have been."""
