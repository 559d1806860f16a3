"""Instants and their texts; durations and their texts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.times.at import at, us
from quarterjack import Cron, InvalidRecurrence
from quarterjack.times.durations import (
    DURATION_MAX,
    Interval,
    duration_text,
    read_duration,
    read_interval,
)
from quarterjack.times.instants import (
    DAY,
    EARLIEST,
    HOUR,
    LATEST,
    MINUTE,
    SECOND,
    from_datetime,
    read_instant,
    to_datetime,
    to_text,
)


@given(st.datetimes(timezones=st.just(UTC)))
def test_an_instant_is_its_datetime_and_its_text(when: datetime):
    instant = from_datetime(when)

    assert to_datetime(instant) == when
    assert read_instant(to_text(instant), "at") == instant


def test_the_zone_in_which_a_datetime_is_given_does_not_matter():
    there = at("2026-11-16T09:00Z").astimezone(timezone(timedelta(hours=-3)))

    assert read_instant(there, "at") == us("2026-11-16T09:00Z")


def test_the_bounds_are_the_first_and_the_last_microsecond_that_a_datetime_knows():
    assert to_datetime(EARLIEST) == datetime.min.replace(tzinfo=UTC)
    assert to_datetime(LATEST) == datetime.max.replace(tzinfo=UTC)


def test_text_has_a_fraction_only_where_there_is_one():
    assert to_text(us("2026-11-16T09:00Z")) == "2026-11-16T09:00:00Z"
    assert to_text(us("2026-11-16T09:00Z") + 1500) == "2026-11-16T09:00:00.001500Z"


@pytest.mark.mission("D5")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-16T09:00:00Z", "2026-11-16T09:00Z"),
        ("2026-11-16t09:00:00z", "2026-11-16T09:00Z"),
        ("2026-11-16 09:00:00Z", "2026-11-16T09:00Z"),
        ("2026-11-16T09:00Z", "2026-11-16T09:00Z"),
        ("2026-11-16T09:00:00+09:30", "2026-11-15T23:30Z"),
        ("2026-11-16T09:00:00-03:00", "2026-11-16T12:00Z"),
        ("2026-11-16T09:00:00-00:00", "2026-11-16T09:00Z"),
    ],
)
def test_rfc_3339_with_any_offset_is_read(text: str, expected: str):
    assert read_instant(text, "at") == us(expected)


def test_fractions_beyond_microseconds_are_cut():
    assert read_instant("2026-11-16T09:00:00.123456789Z", "at") % SECOND == 123_456
    assert read_instant("2026-11-16T09:00:00.5Z", "at") % SECOND == 500_000


def test_an_integer_is_unix_milliseconds():
    assert read_instant(1_794_906_000_000, "at") == us("2026-11-17T09:00Z")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("2026-11-16T09:00:00", "has no offset from UTC"),
        ("tomorrow", "is not RFC 3339"),
        ("", "is not RFC 3339"),
        ("2026-11-16", "is not RFC 3339"),
        ("2026-13-16T09:00:00Z", "names no instant (month must be in 1..12)"),
        ("2026-11-16T09:00:60Z", "names no instant (second must be in 0..59)"),
        ("2026-11-16T09:00:00+25:00", "names no instant"),
        ("0001-01-01T00:00:00+05:00", "is outside the years 1 to 9999"),
        (10**18, "is outside the years 1 to 9999"),
        (253_402_300_800_000, "is outside the years 1 to 9999"),
        (-(10**18), "is outside the years 1 to 9999"),
        (True, "is no instant"),
        (1.5, "is no instant"),
        (None, "is no instant"),
        ("９９９９-11-16T09:00:00Z", "is not RFC 3339"),
    ],
)
def test_what_is_no_instant_is_refused_with_its_reason(value: object, reason: str):
    with pytest.raises(InvalidRecurrence) as caught:
        read_instant(value, "start_at")

    (problem,) = caught.value.problems
    assert problem.field == "start_at"
    assert problem.reason.startswith(reason)
    assert problem.remedy


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("x", 'at "x" is not RFC 3339; write it as "2026-11-16T09:00:00Z"'),
        ("2026-11-16T09:00:00", 'at "2026-11-16T09:00:00" has no offset from UTC; '
                                'end it with "Z" or an offset like "+02:00"'),
        ("2026-02-30T09:00:00Z", 'at "2026-02-30T09:00:00Z" names no instant (day is out of range '
                                 "for month); give a date and time that exist"),
        (10**18, "at 1000000000000000000 is outside the years 1 to 9999; give an instant in these "
                 "years"),
        ("0001-01-01T00:00:00+05:00", 'at "0001-01-01T00:00:00+05:00" is outside the years 1 to '
                                      "9999; give an instant in these years"),
    ],
)  # fmt: skip
def test_the_whole_message_about_an_instant(value: object, message: str):
    with pytest.raises(InvalidRecurrence) as caught:
        read_instant(value, "at")

    assert str(caught.value) == message


def test_the_first_and_the_last_instants_are_taken():
    assert read_instant("0001-01-01T00:00:00Z", "at") == EARLIEST
    assert read_instant("9999-12-31T23:59:59.999999Z", "at") == LATEST
    assert read_instant("2026-11-16T09:00:00.1234567Z", "at") % SECOND == 123_456


def test_a_naive_datetime_is_refused_wherever_it_is_given():
    naive = datetime(2026, 11, 16, 9)
    cron = Cron("0 9 * * *")

    for ask in (cron.next, cron.prev, cron.matches, lambda when: cron.between(when, when)):
        with pytest.raises(InvalidRecurrence) as caught:
            ask(naive)
        assert str(caught.value) == (
            'datetime "2026-11-16 09:00:00" is naive, so it names no instant; '
            "give it a zone, as in datetime(2026, 11, 16, 9, tzinfo=UTC)"
        )


def test_what_is_not_even_a_datetime_is_refused():
    with pytest.raises(
        InvalidRecurrence, match='datetime "x" is not a datetime; give an aware datetime'
    ):
        Cron("0 9 * * *").next("x")


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
        (300_000, Interval(elapsed=5 * MINUTE)),
        (86_400_000, Interval(elapsed=24 * HOUR)),
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
        ("", "is no duration"),
        ("5", "is no duration"),
        ("5x", "is no duration"),
        ("m5", "is no duration"),
        ("1.5h", "is no duration"),
        ("30m1h", "is no duration"),
        ("5M", "is no duration"),
        ("-5m", "is no duration"),
        ("P", "is no duration"),
        ("PT", "is no duration"),
        ("P1M", "is no duration"),
        ("5m" * 100, "is no duration"),
        (True, "is no duration"),
        (1.5, "is no duration"),
        (None, "is no duration"),
        ("٣s", "is no duration"),
        (-1, "is out of bounds"),
        ("40000d", "is out of bounds"),
        (10**30, "is out of bounds"),
        ("99ms", "is too short an interval"),
        ("0d", "is too short an interval"),
        (0, "is too short an interval"),
    ],
)
def test_what_is_no_interval_is_refused_with_its_reason(value: object, reason: str):
    with pytest.raises(InvalidRecurrence) as caught:
        read_interval(value)

    (problem,) = caught.value.problems
    assert (problem.field, problem.reason) == ("every", reason)
    assert problem.remedy


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        ("5", 'add a unit, as in "5s" or "5ms"'),
        (1.5, "give whole milliseconds, or text such as 1500ms"),
        ("5x", "write units from large to small, such as 90s, 1h30m, 2w, 500ms or PT5M"),
        ("9" * 12, "write units from large to small, such as 90s, 1h30m, 2w, 500ms or PT5M"),
        ("٣", "write units from large to small, such as 90s, 1h30m, 2w, 500ms or PT5M"),
    ],
)
def test_the_remedy_fits_what_was_wrong_with_a_duration(value: object, remedy: str):
    with pytest.raises(InvalidRecurrence) as caught:
        read_duration(value, "timeout")

    assert caught.value.problems[0].remedy == remedy


def test_the_whole_message_about_a_duration():
    with pytest.raises(InvalidRecurrence) as too_long:
        read_interval("40000d")
    with pytest.raises(InvalidRecurrence) as not_one:
        read_duration("x", "timeout")
    with pytest.raises(InvalidRecurrence) as negative:
        read_duration(-5, "timeout")

    with pytest.raises(InvalidRecurrence) as too_short:
        read_interval("99ms")

    assert str(too_short.value) == 'every "99ms" is too short an interval; give at least 100ms'
    assert str(too_long.value) == (
        'every "40000d" is out of bounds; give a duration from 0 to 100 years'
    )
    assert str(not_one.value).startswith('timeout "x" is no duration; write units')
    assert str(negative.value) == (
        "timeout -5 is out of bounds; give a duration from 0 to 100 years"
    )


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
    assert read_duration(1, "timeout") == 1000
    with pytest.raises(InvalidRecurrence, match=r'timeout "0s" is no time at all; give at least 1'):
        read_duration("0s", "timeout")


@given(st.integers(1, DURATION_MAX // 1000))
def test_the_text_of_a_duration_reads_back(milliseconds: int):
    text = duration_text(milliseconds * 1000)

    assert read_duration(text, "timeout") == milliseconds * 1000
    assert not set("dw") & set(text)


def test_a_known_instant():
    assert from_datetime(at("2001-09-09T01:46:40Z")) == 10**15
