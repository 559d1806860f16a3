"""Durations and intervals, and their texts."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterjack import InvalidRecurrence
from quarterjack.times.durations import (
    DURATION_MAX,
    Interval,
    duration_text,
    read_duration,
    read_interval,
)
from quarterjack.times.instants import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
)


@pytest.mark.mission("D4")
@pytest.mark.parametrize(
    ("text", "interval"),
    [
        ("500ms", Interval(elapsed=SECOND // 2)),
        ("90s", Interval(elapsed=90 * SECOND)),
        ("5m", Interval(elapsed=5 * MINUTE)),
        ("15m", Interval(elapsed=15 * MINUTE)),
        ("30m", Interval(elapsed=30 * MINUTE)),
        ("2h", Interval(elapsed=2 * HOUR)),
        ("1h30m", Interval(elapsed=90 * MINUTE)),
        ("PT5M", Interval(elapsed=5 * MINUTE)),
        ("PT1H30M15S", Interval(elapsed=90 * MINUTE + 15 * SECOND)),
        ("P1DT12H", Interval(elapsed=36 * HOUR)),
        ("1d12h", Interval(elapsed=36 * HOUR)),
        ("1w1s", Interval(elapsed=7 * DAY + SECOND)),
        ("5min", Interval(elapsed=5 * MINUTE)),
        ("1h 30m", Interval(elapsed=90 * MINUTE)),
        ("90 seconds", Interval(elapsed=90 * SECOND)),
        ("2 hours", Interval(elapsed=2 * HOUR)),
        ("1 hour and 30 minutes", Interval(elapsed=90 * MINUTE)),
        ("2 Hours, 1 Minute and 1 Sec", Interval(elapsed=2 * HOUR + MINUTE + SECOND)),
        ("1h,30mins", Interval(elapsed=90 * MINUTE)),
        ("3hrs", Interval(elapsed=3 * HOUR)),
        ("500 milliseconds", Interval(elapsed=SECOND // 2)),
        (" 5m\n", Interval(elapsed=5 * MINUTE)),
        ("1 week 3 days", Interval(days=10)),
        ("Daily", Interval(days=1)),
        (timedelta(minutes=5), Interval(elapsed=5 * MINUTE)),
        (timedelta(days=1), Interval(elapsed=24 * HOUR)),
        ("24h", Interval(elapsed=24 * HOUR)),
        ("hourly", Interval(elapsed=HOUR)),
        ("daily", Interval(days=1)),
        ("1d", Interval(days=1)),
        ("P1D", Interval(days=1)),
        ("10d", Interval(days=10)),
        ("weekly", Interval(days=7)),
        ("1w", Interval(days=7)),
        ("2w", Interval(days=14)),
        ("1w3d", Interval(days=10)),
        ("P2W", Interval(days=14)),
        ("monthly", Interval(months=1)),
    ],
)
def test_intervals_are_read_in_all_spellings_and_back_from_their_own(
    text: object, interval: Interval
):
    assert read_interval(text) == interval
    assert read_interval(str(interval)) == interval


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "is not a valid duration"),
        ("5", "has no unit"),
        (" 30 ", "has no unit"),
        (300, "has no unit"),
        ("1h30", "is not a valid duration"),
        ("5 m m", "is not a valid duration"),
        ("1h and", "is not a valid duration"),
        ("3hourss", "is not a valid duration"),
        ("5x", "is not a valid duration"),
        ("m5", "is not a valid duration"),
        ("1.5h", "is not a valid duration"),
        ("30m1h", "is not a valid duration"),
        ("5M", "is not a valid duration"),
        ("-5m", "is not a valid duration"),
        ("P", "is not a valid duration"),
        ("PT", "is not a valid duration"),
        ("P1M", "is not a valid duration"),
        ("5m" * 100, "is not a valid duration"),
        (True, "is not a valid duration"),
        (1.5, "has no unit"),
        (float("nan"), "has no unit"),
        (timedelta(microseconds=1500), "has fractions of a millisecond"),
        (timedelta(-1), "is out of range"),
        (timedelta(), "is too short"),
        (None, "is not a valid duration"),
        ("٣s", "is not a valid duration"),
        (-1, "has no unit"),
        ("40000d", "is out of range"),
        (10**30, "has no unit"),
        pytest.param(10**5000, "has no unit", id="5000 digits"),
        ("99ms", "is too short"),
        ("0d", "is too short"),
        (0, "has no unit"),
    ],
)
def test_an_invalid_interval_is_refused_with_the_reason(value: object, reason: str):
    with pytest.raises(InvalidRecurrence) as caught:
        read_interval(value)

    (problem,) = caught.value.problems
    assert (problem.field, problem.reason) == ("every", reason)
    assert problem.remedy


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        ("5", 'write "5s" or "5ms"'),
        (30, 'write "30s" or "30ms"'),
        ("1.5h", 'use whole numbers: write "1h30m"'),
        (1.5, 'write text with one, such as "1500ms"'),
        ("5x", "use units from large to small, such as 90s, 1h30m, 2w, 500ms or PT5M"),
        ("9" * 13, "use units from large to small, such as 90s, 1h30m, 2w, 500ms or PT5M"),
        ("٣", "use units from large to small, such as 90s, 1h30m, 2w, 500ms or PT5M"),
    ],
)
def test_the_remedy_depends_on_the_mistake(value: object, remedy: str):
    with pytest.raises(InvalidRecurrence) as caught:
        read_duration(value, "timeout")

    assert caught.value.problems[0].remedy == remedy


def test_messages_about_durations():
    with pytest.raises(InvalidRecurrence) as too_long:
        read_interval("40000d")
    with pytest.raises(InvalidRecurrence) as not_one:
        read_duration("x", "timeout")
    with pytest.raises(InvalidRecurrence) as negative:
        read_duration(-5, "timeout")

    with pytest.raises(InvalidRecurrence) as too_short:
        read_interval("99ms")

    assert str(too_short.value) == 'every "99ms" is too short; use at least 100ms'
    assert str(too_long.value) == ('every "40000d" is out of range; use 0 to 100 years')
    assert str(not_one.value).startswith('timeout "x" is not a valid duration; use units')
    assert str(negative.value) == 'timeout -5 has no unit; write "-5s" or "-5ms"'


def test_the_text_of_an_interval_is_the_shortest():
    assert [str(read_interval(text)) for text in ("14d", "10d", "7d", "8d", "120m", "monthly")] == [
        "2w",
        "10d",
        "1w",
        "8d",
        "2h",
        "monthly",
    ]


def test_the_shortest_and_the_longest_intervals():
    assert read_interval("100ms") == Interval(elapsed=100_000)
    assert read_interval("36525d") == Interval(days=36_525)
    assert read_duration("36525d", "timeout") == DURATION_MAX


def test_a_duration_is_elapsed_time_even_in_days():
    assert read_duration("1d", "timeout") == DAY
    assert read_duration(timedelta(days=1), "timeout") == DAY
    with pytest.raises(InvalidRecurrence, match="timeout 0 is zero; use at least 1ms"):
        read_duration(0, "timeout")
    with pytest.raises(InvalidRecurrence, match=r'timeout "0s" is zero; use at least 1'):
        read_duration("0s", "timeout")


@given(st.integers(1, DURATION_MAX // 1000))
def test_the_text_of_a_duration_reads_back(milliseconds: int):
    text = duration_text(milliseconds * 1000)

    assert read_duration(text, "timeout") == milliseconds * 1000
    assert not set("dw") & set(text)


def test_a_fraction_that_is_nothing_in_whole_units_gets_the_general_remedy():
    with pytest.raises(InvalidRecurrence, match="use units from large to small"):
        read_duration("0.0001ms", "timeout")
