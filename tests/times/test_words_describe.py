"""What `describe` says, `parse` reads back.

Left out are what no sentence says: the words for daylight saving (`dst_gap`, `dst_fold`), and steps
after a star that are uneven (`*/7`), which follow real time although their sentence is a list. And
sentences that are longer than the text of a recurrence may be.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from datetime import time as Time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.times.at import at
from quarterjack import (
    After,
    At,
    Cron,
    Daily,
    Every,
    Hourly,
    InvalidRecurrence,
    Monthly,
    Recurrence,
    Weekday,
    Weekly,
    parse,
)
from quarterjack.times.checks import LENGTH_MAX
from quarterjack.times.recurrence import WallTimeRecurrence
from quarterjack.times.union import Union, union_of

NOW = at("2026-11-20T10:00Z")
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Japan"])
EVEN_STEPS = {60: (2, 3, 4, 5, 6, 10, 12, 15, 20, 30), 24: (2, 3, 4, 6, 8, 12)}
DAYS = (
    "*",
    "*",
    "1",
    "15",
    "1,15",
    "1-7",
    "L",
    "L-1",
    "L-3",
    "15W",
    "1W",
    "LW",
    "1,L",
    "*/2",
    "2-30/2",
    "31W",
)
MONTHS = ("*", "*", "1", "6-8", "1,7", "*/3", "1-3,5")
WEEKDAYS = ("*", "*", "1", "1-5", "0,6", "1,5", "5-7", "5#3", "1L", "2,0#2", "1#1,1#3")


def number_fields(size: int) -> st.SearchStrategy[str]:
    numbers = st.integers(0, size - 1)
    return st.one_of(
        st.just("*"),
        st.sampled_from(EVEN_STEPS[size]).map(lambda step: f"*/{step}"),
        numbers.map(str),
        st.lists(numbers, min_size=1, max_size=5, unique=True).map(
            lambda values: ",".join(map(str, sorted(values)))
        ),
        st.tuples(numbers, numbers).map(lambda ends: f"{min(ends)}-{max(ends)}"),
        st.tuples(st.integers(1, 5), st.integers(2, 7)).map(
            lambda start_and_step: f"{start_and_step[0]}-{size - 1}/{start_and_step[1]}"
        ),
    )


@st.composite
def bounds(draw: st.DrawFn) -> dict[str, Any]:
    start = draw(st.none() | st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)))
    days = draw(st.none() | st.integers(1, 1000))
    found: dict[str, Any] = {"timezone": draw(ZONES)}
    if start is not None:
        found["start_at"] = start.replace(tzinfo=NOW.tzinfo)
    if days is not None:
        found["end_at"] = at("2030-01-02T00:00Z") + timedelta(days=days)
    return found


@st.composite
def crons(draw: st.DrawFn, common: dict[str, Any] | None = None) -> Cron | None:
    seconds = common is None and draw(st.sampled_from([False, False, False, True]))
    days = [draw(st.sampled_from(fields)) for fields in (DAYS, MONTHS, WEEKDAYS)]
    fields = [draw(number_fields(60)), draw(number_fields(24)), *days]
    if seconds:
        fields.insert(0, draw(number_fields(60)))
    rest = common or {**draw(bounds()), "day_rule": draw(st.sampled_from(["or", "and"]))}
    try:
        return Cron(" ".join(fields), seconds=seconds, **rest)
    except InvalidRecurrence:  # a date that never occurs
        return None


@st.composite
def unions(draw: st.DrawFn) -> Recurrence | None:
    common = draw(bounds())
    parts = [part for part in draw(st.lists(crons(common), min_size=2, max_size=3)) if part]
    return union_of(parts) if len(parts) > 1 else None


WALL_TIMES = st.builds(Time, st.integers(0, 23), st.integers(0, 59), st.sampled_from([0, 0, 30]))
ELAPSED = st.integers(1, 10**7).map(lambda tenths: f"{tenths * 100}ms")
INTERVALS = ELAPSED | st.integers(1, 400).map(lambda days: f"{days}d") | st.just("monthly")
PATTERNS = st.one_of(
    st.builds(
        lambda rest, *own: Hourly(*own, **rest), bounds(), st.integers(0, 59), st.integers(0, 59)
    ),
    st.builds(lambda rest, time: Daily(time, **rest), bounds(), WALL_TIMES),
    st.builds(
        lambda rest, days, time: Weekly(days, time, **rest),
        bounds(),
        st.sets(st.sampled_from(list(Weekday)), min_size=1).map(list),
        WALL_TIMES,
    ),
    st.builds(lambda rest, *own: Monthly(*own, **rest), bounds(), st.integers(1, 31), WALL_TIMES),
)
EVERYS = st.builds(
    lambda rest, every, anchor: Every(every, anchor=anchor, **rest),
    bounds(),
    INTERVALS,
    st.sampled_from(["slot", "completion"]),
)
INSTANTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)).map(
    lambda instant: instant.replace(tzinfo=NOW.tzinfo)
)
ONCE = st.one_of(
    INSTANTS.map(At),
    st.lists(INSTANTS, min_size=2, max_size=3, unique=True).map(
        lambda each: union_of([*map(At, each)])
    ),
    ELAPSED.map(After),
    st.builds(lambda after, since: After(after, created_at=since), ELAPSED, INSTANTS),
)


def meaning(recurrence: Recurrence) -> object:
    """Equal for recurrences with the same slots, however they are written."""
    parts = recurrence.parts if isinstance(recurrence, Union) else (recurrence,)
    if not isinstance(parts[0], WallTimeRecurrence):
        return recurrence.to_json()
    times: dict[object, set[tuple[int, int, int]]] = {}
    for part in parts:
        fields = part.fields  # type: ignore[attr-defined]
        clock = times.setdefault((fields.day_rule(), fields.follow_real_time), set())
        clock |= {
            (hour, minute, second)
            for hour in fields.hour.values
            for minute in fields.minute.values
            for second in fields.second.values
        }
    first = parts[0]
    return times, first.timezone or "UTC", first.start_at, first.end_at


def read_back(recurrence: Recurrence) -> Recurrence:
    """Words say a zone only where it matters and is not UTC."""
    sentence = recurrence.describe()
    zone = (getattr(recurrence, "timezone", None) or "UTC") if "(" not in sentence else "UTC"
    now = getattr(recurrence, "created_at", None)
    return parse({"schedule": sentence}, timezone=zone, now=now)


@pytest.mark.mission("E10")
@settings(max_examples=300)
@given(crons() | PATTERNS | EVERYS | ONCE)
def test_a_sentence_is_read_back_as_an_equal_recurrence(recurrence: Recurrence | None):
    if recurrence is not None and len(recurrence.describe()) <= LENGTH_MAX:
        assert meaning(read_back(recurrence)) == meaning(recurrence), recurrence.describe()


@settings(max_examples=100)
@given(unions())
def test_the_sentence_of_a_union_is_read_back(recurrence: Recurrence | None):
    if recurrence is not None and len(recurrence.describe()) <= LENGTH_MAX:
        assert meaning(read_back(recurrence)) == meaning(recurrence), recurrence.describe()


def test_an_interval_and_cron_have_different_sentences():
    assert Every("5m").describe() == "every 5 minutes"
    assert Cron("*/5 * * * *").describe() == "every 5 minutes of every hour"
    assert Every("1h").describe() == "every hour"
    assert Cron("0 * * * *").describe() == "every hour on the hour"
    assert Cron("0 */6 * * *").describe() == "every 6 hours from 00:00"
    assert Cron("*/10 * * * * *", seconds=True).describe() == "every 10 seconds of every minute"
