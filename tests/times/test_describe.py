"""Recurrences in English."""

from __future__ import annotations

from datetime import time as Time

import pytest

from harness.times.at import at
from quarterjack import After, At, Cron, Daily, Every, Hourly, Monthly, Recurrence, Weekday, Weekly
from quarterjack.times.describe import field_phrases

NEW_YORK = "America/New_York"


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("* * * * *", "every minute of every hour"),
        ("*/5 * * * *", "every 5 minutes of every hour"),
        ("0,30 * * * *", "every 30 minutes of every hour"),
        ("0 * * * *", "every hour on the hour"),
        ("5 * * * *", "at minute 5 of every hour"),
        ("5,10 * * * *", "at minutes 5 and 10 of every hour"),
        ("*/7 * * * *", "at minutes 0, 7, 14 and so on to 56 of every hour"),
        ("5-8,20,21 * * * *", "at minutes 5 to 8, 20 and 21 of every hour"),
        ("0 9 * * *", "every day at 09:00"),
        ("30 2,14 * * *", "every day at 02:30 and 14:30"),
        ("0,30 8-10 * * *", "every day at 08:00, 08:30, 09:00, 09:30, 10:00 and 10:30"),
        ("0,30 8-11 * * *", "every 30 minutes from 08:00 to 11:59"),
        ("0 9-17 * * *", "every hour from 09:00 to 17:00"),
        ("0 */6 * * *", "every 6 hours from 00:00"),
        ("5 */6 * * *", "every 6 hours from 00:05"),
        ("0 */24 * * *", "every 24 hours from 00:00"),
        ("30 */1 * * *", "at minute 30 of every hour"),
        ("0 0-23 * * *", "every hour from 00:00 to 23:00"),
        ("0,30 0-23 * * *", "every 30 minutes from 00:00 to 23:59"),
        ("1-59/2 * * * *", "at minutes 1, 3, 5 and so on to 59 of every hour"),
        ("*/10 */2 * * *", "every 10 minutes of every 2nd hour from hour 0"),
        ("*/10 */3 * * *", "every 10 minutes of every 3rd hour from hour 0"),
        ("*/10 9-10 * * *", "every 10 minutes of hours 9 and 10"),
        ("*/10 9-11 * * *", "every 10 minutes from 09:00 to 11:59"),
        ("*/10 9,11,13 * * *", "every 10 minutes of hours 9, 11 and 13"),
        ("*/15 9-17 * * 1-5", "every 15 minutes from 09:00 to 17:59, Monday to Friday"),
        ("23 1-20/2 * * *", "at minute 23 of hours 1, 3, 5 and so on to 19"),
        ("0 1-20/3 * * *", "at minute 0 of hours 1, 4, 7 and so on to 19"),
        ("*/20 * * 12 *", "every 20 minutes of every hour, every day in December"),
        ("0 */2 * * 1,5", "every 2 hours from 00:00, every Monday and Friday"),
        ("0 * * * 1,5", "every hour on the hour, every Monday and Friday"),
        ("10-20 3 * 1,4 *", "at minutes 10 to 20 of hour 3, every day in January and April"),
        ("0 9 * * 1", "every Monday at 09:00"),
        ("0 9 * * 1,5", "every Monday and Friday at 09:00"),
        ("0 9 * * 0,6", "every Saturday and Sunday at 09:00"),
        ("0 9 * * 1-5", "Monday to Friday at 09:00"),
        ("0 22 * * 1-5,0", "Monday to Friday and Sunday at 22:00"),
        ("0 9 * * 5#3", "on the third Friday of the month at 09:00"),
        ("0 9 * * 7#1", "on the first Sunday of the month at 09:00"),
        ("0 9 * * WEDL", "on the last Wednesday of the month at 09:00"),
        ("0 9 * * 0L", "on the last Sunday of the month at 09:00"),
        ("0 9 * * 0,1,2", "every Monday, Tuesday and Sunday at 09:00"),
        ("0 9 * * 0,5,6", "Friday to Sunday at 09:00"),
        ("0 9 * * 1L", "on the last Monday of the month at 09:00"),
        ("0 9 * * MONL,5#1",
         "on the last Monday of the month and on the first Friday of the month at 09:00"),
        ("0 9 * * 2,SUN#2", "every Tuesday and on the second Sunday of the month at 09:00"),
        ("0 0 1 * *", "on day 1 of every month at 00:00"),
        ("0 0 1,15 * *", "on days 1 and 15 of every month at 00:00"),
        ("0 0 L * *", "on the last day of every month at 00:00"),
        ("0 0 L-3 * *", "on the 3rd day before the last day of every month at 00:00"),
        ("0 0 L-1 * *", "on the day before the last day of every month at 00:00"),
        ("0 0 1-31/2 * *", "on days 1, 3, 5 and so on to 31 of every month at 00:00"),
        ("0 0 15W,LW * *",
         "on the working day nearest to day 15 and the last working day of every month at 00:00"),
        ("0 0 1W * *", "on the first working day of every month at 00:00"),
        ("0 0 31W * *",
         "on the working day within the month nearest to day 31 of every month at 00:00"),
        ("0 0 1,L 6 *", "on day 1 and the last day of June at 00:00"),
        ("0 0 29 2 *", "on day 29 of February at 00:00"),
        ("0 0 * 6-8 *", "every day from June to August at 00:00"),
        ("0 0 1 6-8 *", "on day 1 of each month from June to August at 00:00"),
        ("0 9 1 1-3 1",
         "on day 1 of the month or every Monday, from January to March, at 09:00"),
        ("0 0 * 1 1", "every Monday in January at 00:00"),
        ("0 9 1 * 1", "on day 1 of the month or every Monday at 09:00"),
        ("0 9 1 1 1", "on day 1 of the month or every Monday, in January, at 09:00"),
        ("0 9 */15 * 1", "on days 1, 16 and 31 of the month, when that is Monday, at 09:00"),
        ("@yearly", "on day 1 of January at 00:00"),
    ],
)  # fmt: skip
def test_cron_is_described_in_one_english_phrase(text: str, phrase: str):
    assert Cron(text).describe() == phrase


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("0 9 1-31 * MON", "every day at 09:00"),
        ("0 9 1 * 0-6", "every day at 09:00"),
        ("0 9 1 * 1-7", "every day at 09:00"),
        ("0 9 1-31 2 MON", "every day in February at 09:00"),
        ("*/5 * 1-31 * MON", "every 5 minutes of every hour"),
        ("0 9 1-31 * *", "every day at 09:00"),
        ("0 9 * * 0-6", "every day at 09:00"),
        ("0 9 * * 1", "every Monday at 09:00"),
    ],
)
def test_a_full_field_beside_a_restricted_one_means_every_day(text: str, phrase: str):
    cron = Cron(text)
    days = {slot.date() for slot in cron.between(at("2027-02-01T00:00Z"), at("2027-02-15T00:00Z"))}

    assert cron.describe() == phrase
    assert (len(days) >= 14) == ("Monday" not in phrase)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("* * * * * *", "every second of every minute"),
        ("*/10 * * * * *", "every 10 seconds of every minute"),
        ("5,7 * * * * *", "at seconds 5 and 7 of every minute"),
        ("30 0 9 * * *", "every day at 09:00:30"),
        ("0,30 0 9 * * *", "every day at 09:00:00 and 09:00:30"),
        ("1,2 0 9 * * *", "every day at 09:00:01 and 09:00:02"),
        ("0,30 */5 * * * *", "at seconds 0 and 30 of every 5th minute from minute 0 of every hour"),
        ("1,2 5 * * * *", "at seconds 1 and 2 of minute 5 of every hour"),
        ("* 0 9 * * *", "every second of minute 0 of hour 9"),
        ("15 * 9 * * *", "at second 15 of every minute of hour 9"),
    ],
)
def test_cron_with_seconds_is_described(text: str, phrase: str):
    assert Cron(text, seconds=True).describe() == phrase


