"""A part of `make sim` and `make sim-selftest`. Not measured by coverage, which would take most of
the time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from harness.sim.campaign import WEEK, SeedResult, check_seed, find_bug, replay_command
from harness.sim.planted import BUGS

pytestmark = pytest.mark.unmeasured
SEEDS_OF_A_WEEK = range(1, 41)
SEEDS_OF_FULL_LENGTH = range(1, 7)
"""As `make sim` runs them: most of a year, or a busy day."""
BUGS_PER_DAY = 3


def assert_no_violations(result: SeedResult, days: float | None) -> None:
    stories = "\n".join(result.stories)
    assert not result.violations, f"{replay_command(result.seed, days)}\n{stories}"


@pytest.mark.parametrize("seed", SEEDS_OF_A_WEEK)
def test_a_week_of_faults_breaks_no_promise(seed: int):
    assert_no_violations(check_seed(seed, WEEK), WEEK)


@pytest.mark.parametrize("seed", SEEDS_OF_FULL_LENGTH)
def test_most_of_a_year_or_a_busy_day_breaks_no_promise(seed: int):
    assert_no_violations(check_seed(seed), None)


def bugs_of_today() -> list[str]:
    """All bugs in turn over the days; `make sim-selftest` searches for all of them at once."""
    first = datetime.now(UTC).toordinal() * BUGS_PER_DAY
    names = list(BUGS)
    return [names[(first + n) % len(names)] for n in range(BUGS_PER_DAY)]


@pytest.mark.parametrize("bug", bugs_of_today())
def test_a_planted_bug_is_found(bug: str):
    result = find_bug(bug, range(1, 81))

    assert result is not None, f"50 seeds did not find: {bug}"
