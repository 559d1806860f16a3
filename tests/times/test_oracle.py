"""All recurrences agree with the walk over real minutes."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest

from harness.times import oracle, walk
from harness.times.at import at
from quarterjack import Cron
from quarterjack.times.instants import from_datetime


@pytest.mark.fault("F40", "F41")
@pytest.mark.mission("H9")
@pytest.mark.parametrize("seed", range(10))
def test_a_seeded_sample_of_all_changes_of_offset_agrees_with_the_walk(seed: int):
    random = Random(seed)
    changes = random.sample(list(oracle.all_changes()), 40)

    tally = oracle.Tally()
    for zone, change in changes:
        tally.add(oracle.check_change(zone, change, random, cases=20))

    assert tally.recurrences == 40 * 20
    assert tally.slots > 20_000


@pytest.mark.fault("F40", "F41")
@pytest.mark.parametrize(
    ("zone", "change"),
    [
        ("Pacific/Apia", "2011-12-30T10:00Z"),
        ("Pacific/Kwajalein", "1993-08-21T12:00Z"),
        ("Australia/Lord_Howe", "2025-04-05T15:00Z"),
        ("Australia/Lord_Howe", "2025-10-04T15:30Z"),
        ("Antarctica/Troll", "2025-03-30T01:00Z"),
        ("Africa/Cairo", "2025-04-24T22:00Z"),
        ("Africa/Casablanca", "2026-02-15T02:00Z"),
        ("Europe/London", "1941-05-04T01:00Z"),
        ("Europe/Dublin", "2025-10-26T01:00Z"),
        ("America/Caracas", "2007-12-09T07:00Z"),
        ("Asia/Kathmandu", "1985-12-31T18:30Z"),
        ("America/New_York", "2500-03-14T07:00Z"),
        ("America/New_York", "9998-11-02T06:00Z"),
    ],
)
def test_unusual_changes_of_offset_agree_with_the_walk(zone: str, change: str):
    tally = oracle.check_change(zone, at(change), Random(change), cases=30)

    assert tally.recurrences == 30


def test_the_walk_gives_known_answers():
    steps = walk.steps("America/New_York", at("2025-03-08T12:00Z"), at("2025-03-11T12:00Z"))

    fixed = walk.slots(steps, walk.CronText("30 2 * * *"), real_time=False)
    skipped = walk.slots(steps, walk.CronText("30 2 * * *"), real_time=False, dst_gap="skip")

    assert fixed[0] == at("2025-03-09T07:00Z")
    assert skipped[0] == at("2025-03-10T06:30Z")


@pytest.mark.parametrize(
    ("crons", "day", "times"),
    [
        # In the gap of New York, one slot; in the fold, `*/30` twice and 01:30 once.
        (["30 2 * * *", "15 2 * * *", "0 3 * * *"], "2025-03-09", ["07:00"]),
        (["30 2 * * *", "0 */3 * * *"], "2025-03-09", ["05:00", "07:00", "10:00", "13:00"]),
        (["30 1 * * *", "*/30 1 * * *"], "2025-11-02", ["05:00", "05:30", "06:00", "06:30"]),
        (["30 1 * * *", "45 1 * * *"], "2025-11-02", ["05:30", "05:45"]),
    ],
)
def test_unions_in_a_gap_and_a_fold_have_known_slots(crons: list[str], day: str, times: list[str]):
    union = Cron(crons, timezone="America/New_York")
    low, high = at(f"{day}T04:00Z"), at(f"{day}T13:00Z")

    assert union.between(low, high) == [at(f"{day}T{time}Z") for time in times]
    assert union.slots.count(from_datetime(low), from_datetime(high)) == len(times)


def test_the_comparison_notices_a_slot_that_is_an_hour_late():
    cron = Cron("30 2 * * *", timezone="America/New_York")
    start, end = at("2025-03-08T00:00Z"), at("2025-03-11T00:00Z")
    wrong = [slot + timedelta(hours=1) for slot in cron.between(start, end)]

    with pytest.raises(AssertionError, match="between"):
        oracle.compare(cron, wrong, start, end, Random(1), oracle.Tally())


def test_random_days_in_every_zone_agree_with_the_walk():
    """Mostly far from changes of offset."""
    random = Random(3)
    for _ in range(60):
        zone = random.choice(sorted((walk.DATA / "zones").read_text().split()))
        start = at("2024-01-01T00:00Z") + timedelta(days=random.randrange(731))
        end = start + timedelta(days=2)
        case = oracle.draw(random, zone, start)
        expected = case.expected(walk.steps(zone, start, end))
        oracle.compare(case.recurrence, expected, start, end, random, tally := oracle.Tally())
        assert tally.recurrences == 1
