"""Instants, and their texts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.times.at import at, us
from quarterjack import Cron, InvalidRecurrence
from quarterjack.times.instants import (
    EARLIEST,
    LATEST,
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
        ("2026-13-16T09:00:00Z", "does not exist (month must be in 1..12)"),
        ("2026-11-16T09:00:60Z", "does not exist (second must be in 0..59)"),
        ("2026-11-16T09:00:00+25:00", "does not exist"),
        ("0001-01-01T00:00:00+05:00", "is outside the years 1 to 9999"),
        (10**18, "is outside the years 1 to 9999"),
        (253_402_300_800_000, "is outside the years 1 to 9999"),
        (-(10**18), "is outside the years 1 to 9999"),
        (True, "is not an instant"),
        (1.5, "is not an instant"),
        (None, "is not an instant"),
        ("９９９９-11-16T09:00:00Z", "is not RFC 3339"),
    ],
)
def test_an_invalid_instant_is_refused_with_the_reason(value: object, reason: str):
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
                                'append "Z" or an offset such as "+02:00"'),
        ("2026-02-30T09:00:00Z", 'at "2026-02-30T09:00:00Z" does not exist (day is out of range '
                                 "for month); use a valid date and time"),
        (10**18, "at 1000000000000000000 is outside the years 1 to 9999; use an instant within "
                 "them"),
        ("0001-01-01T00:00:00+05:00", 'at "0001-01-01T00:00:00+05:00" is outside the years 1 to '
                                      "9999; use an instant within them"),
    ],
)  # fmt: skip
def test_messages_about_instants(value: object, message: str):
    with pytest.raises(InvalidRecurrence) as caught:
        read_instant(value, "at")

    assert str(caught.value) == message


def test_the_first_and_the_last_instants_are_accepted():
    assert read_instant("0001-01-01T00:00:00Z", "at") == EARLIEST
    assert read_instant("9999-12-31T23:59:59.999999Z", "at") == LATEST
    assert read_instant("2026-11-16T09:00:00.1234567Z", "at") % SECOND == 123_456


def test_a_naive_datetime_is_refused_wherever_it_is_given():
    naive = datetime(2026, 11, 16, 9)
    cron = Cron("0 9 * * *")

    for method in (cron.next, cron.prev, cron.matches, lambda when: cron.between(when, when)):
        with pytest.raises(InvalidRecurrence) as caught:
            method(naive)
        assert str(caught.value) == (
            'datetime "2026-11-16 09:00:00" is naive; '
            "add a time zone, as in datetime(2026, 11, 16, 9, tzinfo=UTC)"
        )


def test_a_value_that_is_not_a_datetime_is_refused():
    with pytest.raises(
        InvalidRecurrence, match='datetime "x" is not a datetime; use an aware datetime'
    ):
        Cron("0 9 * * *").next("x")


def test_a_known_instant():
    assert from_datetime(at("2001-09-09T01:46:40Z")) == 10**15