@pytest.mark.parametrize(
    ("recurrence", "phrase"),
    [
        (Every("5m"), "every 5 minutes"),
        (Every("1h"), "every hour"),
        (Every("1h30m"), "every 1 hour and 30 minutes"),
        (Every("2h1m1s"), "every 2 hours, 1 minute and 1 second"),
        (Every("500ms"), "every 500 milliseconds"),
        (Every("1d"), "every day"),
        (Every("10d"), "every 10 days"),
        (Every("weekly"), "every week"),
        (Every("2w"), "every 2 weeks"),
        (Every("monthly", timezone=NEW_YORK), "every month (America/New_York)"),
        (Every("5m", timezone=NEW_YORK), "every 5 minutes"),
        (At(at("2026-11-16T09:00Z")), "once at 2026-11-16T09:00:00Z"),
        (After("2h"), "once, 2h from its start"),
        (After("2h", created_at=at("2026-11-16T09:00Z")), "once, 2h after 2026-11-16T09:00:00Z"),
        (Hourly(5), "at minute 5 of every hour"),
        (Hourly(5, 30), "at second 30 of minute 5 of every hour"),
        (
            Every("5m", anchor="completion"),
            "every 5 minutes, counted from its start, then from the end of each run",
        ),
        (
            Every("5m", anchor="completion", start_at=at("2026-01-31T10:00Z")),
            "every 5 minutes, counted from the end of each run from 2026-01-31T10:00:00Z",
        ),
        (
            Every("monthly", start_at=at("2026-01-31T10:00Z")),
            "every month from 2026-01-31T10:00:00Z, in shorter months on their last day",
        ),
        (
            Every("monthly", start_at=at("2026-01-28T23:30Z")),
            "every month from 2026-01-28T23:30:00Z",
        ),
        (
            Every("monthly", start_at=at("2026-01-28T23:30Z"), timezone="Europe/Berlin"),
            "every month (Europe/Berlin) from 2026-01-28T23:30:00Z, in shorter months on their "
            "last day",
        ),
        (
            Cron("0 9 * * *", start_at=at("2026-01-01T00:00Z"), end_at=at("2027-01-01T00:00Z")),
            "every day at 09:00 from 2026-01-01T00:00:00Z until 2027-01-01T00:00:00Z",
        ),
        (Daily(Time(9), timezone="UTC"), "every day at 09:00"),
        (Daily(Time(9), timezone=NEW_YORK), "every day at 09:00 (America/New_York)"),
        (Weekly((Weekday.SUNDAY, Weekday.MONDAY), Time(9)), "every Monday and Sunday at 09:00"),
        (Monthly(31, Time(9, 30)), "on day 31 of every month at 09:30"),
    ],
)
def test_the_other_recurrences_are_described(recurrence: Recurrence, phrase: str):
    assert recurrence.describe() == phrase


