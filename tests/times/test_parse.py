"""The parser of recurrences: every spelling, and errors with remedies."""

from __future__ import annotations

from datetime import time as Time
from datetime import timedelta
from typing import Any

import pytest

from harness.times.at import at
from quarterjack import (
    After,
    At,
    Cron,
    Daily,
    Every,
    Hourly,
    InvalidRecurrence,
    Monthly,
    Recurrence,
    Weekday,
    Weekly,
    parse,
)

NOW = at("2025-01-31T10:00Z")
BERLIN = "Europe/Berlin"


@pytest.mark.mission("D4", "D5")
@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("0 9 * * *", Cron("0 9 * * *")),
        (" 0 9 * * MON ", Cron("0 9 * * MON")),
        ("@daily", Cron("@daily")),
        ("h h * * *", Cron("h h * * *", key="k")),
        ("5m", Every("5m", created_at=NOW)),
        ("PT5M", Every("5m", created_at=NOW)),
        ("daily", Every("1d", created_at=NOW)),
        ("monthly", Every("monthly", created_at=NOW)),
        ("2026-11-16T09:00:00+02:00", At(at("2026-11-16T07:00Z"))),
        (" 2026-11-16 09:00:00Z", At(at("2026-11-16T09:00Z"))),
        ({"cron": "0 9 * * *"}, Cron("0 9 * * *")),
        (
            {"cron": "0 0 9 * * *", "seconds": True, "dialect": None},
            Cron("0 0 9 * * *", seconds=True),
        ),
        ({"cron": "0 9 * * *", "dialect": "posix"}, Cron("0 9 * * *", dialect="posix")),
        ({"cron": "H 9 * * *", "key": "k"}, Cron("H 9 * * *", key="k")),
        ({"every": "5m"}, Every("5m", created_at=NOW)),
        ({"every": "5 min"}, Every("5m", created_at=NOW)),
        ({"every": timedelta(minutes=5)}, Every("5m", created_at=NOW)),
        ("2 hours", Every("2h", created_at=NOW)),
        ("1 hour and 30 minutes", Every("90m", created_at=NOW)),
        ("CRON_TZ=Europe/Berlin 0 9 * * *", Cron("0 9 * * *", timezone=BERLIN)),
        ("every monday at 9am", Cron("0 9 * * 1")),
        ({"schedule": "every monday at 9am", "timezone": BERLIN},
         Cron("0 9 * * 1", timezone=BERLIN)),
        ({"schedule": "every monday at 9am", "dst_gap": "skip", "end_at": NOW},
         Cron("0 9 * * 1", dst_gap="skip", end_at=NOW)),
        ({"cron": "0 9 1 * 1", "day_rule": "and"}, Cron("0 9 1 * 1", day_rule="and")),
        ({"every": "5m", "cron": None}, Every("5m", created_at=NOW)),
        ({"interval_seconds": 300}, Every("5m", created_at=NOW)),
        (
            {"interval_seconds": 3600, "anchor": "completion"},
            Every("1h", anchor="completion", created_at=NOW),
        ),
        (
            {"every": "1h", "anchor": "completion"},
            Every("1h", anchor="completion", created_at=NOW),
        ),
        (
            {"every": "1h", "start_at": "2025-01-01T00:00:00Z", "end_at": 1_767_225_600_000},
            Every("1h", start_at=at("2025-01-01T00:00Z"), end_at=at("2026-01-01T00:00Z"),
                  created_at=NOW),
        ),
        ({"at": "2026-11-16T09:00:00Z"}, At(at("2026-11-16T09:00Z"))),
        ({"at": 1_794_906_000_000}, At(at("2026-11-17T09:00Z"))),
        ({"at": "2026-11-16T09:00:00Z", "timezone": BERLIN}, At(at("2026-11-16T09:00Z"))),
        ({"after": "2h"}, After("2h", created_at=NOW)),
        ({"after": "2h", "dst_gap": "skip"}, After("2h", created_at=NOW)),
        ({"hourly": {"minute": 5}}, Hourly(5)),
        ({"daily": {"time": "09:30"}}, Daily(Time(9, 30))),
        (
            {"weekly": {"days": ["monday"], "time": "09:30:15"}},
            Weekly((Weekday.MONDAY,), Time(9, 30, 15)),
        ),
        ({"monthly": {"day": 31, "time": "00:00"}}, Monthly(31, Time(0))),
    ],
)  # fmt: skip
def test_every_spelling_is_parsed(spelling: Any, expected: Recurrence):
    assert parse(spelling, now=NOW, key="k") == expected


def test_the_zone_is_filled_in_only_where_it_was_left_open():
    assert parse("0 9 * * *", timezone=BERLIN) == Cron("0 9 * * *", timezone=BERLIN)
    assert parse({"cron": "0 9 * * *", "timezone": "UTC"}, timezone=BERLIN) == Cron("0 9 * * *")
    assert parse("1d", timezone=BERLIN, now=NOW) == Every("1d", timezone=BERLIN, created_at=NOW)


def test_without_now_an_interval_stays_open():
    assert parse("5m") == Every("5m")
    assert parse({"after": "2h"}) == After("2h")


