"""Sets of days."""

from __future__ import annotations

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from quarterjack.times.days import DayRule, DaysFrom, EveryNthDay, MatchingDays

EPOCH = date(1970, 1, 1)
FIRST = (date.min - EPOCH).days
LAST = (date.max - EPOCH).days


def number(day: date) -> int:
    return (day - EPOCH).days


rules = st.builds(
    DayRule,
    months=st.sets(st.integers(1, 12), min_size=1).map(lambda months: tuple(sorted(months))),
    numbers=st.frozensets(st.integers(1, 31)),
    weekdays=st.frozensets(st.integers(0, 6)),
    either=st.booleans(),
)


@given(rule=rules, start=st.dates(), count=st.integers(1, 9))
def test_matching_days_equal_those_of_a_scan_of_every_day(rule: DayRule, start: date, count: int):
    def fits(day: date) -> bool:
        numbered = day.day in rule.numbers
        named = (day.weekday() + 1) % 7 in rule.weekdays
        return day.month in rule.months and (
            (numbered or named) if rule.either else (numbered and named)
        )

    days = MatchingDays(rule)
    begin = number(start)
    ahead = range(begin, min(begin + 800, LAST + 1))
    behind = range(begin, max(begin - 800, FIRST - 1), -1)
    expected = [day for day in ahead if fits(EPOCH + timedelta(days=day))]
    before = next((day for day in behind if fits(EPOCH + timedelta(days=day))), None)

    found = list(days.on_or_after(begin, count))
    found_before = days.on_or_before(begin)

    assert found[: len(expected)] == expected[: len(found)]
    assert len(found) <= count
    assert len(found) >= min(count, len(expected))
    assert found_before == before or (before is None and (found_before or FIRST) < behind[-1])


def test_a_rule_in_december_alone_is_found_across_the_turn_of_the_year():
    days = MatchingDays(DayRule(months=(12,), numbers=frozenset({31})))

    assert list(days.on_or_after(number(date(2025, 12, 31)), 3)) == [
        number(date(2025, 12, 31)),
        number(date(2026, 12, 31)),
        number(date(2027, 12, 31)),
    ]
    assert days.on_or_before(number(date(2026, 12, 30))) == number(date(2025, 12, 31))


def test_there_are_no_days_beyond_the_years_1_to_9999():
    all_days = MatchingDays(DayRule(weekdays=frozenset({1})))

    assert list(all_days.on_or_after(LAST + 1, 5)) == []
    assert all_days.on_or_before(FIRST - 1) is None
    assert list(all_days.on_or_after(FIRST - 1, 1)) == [number(date(1, 1, 1))]
    assert all_days.on_or_before(LAST + 1) == number(date(9999, 12, 27))
    assert list(all_days.on_or_after(number(date(9999, 12, 28)), 1)) == []
    assert MatchingDays(DayRule(months=(3,))).on_or_before(number(date(1, 2, 1))) is None
    assert list(MatchingDays(DayRule(months=(12,))).on_or_after(LAST, 3)) == [LAST]


def test_every_nth_day_in_both_directions_from_the_anchor():
    days = EveryNthDay(10, 7)

    assert list(days.on_or_after(10, 3)) == [10, 17, 24]
    assert list(days.on_or_after(11, 1)) == [17]
    assert list(days.on_or_after(-20, 2)) == [-18, -11]
    assert [days.on_or_before(day) for day in (10, 9, 17, -4)] == [10, 3, 17, -4]


def test_days_before_the_first_are_left_out():
    days = DaysFrom(10, EveryNthDay(10, 7))

    assert list(days.on_or_after(-100, 2)) == [10, 17]
    assert list(days.on_or_after(18, 1)) == [24]
    assert [days.on_or_before(day) for day in (9, 10, 16)] == [None, 10, 10]
    assert DaysFrom(0, MatchingDays(DayRule())).on_or_before(FIRST - 1) is None
