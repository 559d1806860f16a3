"""Windows: which slots they admit, and when they open."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.times import walk
from harness.times.at import at, us
from quarterjack import InvalidRecurrence
from quarterjack.times import Window
from quarterjack.times.instants import DAY, EARLIEST, HOUR, LATEST, MINUTE, to_datetime

SYDNEY = "Australia/Sydney"
NEW_YORK = "America/New_York"


@pytest.mark.mission("D6")
@pytest.mark.parametrize(
    ("only_between", "inside", "outside"),
    [
        ("08:00-18:00", ["08:00", "12:00", "17:59"], ["07:59", "18:00", "23:00", "00:00"]),
        ("22:00-06:00", ["22:00", "23:59", "00:00", "05:59"], ["06:00", "12:00", "21:59"]),
        ("8:30-24:00", ["08:30", "23:59"], ["08:29", "00:00"]),
        ("00:00-00:01", ["00:00"], ["00:01", "23:59"]),
        ("23:00-00:00", ["23:00", "23:59"], ["00:00", "22:59"]),
    ],
)
def test_the_start_is_in_and_the_end_is_out_also_overnight(
    only_between: str, inside: list[str], outside: list[str]
):
    window = Window(only_between=only_between)

    assert [window.admits(us(f"2025-06-04T{clock}Z")) for clock in inside] == [True] * len(inside)
    assert [window.refusal(us(f"2025-06-04T{clock}Z")) for clock in outside] == (
        ["only_between"] * len(outside)
    )


@pytest.mark.mission("D6")
@pytest.mark.parametrize(
    "not_on",
    [["saturday", "sunday"], [6, 0], [6, 7], ["6", "7"], ["Sat", "SUN"], ("saturday", 7, 0)],
)
def test_weekdays_are_names_or_numbers_and_sunday_has_two(not_on: list[object]):
    window = Window(not_on=not_on)
    week = [us(f"2025-06-0{day}T12:00Z") for day in range(2, 9)]  # Monday to Sunday

    assert [window.admits(slot) for slot in week] == [True] * 5 + [False] * 2
    assert window.refusal(week[5]) == "not_on"
    assert window.not_on == ("saturday", "sunday")


@pytest.mark.mission("D6")
def test_dates_and_holidays_are_those_of_the_zone():
    window = Window(not_on=["2025-12-24", date(2025, 12, 31), "holidays:DE-BY"], timezone=SYDNEY)

    assert window.admits(us("2025-12-23T12:59Z"))
    assert not window.admits(us("2025-12-23T13:00Z"))  # midnight in Sydney
    assert not window.admits(us("2025-12-25T00:00Z"))
    assert not window.admits(us("2026-01-06T00:00Z"))  # Epiphany, a holiday in Bavaria
    assert Window(not_on=["holidays:DE"]).admits(us("2026-01-06T00:00Z"))
    assert not window.admits(us("2025-12-31T00:00Z"))
    assert window.not_on == ("2025-12-24", "2025-12-31", "holidays:DE-BY")


def test_a_window_without_constraints_admits_everything():
    assert Window().admits(0)
    assert Window().opens(5) == 5


@pytest.mark.mission("D6")
@pytest.mark.parametrize(
    ("window", "at_instant", "opens"),
    [
        (Window("08:00-18:00"), "2025-06-04T03:00Z", "2025-06-04T08:00Z"),
        (Window("08:00-18:00"), "2025-06-04T09:30Z", "2025-06-04T09:30Z"),
        (Window("08:00-18:00"), "2025-06-04T18:00Z", "2025-06-05T08:00Z"),
        (Window("22:00-06:00"), "2025-06-04T06:00Z", "2025-06-04T22:00Z"),
        (Window("08:00-18:00", ("saturday", "sunday")), "2025-06-06T18:00Z", "2025-06-09T08:00Z"),
        (Window("22:00-06:00", ("saturday",)), "2025-06-07T05:00Z", "2025-06-08T00:00Z"),
        (Window(None, ("2025-06-04",)), "2025-06-04T10:00Z", "2025-06-05T00:00Z"),
        (Window("08:00-18:00", timezone=SYDNEY), "2025-06-04T10:00Z", "2025-06-04T22:00Z"),
        # 02:15-02:45 does not exist on the night of the gap.
        (Window("02:15-02:45", timezone=NEW_YORK), "2025-03-09T05:00Z", "2025-03-10T06:15Z"),
        # 02:30-05:00 has already begun when the gap is over.
        (Window("02:30-05:00", timezone=NEW_YORK), "2025-03-09T05:00Z", "2025-03-09T07:00Z"),
        # 00:45-01:15 opens once more when the clocks go back from 02:00 to 01:00.
        (Window("00:45-01:15", timezone=NEW_YORK), "2025-11-02T05:20Z", "2025-11-02T06:00Z"),
    ],
)
def test_when_a_window_opens(window: Window, at_instant: str, opens: str):
    assert window.opens(us(at_instant)) == us(opens)


@given(
    low=st.integers(0, 95),
    length=st.integers(1, 95),
    not_on=st.sets(st.integers(0, 6), max_size=5),
    zone=st.sampled_from([NEW_YORK, "Australia/Lord_Howe", "Africa/Cairo", "UTC"]),
    minute=st.integers(0, 60 * 24 * 12),
    night=st.sampled_from(["2025-03-01T00:00Z", "2025-10-28T00:00Z", "2025-04-18T00:00Z"]),
)
def test_a_window_opens_at_the_first_minute_that_a_walk_admits(
    low: int, length: int, not_on: set[int], zone: str, minute: int, night: str
):
    high = (low + length) % 96
    text = f"{low // 4:02}:{low % 4 * 15:02}-{high // 4:02}:{high % 4 * 15:02}"
    window = Window(text, tuple(str(day) for day in not_on), zone)
    start = at(night) + timedelta(minutes=minute)

    def admitted(instant: object) -> bool:
        local = instant.astimezone(walk.zone(zone))  # type: ignore[attr-defined]
        quarter = (local.hour * 60 + local.minute) / 15
        inside = low <= quarter < high if low < high else quarter >= low or quarter < high
        return inside and (local.weekday() + 1) % 7 not in not_on

    minutes = (start + timedelta(minutes=n) for n in range(60 * 24 * 16))
    expected = next(instant for instant in minutes if admitted(instant))

    found = window.opens((start - at("1970-01-01T00:00Z")) // timedelta(microseconds=1))

    assert found is not None
    assert to_datetime(found) == expected


@given(
    hours=st.sampled_from(["08:00-18:00", "22:15-06:00", "00:00-24:00", "01:30-02:30"]),
    not_on=st.sets(st.sampled_from(["saturday", "2025-03-09", "2025-11-02"])),
    zone=st.sampled_from([NEW_YORK, "Australia/Lord_Howe", "Africa/Cairo", "UTC"]),
    minute=st.integers(0, 60 * 24 * 5),
    night=st.sampled_from(["2025-03-07T00:00Z", "2025-10-31T00:00Z", "2025-04-04T00:00Z"]),
)
def test_the_refusal_has_been_the_same_since_the_returned_instant(
    hours: str, not_on: set[str], zone: str, minute: int, night: str
):
    window = Window(hours, tuple(not_on), zone)
    instant = us(night) + minute * MINUTE + 17

    since = window.since(instant)

    answers = {window.refusal(each) for each in range(since, instant + 1, MINUTE)}
    assert answers == {window.refusal(instant)}
    assert since % MINUTE == 0
    assert instant - since < DAY + HOUR


def test_the_refusal_may_have_been_the_same_since_the_year_1():
    assert Window("08:00-18:00", timezone="Asia/Tokyo").since(EARLIEST) == EARLIEST


def test_a_window_may_not_open_before_the_year_10000():
    never_again = Window("08:00-09:00")

    assert never_again.opens(us("9999-12-31T10:00Z")) is None
    assert Window(not_on=("friday",), timezone="Asia/Tokyo").opens(LATEST) is None


def test_the_search_for_an_opening_ends_after_some_decades():
    ages = tuple(str(date(2025, 1, 1) + timedelta(days=n)) for n in range(10_100))

    assert Window(not_on=ages).opens(us("2025-01-01T00:00Z")) is None
    assert Window(not_on=ages[:9_000]).opens(us("2025-01-01T00:00Z")) == us("2049-08-23T00:00Z")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"only_between": "8-18"}, 'only_between "8-18" is not a time range; write it as '
                                   '"08:00-18:00"'),
        ({"only_between": 5}, 'only_between 5 is not a time range; write it as "08:00-18:00"'),
        ({"only_between": "25:00-26:00"}, 'only_between "25:00-26:00" has an invalid time; use '
                                          "00:00 to 23:59, and 24:00 only as the end"),
        ({"only_between": "08:60-09:00"}, 'only_between "08:60-09:00" has an invalid time; use '
                                          "00:00 to 23:59, and 24:00 only as the end"),
        ({"only_between": "08:00-09:60"}, 'only_between "08:00-09:60" has an invalid time; use '
                                          "00:00 to 23:59, and 24:00 only as the end"),
        ({"only_between": "24:00-08:00"}, 'only_between "24:00-08:00" has an invalid time; use '
                                          "00:00 to 23:59, and 24:00 only as the end"),
        ({"only_between": "08:00-24:01"}, 'only_between "08:00-24:01" has an invalid time; use '
                                          "00:00 to 23:59, and 24:00 only as the end"),
        ({"only_between": "08:00-08:00"}, 'only_between "08:00-08:00" starts and ends at the same '
                                          "time; use two different times"),
        ({"not_on": "funday"}, 'not_on "funday" is not a day; use a weekday, 0-7, a date such as '
                               '"2026-12-24", or "holidays:DE-BY"'),
        ({"not_on": 8}, "not_on 8 is not a day; use a weekday, 0-7, a date such as "
                        '"2026-12-24", or "holidays:DE-BY"'),
        ({"not_on": [True]}, "not_on True is not a day; use a weekday, 0-7, a date such as "
                             '"2026-12-24", or "holidays:DE-BY"'),
        ({"not_on": range(7)}, "not_on range(0, 7) excludes every weekday; allow at least one, or "
                               "pause the schedule"),
        ({"timezone": "Sydny"}, 'timezone "Sydny" is unknown; did you mean "Australia/Sydney"?'),
    ],
)  # fmt: skip
def test_an_invalid_window_is_refused(words: dict[str, object], problem: str):
    with pytest.raises(InvalidRecurrence) as caught:
        Window(**words)

    assert str(caught.value) == f"window: {problem}"


def test_a_value_that_is_not_a_day_is_refused():
    for item in (datetime(2026, 12, 24), b"monday", 10**5000, 1.0, None, ["monday"], "20261224x"):
        with pytest.raises(
            InvalidRecurrence, match="is not a day; use a weekday, 0-7, a date such"
        ):
            Window(not_on=[item])


def test_holidays_are_the_same_for_every_thread():
    """The library's own objects fill themselves while they are read."""
    window = Window(not_on=("holidays:DE-BY",))
    christmas = [us(f"{year}-12-25T12:00Z") for year in range(1995, 2075)]
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            threads = [pool.submit(list, map(window.admits, christmas)) for _ in range(4)]
            admitted = [any(each.result()) for each in threads]
    finally:
        sys.setswitchinterval(switch)

    assert admitted == [False] * 4


