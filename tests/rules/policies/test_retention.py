"""Retention: which runs may be pruned."""

from __future__ import annotations

import pytest

from harness.rules.values import at
from quarterjack.rules import Retention
from quarterjack.rules.policies.retention import Horizons, PastRun, horizons, may_be_pruned
from quarterjack.times.instants import DAY, HOUR


def test_the_horizons_follow_from_the_ages():
    now = at("09:00")

    assert horizons(Retention(DAY, None, HOUR, 2 * HOUR, None, 3 * DAY), now) == Horizons(
        now - DAY, now - HOUR, now - 2 * HOUR, None, now - 3 * DAY
    )
    assert horizons(Retention(), now).runs == now - 90 * DAY


@pytest.mark.parametrize(
    ("changes", "pruned"),
    [
        ({"finished_at": at("09:00") - DAY - 1}, True),
        ({"finished_at": at("09:00") - DAY}, False),
        ({"finished_at": at("09:00") - DAY - 1, "number": 99}, False),
        ({"finished_at": at("09:00") - DAY - 1, "number": 98}, False),
        ({"number": 79}, True),
        ({"number": 80}, False),
        ({"number": 79, "finished_at": None}, False),
        ({"number": 79, "planned_count": None}, False),
        ({"finished_at": at("09:00") - DAY - 1, "planned_count": None}, True),
    ],
)
def test_a_run_may_be_pruned_by_age_or_number_unless_it_is_needed(
    changes: dict[str, object], pruned: bool
):
    run = PastRun(42, 90, at("08:59"), 100, "42-99", "42-98")._replace(**changes)

    retention = Retention(run_age=DAY, run_count=20)
    assert may_be_pruned(run, retention, at("09:00")) is pruned


def test_without_limits_nothing_is_pruned():
    run = PastRun(42, 0, 0, 10_000_000)

    assert not may_be_pruned(run, Retention(None, None), at("09:00"))
