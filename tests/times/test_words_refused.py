"""Phrases that are refused: with the place, the readings, and phrases that work."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from harness.times.phrases import NOW, refusals
from quarterjack import InvalidRecurrence, parse

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