def test_equal_windows_are_equal_however_they_are_written():
    assert Window("8:00-18:00", ["sun", "SATURDAY"]) == Window("08:00-18:00", [6, 0, 7])
    assert Window(not_on=["2026-12-24", "monday"]).to_json()["not_on"] == ["monday", "2026-12-24"]
    assert all(type(name) is str for name in Window(not_on=["monday"]).to_json()["not_on"])


def test_unknown_holidays_are_refused_with_what_is_known():
    with pytest.raises(InvalidRecurrence, match=r'"holidays:XX" is unknown \(.+\); use an ISO'):
        Window(not_on=("holidays:XX",))
    with pytest.raises(InvalidRecurrence, match=r'"holidays:DE-QQ" is unknown \(.+\); use an ISO'):
        Window(not_on=("holidays:DE-QQ",))


def test_holidays_without_the_optional_package_say_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "holidays", None)

    with pytest.raises(
        InvalidRecurrence, match=r"needs an optional package; pip install 'quarterjack\[cal"
    ):
        Window(not_on=("holidays:FR",))


def test_the_zone_of_a_window_may_be_local(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "Europe/Vienna")

    assert Window(timezone="local").timezone == "Europe/Vienna"


def test_the_last_minute_of_an_hour_may_begin_and_end_a_window():
    assert Window("08:59-09:59").admits(us("2025-06-04T09:58Z"))
    assert not Window("08:59-09:59").admits(us("2025-06-04T09:59Z"))


