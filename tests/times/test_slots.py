"""Slots as integers: bounds, counting, caching."""

from __future__ import annotations

import pytest

from harness.times.at import at, us
from quarterjack import (
    Cron,
    Every,
)
from quarterjack.times import Slots, slots_between
from quarterjack.times.instants import DAY, LATEST
from quarterjack.times.slots import BoundedSlots, EvenSlots, OneSlot, StartedSlots


def test_bounds_are_kept_to_the_microsecond():
    slots = BoundedSlots(EvenSlots(0, 1), 10, 20)

    assert [slots.after(instant) for instant in (-5, 8, 9, 10, 19, 20)] == [
        10,
        10,
        10,
        11,
        20,
        None,
    ]
    assert [slots.at_or_before(instant) for instant in (9, 10, 20, 25)] == [None, 10, 20, 20]


def test_even_slots_end_with_the_last_instant():
    slots = EvenSlots(LATEST - 10, 5)

    assert [slots.after(LATEST - 11), slots.after(LATEST - 6), slots.after(LATEST - 5)] == [
        LATEST - 10,
        LATEST - 5,
        LATEST,
    ]
    assert slots.after(LATEST) is None


def test_a_start_is_a_slot_even_if_the_others_lack_it():
    slots = StartedSlots(OneSlot(50), 10)

    assert [slots.after(instant) for instant in (9, 10, 50)] == [10, 50, None]
    assert [slots.at_or_before(instant) for instant in (9, 10, 49, 50)] == [None, 10, 10, 50]


def test_slots_between_stops_where_the_caller_stops():
    found = slots_between(Cron("* * * * *").slots, us("2025-01-01T00:00Z"), us("9999-01-01T00:00Z"))

    assert next(found) == us("2025-01-01T00:01Z")
    assert next(found) == us("2025-01-01T00:02Z")


def test_equal_recurrences_share_their_cache():
    assert Cron("1 2 3 * *").slots is Cron("1  2 3 * *", timezone="UTC").slots
    assert Cron("1 2 3 * *").slots is not Cron("1 2 3 * *", dst_gap="skip").slots


def test_slots_are_the_same_when_queried_again_in_reverse():
    slots = Cron("17 * * * *", timezone="Europe/Paris").slots
    start = us("2025-10-25T00:00Z")
    forward = list(slots_between(slots, start, us("2025-10-28T00:00Z")))

    assert len(forward) == 72
    assert [slots.after(slot - 1) for slot in reversed(forward)] == forward[::-1]


@pytest.mark.parametrize(
    "slots",
    [
        OneSlot(50),
        EvenSlots(50, 7),
        BoundedSlots(EvenSlots(-500, 7), 20, 60),
        StartedSlots(EvenSlots(-500, 7), 33),
        StartedSlots(EvenSlots(40, 7), 33),
        Every("1d", created_at=at("1970-01-01T00:00Z")).slots,
    ],
    ids=lambda slots: type(slots).__name__,
)
def test_count_equals_the_number_of_enumerated_slots(slots: Slots):
    edges = [-100, 19, 20, 32, 33, 34, 49, 50, 51, 59, 60, 61, 400]

    for after in edges:
        for until in edges:
            assert slots.count(after, until) == len(list(slots_between(slots, after, until)))


def test_no_slot_after_the_year_9999_is_counted():
    assert EvenSlots(LATEST - 5, 2).count(LATEST - 4, LATEST + 100) == 2


@pytest.mark.parametrize("text", ["* * * * * *", "*/7 3-9 * * 1-5", "30 1,2,3 * * *", "0 0 29 2 *"])
@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Australia/Lord_Howe"])
def test_decades_are_counted_as_the_sum_of_their_days(text: str, zone: str):
    slots = Cron(text, timezone=zone, seconds=text.count(" ") == 5).slots
    start, days = us("2011-06-01T00:30Z"), 15 * 365

    total = slots.count(start, start + days * DAY)

    assert total > 0
    assert total == sum(
        slots.count(start + day * DAY, start + (day + 1) * DAY) for day in range(days)
    )
