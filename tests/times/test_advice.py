"""Warnings about recurrences."""

from __future__ import annotations

from datetime import time as Time

import pytest

from harness.times.at import at, us
from quarterjack import At, Cron, Daily, Every, Monthly, Recurrence
from quarterjack.times import warnings

NEW_YORK = "America/New_York"
NOW = us("2026-11-16T09:00Z")


@pytest.mark.parametrize(
    ("recurrence", "expected"),
    [
        (Cron("30 3 * * *"), []),
        (Cron("30 3 * * *", timezone=NEW_YORK), []),
        (Cron("7-59/30 * * * *", timezone=NEW_YORK), []),
        (Cron("*/6 2 * * *", timezone="Europe/London"), []),
        (
            Cron("30 2 * * *", timezone=NEW_YORK),
            ["on 2027-03-14 the clocks in America/New_York go forward: 02:30 does not exist, and "
             "it fires at 2027-03-14T07:00:00Z (dst_gap: after)"],
        ),
        (
            Cron("30 2 * * *", timezone=NEW_YORK, dst_gap="skip"),
            ["on 2027-03-14 the clocks in America/New_York go forward: 02:30 does not exist, and "
             "nothing fires (dst_gap: skip)"],
        ),
        (
            Cron("30 1 * * *", timezone=NEW_YORK),
            ["on 2027-11-07 the clocks in America/New_York go back: 01:30 occurs twice, and it "
             "fires the first time (dst_fold: once)"],
        ),
        (
            Cron("30 1 * * *", timezone=NEW_YORK, dst_fold="twice"),
            ["on 2027-11-07 the clocks in America/New_York go back: 01:30 occurs twice, and it "
             "fires both times (dst_fold: twice)"],
        ),
        (
            Every("1d", created_at=at("2026-11-15T07:30Z"), timezone=NEW_YORK),
            ["on 2027-03-14 the clocks in America/New_York go forward: 02:30 does not exist, and "
             "it fires at 2027-03-14T07:00:00Z (dst_gap: after)"],
        ),
        (
            Daily(Time(2), timezone=NEW_YORK),
            ["on 2027-03-14 the clocks in America/New_York go forward: 02:00 does not exist, and "
             "it fires at 2027-03-14T07:00:00Z (dst_gap: after)"],
        ),
        (
            Daily(Time(1), timezone=NEW_YORK),
            ["on 2027-11-07 the clocks in America/New_York go back: 01:00 occurs twice, and it "
             "fires the first time (dst_fold: once)"],
        ),
        (Daily(Time(3), timezone=NEW_YORK), []),
        (Daily(Time(0, 59), timezone=NEW_YORK), []),
        (Every("1h", created_at=at("2026-11-15T07:30Z"), timezone=NEW_YORK), []),
        (
            Cron("30 9 1 * 1"),
            ["day of month and day of week are both set: it fires on days that match either one"],
        ),
        (
            Cron("*/7 3 * * *"),
            ['*/7 restarts every hour; for an even 7-minute spacing, use the interval "7m"'],
        ),
        (
            Cron("7 */5 * * *"),
            ['*/5 restarts every day; for an even 5-hour spacing, use the interval "5h"'],
        ),
        (Cron("7 */6 * * *"), []),
        (Cron("*/7,31 3 * * *"), []),
        (Cron("*/7,*/9 */5,7 * * *"), []),
        (Cron("30 9 31 1,3 *"), []),
        (Cron("30 9 29 1,3 *"), []),
        (
            Cron("30 9 29 1,2 *"),
            ["months without day 29 are skipped; use L for the last day of the month"],
        ),
        (
            Cron("30 9 31 * *"),
            ["months without day 31 are skipped; use L for the last day of the month"],
        ),
        (
            Monthly(29, Time(9)),
            ["months without day 29 are skipped; use L for the last day of the month"],
        ),
        (Monthly(28, Time(9)), []),
        (Cron("30 9 31,L * *"), []),
        (
            Cron("30 9 29 2 *"),
            ["it fires rarely: next at 2028-02-29T09:30:00Z and 2032-02-29T09:30:00Z"],
        ),
        (
            Cron("30 9 1 1 *", end_at=at("2030-06-01T00:00Z"), start_at=at("2030-01-01T00:00Z")),
            ["it fires rarely: next at 2030-01-01T09:30:00Z"],
        ),
        (Cron("30 9 1 1 *"), []),
        (
            Cron("30 9 1 1 *", end_at=at("2029-06-01T00:00Z"), start_at=at("2028-06-01T00:00Z")),
            ["it fires rarely: next at 2029-01-01T09:30:00Z"],
        ),
        (Cron("30 9 1 1 *", end_at=at("2026-01-01T00:00Z")), ["it never fires from now on"]),
        (At(at("2099-01-01T00:00Z")), []),
        (At(at("1999-01-01T00:00Z")), ["it never fires from now on"]),
        (
            Cron("0 9 * * *"),
            ['most schedules fire at minute 0; "H 9 * * *" spreads them by key'],
        ),
        (
            Cron("@daily"),
            ['most schedules fire at minute 0; "H 0 * * *" spreads them by key'],
        ),
        (
            Cron("*/15 * * * *"),
            ['most schedules fire at minute */15; "H/15 * * * *" spreads them by key'],
        ),
        *(
            (Cron(f"*/{n} * * * *"), [f'most schedules fire at minute */{n}; "H/{n} * * * *" '
                                      "spreads them by key"])
            for n in (5, 10, 20, 30)
        ),
        (Cron("*/6 * * * *"), []),
        (Cron("10 * * * *"), []),
        (
            Cron("5 0 9 * * *", seconds=True),
            ['most schedules fire at minute 0; "5 H 9 * * *" spreads them by key'],
        ),
        (Cron("0 9 * * *", dialect="posix"), []),
        (
            Cron("3 9 30,31 2,4 1"),
            ["day of month and day of week are both set: it fires on days that match either one",
             "day 31 of the month never occurs in February and April"],
        ),
        (Cron("3 9 15,30 2 *"), ["day 30 of the month never occurs in February"]),
        (
            Cron("3 9 */31 * *"),
            ["*/31 gives only day of month 1: the step goes beyond the rest"],
        ),
        (
            Cron("50-59/15 3 * * *"),
            ["50-59/15 gives only minute 50: the step goes beyond the rest"],
        ),
        (Cron("3 9 7/1 * *"), []),
        (Cron("H/40 9 * * *", key="k"), []),
        (
            Cron(["30 2 * * *", "*/7 3 * * *"], timezone=NEW_YORK),
            ["on 2027-03-14 the clocks in America/New_York go forward: 02:30 does not exist, and "
             "it fires at 2027-03-14T07:00:00Z (dst_gap: after)",
             '*/7 restarts every hour; for an even 7-minute spacing, use the interval "7m"'],
        ),
        (At([at("1999-01-01T00:00Z"), at("1999-01-02T00:00Z")]), ["it never fires from now on"]),
    ],
)  # fmt: skip
def test_warnings(recurrence: Recurrence, expected: list[str]):
    assert warnings(recurrence, NOW) == expected
