"""The wheel, in an empty environment outside the checkout. `make wheel` does this with every Python
that is installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.acceptance.wheel import build, check_installed, missing_files, unexpected_files


@pytest.mark.unmeasured
def test_the_wheel_is_complete_and_runs_where_plain_pip_has_installed_it(tmp_path: Path):
    wheel = build(tmp_path)

    assert missing_files(wheel) == []
    assert unexpected_files(wheel) == []
    assert check_installed(wheel, sys.executable)
