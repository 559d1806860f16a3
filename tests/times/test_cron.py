"""Cron as a recurrence: seconds, the hash `H` and its key, types of the arguments."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.times.at import at, texts
from harness.times.walk import numbers
from quarterjack import Cron, InvalidRecurrence


def problems_of(text: str, **words: object) -> list[str]:
    with pytest.raises(InvalidRecurrence) as caught:
        Cron(text, **words)
    return [str(problem) for problem in caught.value.problems]


def fires(text: str, start: str, end: str, **words: object) -> list[str]:
    return texts(Cron(text, **words).between(at(start), at(end)))


def test_seconds_are_the_first_of_six_fields():
    cron = Cron("*/20 30 9 * * *", seconds=True)

    assert cron.between(at("2025-01-01T00:00Z"), at("2025-01-02T00:00Z")) == [
        at("2025-01-01T09:30:00Z"),
        at("2025-01-01T09:30:20Z"),
        at("2025-01-01T09:30:40Z"),
    ]
    assert cron.next(at("2025-01-01T09:30:20Z")) == at("2025-01-01T09:30:40Z")
    assert cron.next(at("2025-01-01T09:30:45Z")) == at("2025-01-02T09:30:00Z")
    assert cron.prev(at("2025-01-01T09:30:59Z")) == at("2025-01-01T09:30:40Z")
    assert cron.prev(at("2025-01-01T09:29:59Z")) == at("2024-12-31T09:30:40Z")
    two_minutes = Cron("30 0,1 9 * * *", seconds=True)
    assert two_minutes.prev(at("2025-01-01T09:01:10Z")) == at("2025-01-01T09:00:30Z")
    assert two_minutes.prev(at("2025-01-01T09:00:10Z")) == at("2024-12-31T09:01:30Z")
    assert Cron("@hourly", seconds=True).next(at("2025-01-01T09:30:45Z")) == at("2025-01-01T10:00Z")


@pytest.mark.parametrize("text", ["0,30 */2 9-10 * * *", "5,10,50 59 23 * * *", "*/30 * * * * *"])
def test_no_second_is_left_out_when_slots_are_read_in_order(text: str):
    seconds, minutes, hours = (numbers(field, 0, 59) for field in text.split()[:3])
    start, end = at("2025-06-01T08:59:45Z"), at("2025-06-03T00:00:00Z")
    every_second = (start + timedelta(seconds=n) for n in range(1, 39 * 3600 + 16))

    assert Cron(text, seconds=True).between(start, end) == [
        t for t in every_second if t.second in seconds and t.minute in minutes and t.hour in hours
    ]


@given(
    seconds=st.sets(st.integers(0, 59), min_size=1, max_size=20),
    minutes=st.sets(st.integers(0, 59), min_size=1, max_size=20),
    start=st.integers(0, 86_399_999_999),
)
def test_seconds_agree_with_a_walk_over_real_seconds(
    seconds: set[int], minutes: set[int], start: int
):
    text = f"{','.join(map(str, seconds))} {','.join(map(str, minutes))} * * * *"
    cron = Cron(text, seconds=True)
    begin = at("2025-06-01T00:00Z") + timedelta(microseconds=start)
    whole = begin.replace(microsecond=0)
    ahead = (whole + timedelta(seconds=n) for n in range(3700))
    behind = (whole - timedelta(seconds=n) for n in range(3700))

    def fits(second: datetime) -> bool:
        return second.second in seconds and second.minute in minutes

    assert cron.next(begin) == next(t for t in ahead if t > begin and fits(t))
    assert cron.prev(begin) == next(t for t in behind if t <= begin and fits(t))


@pytest.mark.parametrize("value", [None, 5, b"* * * * *", {"*"}])
def test_what_is_not_text_is_refused(value: object):
    with pytest.raises(InvalidRecurrence) as caught:
        Cron(value)

    assert str(caught.value) == f"cron {value} is not text; use a string"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"key": [1]}, "key [1] is not text; use text"),
        ({"key": 1}, "key 1 is not text; use text"),
        ({"seconds": "no"}, 'seconds "no" is not true or false; use true or false'),
        ({"seconds": []}, "seconds [] is not true or false; use true or false"),
    ],
)
def test_a_key_is_text_and_seconds_are_true_or_false(words: dict[str, object], problem: str):
    assert problems_of("0 9 * * *", **words) == [problem]


def test_a_key_may_be_any_text():
    assert Cron("H 9 * * *", key="\ud800").next(at("2025-01-01T00:00Z")) is not None


def test_whether_a_hashed_day_can_occur_does_not_depend_on_the_key():
    for key in (None, "a", "b", "c"):
        assert problems_of("9 0 H(28-31) 2 *", key=key) == [
            "day of month H(28-31) never occurs in month 2; "
            "use a day that the month has, or L for its last day"
        ]
        assert Cron("9 0 H(28-29) 2 *", key=key).with_defaults(key="d").fields.day.values[0] < 30
        assert Cron("9 0 H 2 *", key=key).with_defaults(key="d").fields.day.values[0] < 29


@given(key=st.text(max_size=20), text=st.sampled_from(["H H * * *", "H/15 * * * *", "0 H H H H"]))
def test_a_hash_is_the_same_each_time_and_stays_in_its_field(key: str, text: str):
    first, again = Cron(text, key=key).fields, Cron(text, key=key).fields

    assert first == again
    assert all(1 <= day <= 28 for day in first.day.values) or text != "0 H H H H"
    assert set(first.weekday.values) <= set(range(7))
    assert set(first.minute.values) <= set(range(60))


def test_hashes_are_known_numbers_that_no_version_may_change():
    assert Cron("H H * * *", key="nightly-backup").describe() == "every day at 04:15"
    assert Cron("H(0-29)/10 H(1-3) * * *", key="nightly-backup").fields.minute.values == (5, 15, 25)
    assert Cron("H(0-29)/10 H(1-3) * * *", key="nightly-backup").fields.hour.values == (2,)


def test_hashes_spread_over_the_whole_field_and_differ_between_fields():
    keys = [f"schedule-{n}" for n in range(2000)]
    crons = [Cron("H H H * H", key=key).fields for key in keys]

    assert {cron.minute.values[0] for cron in crons} == set(range(60))
    assert {cron.hour.values[0] for cron in crons} == set(range(24))
    assert {cron.day.values[0] for cron in crons} == set(range(1, 29))
    assert {cron.weekday.values[0] for cron in crons} == set(range(7))
    assert len({(cron.minute.values, cron.hour.values) for cron in crons}) > 1000


def test_the_narrowest_hash_and_the_earliest_day_before_the_last():
    assert Cron("H(5-5) * * * *", key="k").fields.minute.values == (5,)
    assert fires("0 0 L-30 * *", "2025-01-31T00:00Z", "2025-04-15T00:00Z") == ["2025-03-01T00:00Z"]


def test_a_hashed_step_begins_anywhere_within_the_step():
    starts = {Cron("H/15 * * * *", key=str(n)).fields.minute.values for n in range(200)}
    wide = {Cron("H(10-12)/30 * * * *", key=str(n)).fields.minute.values for n in range(200)}
    one = {Cron("H(10-12) * * * *", key=str(n)).fields.minute.values for n in range(200)}

    assert starts == {tuple(range(n, 60, 15)) for n in range(15)}
    assert wide == {(10,), (11,), (12,)}
    assert one == {(10,), (11,), (12,)}


def test_a_hash_without_a_key_is_an_error_until_the_key_is_filled_in():
    cron = Cron("H 3 * * *")

    with pytest.raises(InvalidRecurrence) as caught:
        cron.next(at("2025-01-01T00:00Z"))
    assert str(caught.value) == (
        'cron "H 3 * * *" has H, which needs the schedule\'s key; '
        'give one, as in key="nightly-backup" or --key nightly-backup'
    )
    for text in ("h 3 * * *", "0,H 3 * * *", "0 3 * * 1,h"):
        with pytest.raises(InvalidRecurrence, match="needs the schedule's key"):
            Cron(text).next(at("2025-01-01T00:00Z"))
    assert cron.with_defaults(key="a").next(at("2025-01-01T00:00Z")) is not None
    assert Cron("0 3 * * THU").next(at("2025-01-01T00:00Z")) == at("2025-01-02T03:00Z")
