"""Jitter: repeatable, uniform and stable."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.times.at import us
from quarterjack.times import jitter_of
from quarterjack.times.instants import MINUTE, SECOND


@pytest.mark.mission("D6")
@given(schedule=st.integers(1), slot=st.integers(), jitter=st.integers(1, 10**12))
def test_jitter_is_repeatable_and_less_than_its_span(schedule: int, slot: int, jitter: int):
    first = jitter_of(schedule, slot, jitter)

    assert first == jitter_of(schedule, slot, jitter)
    assert 0 <= first < jitter


@pytest.mark.mission("D6")
def test_jitter_differs_between_slots_and_schedules_and_is_even():
    hours = Counter(
        jitter_of(schedule, slot * MINUTE, 60 * SECOND) // (10 * SECOND)
        for schedule in range(60)
        for slot in range(100)
    )

    assert set(hours) == set(range(6))
    assert max(hours.values()) - min(hours.values()) < 200
    assert jitter_of(1, 0, 10**12) != jitter_of(2, 0, 10**12)
    assert jitter_of(1, 0, 10**12) != jitter_of(1, 1, 10**12)


def test_jitter_is_a_known_number_that_no_version_may_change():
    assert jitter_of(42, us("2025-01-01T00:00Z"), 30 * SECOND) == 11_817_092
    assert jitter_of(42, 0, 0) == 0
