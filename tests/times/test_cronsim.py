"""A comparison with cronsim: it agrees except for known faults of its own, each shown here."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from cronsim import CronSim

from harness.times import oracle, walk
from harness.times.at import at
from quarterjack import Cron

NEW_YORK = "America/New_York"


def cronsim_next(text: str, zone: str, after: datetime) -> datetime:
    found = next(CronSim(text, after.astimezone(walk.zone(zone))))
    return found.astimezone(UTC)


def draw_common(random: Random) -> str:
    """Without W, L-3, ? and H, which cronsim does not support."""
    wall = datetime(2025, 1, 1) + timedelta(minutes=random.randrange(500_000))
    while True:
        text = " ".join(
            [
                oracle.draw_field(random, 0, 59, wall.minute),
                oracle.draw_field(random, 0, 23, wall.hour),
                random.choice([oracle.draw_field(random, 1, 31, wall.day, stars=3), "L", "LW"]),
                oracle.draw_field(random, 1, 12, wall.month, stars=4),
                random.choice([oracle.draw_field(random, 0, 7, 5, stars=3), "5#3", "1L"]),
            ]
        )
        try:
            Cron(text)
        except ValueError:
            continue
        return text


def test_in_utc_cronsim_agrees_on_generated_expressions():
    random = Random(11)
    for _ in range(150):
        text = draw_common(random)
        start = at("2024-01-01T00:00Z") + timedelta(minutes=random.randrange(1_000_000))
        theirs = CronSim(text, start)
        ours = start
        for _ in range(20):
            found = Cron(text).next(ours)
            assert found == next(theirs), f"{text} after {ours}"
            ours = found


def test_in_zones_with_whole_hour_changes_cronsim_agrees_from_outside_a_fold():
    """From noon, and without day fields, which a gap at midnight could affect."""
    random = Random(12)
    compared = 0
    for zone in (NEW_YORK, "Europe/Berlin", "Australia/Sydney", "America/Sao_Paulo"):
        for _ in range(40):
            text = " ".join([*draw_common(random).split()[:2], "* * *"])
            noon = at("2025-01-01T12:00Z") + timedelta(days=random.randrange(700))
            expected = cronsim_next(text, zone, noon)
            found = Cron(text, timezone=zone).next(noon)
            if found != expected:
                assert found is not None
                assert is_known_fault(zone, min(found, expected)), f"{text} {zone} after {noon}"
            compared += 1
    assert compared == 160


def is_known_fault(zone: str, instant: datetime) -> bool:
    """They may differ only within a day of a change of offset."""
    near = walk.changes(zone, instant.year, instant.year)
    return any(abs(change - instant) < timedelta(days=1) for change in near)


@pytest.mark.parametrize(
    ("fault", "text", "zone", "after", "theirs", "right"),
    [
        (
            "inside a fold its next slot is in the past",
            *("15 1 * * *", NEW_YORK, "2025-11-02T06:10Z"),
            *("2025-11-02T05:15Z", "2025-11-03T06:15Z"),
        ),
        (
            "in a gap at midnight with a day field it fires at 01:00, which is not an even hour",
            *("0 */2 25 * *", "Africa/Cairo", "2025-04-24T12:00Z"),
            *("2025-04-24T22:00Z", "2025-04-24T23:00Z"),
        ),
        (
            "after a gap of 30 minutes it loses half an hour",
            *("*/10 3 * * *", "Australia/Lord_Howe", "2025-10-04T12:00Z"),
            *("2025-10-04T16:30Z", "2025-10-04T16:00Z"),
        ),
        (
            "after a fold of 30 minutes it loses half an hour",
            *("0 */2 * * *", "Australia/Lord_Howe", "2025-04-05T15:02Z"),
            *("2025-04-05T17:30Z", "2025-04-05T15:30Z"),
        ),
        (
            "it fires on a day that did not exist",
            *("0 * 30 * *", "Pacific/Apia", "2011-12-29T12:00Z"),
            *("2011-12-30T10:00Z", "2012-01-29T10:00Z"),
        ),
        (
            "a range of one number with a step goes on to the end of the field",
            *("0 0 1 7-7/2 *", "UTC", "2025-07-02T00:00Z"),
            *("2025-09-01T00:00Z", "2026-07-01T00:00Z"),
        ),
    ],
)
def test_where_cronsim_differs_the_walk_agrees_with_quarterjack(
    fault: str, text: str, zone: str, after: str, theirs: str, right: str
):
    words = walk.CronText(text)
    start, end = at(after) + timedelta(minutes=1), at(right)
    steps = walk.steps(zone, max(start, end - timedelta(days=40)), end)

    assert cronsim_next(text, zone, at(after)) == at(theirs), fault
    assert Cron(text, timezone=zone).next(at(after)) == at(right), fault
    assert walk.slots(steps, words, real_time=words.real_time) == [at(right)], fault
