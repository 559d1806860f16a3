"""Parser of the tzdata package's zone files (TZif, RFC 8536) and of their rule for later years.

`zoneinfo` reads the same files but does not expose the changes of offset, which make cron exact and
fast.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from datetime import date

from quarterjack.times.checks import invalid
from quarterjack.times.instants import DAY, EPOCH_ORDINAL, HOUR, SECOND

Change = tuple[int, int]
"""An instant, and the UTC offset from then on."""

_HEADER = struct.Struct(">4s1c15x6l")
_RULE = re.compile(
    r"(?:<[^>]+>|[A-Za-z]+)(?P<standard>[-+\d:]+)"
    r"(?:(?:<[^>]+>|[A-Za-z]+)(?P<summer>[-+\d:]+)?,(?P<begin>M[^,]+),(?P<end>M[^,]+))?"
)


@dataclass(frozen=True)
class ZoneFile:
    """The initial offset, the listed changes, and the rule for the time after them."""

    first_offset: int
    changes: list[Change]
    rule: YearlyRule | None


@dataclass(frozen=True)
class YearlyRule:
    """The offsets of standard and summer time, and when summer time begins and ends."""

    standard: int
    summer: int
    begin: YearlyDate
    end: YearlyDate

    def changes(self, year: int) -> list[Change]:
        """The two changes of this year, in order."""
        begin = (self.begin.of(year) - self.standard, self.summer)
        end = (self.end.of(year) - self.summer, self.standard)
        return sorted([begin, end])


@dataclass(frozen=True)
class YearlyDate:
    """A wall time on a weekday of a month, each year; week 5 is the last, weekday 0 Sunday."""

    month: int
    week: int
    weekday: int
    time: int

    def of(self, year: int) -> int:
        first = date(year, self.month, 1).toordinal()
        day = first + (self.weekday - first) % 7 + 7 * (self.week - 1)
        if self.week == 5 and date.fromordinal(day).month != self.month:
            day -= 7
        return (day - EPOCH_ORDINAL) * DAY + self.time


def read_zone_file(data: bytes) -> ZoneFile:
    """Reads the second, 64-bit half of the file; the first is for 32-bit programs."""
    _, _, *old_counts = _HEADER.unpack_from(data)
    start = _HEADER.size + _block_size(old_counts, instant_size=4)
    _, _, *counts = _HEADER.unpack_from(data, start)
    _, _, _, change_count, kind_count, _ = counts
    start += _HEADER.size
    kinds_start = start + change_count * 8
    offsets_start = kinds_start + change_count
    instants = struct.unpack_from(f">{change_count}q", data, start)
    kinds = data[offsets_start : offsets_start + 6 * kind_count]
    offsets = [seconds * SECOND for seconds, _, _ in struct.iter_unpack(">lBB", kinds)]
    changes = [
        (instant * SECOND, offsets[kind])
        for instant, kind in zip(instants, data[kinds_start:offsets_start], strict=True)
    ]
    footer = data[start + _block_size(counts, instant_size=8) :].strip(b"\n").decode()
    return ZoneFile(offsets[0], changes, read_rule(footer))


def read_rule(footer: str) -> YearlyRule | None:
    """`EST5EDT,M3.2.0,M11.1.0`: offsets count westward, and summer time is an hour by default.

    The other two ways to name a day, `J60` and `59`, are in no zone since 2022; they are refused.
    """
    found = _RULE.fullmatch(footer)
    if found is None:
        reason, remedy = "is not supported by this version", "upgrade quarterjack"
        raise invalid("zone data rule", footer, reason, remedy)
    if not found["begin"]:
        return None
    standard = -_time(found["standard"])
    summer = -_time(found["summer"]) if found["summer"] else standard + HOUR
    return YearlyRule(standard, summer, _read_date(found["begin"]), _read_date(found["end"]))


def _read_date(text: str) -> YearlyDate:
    """`M3.2.0/2` is the second Sunday of March at 02:00, which is also the default."""
    day, _, time = text[1:].partition("/")
    month, week, weekday = (int(part) for part in day.split("."))
    return YearlyDate(month, week, weekday, _time(time or "2"))


def _time(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    hours, minutes, seconds = [*(int(part) for part in text.lstrip("+-").split(":")), 0, 0][:3]
    return sign * (hours * 3600 + minutes * 60 + seconds) * SECOND


def _block_size(counts: list[int], *, instant_size: int) -> int:
    utc_count, standard_count, leap_count, change_count, kind_count, letters = counts
    changes = change_count * (instant_size + 1) + leap_count * (instant_size + 4)
    return changes + kind_count * 6 + letters + standard_count + utc_count
