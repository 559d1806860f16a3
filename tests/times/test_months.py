"""Days that depend on the month."""

from __future__ import annotations

import pytest

from quarterjack.times.months import LastWeekday, Month


@pytest.mark.parametrize("first_weekday", range(7))
@pytest.mark.parametrize("length", [28, 29, 30, 31])
def test_the_nearest_working_day_is_a_working_day_of_this_month_within_two_days(
    first_weekday: int, length: int
):
    month = Month(first_weekday, length)
    for wanted in range(1, length + 1):
        found = month.nearest_working_day(wanted)
        assert 1 <= found <= length
        assert month.weekday(found) in range(1, 6)
        distance = abs(found - wanted)
        assert distance <= (2 if wanted in (1, length) else 1)
        if month.weekday(wanted) in range(1, 6):
            assert found == wanted


def test_the_nearest_working_day_of_a_weekend_day():
    sunday_first = Month(0, 31)

    assert sunday_first.nearest_working_day(1) == 2  # Sunday the 1st: Monday
    assert sunday_first.nearest_working_day(7) == 6  # a Saturday: the Friday before
    assert sunday_first.nearest_working_day(8) == 9  # a Sunday: the Monday after
    assert Month(6, 31).nearest_working_day(1) == 3  # Saturday the 1st: not in another month
    assert Month(0, 29).nearest_working_day(29) == 27  # Sunday the last: not in another month


def test_weekdays_are_counted_within_the_month():
    wednesday_first = Month(3, 31)

    assert wednesday_first.nth_weekday(3, 1) == 1
    assert wednesday_first.nth_weekday(2, 1) == 7
    assert wednesday_first.nth_weekday(5, 5) == 31
    assert LastWeekday(5).number_in(wednesday_first) == 31
    assert LastWeekday(6).number_in(wednesday_first) == 25
    assert LastWeekday(5).number_in(Month(3, 30)) == 24
