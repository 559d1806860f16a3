"""The tables of phrases, and the instants that they should name: from what is written beside each
phrase, with nothing of `quarterjack`.

`python -m harness.times.phrases` writes the instants into phrases.txt again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count, islice
from pathlib import Path

from harness.times.walk import CronText, zone

NOW = datetime(2026, 11, 20, 10, tzinfo=UTC)
"""A Friday."""

_HERE = Path(__file__).parent
_PHRASES = _HERE / "phrases.txt"
_REFUSALS = _HERE / "phrases_refused.txt"
_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_YEARS = 16


@dataclass(frozen=True)
class Row:
    phrase: str
    meaning: str
    instants: str


def phrases() -> list[Row]:
    return [Row(*cells) for cells in _cells(_PHRASES)]


def refusals() -> list[tuple[str, str, list[str]]]:
    """(phrase, reason, phrases that the error offers)."""
    return [
        (phrase, reason, [each for each in readings.split("; ") if each])
        for phrase, reason, readings in _cells(_REFUSALS)
    ]


def _cells(file: Path) -> Iterator[list[str]]:
    for line in file.read_text().splitlines():
        if line and not line.startswith("#"):
            cells = [cell.strip() for cell in line.split(" | ")]
            yield [*cells, ""][:3]


def next_three(meaning: str) -> str:
    """As the table writes them."""
    return " ".join(_text(each) for each in islice(_instants(meaning), 3)) or "none"


def _text(instant: datetime) -> str:
    return instant.isoformat().removesuffix("+00:00").removesuffix(":00")


def _instants(meaning: str) -> Iterator[datetime]:
    start, end, rest = NOW, datetime.max.replace(tzinfo=UTC), meaning
    if found := re.search(r" until (\S+)", rest):
        end, rest = _at(found[1]), rest.replace(found[0], "")
    if found := re.search(r" from (\S+)", rest):
        start, rest = max(NOW, _at(found[1]) - timedelta(seconds=1)), rest.replace(found[0], "")
    for instant in _unbounded(rest, start):
        if instant > end:
            return
        yield instant


def _unbounded(meaning: str, start: datetime) -> Iterator[datetime]:
    if meaning.startswith("once "):
        return iter([_at(each) for each in meaning.split()[1:]])
    if found := re.fullmatch(r"(\S*) ?\+(\d+)(ms|s|m|h|d)", meaning):
        step = timedelta(**{_UNITS[found[3]]: int(found[2])})
        first = _at(found[1]) if found[1] else NOW + step
        return (first + n * step for n in count())
    text, _, zone_name = meaning.partition(" @")
    return _of_crons([CronText(each.strip()) for each in text.split(";")], zone_name, start)


def _of_crons(crons: list[CronText], zone_name: str, start: datetime) -> Iterator[datetime]:
    """Day by day."""
    own_zone = zone(zone_name or "UTC")
    midnight = start.astimezone(own_zone).replace(hour=0, minute=0, second=0, tzinfo=None)
    for number in range(_YEARS * 366):
        day = midnight + timedelta(days=number)
        found = set()
        for cron in crons:
            if cron.matches_day(day.date()):
                walls = (day.replace(hour=h, minute=m) for h in cron.hours for m in cron.minutes)
                found |= {wall.replace(tzinfo=own_zone).astimezone(UTC) for wall in walls}
        yield from sorted(instant for instant in found if instant > start)


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def main() -> None:
    lines = _PHRASES.read_text().splitlines()
    for index, line in enumerate(lines):
        if line and not line.startswith("#"):
            phrase, meaning = (cell.strip() for cell in line.split(" | ")[:2])
            lines[index] = f"{phrase} | {meaning} | {next_three(meaning)}"
    _PHRASES.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
