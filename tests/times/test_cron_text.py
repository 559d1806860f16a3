"""The parser of cron expressions: what each dialect accepts, what it refuses, and the messages."""

from __future__ import annotations

import time

import pytest

from harness.times.at import at, texts
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
        ("\n0 9 * * *\r\n", "0 9 * * *"),
        ("0 0 * * FRI-SUN", "0 0 * * 5-7"),
        ("0 0 * * mon-sunday/2", "0 0 * * 1,3,5,0"),
        ("0 0 * * SUN-SUN", "0 0 * * 0"),
        ("0 0 * * SUN-TUE", "0 0 * * 0-2"),
        ("0 0 * * friday", "0 0 * * 5"),
        ("0 0 * January,MARCH Monday-Friday", "0 0 * 1,3 1-5"),
        ("0 0 * * FridayL", "0 0 * * 5L"),
        ("0 0 * * friday#2", "0 0 * * 5#2"),
        *((macro.upper(), text) for macro, text in MACROS.items()),
    ],
)
def test_equivalent_spellings_have_the_same_slots(text: str, same: str):
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
        ("@never", 'macro "@never" is not POSIX; use the five fields'),
        ("0 0 L * *", 'day of month "L" is not POSIX; use numbers 1-31, ranges and lists'),
        ("0 0 ? * *", 'day of month "?" is not POSIX; use numbers 1-31, ranges and lists'),
        ("H * * * *", 'minute "H" is not POSIX; use numbers 0-59, ranges and lists'),
        ("0 0 * * 5#1", 'day of week "5#1" is not POSIX; use numbers 0-6, ranges and lists'),
        ("1- * * * *", 'minute "1-" is not POSIX; use numbers 0-59, ranges and lists'),
        ("60 * * * *", "minute 60 is outside 0-59; use 0-59"),
        (
            "0 22-2 * * *",
            'hour "22-2" starts after it ends; ranges do not wrap: write "22-23,0-2"',
        ),
    ],
)
def test_posix_refuses_extensions_with_field_and_remedy(text: str, problem: str):
    assert problems_of(text, dialect="posix") == [problem]


