"""The first programs that people see, run as they are."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from harness.acceptance.wheel import ROOT, first_program, run_until_succeeded


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("document", "key"), [("README.md", "report"), ("docs/python.md", "hello")]
)
def test_the_first_program_of_a_document_runs(document: str, key: str, tmp_path: Path):
    (tmp_path / "jobs.py").write_text(first_program(document))

    run_until_succeeded([sys.executable, "jobs.py"], tmp_path, key, Path(sys.executable))

    assert "Traceback" not in (tmp_path / f"{key}.log").read_text()


def test_the_first_thing_that_the_readme_shows_is_at_most_ten_lines_of_python():
    language, block = re.findall(
        r"```(.*?)\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL
    )[0]

    assert language == "python"
    assert len([line for line in block.splitlines() if line]) <= 10
