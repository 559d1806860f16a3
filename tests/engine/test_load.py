"""Too much at once: herds, weekends asleep, and work that dies or kills."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERD = 20_000
URGENT_SECONDS_MAX = 3
GROWN_MIB_MAX = 160
"""64 for the pages of the database, 50 for the definitions, and the rest for batches and rows."""
STATEMENTS_MAX = 45
"""For each thousand: planned, claimed, run, settled."""


@pytest.mark.fault("F46")
def test_a_herd_is_worked_off_in_batches_and_an_urgent_schedule_does_not_wait_for_it(
    tmp_path: Path,
):
    """`make herd` drives a hundred thousand."""
    command = [sys.executable, "-m", "engine.herd", "--count", str(HERD)]
    environment = {"PYTHONPATH": str(Path(__file__).parents[1])}
    process = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, check=True, timeout=120
    )
    driven = json.loads(process.stdout)

    assert driven["urgent_seconds"] < URGENT_SECONDS_MAX
    assert driven["grown_mib"] < GROWN_MIB_MAX
    assert driven["statements"] < STATEMENTS_MAX * driven["batches"]
