"""Cron's text: what both dialects take, what they refuse, and how they say so."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.times.at import at, texts
from harness.times.walk import numbers
from quarterjack import Cron, InvalidRecurrence
from quarterjack.times.cron_text import MACROS


def problems_of(text: str, **words: object) -> list[str]:
    with pytest.raises(InvalidRecurrence) as caught:
        Cron(text, **words)
    return [str(problem) for problem in caught.value.problems]


def fires(text: str, start: str, end: str, **words: object) -> list[str]:
    return texts(Cron(text, **words).between(at(start), at(end)))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("0-4 * * * *", "0,1,2,3,4 * * * *"),
        ("*/15 * * * *", "0,15,30,45 * * * *"),
        ("10-30/10 * * * *", "10,20,30 * * * *"),
        ("50/5 * * * *", "50,55 * * * *"),
        ("7-7/2 * * * *", "7 * * * *"),
        ("0 0 * JAN,mar *", "0 0 * 1,3 *"),
        ("0 0 * JAN-MAR *", "0 0 * 1-3 *"),
        ("0 0 * * MON-fri", "0 0 * * 1-5"),
        ("0 0 * * 7", "0 0 * * 0"),
        ("0 0 * * 5-7", "0 0 * * 0,5,6"),
        ("0 0 * * SUN", "0 0 * * 0"),
        ("0 0 ? * 1", "0 0 * * 1"),
        ("0 0 1 * ?", "0 0 1 * *"),
        ("05 007 * * *", "5 7 * * *"),
        ("  0   9 \t * * *  ", "0 9 * * *"),
        *((macro.upper(), text) for macro, text in MACROS.items()),
    ],
)
def test_two_spellings_of_the_same_name_the_same_slots(text: str, same: str):
    start, end = at("2024-02-01T00:00Z"), at("2024-04-01T00:00Z")

    assert Cron(text).between(start, end) == Cron(same).between(start, end)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 0 L * *", ["2024-02-29", "2024-03-31", "2024-04-30"]),
        ("0 0 L-3 * *", ["2024-02-26", "2024-03-28", "2024-04-27"]),
        ("0 0 LW * *", ["2024-02-29", "2024-03-29", "2024-04-30"]),
        ("0 0 15W * *", ["2024-02-15", "2024-03-15", "2024-04-15"]),
        ("0 0 16W * *", ["2024-02-16", "2024-03-15", "2024-04-16"]),
        ("0 0 1W * *", ["2024-02-01", "2024-03-01", "2024-04-01"]),
        ("0 0 31W * *", ["2024-03-29"]),
        ("0 0 * * 5L", ["2024-02-23", "2024-03-29", "2024-04-26"]),
        ("0 0 * * FRIL", ["2024-02-23", "2024-03-29", "2024-04-26"]),
        ("0 0 * * 5#3", ["2024-02-16", "2024-03-15", "2024-04-19"]),
        ("0 0 * * fri#3", ["2024-02-16", "2024-03-15", "2024-04-19"]),
        ("0 0 * * 7#1", ["2024-02-04", "2024-03-03", "2024-04-07"]),
        ("0 0 * * 5#5", ["2024-03-29"]),
        ("0 0 10,L * *", ["2024-02-10", "2024-02-29", "2024-03-10", "2024-03-31",
                          "2024-04-10", "2024-04-30"]),
        ("0 0 * 2 1#1,4L", ["2024-02-05", "2024-02-29"]),
        ("0 0 L 2 5L", ["2024-02-23", "2024-02-29"]),
        ("0 0 29 2 */4", ["2024-02-29"]),
    ],
)  # fmt: skip
def test_days_that_depend_on_the_month(text: str, expected: list[str]):
    found = fires(text, "2024-01-31T12:00Z", "2024-04-30T12:00Z")

    assert found == [f"{day}T00:00Z" for day in expected]


def test_seconds_come_first_and_only_on_request():
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


@pytest.mark.mission("V8")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("*/15 * * * *", 'minute "*/15" is not POSIX; write "0,15,30,45"'),
        ("0-30/10 * * * *", 'minute "0-30/10" is not POSIX; write "0,10,20,30"'),
        ("0 9 * * MON", 'day of week "MON" is not POSIX; write "1"'),
        ("0 9 * * SUN", 'day of week "SUN" is not POSIX; write "0"'),
        ("0 9 * * 5-7/1", 'day of week "5-7/1" is not POSIX; write "0,5,6"'),
        ("0 9 * JAN-MAR *", 'month "JAN-MAR" is not POSIX; write "1,2,3"'),
        ("0 9 * * 7", "day of week 7 is outside 0-6; use 0-6"),
        ("0 9 * * 5-7", "day of week 7 is outside 0-6; use 0-6"),
        ("@daily", 'macro "@daily" is not POSIX; write "0 0 * * *"'),
        ("@never", 'macro "@never" is not POSIX; write the five fields'),
        ("0 0 L * *", 'day of month "L" is not POSIX; use numbers 1-31, ranges and lists'),
        ("0 0 ? * *", 'day of month "?" is not POSIX; use numbers 1-31, ranges and lists'),
        ("H * * * *", 'minute "H" is not POSIX; use numbers 0-59, ranges and lists'),
        ("0 0 * * 5#1", 'day of week "5#1" is not POSIX; use numbers 0-6, ranges and lists'),
        ("1- * * * *", 'minute "1-" is not POSIX; use numbers 0-59, ranges and lists'),
        ("60 * * * *", "minute 60 is outside 0-59; use 0-59"),
        (
            "0 22-2 * * *",
            'hour "22-2" runs backwards; ranges do not wrap: write "22-23,0-2"',
        ),
    ],
)
def test_posix_is_strict_and_says_which_field_and_why(text: str, problem: str):
    assert problems_of(text, dialect="posix") == [problem]


@pytest.mark.mission("V8")
def test_posix_takes_numbers_lists_and_ranges():
    cron = Cron("0,30 9-11 1,15 * *", dialect="posix")

    assert cron.next(at("2025-01-01T09:10Z")) == at("2025-01-01T09:30Z")
    assert cron.next(at("2025-01-01T11:30Z")) == at("2025-01-15T09:00Z")
    assert Cron("0 0 * * 0-6", dialect="posix").next(at("2025-01-01T00:00Z")) == at(
        "2025-01-02T00:00Z"
    )
    assert Cron("59 23 31 12 *", dialect="posix").next(at("2025-01-01T00:00Z")) == at(
        "2025-12-31T23:59Z"
    )
    assert fires("5-5 1 1 1 6-6", "2025-01-01T00:00Z", "2025-01-05T00:00Z", dialect="posix") == [
        "2025-01-01T01:05Z",
        "2025-01-04T01:05Z",
    ]


@pytest.mark.mission("V8")
@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("0 25 * * *", ['hour 25 is outside 0-23; did you mean "25 0 * * *"?']),
        ("23 59 * * *", ['hour 59 is outside 0-23; did you mean "59 23 * * *"?']),
        ("24 59 * * *", ["hour 59 is outside 0-23; use 0-23"]),
        ("30 25 * * *", ["hour 25 is outside 0-23; use 0-23"]),
        ("0 61 * * *", ["hour 61 is outside 0-23; use 0-23"]),
        ("*/5 25 * * *", ["hour 25 is outside 0-23; use 0-23"]),
        ("0 1,25 * * *", ["hour 25 is outside 0-23; use 0-23"]),
        (
            "61 25 * * *",
            ["minute 61 is outside 0-59; use 0-59", "hour 25 is outside 0-23; use 0-23"],
        ),
        (
            "0 0 0,32 13 8",
            [
                "day of month 0 is outside 1-31; use 1-31",
                "day of month 32 is outside 1-31; use 1-31",
                "month 13 is outside 1-12; use 1-12 or JAN-DEC",
                "day of week 8 is outside 0-7; use 0-7 or SUN-SAT",
            ],
        ),
        (
            "0 22-2 * * *",
            ['hour "22-2" runs backwards; ranges do not wrap: write "22-23,0-2"'],
        ),
        ("0 0 * * 6-0", ['day of week "6-0" runs backwards; ranges do not wrap: write "6-7"']),
        ("0 0 * * FRI-SUN", ['day of week "FRI-SUN" runs backwards; ranges do not wrap: write '
                              '"5-7"']),
        (
            "0 0 * * 5-1",
            ['day of week "5-1" runs backwards; ranges do not wrap: write "5-6,0-1"'],
        ),
        ("H(30-10) * * * *", ['minute "H(30-10)" runs backwards; ranges do not wrap: choose '
                              '"H(30-59)" or "H(0-10)"']),
        ("0 22-2/2 * * *", ['hour "22-2/2" runs backwards; ranges do not wrap: write "0,2,22"']),
        ("0 0 * 11-2/3 *", ['month "11-2/3" runs backwards; ranges do not wrap: write "2,11"']),
        ("0 23-0 * * *", ['hour "23-0" runs backwards; ranges do not wrap: write "23,0"']),
        ("0 0 * * 6-1", ['day of week "6-1" runs backwards; ranges do not wrap: write "6,0-1"']),
        ("0 0 */20 * 1#2", ["day of month */20 never falls on day of week 1#2; give two that can "
                            "be the same day"]),
        ("*/0 * * * *", ['minute "*/0" has a step of 0; step by 1 or more']),
        ("H/0 * * * *", ['minute "H/0" has a step of 0; step by 1 or more']),
        ("1,,2 * * * *", ['minute "" is an empty item; remove the comma that is too many']),
        ("*-5 * * * *", ['minute "*-5" is not understood; use 0-59']),
        ("5-*/2 * * * *", ['minute "5-*/2" is not understood; use 0-59']),
        ("1-2-3 * * * *", ['minute "1-2-3" is not understood; use 0-59']),
        ("? * * * *", ['minute "?" is not understood; use 0-59']),
        ("L * * * *", ['minute "L" is not understood; use 0-59']),
        ("0 0 * * MONDAY", ['day of week "MONDAY" is not understood; did you mean "MON"?']),
        (
            "0 0 * * X",
            ['day of week "X" is not understood; use 0-7 or SUN-SAT, 5L or 5#3'],
        ),
        (
            "0 0 X * *",
            ['day of month "X" is not understood; use 1-31, L, L-3, LW or 15W'],
        ),
        ("0 0 * MON *", ['month "MON" is not understood; use 1-12 or JAN-DEC']),
        ("0 0 * * XYZ#1", ['day of week "XYZ" is not understood; use 0-7 or SUN-SAT, 5L or 5#3']),
        ("0 0 L-0 * *", ['day of month "L-0" is no day; use L-1 to L-30']),
        ("0 0 L-31 * *", ['day of month "L-31" is no day; use L-1 to L-30']),
        ("0 0 * * 5#0", ['day of week "5#0" is no day; use #1 to #5']),
        ("0 0 * * 5#6", ['day of week "5#6" is no day; use #1 to #5']),
        ("0 0 * * 8L", ["day of week 8 is outside 0-7; use 0-7 or SUN-SAT"]),
        ("0 0 32W * *", ["day of month 32 is outside 1-31; use 1-31"]),
        ("@reboot", ['macro "@reboot" is unknown; use ' + ", ".join(MACROS)]),
        (
            "* * * *",
            ['it has 4 fields and needs 5; write "minute hour day-of-month month day-of-week"'],
        ),
        (
            "0 * * * * *",
            [
                'it has 6 fields and needs 5; write "minute hour day-of-month month '
                'day-of-week", or set seconds: true if the first one is the second'
            ],
        ),
    ],
)  # fmt: skip
def test_every_rejection_names_the_field_the_value_the_reason_and_a_remedy(
    text: str, problems: list[str]
):
    assert problems_of(text) == problems


def test_with_seconds_five_fields_are_too_few_and_a_swap_keeps_the_second():
    order = "second minute hour day-of-month month day-of-week"

    assert problems_of("0 9 * * *", seconds=True) == [
        f'it has 5 fields and needs 6; write "{order}"'
    ]
    assert problems_of("5 0 25 * * *", seconds=True) == [
        'hour 25 is outside 0-23; did you mean "5 25 0 * * *"?'
    ]


@pytest.mark.fault("F45")
@pytest.mark.threat("T30")
@pytest.mark.parametrize(
    "text",
    [
        "0 0 31 2 *",
        "0 0 30 2 *",
        "0 0 31 4,6,9,11 *",
        "0 0 30 2 */2",
        "0 0 31W 2 *",
        "0 0 L-29 2 *",
    ],
)
def test_a_date_that_never_comes_is_refused_at_once(text: str):
    began = time.process_time()
    (problem,) = problems_of(text)

    assert time.process_time() - began < 0.05
    _, _, day, month, _ = text.split()
    assert problem == (
        f"day of month {day} never comes in month {month}; "
        "give a day that the month has, or L for its last"
    )


@pytest.mark.parametrize("text", ["0 0 30 2 1", "0 0 29 2 *", "0 0 L-28 2 *", "0 0 * 2 5#5"])
def test_a_date_that_comes_at_times_is_taken(text: str):
    assert Cron(text).next(at("2025-01-01T00:00Z")) is not None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", 'cron "" is empty; say when'),
        ("   ", 'cron "   " is empty; say when'),
        ("0 9 * *\n*", r"cron '0 9 * *\n*' holds a control character; remove it"),
        ("0 9 * * \x00", r"cron '0 9 * * \x00' holds a control character; remove it"),
        ("٣ * * * *", 'cron "٣ * * * *" holds U+0663, which is not ASCII; type it with plain '
                      "letters"),
        ("* " * 129, f'cron "{("* " * 129)[:76]}... is 258 characters long; use at most 256'),
    ],
)  # fmt: skip
def test_text_that_no_person_means_is_refused_before_it_is_read(text: str, problem: str):
    assert problems_of(text) == [problem]


def test_256_characters_are_still_read():
    text = "0," * 123 + "1 9 1 1 *"
    assert len(text) == 255
    assert Cron(text + " ").next(at("2025-02-01T00:00Z")) == at("2026-01-01T09:00Z")


@pytest.mark.parametrize("value", [None, 5, b"* * * * *", ["*"]])
def test_what_is_not_text_is_refused(value: object):
    with pytest.raises(InvalidRecurrence) as caught:
        Cron(value)

    assert str(caught.value) == f"cron {value} is not text; give a string"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"key": [1]}, "key [1] is not text; give text"),
        ({"key": 1}, "key 1 is not text; give text"),
        ({"seconds": "no"}, 'seconds "no" is not true or false; give true or false'),
        ({"seconds": []}, "seconds [] is not true or false; give true or false"),
    ],
)
def test_a_key_is_text_and_seconds_are_true_or_false(words: dict[str, object], problem: str):
    assert problems_of("0 9 * * *", **words) == [problem]


def test_a_key_may_be_any_text():
    assert Cron("H 9 * * *", key="\ud800").next(at("2025-01-01T00:00Z")) is not None


def test_whether_a_hashed_day_can_come_does_not_depend_on_the_key():
    for key in (None, "a", "b", "c"):
        assert problems_of("9 0 H(28-31) 2 *", key=key) == [
            "day of month H(28-31) never comes in month 2; "
            "give a day that the month has, or L for its last"
        ]
        assert Cron("9 0 H(28-29) 2 *", key=key).with_defaults(key="d").fields.day.values[0] < 30
        assert Cron("9 0 H 2 *", key=key).with_defaults(key="d").fields.day.values[0] < 29


def test_an_unknown_dialect_is_refused_with_the_two_there_are():
    assert problems_of("* * * * *", dialect="quartz") == [
        'dialect "quartz" is unknown; write standard or posix'
    ]


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
        'give the key, as in Cron("H 3 * * *", key="nightly-backup")'
    )
    for text in ("h 3 * * *", "0,H 3 * * *", "0 3 * * 1,h"):
        with pytest.raises(InvalidRecurrence, match="needs the schedule's key"):
            Cron(text).next(at("2025-01-01T00:00Z"))
    assert cron.with_defaults(key="a").next(at("2025-01-01T00:00Z")) is not None
    assert Cron("0 3 * * THU").next(at("2025-01-01T00:00Z")) == at("2025-01-02T03:00Z")