def test_each_field_is_explained():
    assert field_phrases(Cron("*/5 9 L 1-3 mon").fields) == [
        ("minute", "*/5", "every 5th minute from minute 0"),
        ("hour", "9", "hour 9"),
        ("day of month", "L", "the last day"),
        ("month", "1-3", "from January to March"),
        ("day of week", "MON", "every Monday"),
    ]
    assert field_phrases(Cron("5 9 ? * 1").fields)[2] == ("day of month", "?", "every day")
    assert field_phrases(Cron("30 * * * * *", seconds=True).fields) == [
        ("second", "30", "second 30"),
        ("minute", "*", "every minute"),
        ("hour", "*", "every hour"),
        ("day of month", "*", "every day"),
        ("month", "*", "every month"),
        ("day of week", "*", "any weekday"),
    ]


def test_the_fields_of_a_pattern_and_of_even_seconds_are_explained():
    weekly = Weekly((Weekday.MONDAY, Weekday.FRIDAY), Time(9, 30))

    assert field_phrases(weekly.fields) == [
        ("minute", "30", "minute 30"),
        ("hour", "9", "hour 9"),
        ("day of month", "*", "every day"),
        ("month", "*", "every month"),
        ("day of week", "1,5", "every Monday and Friday"),
    ]
    assert field_phrases(Cron("*/10 * * * * *", seconds=True).fields)[0] == (
        "second",
        "*/10",
        "every 10th second from second 0",
    )
