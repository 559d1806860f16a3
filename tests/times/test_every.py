"""Intervals: anchors, elapsed and calendar time, validation."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice
from typing import Any

import pytest

from harness.times.at import at, texts, us
from quarterjack import (
    After,
    Daily,
    Every,
    InvalidRecurrence,
    Recurrence,
)
from quarterjack.times import slots_between
from quarterjack.times.instants import DAY, LATEST, to_datetime

BERLIN = "Europe/Berlin"


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "UTC"])
def test_a_calendar_interval_may_begin_at_the_end_of_the_year_9999(zone: str):
    for every in ("monthly", "1d"):
        late = Every(every, created_at=at("9999-12-31T23:00Z"), timezone=zone)
        assert late.next(at("9999-12-31T23:00Z")) is None
        early = Every(every, start_at=at("0001-01-01T00:30Z"), timezone=zone)
        assert early.prev(at("0001-01-01T12:00Z")) == at("0001-01-01T00:30Z")


@pytest.mark.mission("D4", "H2")
@pytest.mark.parametrize(
    ("every", "expected"),
    [
        (Every("5m"), "2025-01-31T10:05Z"),
        (Every("hourly"), "2025-01-31T11:00Z"),
        (Every("2h"), "2025-01-31T12:00Z"),
        (Every("daily"), "2025-02-01T10:00Z"),
        (Every("weekly"), "2025-02-07T10:00Z"),
        (Every("monthly"), "2025-02-28T10:00Z"),
        (Every(seconds=60), "2025-01-31T10:01Z"),
        (Every(minutes=5, hours=1), "2025-01-31T11:05Z"),
        (Every(days=1), "2025-02-01T10:00Z"),
        (Every(days=1, hours=1), "2025-02-01T11:00Z"),
        (Every("60s"), "2025-01-31T10:01Z"),
    ],
)
def test_without_an_anchor_the_first_slot_is_one_interval_after_the_given_instant(
    every: Every, expected: str
):
    start = at("2025-01-31T10:00Z")

    assert every.next(start) == at(expected)
    assert every.between(start, at(expected)) == [at(expected)]


@pytest.mark.mission("D4")
def test_slots_are_counted_from_creation_which_is_not_a_slot():
    every = Every("1h", created_at=at("2025-01-01T00:10Z"))

    assert every.prev(at("2025-01-01T00:30Z")) is None
    assert every.next(at("2024-01-01T00:00Z")) == at("2025-01-01T01:10Z")
    assert every.next(at("2025-01-01T01:10Z")) == at("2025-01-01T02:10Z")
    assert every.prev(at("2025-01-01T05:00Z")) == at("2025-01-01T04:10Z")


def test_calendar_days_are_counted_from_creation_to_the_microsecond():
    every = Every("2d", created_at=at("2025-01-01T10:20:30.5Z"))

    assert every.prev(at("2025-01-03T10:20:30Z")) is None
    assert every.next(at("2020-01-01T00:00Z")) == at("2025-01-03T10:20:30.5Z")
    assert every.next(at("2025-01-03T10:20:30.5Z")) == at("2025-01-05T10:20:30.5Z")
    assert every.prev(at("2025-01-03T10:20:45Z")) == at("2025-01-03T10:20:30.5Z")
    assert every.prev(at("2025-01-05T10:20:30.4Z")) == at("2025-01-03T10:20:30.5Z")


def test_a_start_is_the_first_slot_and_outranks_creation():
    start = at("2025-01-01T00:10Z")
    every = Every("1h", start_at=start, created_at=at("2025-01-01T00:00Z"))
    daily = Every("1d", start_at=start)

    assert every.next(at("2024-01-01T00:00Z")) == start
    assert every.prev(at("2025-01-01T01:00Z")) == start
    assert daily.next(at("2024-01-01T00:00Z")) == start
    assert daily.prev(at("2025-01-01T12:00Z")) == start
    assert daily.prev(at("2025-01-01T00:00Z")) is None
    assert daily.next(start) == at("2025-01-02T00:10Z")


@pytest.mark.mission("D4")
def test_a_monthly_interval_clamps_to_the_last_day_and_does_not_drift():
    every = Every("monthly", start_at=at("2024-01-31T10:00Z"))

    found = every.between(at("2024-01-31T10:00Z"), at("2024-06-01T00:00Z"))

    assert texts(found) == [
        "2024-02-29T10:00Z",
        "2024-03-31T10:00Z",
        "2024-04-30T10:00Z",
        "2024-05-31T10:00Z",
    ]
    created = Every("monthly", created_at=at("2024-02-29T10:00Z"))
    assert created.next(at("2024-02-01T00:00Z")) == at("2024-03-29T10:00Z")
    assert created.prev(at("2024-03-01T00:00Z")) is None


@pytest.mark.fault("F41")
def test_calendar_days_keep_their_wall_time_and_elapsed_days_do_not():
    start = at("2025-03-29T08:00Z")
    calendar = Every("1d", start_at=start, timezone=BERLIN)
    elapsed = Every("24h", start_at=start, timezone=BERLIN)

    assert calendar.next(start) == at("2025-03-30T07:00Z")
    assert elapsed.next(start) == at("2025-03-30T08:00Z")


@pytest.mark.fault("F41")
def test_a_start_in_the_second_pass_of_a_fold_is_still_the_first_slot():
    second_pass = at("2025-10-26T01:30Z")  # 02:30 in Berlin, for the second time
    every = Every("1d", start_at=second_pass, timezone=BERLIN)

    assert every.next(at("2025-10-26T00:00Z")) == second_pass
    assert every.prev(at("2025-10-26T01:30Z")) == second_pass
    assert every.matches(second_pass)
    assert every.next(second_pass) == at("2025-10-27T01:30Z")


def test_an_interval_without_an_anchor_has_no_previous_slot():
    for method in (Every("5m").prev, Every("1d").matches):
        with pytest.raises(InvalidRecurrence, match="has no anchor; set start_at or"):
            method(at("2025-01-01T00:00Z"))
    with pytest.raises(InvalidRecurrence) as caught:
        Every("5m").prev(at("2025-01-01T00:00Z"))
    assert str(caught.value) == 'every "5m" has no anchor; set start_at or created_at'
    assert Every("1d").wall_time_slots is None
    assert Every("5m", created_at=at("2025-01-01T00:00Z")).wall_time_slots is None


@pytest.mark.mission("H2")
@pytest.mark.parametrize(
    ("parts", "problems"),
    [
        ({"seconds": 0}, ["seconds 0 is outside 1-86400; use a whole number from 1 to 86400"]),
        ({"seconds": 86_401}, ["seconds 86401 is outside 1-86400; use a whole number from 1 to "
                               "86400"]),
        ({"minutes": 1441, "hours": 169}, [
            "minutes 1441 is outside 1-1440; use a whole number from 1 to 1440",
            "hours 169 is outside 1-168; use a whole number from 1 to 168",
        ]),
        ({"days": 366}, ["days 366 is outside 1-365; use a whole number from 1 to 365"]),
        ({"days": True}, ["days True is not a whole number; use a whole number from 1 to 365"]),
        ({"days": 1.0}, ["days 1.0 is not a whole number; use a whole number from 1 to 365"]),
        ({}, ["every None is missing; give an interval, as in Every(minutes=5)"]),
        ({"every": "5m", "anchor": "end"}, ['anchor "end" is unknown; use slot or completion']),
        ({"every": "5m", "created_at": "x"}, ['created_at "x" is not RFC 3339; write it as '
                                              '"2026-11-16T09:00:00Z"']),
        ({"every": "5m", "hours": 1},
         ['every "5m" cannot be combined with hours; use one or the other']),
        ({"every": "5x"},
         ['every "5x" is not a valid duration; use units from large to small, such as 90s, 1h30m, '
          "2w, 500ms or PT5M"]),
    ],
)  # fmt: skip
def test_an_interval_is_validated_when_it_is_created(parts: dict[str, Any], problems: list[str]):
    with pytest.raises(InvalidRecurrence) as caught:
        Every(**parts)

    assert [str(problem) for problem in caught.value.problems] == problems
    assert caught.value.text.startswith("every") or not caught.value.text


@pytest.mark.mission("H2")
def test_the_largest_parts_are_accepted():
    every = Every(seconds=86_400, minutes=1_440, hours=168, days=365)

    assert every.interval.elapsed == timedelta(days=365 + 7 + 1 + 1) // timedelta(microseconds=1)
    assert Every(seconds=1, minutes=1, hours=1).every == "1h1m1s"


def test_an_error_about_an_interval_names_it_once():
    with pytest.raises(InvalidRecurrence) as caught:
        Every("5")

    assert str(caught.value) == 'every "5" has no unit; write "5s" or "5ms"'


@pytest.mark.parametrize(
    ("every", "anchor", "slots"),
    [
        (Every("1h"), "2025-01-01T10:20Z", ["2025-01-01T11:20Z", "2025-01-01T12:20Z"]),
        (Every("1d"), "2025-01-01T10:20Z", ["2025-01-02T10:20Z", "2025-01-03T10:20Z"]),
        (
            Every("1h", start_at="2025-01-01T00:00Z"),
            "2025-01-01T10:20Z",
            ["2025-01-01T11:00Z", "2025-01-01T12:00Z"],
        ),
        (Every("1h", anchor="completion"), "2025-01-01T10:20Z", ["2025-01-01T11:20Z"]),
        (Every("monthly", anchor="completion"), "2025-01-31T10:20Z", ["2025-02-28T10:20Z"]),
        (
            Every("1h", anchor="completion", start_at="2025-01-01T12:00Z"),
            "2025-01-01T10:20Z",
            ["2025-01-01T12:00Z"],
        ),
        (
            Every("1h", anchor="completion", start_at="2025-01-01T10:20Z"),
            "2025-01-01T10:20Z",
            ["2025-01-01T11:20Z"],
        ),
        (
            Every("1h", anchor="completion", end_at="2025-01-01T11:00Z"),
            "2025-01-01T10:20Z",
            [],
        ),
        (Every("1h", anchor="completion"), "9999-12-31T23:30Z", []),
        (After("90m"), "2025-01-01T10:20Z", ["2025-01-01T11:50Z"]),
        (Daily("11:00"), "2025-01-01T10:20Z", ["2025-01-01T11:00Z", "2025-01-02T11:00Z"]),
    ],
)
def test_slots_from_an_anchor(every: Recurrence, anchor: str, slots: list[str]):
    found = slots_between(every.slots_from(us(anchor)), us(anchor), LATEST)

    assert texts([to_datetime(slot) for slot in islice(found, 2)]) == slots


@pytest.mark.parametrize(("text", "days"), [("36h", 1.5), ("2w", 14), ("monthly", 30), ("5d", 5)])
def test_the_nominal_length_of_an_interval(text: str, days: float):
    assert Every(text).interval.nominal == days * DAY


@pytest.mark.parametrize(
    ("every", "before"),
    [
        (Every("7h"), ["2024-12-31T13:20Z", "2024-12-31T20:20Z", "2025-01-01T03:20Z"]),
        (Every("3d"), ["2024-12-23T10:20Z", "2024-12-26T10:20Z", "2024-12-29T10:20Z"]),
        (Every("monthly"), ["2024-10-01T10:20Z", "2024-11-01T10:20Z", "2024-12-01T10:20Z"]),
        (Every("1h", start_at="2025-01-01T09:00Z"), ["2025-01-01T09:00Z", "2025-01-01T10:00Z"]),
        (Daily("10:20"), ["2024-12-29T10:20Z", "2024-12-30T10:20Z", "2024-12-31T10:20Z"]),
    ],
)
def test_slots_through_an_anchor_extend_into_the_past(every: Recurrence, before: list[str]):
    anchor = us("2025-01-01T10:20Z")
    slots = every.slots_through(anchor)

    past = list(slots_between(slots, us("2024-06-01T00:00Z"), anchor - 1))

    assert texts([to_datetime(slot) for slot in past[-3:]]) == before
    assert slots.after(anchor) == every.slots_from(anchor).after(anchor)
