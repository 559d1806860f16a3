"""The rules for later years at the end of zone files."""

from __future__ import annotations

from datetime import timedelta

import pytest

from harness.times.at import at
from quarterjack import InvalidRecurrence
from quarterjack.times.instants import to_datetime
from quarterjack.times.tzif import read_rule

MICROSECOND = timedelta(microseconds=1)


@pytest.mark.parametrize("footer", ["", "EST5EDT", "EST5EDT,J60,J300", "nonsense,,"])
def test_a_rule_for_later_years_that_is_not_known_is_refused(footer: str):
    with pytest.raises(InvalidRecurrence, match="upgrade quarterjack"):
        read_rule(footer)


def test_a_rule_may_shift_by_less_than_an_hour_and_by_the_minute():
    rule = read_rule("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0")
    assert rule is not None

    autumn, spring = rule.changes(2025)

    assert to_datetime(autumn[0]) == at("2025-04-05T15:00Z")
    assert to_datetime(spring[0]) == at("2025-10-04T15:30Z")
    assert spring[1] - autumn[1] == timedelta(minutes=30) // MICROSECOND
