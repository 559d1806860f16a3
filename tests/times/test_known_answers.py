"""Known answers, computed by hand."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from harness.times.at import at, texts
from quarterjack import Cron, Every, Hourly

NEW_YORK = "America/New_York"


@pytest.mark.mission("H9")
@pytest.mark.fault("F40")
def test_a_wall_time_inside_a_gap_fires_at_the_first_instant_after_it():
    cron = Cron("30 2 * * *", timezone=NEW_YORK)

    assert cron.next(at("2025-03-08T12:00Z")) == at("2025-03-09T07:00Z")


@pytest.mark.mission("H9", "V9")
@pytest.mark.fault("F40")
def test_a_wall_time_inside_a_gap_is_skipped_with_dst_gap_skip():
    cron = Cron("30 2 * * *", timezone=NEW_YORK, dst_gap="skip")

    assert cron.next(at("2025-03-08T12:00Z")) == at("2025-03-10T06:30Z")


@pytest.mark.mission("H9")
@pytest.mark.fault("F41")
def test_a_repeated_wall_time_fires_the_first_time_only():
    cron = Cron("30 1 * * *", timezone=NEW_YORK)

    fired = cron.between(at("2025-11-02T00:00Z"), at("2025-11-03T00:00Z"))

    assert texts(fired) == ["2025-11-02T05:30Z"]


@pytest.mark.mission("H9", "V9")
@pytest.mark.fault("F41")
def test_a_repeated_wall_time_fires_both_times_with_dst_fold_twice():
    cron = Cron("30 1 * * *", timezone=NEW_YORK, dst_fold="twice")

    fired = cron.between(at("2025-11-02T00:00Z"), at("2025-11-03T00:00Z"))

    assert texts(fired) == ["2025-11-02T05:30Z", "2025-11-02T06:30Z"]


@pytest.mark.fault("F41")
def test_the_next_slot_during_the_second_pass_of_a_fold_is_on_the_next_day():
    cron = Cron("15 1 * * *", timezone=NEW_YORK)

    assert cron.next(at("2025-11-02T06:10Z")) == at("2025-11-03T06:15Z")


def test_a_match_of_one_day_field_is_enough_when_both_are_restricted():
    assert Cron("0 9 1 * 1").next(at("2025-01-02T10:00Z")) == at("2025-01-06T09:00Z")


def test_a_step_from_a_star_filters_together_with_the_other_day_field():
    fired = Cron("0 9 */2 * 1").between(at("2025-01-01T00:00Z"), at("2025-01-31T00:00Z"))

    assert texts(fired) == ["2025-01-13T09:00Z", "2025-01-27T09:00Z"]


@pytest.mark.fault("F40")
@pytest.mark.parametrize(
    ("zone", "gap_day", "first_instant"),
    [
        ("Africa/Cairo", "2025-04-25", "2025-04-24T22:00Z"),
        ("Asia/Beirut", "2025-03-30", "2025-03-29T22:00Z"),
        ("America/Santiago", "2025-09-07", "2025-09-07T04:00Z"),
        ("America/Asuncion", "2023-10-01", "2023-10-01T04:00Z"),
    ],
)
def test_a_gap_at_midnight_loses_no_day(zone: str, gap_day: str, first_instant: str):
    _, month, day = gap_day.split("-")
    midnight = Cron("0 0 * * *", timezone=zone)
    that_date = Cron(f"30 0 {int(day)} {int(month)} *", timezone=zone)
    two_days_before = at(f"{gap_day}T00:00Z") - timedelta(days=2)
    a_day_after = at(f"{gap_day}T00:00Z") + timedelta(days=1)

    assert first_instant in texts(midnight.between(two_days_before, a_day_after))
    assert that_date.next(two_days_before) == at(first_instant)


@pytest.mark.fault("F40")
def test_hours_that_follow_real_time_are_not_moved_by_a_midnight_gap():
    every_two = Cron("0 */2 * * *", timezone="Africa/Cairo")

    fired = every_two.between(at("2025-04-24T18:00Z"), at("2025-04-25T04:00Z"))

    assert texts(fired) == [
        "2025-04-24T20:00Z",  # 22:00
        "2025-04-24T23:00Z",  # 02:00, for 00:00 did not exist
        "2025-04-25T01:00Z",
        "2025-04-25T03:00Z",
    ]


@pytest.mark.fault("F41")
def test_real_time_is_evenly_spaced_through_a_repeated_hour():
    every_20 = Cron("*/20 * * * *", timezone=NEW_YORK)

    fired = every_20.between(at("2025-11-02T04:50Z"), at("2025-11-02T07:00Z"))

    gaps = {later - earlier for earlier, later in pairwise(fired)}
    assert len(fired) == 7
    assert len(gaps) == 1


@pytest.mark.fault("F41")
def test_lord_howe_changes_by_thirty_minutes():
    fixed = Cron("15 2 * * *", timezone="Australia/Lord_Howe")
    hourly = Hourly(15, timezone="Australia/Lord_Howe")

    gap = fixed.between(at("2025-10-03T16:00Z"), at("2025-10-05T00:00Z"))
    fold = hourly.between(at("2025-04-05T13:00Z"), at("2025-04-05T16:00Z"))

    assert texts(gap) == ["2025-10-04T15:30Z"]  # 02:15 fell into 02:00-02:30
    assert texts(fold) == ["2025-04-05T13:15Z", "2025-04-05T14:15Z", "2025-04-05T15:45Z"]


@pytest.mark.fault("F41")
def test_the_day_that_apia_skipped_runs_when_it_is_over():
    daily = Cron("0 9 * * *", timezone="Pacific/Apia")
    only_that_day = Cron("30 14 30 12 *", timezone="Pacific/Apia")
    skipping = Cron("0 9 * * *", timezone="Pacific/Apia", dst_gap="skip")

    window = at("2011-12-29T00:00Z"), at("2012-01-01T00:00Z")

    assert texts(daily.between(*window)) == [
        "2011-12-29T19:00Z",
        "2011-12-30T10:00Z",  # 30 December was skipped
        "2011-12-30T19:00Z",
        "2011-12-31T19:00Z",
    ]
    assert texts(only_that_day.between(*window)) == ["2011-12-30T10:00Z"]
    assert texts(skipping.between(*window)) == [
        "2011-12-29T19:00Z",
        "2011-12-30T19:00Z",
        "2011-12-31T19:00Z",
    ]


@pytest.mark.fault("F41")
def test_double_summer_time_is_two_single_changes():
    cron = Cron("30 2 * * *", timezone="Europe/London")

    fired = cron.between(at("1941-05-03T00:00Z"), at("1941-05-05T00:00Z"))

    assert texts(fired) == ["1941-05-03T01:30Z", "1941-05-04T01:00Z"]


@pytest.mark.fault("F45")
@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("0 0 29 2 *", "2026-01-01T00:00Z", "2028-02-29T00:00Z"),
        ("0 0 29 2 *", "2096-03-01T00:00Z", "2104-02-29T00:00Z"),
        ("0 0 29 2 */7", "2026-01-01T00:00Z", "2032-02-29T00:00Z"),
        ("0 12 31 * *", "2026-01-31T12:00Z", "2026-03-31T12:00Z"),
        ("14 3 19 1 *", "2037-12-31T00:00Z", "2038-01-19T03:14Z"),
        ("59 23 31 12 *", "9999-01-01T00:00Z", "9999-12-31T23:59Z"),
    ],
)
def test_rare_days_and_far_years(text: str, after: str, expected: str):
    assert Cron(text).next(at(after)) == at(expected)


@pytest.mark.fault("F45")
@pytest.mark.parametrize("zone", ["UTC", NEW_YORK, "Asia/Tokyo"])
def test_there_are_no_slots_after_the_year_9999(zone: str):
    cron = Cron("59 23 31 12 *", timezone=zone)
    last = cron.prev(at("9999-12-31T23:59:59Z"))

    assert last == at({"UTC": "9999-12-31T23:59Z", NEW_YORK: "9999-01-01T04:59Z",
                       "Asia/Tokyo": "9999-12-31T14:59Z"}[zone])  # fmt: skip
    assert cron.next(at("9999-12-31T23:59:59Z")) is None
    assert Every("1d", start_at=at("9999-12-31T00:00Z")).next(at("9999-12-31T00:00Z")) is None
    assert Every("1h", start_at=at("9999-12-31T23:30Z")).next(at("9999-12-31T23:30Z")) is None


@pytest.mark.fault("F45")
@pytest.mark.parametrize("zone", ["UTC", NEW_YORK, "Asia/Tokyo"])
def test_there_are_no_slots_before_the_year_1(zone: str):
    for text in ("0 12 1 1 *", "0 12 29 2 *", "0 12 * * *"):
        cron = Cron(text, timezone=zone)
        assert cron.prev(at("0001-01-01T00:00Z")) is None
