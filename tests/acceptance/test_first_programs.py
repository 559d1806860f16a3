"""The first programs that people see, run as they are."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from harness.acceptance.wheel import run_until_succeeded

ROOT = Path(__file__).parents[2]


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("document", "key"), [("README.md", "report"), ("docs/python.md", "hello")]
)
def test_the_first_program_of_a_document_runs(document: str, key: str, tmp_path: Path):
    text = (ROOT / document).read_text()
    program = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]
    assert program.count("app.run()") == 1
    (tmp_path / "jobs.py").write_text(program.replace("app.run()", "app.run(port=0)"))

    run_until_succeeded([sys.executable, "jobs.py"], tmp_path, key, Path(sys.executable))
