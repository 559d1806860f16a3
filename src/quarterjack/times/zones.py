"""Time zones as tables of UTC offsets, from the tzdata package and never the host's own copy, so
that every node computes the same instants."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import tzdata

from quarterjack.clock import host_timezone
from quarterjack.errors import InvalidRecurrence, quote
from quarterjack.times.checks import invalid
from quarterjack.times.instants import DAY, EARLIEST, LATEST, to_datetime
from quarterjack.times.tzif import Change, ZoneFile, read_zone_file

LAST_YEAR = 9999
_DATA = Path(tzdata.__path__[0])
_LOOK_AHEAD_YEARS = 30


Span = tuple[int, int, int]
"""(start, end, offset): in [start, end) the wall time is the instant plus the offset."""


class Table(NamedTuple):
    """All spans up to the horizon, as columns for bisect. The *unambiguous* part of a span are the
    instants whose wall time no other instant has, and that is not shifted by a gap."""

    starts: list[int]
    ends: list[int]
    offsets: list[int]
    unambiguous: list[Span]
    unambiguous_starts: list[int]
    """As wall times."""
    horizon_year: int


class Zone:
    """The offsets of one zone. The table grows with the years requested; it is replaced as a whole,
    so that other threads see the old or the new one."""

    def __init__(self, file: ZoneFile) -> None:
        self._file = file
        last_listed = to_datetime(file.changes[-1][0]).year if file.changes else 0
        self._table = self._build(max(last_listed, 2037) + _LOOK_AHEAD_YEARS)

    def table(self, instant: int) -> Table:
        """A table that reaches at least to the second change after this instant."""
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

    def unambiguous_span(self, instant: int) -> Span | None:
        """The unambiguous part of its span, if the instant is in it."""
        table = self._table  # inlined: each search calls this
        if instant >= table.starts[-1]:
            table = self.table(instant)
        span = table.unambiguous[bisect_right(table.starts, instant) - 1]
        return span if span[0] <= instant < span[1] else None

    def unambiguous_span_of_wall_time(self, wall_time: int) -> Span | None:
        """The unambiguous part of the only span with this wall time, if the wall time is in it."""
        table = self.table(wall_time + DAY)
        span = table.unambiguous[bisect_right(table.unambiguous_starts, wall_time) - 1]
        return span if span[0] <= wall_time - span[2] < span[1] else None

    def _build(self, horizon_year: int) -> Table:
        horizon_year = min(horizon_year, LAST_YEAR)
        changes = _real_changes(self._file, horizon_year)
        starts = [EARLIEST, *(instant for instant, _ in changes)]
        ends = [*starts[1:], LATEST + 1]
        offsets = [self._file.first_offset, *(offset for _, offset in changes)]
        before = [offsets[0], *offsets[:-1]]
        after = [*offsets[1:], offsets[-1]]
        columns = zip(starts, ends, offsets, before, after, strict=True)
        unambiguous = [
            (start + max(earlier - offset, 0), end + min(later - offset, 0), offset)
            for start, end, offset, earlier, later in columns
        ]
        unambiguous_starts = [low + offset for low, _, offset in unambiguous]
        horizon_year = horizon_year if self._file.rule else LAST_YEAR
        return Table(starts, ends, offsets, unambiguous, unambiguous_starts, horizon_year)


def _real_changes(file: ZoneFile, horizon_year: int) -> list[Change]:
    """Listed and by the rule, without those that change only the zone's abbreviation."""
    changes = list(file.changes)
    if file.rule is not None:
        listed_until = changes[-1][0]
        for year in range(to_datetime(listed_until).year, horizon_year + 1):
            changes += [change for change in file.rule.changes(year) if change[0] > listed_until]
    offsets = [file.first_offset, *(offset for _, offset in changes)]
    return [change for change, before in zip(changes, offsets, strict=False) if change[1] != before]


@lru_cache(maxsize=1024)
def zone(name: str) -> Zone:
    """The zone of an IANA name. Names with equal data share one object."""
    if name not in zone_names():
        raise _unknown(name)
    return _zone_of((_DATA / "zoneinfo" / name).read_bytes())


@lru_cache(maxsize=1024)
def _zone_of(data: bytes) -> Zone:
    return Zone(read_zone_file(data))


def zone_name(name: object) -> str:
    """A valid IANA name: this one, or the host's for `local`."""
    if name == "local":
        return _host_zone_name()
    if not isinstance(name, str) or name not in zone_names():
        raise _unknown(name)
    return name


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    return frozenset((_DATA / "zones").read_text().split())


def zone_data_version() -> str:
    """The version of the zone data in use, such as `2026f`."""
    return str(tzdata.IANA_VERSION)


def _host_zone_name() -> str:
    name = host_timezone()
    if name not in zone_names():
        reason = f"is {quote(name)} on this host, which is not an IANA name"
        remedy = "set TZ to an IANA name, or use one instead of local"
        raise invalid("timezone", "local", reason, remedy)
    return name


def _unknown(name: object) -> InvalidRecurrence:
    near = _nearest(name) if isinstance(name, str) else None
    remedy = f'did you mean "{near}"?' if near else 'use a name such as "Europe/Berlin", or "local"'
    return invalid("timezone", name, "is unknown", remedy)


def _nearest(name: str) -> str | None:
    """The most similar known name. None for abbreviations and offsets: similar ones are hours
    apart."""
    from difflib import get_close_matches

    by_folded = {known.casefold(): known for known in sorted(zone_names())}
    places = [folded for folded in by_folded if not folded.startswith("etc/")]
    by_city = {place.rpartition("/")[2]: by_folded[place] for place in places}
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


def exact_zone(name: str) -> str | None:
    """The IANA name that this is, in any case."""
    return _by_folded_name().get(name.casefold())


def zone_of_city(name: str) -> str | None:
    """The IANA name that ends so, in any case."""
    return _by_city().get(name.casefold().replace(" ", "_"))


@lru_cache(maxsize=64)
def nearest_zone(name: str) -> str | None:
    """The most similar known name."""
    return _nearest(name)


@lru_cache(maxsize=1)
def _by_folded_name() -> dict[str, str]:
    return {name.casefold(): name for name in zone_names()}


@lru_cache(maxsize=1)
def _by_city() -> dict[str, str]:
    names = [name for name in sorted(zone_names()) if "/" in name and not name.startswith("Etc/")]
    return {name.rpartition("/")[2].casefold(): name for name in names}