@pytest.mark.mission("V8")
def test_posix_accepts_numbers_lists_and_ranges():
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
            ['hour "22-2" starts after it ends; ranges do not wrap: write "22-23,0-2"'],
        ),
        ("0 0 * * 6-0",
         ['day of week "6-0" starts after it ends; ranges do not wrap: write "6-7"']),
        ("0 0 * * FRI-0",
         ['day of week "FRI-0" starts after it ends; ranges do not wrap: write "5-7"']),
        ("0 0 * * FRI-MON",
         ['day of week "FRI-MON" starts after it ends; ranges do not wrap: write "5-6,0-1"']),
        ("0 0 * * 7-0", ['day of week "7-0" starts after it ends; ranges do not wrap: write "0"']),
        ("0 0 * * 7-3",
         ['day of week "7-3" starts after it ends; ranges do not wrap: write "0-3"']),
        ("0 24 * * *", ['hour 24 is outside 0-23; midnight is hour 0, as in "0 0 * * *"']),
        ("0 8-24 * * *", ['hour 24 is outside 0-23; midnight is hour 0, as in "0 0 * * *"']),
        ("0 0 * * FRI#L", ['day of week "FRI#L" is invalid; write "FRIL" for the last Friday']),
        ("0 0 * * MON#-1", ['day of week "MON#-1" is invalid; write "MONL" for the last Monday']),
        ("0 0 * * 0#last", ['day of week "0#LAST" is invalid; write "0L" for the last Sunday']),
        ("0 0 * * sat%2",
         ['day of week "SAT%2" is invalid; write "SAT#2" for the second Saturday']),
        ("* * L/2 * *", ['day of month "L/2" has a step, which L cannot have; use L, L-3 or LW']),
        ("0 0 * SEPT *", ['month "SEPT" is invalid; did you mean "SEP"?']),
        ("0 0 * JAN%2 *", ['month "JAN%2" is invalid; use 1-12 or JAN-DEC']),
        (
            "0 0 * * 5-1",
            ['day of week "5-1" starts after it ends; ranges do not wrap: write "5-6,0-1"'],
        ),
        ("H(30-10) * * * *", ['minute "H(30-10)" starts after it ends; ranges do not wrap: use '
                              '"H(30-59)" or "H(0-10)"']),
        ("0 22-2/2 * * *",
         ['hour "22-2/2" starts after it ends; ranges do not wrap: write "0,2,22"']),
        ("0 0 * 11-2/3 *",
         ['month "11-2/3" starts after it ends; ranges do not wrap: write "2,11"']),
        ("0 23-0 * * *", ['hour "23-0" starts after it ends; ranges do not wrap: write "23,0"']),
        ("0 0 * * 6-1",
         ['day of week "6-1" starts after it ends; ranges do not wrap: write "6,0-1"']),
        ("0 0 */20 * 1#2", ["day of month */20 never falls on day of week 1#2; use values that can "
                            "match the same day"]),
        ("*/0 * * * *", ['minute "*/0" has a step of 0; use 1 or more']),
        ("H/0 * * * *", ['minute "H/0" has a step of 0; use 1 or more']),
        ("1,,2 * * * *", ['minute "" is an empty item; remove the extra comma']),
        ("*-5 * * * *", ['minute "*-5" is invalid; use 0-59']),
        ("5-*/2 * * * *", ['minute "5-*/2" is invalid; use 0-59']),
        ("1-2-3 * * * *", ['minute "1-2-3" is invalid; use 0-59']),
        ("? * * * *", ['minute "?" is invalid; use 0-59']),
        ("L * * * *", ['minute "L" is invalid; use 0-59']),
        ("0 0 * * TUES", ['day of week "TUES" is invalid; did you mean "TUE"?']),
        (
            "0 0 * * X",
            ['day of week "X" is invalid; use 0-7 or SUN-SAT, 5L or 5#3'],
        ),
        (
            "0 0 X * *",
            ['day of month "X" is invalid; use 1-31, L, L-3, LW or 15W'],
        ),
        ("0 0 * MON *", ['month "MON" is invalid; use 1-12 or JAN-DEC']),
        ("0 0 * * XYZ#1", ['day of week "XYZ" is invalid; use 0-7 or SUN-SAT, 5L or 5#3']),
        ("0 0 L-0 * *", ['day of month "L-0" is not a day; use L-1 to L-30']),
        ("0 0 L-31 * *", ['day of month "L-31" is not a day; use L-1 to L-30']),
        ("0 0 * * 5#0", ['day of week "5#0" is not a day; use #1 to #5']),
        ("0 0 * * 5#6", ['day of week "5#6" is not a day; use #1 to #5']),
        ("0 0 * * 8L", ["day of week 8 is outside 0-7; use 0-7 or SUN-SAT"]),
        ("0 0 32W * *", ["day of month 32 is outside 1-31; use 1-31"]),
        ("@reboot", ['macro "@reboot" is unknown; use ' + ", ".join(MACROS)]),
        (
            "* * * *",
            [
                'cron "* * * *" has 4 fields instead of 5; use "minute hour day-of-month month '
                'day-of-week"'
            ],
        ),
        (
            "0 * * * * *",
            [
                'cron "0 * * * * *" has 6 fields instead of 5; use "minute hour day-of-month month '
                'day-of-week", or set seconds: true if the first field is the second'
            ],
        ),
        (
            "0 9 * * MON, FRI",
            ['cron "0 9 * * MON, FRI" has a blank beside a comma; write "0 9 * * MON,FRI"'],
        ),
        (
            "0 9 1 1 * 2027",
            ['cron "0 9 1 1 * 2027" has a field for the year (2027); leave it out, and set '
             "start_at and end_at"],
        ),
        (
            "0 0 9 1 1 ? 2027-2029",
            ['cron "0 0 9 1 1 ? 2027-2029" has a field for the year (2027-2029); leave it out, and '
             "set start_at and end_at; set seconds: true, for the first field is the second"],
        ),
        (
            "0 0 9 * * ? *",
            ['cron "0 0 9 * * ? *" has 7 fields instead of 5; use "minute hour day-of-month month '
             'day-of-week"; there is no field for the year'],
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
        f'cron "0 9 * * *" has 5 fields instead of 6; use "{order}"'
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
def test_a_date_that_never_occurs_is_refused_at_once(text: str):
    began = time.process_time()
    (problem,) = problems_of(text)

    assert time.process_time() - began < 0.05
    _, _, day, month, _ = text.split()
    assert problem == (
        f"day of month {day} never occurs in month {month}; "
        "use a day that the month has, or L for its last day"
    )


@pytest.mark.parametrize("text", ["0 0 30 2 1", "0 0 29 2 *", "0 0 L-28 2 *", "0 0 * 2 5#5"])
def test_a_date_that_occurs_rarely_is_accepted(text: str):
    assert Cron(text).next(at("2025-01-01T00:00Z")) is not None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", 'cron "" is empty; write cron such as "0 9 * * *"'),
        ("   ", 'cron "   " is empty; write cron such as "0 9 * * *"'),
        ("0 9 * *\n*", r"cron '0 9 * *\n*' contains a control character; remove it"),
        ("0 9 * * \x00", r"cron '0 9 * * \x00' contains a control character; remove it"),
        ("٣ * * * *", 'cron "٣ * * * *" contains U+0663, which is not ASCII; use ASCII '
                      "characters only"),
        ("* " * 129, f'cron "{("* " * 129)[:76]}... is 257 characters long; use at most 256'),
    ],
)  # fmt: skip
def test_unreadable_text_is_refused_before_it_is_parsed(text: str, problem: str):
    assert problems_of(text) == [problem]


def test_256_characters_are_accepted():
    text = "0," * 123 + "1 9 1 1 *"
    assert len(text) == 255
    assert Cron(text + " ").next(at("2025-02-01T00:00Z")) == at("2026-01-01T09:00Z")


def test_an_unknown_dialect_is_refused_with_the_known_ones():
    assert problems_of("* * * * *", dialect="quartz") == [
        'dialect "quartz" is unknown; use standard or posix'
    ]