@pytest.mark.parametrize(
    "spelling",
    ["2026-11-16T09:00:00Z", "5m", "0 9 * * *", {"cron": "0 9 * * *", "timezone": "UTC"}],
)
def test_a_zone_is_validated_even_where_it_changes_nothing(spelling: Any):
    with pytest.raises(InvalidRecurrence, match='timezone "Mars/Olympus" is unknown'):
        parse(spelling, timezone="Mars/Olympus")


def test_a_key_is_taken_from_the_caller_and_a_hash_needs_one():
    assert parse("H 9 * * *", key="k") == Cron("H 9 * * *", key="k")
    assert parse("0 9 * * *", key="k") == Cron("0 9 * * *")
    with pytest.raises(InvalidRecurrence, match="has H, which needs the schedule's key"):
        parse("H 9 * * *")


@pytest.mark.parametrize(
    ("spelling", "message"),
    [
        ("5", 'every "5" has no unit; write "5s" or "5ms"'),
        ("* * * *", 'cron "* * * *" has 4 fields instead of 5'),
        ("1 2 3", 'cron "1 2 3" has 3 fields instead of 5'),
        ("1 2 third", 'cron "1 2 third" has 3 fields instead of 5'),
        ("1 2 3 4 5 6 7", 'cron "1 2 3 4 5 6 7" has 7 fields instead of 5'),
        ("2026-11-16T09:00:00", 'at "2026-11-16T09:00:00" has no offset from UTC'),
        ("2026-11-16", 'at "2026-11-16" is not RFC 3339'),
        ("someday", 'schedule "someday" is not understood; write a phrase such as "'),
        ({"schedule": "every monday at 9am UTC", "timezone": "Asia/Tokyo"},
         'schedule "every monday at 9am UTC" names another zone than timezone "Asia/Tokyo"; name '
         "the zone once"),
        ({"schedule": "in 2 hours", "start_at": 5}, "start_at 5 does not go with these words"),
        ({"cron": "CRON_TZ=Asia/Tokyo 0 9 * * *", "timezone": "UTC"},
         'cron "CRON_TZ=Asia/Tokyo 0 9 * * *" names another zone than timezone "UTC"; name the '
         "zone once"),
        ("", 'recurrence "" is empty; write cron such as "0 9 * * *"'),
        ("x" * 257, 'recurrence "xxx'),
        ("5m\n5", r"recurrence '5m\n5' contains a control character"),
        (5, "recurrence 5 is not text or a mapping; use cron, an interval or {'every': '5m'}"),
        (None, "recurrence None is not text or a mapping"),
        ({}, "a recurrence is missing; use exactly one of cron, every, interval_sec"),
        ({"every": "5m", "cron": "* * * * *"},
         "recurrence {'cron': '* * * * *', 'every': '5m'} has cron and every; use exactly one of"),
        ({"cron": "* * * * *", "colour": 1, "anchor": "slot"}, "\n".join([
            "cron recurrence: 2 problems",
            "  - colour 1 is unknown; use day_rule, dialect, dst_fold, dst_gap, end_at, key, "
            "seconds, start_at, timezone",
            '  - anchor "slot" does not go with cron; use day_rule, dialect, dst_fold, dst_gap, '
            "end_at, key, seconds, start_at, timezone",
        ])),
        ({"at": "2026-11-16T09:00Z", "start_at": 5},
         "at recurrence: start_at 5 does not go with at; use dst_fold, dst_gap, timezone"),
        ({"at": "2026-11-16T09:00:00Z", "timezone": "X"}, 'timezone "X" is unknown'),
        ({"after": "2h", "dst_fold": "X"}, 'dst_fold "X" is unknown; use once or twice'),
        ({"interval_seconds": 1.5}, "interval_seconds 1.5 is not a whole number; use a whole"),
        ({"interval_seconds": True}, "interval_seconds True is not a whole number"),
        ({"interval_seconds": 0}, "interval_seconds 0 is outside 1-3155760000; use a whole"),
        ({"hourly": 5}, 'hourly 5 is not a mapping; write it as {"minute": 30, "second": 0}'),
        ({"daily": {"clock": 5}}, "\n".join([
            "daily: 2 problems",
            '  - field "clock" is unknown; write it as {"time": "09:00"}',
            '  - field "time" is missing; write it as {"time": "09:00"}',
        ])),
        ({"weekly": {"days": ["monday"]}},
         'weekly: field "time" is missing; write it as {"days": ["monday"], "time": "09:00"}'),
        ({"hourly": {"minute": 5, "timezone": "UTC"}}, 'hourly: field "timezone" is unknown'),
        ("0 9am * * *", 'cron "0 9am * * *": hour "9AM" is invalid; use 0-23'),
        ("x 9 ? * 1", 'cron "x 9 ? * 1": minute "X" is invalid; use 0-59'),
        ({"monthly": {"day": 40, "time": "x"}}, "monthly: 2 problems"),
    ],
)  # fmt: skip
def test_invalid_input_is_refused_with_a_remedy(spelling: Any, message: str):
    with pytest.raises(InvalidRecurrence) as caught:
        parse(spelling)

    assert str(caught.value).startswith(message)


def test_input_over_256_bytes_is_refused_at_once():
    with pytest.raises(InvalidRecurrence, match="is 1000000 characters long; use at most 256"):
        parse("*" * 1_000_000)
