"""A part of the campaign (`make sim`) in every run of the suite, and of its search for planted
bugs. It is run without measuring coverage, which would take most of its time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from harness.sim.campaign import WEEK, Verdict, found_by, judged, replay
from harness.sim.planted import BUGS

pytestmark = pytest.mark.unmeasured
WEEKS = range(1, 41)
WHOLE = range(1, 7)
"""Worlds as `make sim` lives them: most of a year, or a dense day."""
BUGS_EACH_DAY = 3


def assert_all_kept(verdict: Verdict, days: float | None) -> None:
    stories = "\n".join(verdict.stories)
    assert not verdict.violations, f"{replay(verdict.seed, days)}\n{stories}"


@pytest.mark.parametrize("seed", WEEKS)
def test_a_week_of_faults_breaks_no_promise(seed: int):
    assert_all_kept(judged(seed, WEEK), WEEK)


@pytest.mark.parametrize("seed", WHOLE)
def test_most_of_a_year_or_a_dense_day_breaks_no_promise(seed: int):
    assert_all_kept(judged(seed), None)


def todays_bugs() -> list[str]:
    """All of them in turn; `make sim-selftest` looks for each."""
    first = datetime.now(UTC).toordinal() * BUGS_EACH_DAY
    names = list(BUGS)
    return [names[(first + n) % len(names)] for n in range(BUGS_EACH_DAY)]


@pytest.mark.parametrize("bug", todays_bugs())
def test_a_planted_bug_is_noticed(bug: str):
    verdict = found_by(bug, range(1, 51))

    assert verdict is not None, f"50 seeds did not notice: {bug}"
