"""Hourly, Daily, Weekly and Monthly."""

from __future__ import annotations

from datetime import UTC
from datetime import time as Time
from functools import partial
from typing import Any

import pytest

from harness.times.at import at
from quarterjack import (
    Cron,
    Daily,
    Hourly,
    InvalidRecurrence,
    Monthly,
    Weekday,
    Weekly,
)

BERLIN = "Europe/Berlin"


@pytest.mark.mission("H2")
def test_the_slots_of_typed_patterns():
    start = at("2025-01-29T12:20:30Z")  # a Wednesday

    assert Hourly(30).next(start) == at("2025-01-29T12:30Z")
    assert Hourly(20, 30).next(start) == at("2025-01-29T13:20:30Z")
    assert Daily(Time(3, 0, 15)).next(start) == at("2025-01-30T03:00:15Z")
    assert Weekly((Weekday.SUNDAY, Weekday.MONDAY), Time(9)).next(start) == at("2025-02-02T09:00Z")
    assert Weekly((Weekday.WEDNESDAY,), Time(12, 20, 31)).next(start) == at("2025-01-29T12:20:31Z")
    assert Monthly(30, Time(9)).next(at("2025-01-30T09:00Z")) == at("2025-03-30T09:00Z")


@pytest.mark.mission("H2")
@pytest.mark.parametrize("dst_gap", ["after", "skip"])
@pytest.mark.parametrize("dst_fold", ["once", "twice"])
@pytest.mark.parametrize(
    ("make", "cron"),
    [
        (partial(Hourly, 30), "30 * * * *"),
        (partial(Hourly, 30, 15), "15 30 * * * *"),
        (partial(Daily, Time(2, 30)), "30 2 * * *"),
        (partial(Daily, Time(2, 30, 15)), "15 30 2 * * *"),
        (partial(Weekly, ("sunday", "mon"), Time(2, 30)), "30 2 * * 0,1"),
        (partial(Weekly, (Weekday.SATURDAY,), Time(0)), "0 0 * * 6"),
        (partial(Monthly, 30, Time(2, 30)), "30 2 30 * *"),
    ],
)
def test_a_typed_pattern_has_the_cron_expression_of_the_same_slots(
    make: partial[Any], cron: str, dst_gap: str, dst_fold: str
):
    """Also where the clock is put forward, on 30 March, and back, on 26 October."""
    where = {"timezone": BERLIN, "dst_gap": dst_gap, "dst_fold": dst_fold}
    pattern = make(**where)
    same = Cron(cron, seconds=len(cron.split()) == 6, **where)
    start, end = at("2025-01-25T00:00Z"), at("2025-11-03T00:00Z")

    assert pattern.cron_text == cron
    assert pattern.between(start, end) == same.between(start, end)


@pytest.mark.mission("H2")
@pytest.mark.parametrize(
    ("make", "problems"),
    [
        (lambda: Hourly(60, -1), [
            "minute 60 is outside 0-59; use a whole number from 0 to 59",
            "second -1 is outside 0-59; use a whole number from 0 to 59",
        ]),
        (lambda: Hourly(True), ["minute True is not a whole number; use a whole number from 0 to "
                                "59"]),
        (lambda: Daily("noon"), ['time "noon" is not a time of day; write it as "09:30" or '
                                 '"09:30:00"']),
        (lambda: Daily(9), ["time 9 is not a time of day; use a datetime.time, as in time(9, 30)"]),
        (lambda: Daily(Time(9, 0, 0, 1)),
         ['time "09:00:00.000001" has fractions of a second or a time '
          "zone; use whole seconds, and set timezone instead"]),
        (lambda: Daily(Time(9, tzinfo=UTC)),
         ['time "09:00:00+00:00" has fractions of a second or a time '
          "zone; use whole seconds, and set timezone instead"]),
        (lambda: Weekly([], Time(9)), ["days [] is empty; list each weekday once"]),
        (lambda: Weekly(["monday", "funday", 3], "x"), [
            'days "funday" is not a weekday; use ' + ", ".join(Weekday),
            "days 3 is not a weekday; use " + ", ".join(Weekday),
            'time "x" is not a time of day; write it as "09:30" or "09:30:00"',
        ]),
        (lambda: Weekly(5, Time(9)), ["days 5 is not a weekday; use " + ", ".join(Weekday)]),
        (lambda: Weekly(["monday", Weekday.MONDAY], Time(9)), [
            "days ['monday', <Weekday.MONDAY: 'monday'>] lists a day twice; "
            "list each weekday once"
        ]),
        (lambda: Monthly(0, None), [
            "day 0 is outside 1-31; use a whole number from 1 to 31",
            "time None is not a time of day; use a datetime.time, as in time(9, 30)",
        ]),
        (lambda: Monthly(32, Time(9)), ["day 32 is outside 1-31; use a whole number from 1 to "
                                        "31"]),
    ],
)  # fmt: skip
def test_typed_patterns_are_validated_when_they_are_created(make: Any, problems: list[str]):
    with pytest.raises(InvalidRecurrence) as caught:
        make()

    assert [str(problem) for problem in caught.value.problems] == problems
    assert caught.value.text in ("hourly", "daily", "weekly", "monthly")


@pytest.mark.parametrize("edge", [0, 59])
def test_the_first_and_the_last_minute_of_an_hour_are_accepted(edge: int):
    assert Hourly(edge, edge).fields.minute.values == (edge,)


def test_one_weekday_may_be_given_as_a_word():
    assert Weekly("monday", Time(9)).days == (Weekday.MONDAY,)
