"""Phrases that are refused: with the place, the readings, and phrases that work."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from harness.times.at import at
from harness.times.phrases import NOW, refusals
from quarterjack import Cron, InvalidRecurrence, parse

REFUSALS = refusals()


@pytest.mark.mission("E10")
@pytest.mark.parametrize(
    ("phrase", "reason", "readings"), REFUSALS, ids=[row[0] for row in REFUSALS]
)
def test_a_phrase_is_refused_with_its_readings(phrase: str, reason: str, readings: list[str]):
    with pytest.raises(InvalidRecurrence) as caught:
        parse(phrase, now=NOW)

    (problem,) = caught.value.problems
    offered = re.findall(r'"([^"]*)"', problem.remedy)
    assert problem.field == "schedule"
    assert problem.reason == reason
    assert offered == readings if readings else problem.remedy.startswith("write a phrase such as")
    assert all(parse(each, now=NOW) for each in offered)


def test_there_are_at_least_a_hundred_of_them():
    assert len({phrase for phrase, _, _ in REFUSALS}) >= 100


def test_the_error_names_the_phrase_the_place_and_what_to_write():
    with pytest.raises(InvalidRecurrence) as caught:
        parse("every day at 9", now=NOW)

    assert str(caught.value) == (
        'schedule "every day at 9" has "9" at character 14, which could be 09:00 or 21:00; '
        'did you mean "every day at 09:00" or "every day at 21:00"?'
    )


@pytest.mark.parametrize("phrase", ["tomorrow at 9am", "next monday at 9am", "today at 9am"])
def test_days_relative_to_today_need_to_know_today(phrase: str):
    with pytest.raises(InvalidRecurrence, match="depends on today's date, which is not known here"):
        parse(phrase)


def test_validity_does_not_depend_on_the_hour_except_of_today():
    hours = [NOW + timedelta(hours=n) for n in range(24)]
    refused = {phrase for phrase, _, _ in REFUSALS if not phrase.startswith("today")}

    for phrase in sorted(refused)[::10]:
        for now in hours[::3]:
            with pytest.raises(InvalidRecurrence):
                parse(phrase, now=now)
    with pytest.raises(InvalidRecurrence, match="is over: it is 10:00 in UTC"):
        parse("today at 10am", now=NOW)
    assert parse("today at 10am", now=NOW - timedelta(seconds=1)).next(NOW - timedelta(1)) == NOW


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("every 1 hour and 30 minutes on weekdays", "its interval needs a single unit"),
        ("every 500 ms on weekdays", "its interval is at least a second"),
        ("every 5 minutes at minute 5 of every hour", "says its minutes twice"),
        ("at minute 5 of hour 3 from 09:00 to 11:59", "says its hours twice"),
        ("at second 30 of hour 9", "says seconds of an hour; say of which minutes"),
        ("at minute 5 of every hour from 09:15 to 11:59", "needs a window of whole hours"),
        ("every 10 seconds from 9am to 5pm", "has a window whose last second is unclear"),
        (
            "every 5 minutes on weekdays, counted from the end of each run",
            "is no repetition that can be combined",
        ),
        ("when that is monday at 9am", "needs days by number and by name"),
        (
            "every 1 day and 2 hours on mondays",
            "has an interval of days beside other days or times",
        ),
        ("every day in june except june at 9am", "excludes every month"),
        (
            "on the 1st of every month except mondays at 9am",
            "has an exception beside days of the month",
        ),
        ("every december 2027 at 9am", "which has no day"),
        ("every 25 december 2026", "which does not repeat: it has a year"),
        ("every 5 minutes between 9:00:30 and 17:00", "which has seconds; use whole minutes"),
        ("once at 2026-12-01T09:00:00Z at 10am", "has two times of day"),
        ("every 2 days from 2026-11-23T09:00:00Z at 10am", "which is the first slot already"),
        (
            "every 2 days on monday from 2026-11-23 at 9am",
            "counts weeks, so it needs a single day of the week",
        ),
        ("every week on monday or the 15th at 9am", "has a day of the month in a week"),
        ("on 2026/12/01 at 9am", "which part is the month?"),
    ],
)
def test_what_contradicts_itself_is_refused_with_the_reason(text: str, reason: str):
    with pytest.raises(InvalidRecurrence) as error:
        parse(text, now=at("2026-11-20T10:00Z"))

    assert reason in str(error.value)


def test_without_the_time_a_date_needs_its_year_or_every():
    with pytest.raises(InvalidRecurrence, match="every"):
        parse("on december 25 at 9am")


def test_parts_with_and_without_seconds_or_a_day_rule_are_one_union():
    seconds = parse("every weekday at 9:30:15, and every 5 minutes on saturdays")
    days = "on the 13th of the month when that is friday at 9am, and every monday at 9am"

    assert seconds == Cron(["15 30 9 * * 1-5", "0 */5 * * * 6"], timezone="UTC", seconds=True)
    assert parse(days) == Cron(["0 9 13 * 5", "0 9 * * 1"], timezone="UTC", day_rule="and")
    assert parse("every 2 seconds from 09:00 to 11:59") == Cron(
        "*/2 * 9-11 * * *", timezone="UTC", seconds=True
    )
    assert parse("on the first monday of every june at 9am") == parse("0 9 * 6 1#1")
    assert parse("every day every 5 minutes in june") == parse("*/5 * * 6 *")
