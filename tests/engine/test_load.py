"""Load: a herd of schedules due in the same second, and all slots of a weekend."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.engine.service import SteppedService
from harness.rules.values import at
from quarterjack.times.instants import MINUTE

HERD = 20_000
URGENT_SECONDS_MAX = 3
GROWN_MIB_MAX = 160
"""64 for the pages of the database, 50 for the definitions, the rest for batches and rows."""
STATEMENTS_MAX = 45
"""For each thousand: planned, claimed, run, settled."""


@pytest.mark.fault("F46")
def test_a_herd_is_executed_in_batches_and_an_urgent_schedule_does_not_wait_for_it(
    tmp_path: Path,
):
    """`make herd` drives a hundred thousand."""
    command = [sys.executable, "-m", "harness.engine.herd", "--count", str(HERD)]
    environment = {"PYTHONPATH": str(Path(__file__).parents[1])}
    process = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, check=True, timeout=120
    )
    measured = json.loads(process.stdout)

    assert measured["urgent_seconds"] < URGENT_SECONDS_MAX
    assert measured["grown_mib"] < GROWN_MIB_MAX
    assert measured["statements"] < STATEMENTS_MAX * measured["batches"]


FRIDAY, MONDAY = "2026-11-13T17:00:00Z", "2026-11-16T10:00:30Z"
MISSED = (at(MONDAY) - at(FRIDAY)) // MINUTE


@pytest.fixture
def service() -> Iterator[SteppedService]:
    service = SteppedService(FRIDAY)
    yield service
    service.close()


@pytest.mark.fault("F47")
@pytest.mark.mission("D7", "H8")
@pytest.mark.parametrize(
    ("fields", "ran", "not_run"),
    [
        ({"catch_up": "skip"}, 0, [(3900, "outage")]),
        ({"catch_up": "run_once"}, 1, [(3899, "coalesced")]),
        ({"catch_up": "run_all"}, 100, [(3800, "max_catch_up_runs")]),
        ({"catch_up": "run_all", "catch_up_window": "1h"}, 60, [(3840, "catch_up_window")]),
        ({"catch_up": "run_all", "if_running": "queue", "queue_limit": 7}, 8, None),
        ({"catch_up": "run_all", "total_repeats": 5}, 5, None),
        ({"catch_up": "run_all", "only_between": "09:00-09:30"}, 90, None),
    ],
)
def test_after_a_weekend_every_missed_minute_has_run_or_is_counted_with_its_reason(
    service: SteppedService, fields: dict[str, Any], ran: int, not_run: list[tuple[int, str]] | None
):
    service.add(every="1m", **fields)
    service.run_until(FRIDAY)
    service.suspend_until(MONDAY)
    for number in range(3):
        service.restart(f"w{number}")
        service.run_until(MONDAY)

    counted = sum(count for count, _ in service.not_run())
    assert MISSED == 65 * 60
    assert (len(service.runs()), counted) == (ran, MISSED - ran)
    assert not_run is None or service.not_run() == not_run
    assert len(service.started()) == len(set(service.started())) == ran
    assert set(service.states()) <= {"succeeded"}
