"""Zones: the spans between two changes of offset, from the tzdata package and never the host's
own copy, so that every node computes the same instants."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import tzdata

from quarterjack.clock import host_timezone
from quarterjack.errors import InvalidRecurrence, shown
from quarterjack.times.instants import DAY, EARLIEST, LATEST, to_datetime
from quarterjack.times.tzif import Change, ZoneFile, read_zone_file

LAST_YEAR = 9999
_DATA = Path(tzdata.__path__[0])
_LOOK_AHEAD_YEARS = 30


Span = tuple[int, int, int]
"""Instants from the first until before the second, in which wall time is the instant plus the
third, the offset."""


class Table(NamedTuple):
    """All spans before the horizon, as columns for bisect. What is *clear* of a span are the
    instants whose wall belongs to no other instant and lies beside no gap."""

    starts: list[int]
    ends: list[int]
    offsets: list[int]
    clear: list[Span]
    clear_walls: list[int]
    horizon_year: int


class Zone:
    """One history of offsets. The table grows with the years that are asked for; it is replaced
    whole, so that other threads see the old one or the new one."""

    def __init__(self, file: ZoneFile) -> None:
        self._file = file
        last_listed = to_datetime(file.changes[-1][0]).year if file.changes else 0
        self._table = self._build(max(last_listed, 2037) + _LOOK_AHEAD_YEARS)

    def table(self, instant: int) -> Table:
        """The spans, at least until the second change after this instant."""
        table = self._table
        if instant >= table.starts[-1] and table.horizon_year < LAST_YEAR:
            year = to_datetime(min(instant, LATEST)).year
            table = self._build(year + max(_LOOK_AHEAD_YEARS, year - 2037))
            self._table = table
        return table

    def offset(self, instant: int) -> int:
        """Wall time minus UTC, in microseconds."""
        table = self.table(instant)
        return table.offsets[max(bisect_right(table.starts, instant) - 1, 0)]

    def clear_span(self, instant: int) -> Span | None:
        """The clear part of its span, if the instant lies in that part."""
        table = self.table(instant)
        span = table.clear[bisect_right(table.starts, instant) - 1]
        return span if span[0] <= instant < span[1] else None

    def clear_span_of_wall(self, wall: int) -> Span | None:
        """The clear part of the span to which alone this wall belongs, if there is one."""
        table = self.table(wall + DAY)
        span = table.clear[bisect_right(table.clear_walls, wall) - 1]
        return span if span[0] <= wall - span[2] < span[1] else None

    def _build(self, horizon_year: int) -> Table:
        horizon_year = min(horizon_year, LAST_YEAR)
        changes = _real_changes(self._file, horizon_year)
        starts = [EARLIEST, *(instant for instant, _ in changes)]
        ends = [*starts[1:], LATEST + 1]
        offsets = [self._file.first_offset, *(offset for _, offset in changes)]
        before = [offsets[0], *offsets[:-1]]
        after = [*offsets[1:], offsets[-1]]
        clear = [
            (start + max(earlier - offset, 0), end + min(later - offset, 0), offset)
            for start, end, offset, earlier, later in zip(
                starts, ends, offsets, before, after, strict=True
            )
        ]
        clear_walls = [low + offset for low, _, offset in clear]
        horizon_year = horizon_year if self._file.rule else LAST_YEAR
        return Table(starts, ends, offsets, clear, clear_walls, horizon_year)


def _real_changes(file: ZoneFile, horizon_year: int) -> list[Change]:
    """Listed and by the rule; those that change only the zone's abbreviation are left out."""
    changes = list(file.changes)
    if file.rule is not None:
        listed_until = changes[-1][0]
        for year in range(to_datetime(listed_until).year, horizon_year + 1):
            changes += [change for change in file.rule.changes(year) if change[0] > listed_until]
    offsets = [file.first_offset, *(offset for _, offset in changes)]
    return [change for change, before in zip(changes, offsets, strict=False) if change[1] != before]


@lru_cache(maxsize=1024)
def zone(name: str) -> Zone:
    """The zone of an IANA name; names with the same history share it."""
    if name not in zone_names():
        raise _unknown(name)
    return _zone_of((_DATA / "zoneinfo" / name).read_bytes())


@lru_cache(maxsize=1024)
def _zone_of(data: bytes) -> Zone:
    return Zone(read_zone_file(data))


def zone_name(name: object) -> str:
    """A name that `zone` knows: this one, or the host's for `local`."""
    if name == "local":
        return _host_zone_name()
    if not isinstance(name, str) or name not in zone_names():
        raise _unknown(name)
    return name


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Every name that may be given."""
    return frozenset((_DATA / "zones").read_text().split())


def zone_data_version() -> str:
    """Which edition of the zone data is in use, such as `2026f`."""
    return str(tzdata.IANA_VERSION)


def _host_zone_name() -> str:
    name = host_timezone()
    if name not in zone_names():
        reason = f"is {shown(name)} on this host, which is no IANA name"
        remedy = "set TZ to one, or write one instead of local"
        raise InvalidRecurrence.because("timezone", "local", reason, remedy)
    return name


def _unknown(name: object) -> InvalidRecurrence:
    near = _nearest(name) if isinstance(name, str) else None
    remedy = 'name a place, such as "Europe/Berlin", or write "local"'
    remedy = f'did you mean "{near}"?' if near else remedy
    return InvalidRecurrence.because("timezone", name, "is unknown", remedy)


def _nearest(name: str) -> str | None:
    """The known name that this one probably means. Nothing is guessed for abbreviations and
    offsets: those that look alike are hours apart."""
    from difflib import get_close_matches

    by_folded = {known.casefold(): known for known in sorted(zone_names())}
    places = {merged: known for merged, known in by_folded.items() if known[:4] != "Etc/"}
    by_city = {merged.rpartition("/")[2]: known for merged, known in places.items()}
    wanted = name[:80].casefold().replace(" ", "_")
    for known in (by_folded, by_city):
        if wanted in known:
            return known[wanted]
    if re.fullmatch(r"[a-z]{0,4}|[^/]*[-+0-9][^/]*", wanted):
        return None
    for known in (by_folded, by_city):
        if near := get_close_matches(wanted, known, n=1, cutoff=0.7):
            return known[near[0]]
    return None