def test_all_problems_of_a_window_are_reported_at_once():
    with pytest.raises(InvalidRecurrence) as caught:
        Window("x", ("y", "z"), "q")

    assert [problem.field for problem in caught.value.problems] == [
        "only_between",
        "not_on",
        "not_on",
        "timezone",
    ]


def test_the_json_form_of_a_window_reads_back():
    window = Window("22:00-06:00", ("sunday", "2026-12-24"), SYDNEY)

    assert Window(**window.to_json()) == window
    assert window.to_json() == {
        "only_between": "22:00-06:00",
        "not_on": ["sunday", "2026-12-24"],
        "timezone": SYDNEY,
    }


@pytest.mark.parametrize(
    ("window", "slot", "expected"),
    [
        ({"not_on": ["saturday", 0]}, "2026-11-20T09:00Z", "2026-11-20T09:00Z"),
        ({"not_on": ["saturday", 0]}, "2026-11-21T09:00:30Z", "2026-11-23T09:00:30Z"),
        ({"not_on": ["2026-12-24", "2026-12-25"]}, "2026-12-24T09:00Z", "2026-12-26T09:00Z"),
        # The wall time stays 09:00 in New York, though the clocks go back on 1 November 2026.
        ({"not_on": ["saturday"], "timezone": "America/New_York"},
         "2026-10-31T13:00Z", "2026-11-01T14:00Z"),
        # 02:30 does not exist on 14 March 2027, and 01:30 occurs twice on 7 November.
        ({"not_on": ["saturday"], "timezone": "America/New_York"},
         "2027-03-13T07:30Z", "2027-03-14T07:00Z"),
        ({"not_on": ["saturday"], "timezone": "America/New_York"},
         "2027-11-06T05:30Z", "2027-11-07T05:30Z"),
        ({"only_between": "09:00-10:00"}, "2026-11-16T11:00Z", None),
    ],
)  # fmt: skip
def test_by_day_keeps_the_wall_time(window: dict[str, Any], slot: str, expected: str | None):
    found = Window(**window).by_day(us(slot))

    assert found == (None if expected is None else us(expected))
